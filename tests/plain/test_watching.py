"""A session that another process has open, followed in line mode."""

import asyncio
from collections.abc import Sequence

import pytest

from agent_tui.engine import events
from agent_tui.engine.commands import Subject
from agent_tui.engine.types import InputKind
from agent_tui.plain import watching
from agent_tui.plain.watching import Watching
from context.items import Usage
from tests.waiting import WAIT_S

Look = Sequence[events.Body] | str  # what is new, or why nothing can be read


class Other:
    """The other process, and the person at this one: what is seen at each look, and what is typed."""

    def __init__(self, looks: Sequence[Look], typed: Sequence[str]) -> None:
        self.said: list[str] = []
        self.asked: list[str] = []
        self._looks = list(looks)
        self._typed = list(typed)
        self._seen = asyncio.Event()
        self._aside = asyncio.Event()

    def say(self, *lines: str) -> None:
        self.said += lines

    async def ask(self, prompt: str) -> str | None:
        """The person types only once all there is was seen."""
        self.asked.append(prompt)
        if self._typed:
            await self._seen.wait()
            return self._typed.pop(0)
        await self._aside.wait()
        return None

    def set_aside(self) -> None:
        self._aside.set()

    async def reply(self, subject: Subject, **args: str) -> events.Inspected | events.Refused:
        assert subject is Subject.WATCH
        assert args["id"] == "ab12"
        if not self._looks:
            self._seen.set()
        look = self._looks.pop(0) if self._looks else ()
        if isinstance(look, str):
            return events.Refused(command_id="", reason=look)
        read = int(args["read"])
        new = [
            events.Event(seq=seq, at=0.0, run_id="r1", body=body) for seq, body in enumerate(look, read + 1)
        ]
        return events.Inspected(command_id="", data={"events": new, "read": read + len(new)})


MESSAGE = (
    events.InputAccepted(input_id="n1", kind=InputKind.PROMPT, text="mend it"),
    events.InputDelivered(input_id="n1", item_id="i1", step=1),
)
PROPOSED = events.CallProposed(
    call_id="c1", step_id="s1", tool="exec_command", arguments="{}", shown="make deploy"
)
STARTED = events.CallStarted(
    call_id="c1", attempt=1, arguments_sha256="", cwd="/w", sandbox="workspace", spool="", boot_id=""
)
ANSWER = events.ResponseEnded(
    step_id="s1", item_id="i2", text="Done it.", reasoning="", reasoning_s=0.0, usage=Usage(), cost_usd=None,
    reserved_calls=0,
)  # fmt: skip


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "REFRESH_S", 0.0)


async def test_it_is_followed_past_a_look_that_failed_until_it_is_closed() -> None:
    closed = events.SessionClosed(reason="quit")
    other = Other([[*MESSAGE, PROPOSED], "store gone", "store gone", [STARTED, ANSWER], [closed]], [])
    assert not await asyncio.wait_for(Watching(other).watch("ab12"), WAIT_S)
    assert [line for line in other.said if line] == [
        "you> mend it",
        "Watching ab12 as it goes on. An empty line leaves it, f continues a copy.",
        "Refused: store gone",
        "Running: make deploy",
        "Answer:",
        "Done it.",
        "Session ab12 is closed.",
    ]


async def test_it_is_left_by_an_empty_line_and_goes_on_from_there() -> None:
    other = Other([MESSAGE, [ANSWER]], ["what?", "", "f"])
    watched = Watching(other)
    assert not await asyncio.wait_for(watched.watch("ab12"), WAIT_S)
    assert other.asked == ["watching ab12> "] * 2
    assert await asyncio.wait_for(watched.watch("ab12"), WAIT_S), "a copy is continued"
    assert other.said.count("you> mend it") == other.said.count("Done it.") == 1


async def test_one_that_cannot_be_read_is_not_waited_for() -> None:
    other = Other(["no session"], [])
    assert not await asyncio.wait_for(Watching(other).watch("ab12"), WAIT_S)
    assert other.said == ["Refused: no session"]
    assert not other.asked
