"""The keys below a view: those that work now, whole, `Esc` in any case."""

from pathlib import Path
from typing import Any

import pytest

from agent_tui.engine import commands
from agent_tui.tui.glyphs import ASCII, UNICODE
from agent_tui.tui.hints import fitted
from agent_tui.tui.transcript.lines import plain
from checkpoints.types import Author, Conflict, Operation, RollbackPlan
from context.codec import encode
from tests.tui import gallery, scenes
from tests.tui.driving import Driven, driven

Q = commands.Subject


def test_what_does_not_fit_into_the_first_row_leads_the_second() -> None:
    keys = ("Enter open · d diff · x delete", "/ find · Esc close")
    assert fitted(keys, (22, 40), UNICODE) == ("Enter open · d diff", "x delete · / find · Esc close")


def test_what_fits_nowhere_goes_as_a_whole_and_esc_stays() -> None:
    keys = ("Enter open · d diff · x delete", "↑ ↓ move · / find · Esc close")
    assert fitted(keys, (12, 28), UNICODE) == ("Enter open", "d diff · Esc close")
    assert fitted(keys, (2, 9), UNICODE) == ("", "Esc close")


def test_width_is_that_of_the_words_shown() -> None:
    assert fitted(("← → effort · d default", "Esc close"), (22, 30), ASCII) == (
        "Left Right effort",
        "d default, Esc close",
    )


async def opened(it: Driven, *keys: str) -> str:
    for key in keys:
        await it.act(key)
    return "\n".join(it.screen.split("\n")[-2:])


@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        (("f3",), "Esc close"),
        (("/resume",), "a all workspaces"),
        (("/checkpoints",), "Esc close"),
        (("escape", "escape"), "Esc close"),
        (("/diff",), "1 turn · 2 session · 3 since · Esc close"),
        (("/approvals",), "Esc close"),
    ],
)
async def test_an_empty_view_names_no_key_of_a_row(tmp_path: Path, keys: tuple[str, ...], shown: str) -> None:
    scene = gallery.Scene(data=gallery.NOTHING | {Q.GRANTS: []})
    async with driven(tmp_path, on=scene.on) as it:
        last = await opened(it, *keys)
    assert shown in last and "Esc close" in last
    assert not [each for each in ("Enter", "diff to", " x ", " f ", "move", "copy") if each in last], last


async def test_an_ended_terminal_names_no_key_of_a_live_one(tmp_path: Path) -> None:
    async with driven(tmp_path, on=gallery.Scene().on) as it:
        assert "x stop" in await opened(it, "f3")
        last = await opened(it, "down")
    assert "o all output" in last and not [each for each in ("Enter", "x stop", "Ctrl+C") if each in last]


def preview(operations: int, conflicts: int) -> dict[Q, Any]:
    """A plan that is longer than the screen."""
    plan = RollbackPlan(
        target="7f3a/17",
        operations=tuple(
            Operation(action="write", path=f"a-long-name-of-a-directory/module_{number}.py", detail="+1 -1")
            for number in range(operations)
        ),
        conflicts=tuple(
            Conflict(
                path=f"mine_{number}.md", author=Author.EXTERNAL, changed_at=0.0, reason="changed by you",
                detail="+2 -0",
            )
            for number in range(conflicts)
        ),
    )  # fmt: skip
    return {Q.ROLLBACK_PLAN: encode(plan)}


async def test_a_preview_longer_than_the_screen_says_so_and_all_of_it_can_be_reached(tmp_path: Path) -> None:
    scene = gallery.Scene(play=gallery.renamed, data=preview(90, 0))
    async with driven(tmp_path, scene.play(), on=scene.on) as it:
        last = await opened(it, "escape", "escape", "enter", "arm")
        assert "Space 71 more lines" in last and "conversation   3 items" not in it.screen
        last = await opened(it, *["space"] * 4)
        assert "more line" not in last and "conversation   3 items" in it.screen
        await it.resize(60, 15)
        await it.press("g")
        assert "Space 81 more" in it.screen


async def test_every_conflict_of_a_preview_can_be_reached(tmp_path: Path) -> None:
    scene = gallery.Scene(play=gallery.renamed, data=preview(3, 40))
    async with driven(tmp_path, scene.play(), on=scene.on) as it:
        last = await opened(it, "escape", "escape", "enter", "arm")
        assert "PgDn 25 more lines" in last
        await it.press(*["down"] * 30, "space")
        picked = next(row for row in it.screen.split("\n") if row.startswith("  > "))
        assert "mine_30.md" in picked and picked.endswith("take checkpoint")
        await it.press("pagedown", "pagedown", "pagedown")
        assert "conversation   3 items" in it.screen


async def test_a_find_says_which_of_how_many_is_shown(tmp_path: Path) -> None:
    async with driven(tmp_path, scenes.finished()) as it:
        await it.press("f2", "g")
        await it.type("/slugify\r")
        hits = sum("slugify" in plain(line) for line in it.app.screen.body.lines)  # type: ignore[attr-defined]
        assert hits > 2 and f'"slugify" · 1 of {hits}' in it.screen
        await it.press("n")
        assert f'"slugify" · 2 of {hits}' in it.screen
        await it.type("NN")
        assert f'"slugify" · {hits} of {hits}' in it.screen
        await it.press("j")
        assert f"of {hits}" not in it.screen and "Esc close" in it.screen
