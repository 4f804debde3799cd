from pathlib import Path

from textual import events as toolkit

from agent_tui.engine import commands, events
from agent_tui.engine.types import InputKind
from checkpoints.types import FileChange
from tests.tui import scenes
from tests.tui.driving import Driven, driven

LINES = tuple(f"line {number}" for number in range(1, 10))
CHANGES = (FileChange(path="a.py", kind="M", added=1, removed=1),)
CARD = scenes.call("c1", "exec_command", "make test", 1, lines=LINES, exit_code=0, changes=CHANGES)


def row_of(it: Driven, text: str) -> int:
    return next(index for index, row in enumerate(it.screen.split("\n")) if text in row)


async def click(it: Driven, text: str) -> None:
    await it.pilot.click(offset=(4, row_of(it, text)))
    await it.settle()


async def test_a_click_folds_and_unfolds_a_card(tmp_path: Path) -> None:
    async with driven(tmp_path, [*scenes.turn(), *CARD, *scenes.end()]) as it:
        assert "line 2" not in it.screen
        await click(it, "make test")
        assert "line 2" in it.screen
        await click(it, "make test")
        assert "line 2" not in it.screen


async def test_a_click_on_the_changed_files_opens_their_diff(tmp_path: Path) -> None:
    async with driven(tmp_path, [*scenes.turn(), *CARD, *scenes.end()]) as it:
        await click(it, "1 file: M a.py")
        (asked,) = [body for body in it.engine.sent if isinstance(body, commands.Inspect)]
    assert (asked.subject, asked.args["call"]) == (commands.Subject.DIFF, "c1")


async def test_dragged_text_is_copied_without_glyphs_and_bars(tmp_path: Path) -> None:
    async with driven(tmp_path, [*scenes.turn(), *CARD, *scenes.end()]) as it:
        first, last = row_of(it, "make test"), row_of(it, "line 9")
        await it.pilot.mouse_down(offset=(0, first))
        await it.pilot.hover(offset=(5, last - 1))
        await it.pilot.hover(offset=(9, last))
        it.engine.emit(events.NoticeRaised(text="something new"))  # does not move what is being selected
        await it.settle()
        await it.pilot.mouse_up(offset=(9, last))
        await it.settle()
        copied = it.app.clipboard.split("\n")
        assert copied[0].startswith("ran       make test")
        assert copied[-2:] == ["line 8", "line 9"]
        assert f"copied {len(copied)} lines" in it.screen
        assert "something new" in it.screen


async def test_a_click_never_answers_an_approval(tmp_path: Path) -> None:
    async with driven(tmp_path, [*scenes.turn(), *scenes.approval(1, "make publish")]) as it:
        await it.type("draft")
        await click(it, "·  once")
        assert "y  once" in it.screen
        assert not it.engine.sent_of(commands.Decide)


async def test_a_click_picks_a_row_of_a_view_and_opens_the_pending_list(tmp_path: Path) -> None:
    waiting = events.InputAccepted(input_id="i9", kind=InputKind.QUEUE, text="then the changelog")
    async with driven(tmp_path, [*scenes.turn(), waiting]) as it:
        await click(it, "then the changelog")
        assert "Del remove" in it.screen
        await it.press("escape")
        await it.type("/mo")
        await click(it, "/mouse")
        assert "› /mouse" in it.screen


async def test_the_wheel_scrolls_what_is_under_it(tmp_path: Path) -> None:
    long = "\n".join(f"echo {number}" for number in range(60))
    async with driven(tmp_path, [*scenes.finished(), *scenes.approval(1, long)]) as it:
        await it.wait_for_arming()
        await wheel(it, "Space more")
        assert it.app.transcript.following
        assert "    echo 0\n" not in it.screen and "    echo 3\n" in it.screen
        await wheel(it, "more lines, Ctrl+O", by=-1)
        assert not it.app.transcript.following
        assert "    echo 0\n" not in it.screen
        assert it.engine.sent == []


async def wheel(it: Driven, text: str, by: int = 1) -> None:
    """One step of the wheel over the row with the text, down or up."""
    kind = toolkit.MouseScrollDown if by > 0 else toolkit.MouseScrollUp
    await it.pilot._post_mouse_events([kind], offset=(4, row_of(it, text)))
    await it.settle()
