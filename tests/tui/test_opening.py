"""What a start tells: three blocks at most, what matters most first, and nothing is lost."""

from pathlib import Path
from typing import Literal

from agent_tui.engine import events
from agent_tui.tui import multiplexer
from agent_tui.tui.opening import KEYS
from tests.tui import scenes
from tests.tui.driving import Driven, driven
from tests.tui.fake_engine import Play

STORED = "the session store was damaged; 3 records were saved"
BESIDE = "Session 9c02 also works in this directory; its edits will show as external"
IGNORED = "`sandbox_mode` has no meaning in .agent-tui/config.toml"
LOOSER = "since this session was last open: sandbox is `off`, was `workspace-write`"
MODEL = "nothing is known of `x/y`"
ABOUT: dict[str, Literal["guard", "records", "others"]] = {
    LOOSER: "guard", STORED: "records", BESIDE: "others",
}  # fmt: skip
HINTS = multiplexer.notices("500 off")


def raised(*texts: str) -> Play:
    """A start that tells these, and then what it is."""
    first, *rest = scenes.started()
    told = [events.NoticeRaised(text=text, level="warning", about=ABOUT.get(text, "")) for text in texts]
    return [first, *told, *rest]


def shown(it: Driven) -> list[str]:
    """The notices on the screen, each from its glyph on, without the breaks of lines."""
    text = " " + " ".join(it.screen.partition("? help")[2].split())
    return [part.partition(" ── ")[0].strip() for part in text.split(" ! ")[1:]]


async def test_three_blocks_stand_in_the_order_of_their_weight(tmp_path: Path) -> None:
    async with driven(tmp_path, start=raised(MODEL, BESIDE, STORED, LOOSER)) as it:
        assert shown(it) == [LOOSER, STORED, f"{BESIDE} (+ 1 more, in /status)"]
        await it.act("/status")
        assert f"at the start: {MODEL}" in " ".join(it.screen.split())


async def test_hints_of_the_terminal_come_last_whenever_they_come(tmp_path: Path) -> None:
    async with driven(tmp_path, start=raised(MODEL, BESIDE, STORED)) as it:
        for hint in HINTS:
            it.app.feed.opening.tell(hint, information=True, about=KEYS)
        it.app.flush()
        await it.settle()
        assert shown(it) == [STORED, BESIDE, f"{MODEL} (+ 2 more, in /status)"]


async def test_what_is_told_later_is_no_part_of_the_start(tmp_path: Path) -> None:
    async with driven(tmp_path, start=raised(MODEL, BESIDE, STORED)) as it:
        it.engine.emit(events.NoticeRaised(text=LOOSER, level="warning"))
        await it.settle()
        assert shown(it) == [STORED, BESIDE, MODEL, LOOSER]
