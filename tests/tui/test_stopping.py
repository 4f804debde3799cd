"""What Esc and Ctrl+C stop beside a turn, and what counts as a key of somebody who is there."""

from pathlib import Path

import pytest

from agent_tui.engine import commands, events
from tests.tui import gallery, scenes
from tests.tui.driving import NOW, Driven, driven
from tests.tui.test_keys import F1, PAGE_UP, UP

COMPACTS = [events.StatusChanged(activity="compacting"), events.CompactionStarted(cause="asked for")]
SHELL = [*scenes.proposed("p1", "exec_command", "sleep 100"), *scenes.running("p1")]
THERE_AGAIN = {
    "compaction": [events.StatusChanged(activity="")],
    "command": scenes.call("p1", "exec_command", "sleep 100", exit_code=-2),
}


@pytest.mark.parametrize("keys", [[b"\x03"], [b"\x1b"], [F1, b"\x03"]], ids=["ctrl+c", "esc", "in a view"])
@pytest.mark.parametrize("what", ["compaction", "command"])
async def test_what_goes_on_without_a_turn_is_stopped(tmp_path: Path, what: str, keys: list[bytes]) -> None:
    play = COMPACTS if what == "compaction" else SHELL
    async with driven(tmp_path, play, on=gallery.Scene().on) as it:
        for data in keys:
            await it.feed(data)
        assert it.engine.sent == [commands.Interrupt()]
        await it.feed(keys[-1])
        assert it.engine.sent[1:] == [commands.Interrupt(force=True)], "a second one quits nothing"
        it.app.views.close_all()
        for body in THERE_AGAIN[what]:
            it.engine.emit(body)
        await it.settle()
        assert "── ready ──" in it.screen


async def asked_with(it: Driven, *keys: bytes) -> float:
    it.app.notifier.key_at = 0.0
    for data in keys:
        await it.feed(data)
    return it.app.notifier.key_at


@pytest.mark.parametrize("keys", [UP, b"x", b"\t", PAGE_UP, b"\x14j", b"\x1b[200~x\x1b[201~"])
async def test_every_key_says_that_somebody_is_there(tmp_path: Path, keys: bytes) -> None:
    async with driven(tmp_path, scenes.finished(), on=gallery.Scene().on) as it:
        assert await asked_with(it, keys) == NOW


async def test_a_key_of_a_view_or_of_a_prompt_says_so_too(tmp_path: Path) -> None:
    async with driven(tmp_path, scenes.asks(), on=gallery.Scene().on) as it:
        await it.wait_for_arming()
        assert await asked_with(it, b"n") == NOW
        await it.feed(b"\x14")
        assert await asked_with(it, b"j") == NOW
