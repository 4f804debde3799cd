"""How often what moves is drawn (screens.md 4.4)."""

import io
from pathlib import Path

import pytest
from textual import events as toolkit

from agent_tui.engine import events
from agent_tui.tui import pace
from agent_tui.tui.driver import AgentDriver, OutputThread
from agent_tui.tui.pace import Pace
from tests.tui import scenes
from tests.tui.driving import Driven, driven

STREAMED = events.TextStreamed(step_id="s1", text="a new word", offset=0)


async def streamed(it: Driven, *more: events.Body) -> None:
    """Text comes, and something else perhaps."""
    it.engine.play([STREAMED, *more])
    while not it.app.pace.is_due:
        await it.pilot.pause()


@pytest.fixture
def away(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits for the second of a terminal without focus waits as long as a test lasts."""
    assert pace.AWAY_S == 1.0
    monkeypatch.setattr(pace, "AWAY_S", 600.0)


@pytest.mark.usefixtures("away")
async def test_without_focus_streamed_text_waits_for_a_second_or_for_the_focus(tmp_path: Path) -> None:
    async with driven(tmp_path, scenes.turn()) as it:
        it.app.post_message(toolkit.AppBlur())
        await it.settle()
        await streamed(it)
        due = it.app.pace._due
        assert due is not None and due._interval == pace.AWAY_S and "a new word" not in it.screen
        it.app.post_message(toolkit.AppFocus())
        await it.until("a new word")


@pytest.mark.usefixtures("away")
async def test_without_focus_what_is_no_stream_is_told_at_once(tmp_path: Path) -> None:
    async with driven(tmp_path, scenes.turn()) as it:
        it.app.post_message(toolkit.AppBlur())
        await it.settle()
        await streamed(it)
        it.engine.emit(events.NoticeRaised(text="look here"))
        await it.until("look here")
        assert "a new word" in it.screen


@pytest.mark.parametrize("behind", [False, True])
async def test_nothing_moves_while_the_terminal_is_behind(tmp_path: Path, behind: bool) -> None:
    async with driven(tmp_path, interface={}) as it:
        own, driver = it.app._driver, object.__new__(AgentDriver)
        driver._writer_thread = OutputThread(io.StringIO())  # it takes nothing before it is started
        if behind:
            driver._writer_thread.write("x")
        it.app._driver = driver
        moves, it.app._driver = it.app.pace.moves, own
    assert moves is not behind


@pytest.mark.parametrize(("moves", "frames"), [(True, 4), (False, 1)])
async def test_what_does_not_move_stands_still_for_five_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moves: bool, frames: int
) -> None:
    monkeypatch.setattr(Pace, "moves", moves)
    async with driven(tmp_path, scenes.turn(), interface={}) as it:
        seen = set()
        for _ in range(8):
            it.app.fixed._on_tick()
            await it.settle()
            seen.add(it.screen.split("\n")[-3][:5])
        assert len(seen) == frames
