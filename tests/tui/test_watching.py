"""A session that another process has open."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from agent_tui.engine import commands, events
from agent_tui.tui.screens import watching
from tests.tui import gallery, scenes
from tests.tui.driving import driven
from tests.tui.fake_engine import Play


class Other:
    """The other process: what it has stored so far, which may not be readable just now."""

    def __init__(self, bodies: Sequence[events.Body]) -> None:
        self.stored = [
            events.Event(seq=seq, at=1_000.0, run_id="r1", body=body) for seq, body in enumerate(bodies, 1)
        ]
        self.known = 0
        self.is_readable = True

    def on(self, body: commands.CommandBody) -> Play:
        """What our engine answers."""
        if not (isinstance(body, commands.Inspect) and body.subject is commands.Subject.WATCH):
            return ()
        if not self.is_readable:
            return [events.Refused(command_id="", reason="the store is gone")]
        found = self.stored[int(body.args["read"]) : self.known]
        return [events.Inspected(command_id="", data={"events": found, "read": self.known})]


def test_the_session_of_the_pictures_tells_nothing_twice() -> None:
    def look(read: str) -> events.Inspected:
        asked = commands.Inspect(subject=commands.Subject.WATCH, args={"id": "1a2b", "read": read})
        (answer,) = gallery.SCENES["watching"].on(asked)
        assert isinstance(answer, events.Inspected)
        return answer

    first = look("0").data
    assert first["events"]
    assert look(str(first["read"])).data["events"] == []


async def test_what_comes_is_added_also_after_a_look_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "REFRESH_S", 0.05)
    asked = [*scenes.turn(), *scenes.message("mend the test")]
    other = Other([*asked, *scenes.step(1), *scenes.response(1, "It adds now.")])
    other.known = len(asked)
    async with driven(tmp_path, on=other.on) as it:
        it.app.views.watch("1a2b")
        await it.until("mend the test")
        other.is_readable = False
        await it.until("the store is gone")
        other.is_readable, other.known = True, len(other.stored)
        await it.until("It adds now.")
        assert it.screen.count("mend the test") == 1
        assert "the store is gone" not in it.screen
