"""What a long transcript costs: nothing more than a short one (A43)."""

import gc
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from textual.strip import Strip

from agent_tui.tui import paint
from agent_tui.tui.transcript.blocks import UserMessage
from agent_tui.tui.transcript.lines import Line
from agent_tui.tui.transcript.view import KEPT_EACH
from tests.tui import scenes
from tests.tui.driving import Driven, driven


async def test_blocks_that_stay_are_not_looked_over_by_every_collection(tmp_path: Path) -> None:
    async with driven(tmp_path) as it:
        view = it.app.transcript
        blocks = [UserMessage(text=f"message {number}") for number in range(2 * KEPT_EACH)]
        for block in blocks:
            view.add(block)
        looked_over = {id(each) for each in gc.get_objects()}
        young = sum(id(block) in looked_over for block in blocks)
    assert young <= KEPT_EACH


@pytest.fixture
def painted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many lines were painted, at each time."""
    counts: list[int] = []
    real: Callable[..., list[Strip]] = paint.strips

    def strips(lines: Sequence[Line], width: int, theme: str) -> list[Strip]:
        counts.append(len(lines))
        return real(lines, width, theme)

    monkeypatch.setattr(paint, "strips", strips)
    return counts


async def test_keys_and_pieces_of_an_answer_cost_no_more_in_a_long_transcript(
    tmp_path: Path, painted: list[int]
) -> None:  # A43
    async with driven(tmp_path, scenes.looked()) as it:
        for number in range(2_000):
            it.app.transcript.add(UserMessage(text=f"message {number}"))
        by_keys, by_a_piece = await costs(it, painted)
    assert by_keys == 0
    assert 0 < by_a_piece < 20, "lines of the answer, and of nothing else in view"


async def costs(it: Driven, painted: list[int]) -> tuple[int, int]:
    """Lines that a few keys have painted, and a piece of a new answer."""
    await it.settle()
    painted.clear()
    await it.type("abc")
    by_keys = sum(painted)
    it.engine.play([*scenes.step(2), *scenes.text(2, "word " * 30)])
    await it.settle()
    it.engine.play(scenes.response(2, "word " * 30))
    await it.settle()
    return by_keys, sum(painted) - by_keys


async def test_nothing_ticks_while_nothing_moves(tmp_path: Path) -> None:  # A43
    async with driven(tmp_path, scenes.finished()) as it:
        assert ticking(it) == 0
        it.engine.play(scenes.turn())
        await it.settle()
        assert ticking(it) == 1


def ticking(it: Driven) -> int:
    """Timers of the whole screen that come again and again."""
    timers = [timer for node in (it.app, *it.app.screen.walk_children()) for timer in node._timers]
    return sum(timer._active.is_set() and timer._repeat is None for timer in timers)
