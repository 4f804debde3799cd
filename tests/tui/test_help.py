"""Help begins with the keys of where it was asked for."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from agent_tui.engine import events
from tests.tui import gallery, scenes
from tests.tui.driving import driven
from tests.tui.test_keys import CTRL_UP, F1

WORKING = [*scenes.message("go"), *scenes.turn()]
CASES: dict[str, tuple[Sequence[events.Body], list[bytes], list[str]]] = {
    "idle": ((), [F1], ["  Write", "  Enter        send"]),
    "working": (
        WORKING,
        [F1],
        ["  While it works", "  Enter        steer: at the next boundary"],
    ),
    "an armed prompt": (
        scenes.approval(1, "make publish"),
        [b".", F1],
        [
            "  At the prompt",
            "  y            once",
            "  s            this session",
            "  p            save a rule",
        ],
    ),
    "a prompt that is not armed": (
        scenes.approval(1, "make publish"),
        [F1],
        ["  At the prompt", "  Shift+Tab    answer it", "  y            once"],
    ),
    "a picked block": (
        gallery.cards(),
        [CTRL_UP, F1],
        ["  At the picked block", "  d            its diff", "  Enter        show more"],
    ),
    "a view": (
        (),
        [b"\x14", F1],
        ["  In this view", "  j k line · space b page · g G ends · [ ] message · { } call"],
    ),
}


@pytest.mark.parametrize("size", [(80, 24), (60, 15)], ids=["80x24", "60x15"])
@pytest.mark.parametrize("name", CASES)
async def test_the_keys_of_the_moment_come_first(tmp_path: Path, name: str, size: tuple[int, int]) -> None:
    play, keys, expected = CASES[name]
    async with driven(tmp_path, play, on=gallery.Scene().on, size=size) as it:
        for data in keys:
            await (it.wait_for_arming() if data == b"." else it.feed(data))
        rows = it.screen.splitlines()[1:]
        for row, text in zip(rows, expected, strict=False):
            assert row.startswith(text.rstrip() if size[0] >= 80 else text[:40].rstrip()), it.screen


async def test_what_a_model_offers_as_an_answer_moves_nothing_in_help(tmp_path: Path) -> None:
    asked = events.QuestionAsked(
        question_id="q1", call_id="c1", text="Which?", options=("a\x1b[2J\u202eb", "x" * 200), free_text=True
    )
    async with driven(tmp_path, [*scenes.turn(), asked]) as it:
        await it.feed(F1)
        assert "\x1b" not in it.screen and "\u202e" not in it.screen
        assert all(len(row) <= 80 for row in it.screen.splitlines())
