import subprocess
import sys
from pathlib import Path

import pytest
from rich.cells import cell_len
from textual import events

from agent_tui.tui.glyphs import UNICODE
from agent_tui.tui.sheet_app import SheetApp
from agent_tui.tui.start import FoundModel, Sheet, model_sheet, sheet_lines
from agent_tui.tui.transcript.lines import plain
from agent_tui.tui.widgets.burst import BURST_S
from tests.tui.pictures import rows
from tests.tui.sheets import SHEETS

ROOT = Path(__file__).resolve().parents[2]
NOTHING, FOUND = SHEETS["first-start-nothing-found"], SHEETS["keys-found"]
TRUST, SANDBOX = SHEETS["trust-hostile"], SHEETS["sandbox-unavailable"]
NAMED = model_sheet("~", [FoundModel(name="ollama/a\u200bb", where="localhost")], keys=[], ports=[])


def arm(app: SheetApp, now: list[float]) -> None:
    """The pause after which it takes keys is over."""
    now[0] += 0.6
    app.check()


@pytest.mark.parametrize(
    ("sheet", "keys", "value"),
    [
        (NOTHING, ["enter", "3"], "demo"),  # nothing is preselected, so Enter alone does nothing
        (NOTHING, ["down", "down", "enter"], "address"),
        (NOTHING, ["j", "k", "enter"], ""),
        (NOTHING, ["5"], ""),
        (FOUND, ["q"], ""),
        (FOUND, ["enter"], "openai/gpt-5.1"),
        (FOUND, ["d"], "openai/gpt-5.1+"),
        (FOUND, [*["down"] * 4, "d", "q"], ""),  # another model or address
        (FOUND, ["up", "d", "enter"], "demo"),
        (TRUST, ["enter"], "not_now"),
        (TRUST, ["t"], "trust"),
        (TRUST, ["y", "escape"], ""),
        (SANDBOX, ["enter", "2"], "look_only"),
    ],
)
async def test_a_sheet_returns_what_was_chosen(sheet: Sheet, keys: list[str], value: str) -> None:
    now = [0.0]
    app = SheetApp(sheet, clock=lambda: now[0])
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        arm(app, now)
        for key in keys:
            await pilot.press(key)
            await pilot.pause(BURST_S + 0.02)
    assert (app.return_value or "") == value


@pytest.mark.parametrize("height", [24, 15])
async def test_the_cursor_of_the_terminal_stands_at_the_picked_option(height: int) -> None:
    app = SheetApp(FOUND)
    async with app.run_test(size=(60, height)) as pilot:
        for _ in range(3):
            await pilot.pause()
            assert rows(app)[app.cursor_position.y].startswith("  > ")
            await pilot.press("down")


async def test_a_row_that_is_no_model_names_no_key_for_keeping_it() -> None:
    now = [0.0]
    app = SheetApp(FOUND, clock=lambda: now[0])
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        arm(app, now)
        for key, is_named in (("", True), ("up", False), ("up", False), ("up", True)):
            await pilot.press(*key.split())
            assert ("d use and keep as default" in "\n".join(rows(app))) is is_named


@pytest.mark.parametrize("name", SHEETS)
async def test_every_word_of_a_sheet_can_be_read_at_60x15(name: str) -> None:
    sheet = SHEETS[name]
    app = SheetApp(sheet)
    seen = ""
    async with app.run_test(size=(60, 15)) as pilot:
        for key in ("pageup", "pageup", "pageup", "pagedown", "pagedown", "pagedown"):
            await pilot.press(key)
            seen += "\n".join(rows(app)) + "\n"
    shown = " ".join(seen.split())
    for words in (*sheet.below, sheet.foot, *(option.note for option in sheet.options)):
        assert all(word in shown for word in words.split())
    assert " ".join(sheet.foot.split()) in shown


async def test_nothing_typed_answers_a_sheet() -> None:
    """Kin of A31: what was typed for the editor, too early or in one go, trusts nothing."""
    now = [0.0]
    app = SheetApp(TRUST, clock=lambda: now[0])
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        for key in ("t", "enter"):
            await pilot.press(key)
            await pilot.pause(BURST_S + 0.02)
        arm(app, now)
        for typed in "tidy\r":  # all at once, whatever the machine is busy with
            app.post_message(events.Key({"\r": "enter"}.get(typed, typed), typed))
        await pilot.pause(BURST_S + 0.02)
        assert app.is_running and app.return_value is None
        assert "keys work in a moment" in "\n".join(rows(app))
        arm(app, now)
        app.app_resume_signal.publish(app)  # it was stopped and continued: who knows when this was typed
        await pilot.press("t")
        await pilot.pause(BURST_S + 0.02)
        assert app.is_running and app.return_value is None
        arm(app, now)
        await pilot.press("t")
        await pilot.pause(BURST_S + 0.02)
    assert app.return_value == "trust"


@pytest.mark.parametrize("size", [(40, 8), (59, 30), (90, 2)])
async def test_a_sheet_takes_no_key_while_the_terminal_is_too_small(size: tuple[int, int]) -> None:
    now = [0.0]
    app = SheetApp(TRUST, clock=lambda: now[0])
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        arm(app, now)
        assert rows(app)[0].startswith("terminal too small") and "Trust" not in "\n".join(rows(app))
        for key in ("t", "down", "enter"):
            await pilot.press(key)
            await pilot.pause(BURST_S + 0.02)
        assert app.is_running and app.return_value is None
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert "keys work in a moment" in "\n".join(rows(app))
        arm(app, now)
        await pilot.press("enter")
    assert app.return_value == "not_now"


@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
async def test_a_sheet_can_be_left_while_the_terminal_is_too_small(key: str) -> None:
    app = SheetApp(TRUST)
    async with app.run_test(size=(40, 8)) as pilot:
        await pilot.press(key)
    assert app.return_value == ""


@pytest.mark.parametrize("sheet", [NOTHING, FOUND, TRUST, SANDBOX, NAMED])
@pytest.mark.parametrize("width", [60, 80])
def test_a_sheet_fits_and_shows_names_as_they_are(sheet: Sheet, width: int) -> None:
    shown = [plain(row) for row in sheet_lines(sheet, 0, width, UNICODE)]
    assert all(cell_len(row) <= width for row in shown)
    assert not {"\x1b", "\u200b"} & set("".join(shown))
    assert (r"ollama/a\u200bb" in "".join(shown)) == (sheet is NAMED)


def test_no_question_before_a_session_imports_the_toolkit_too_early() -> None:
    code = "import sys; import agent_tui.cli.questions, agent_tui.tui.start, agent_tui.tui.entry; "
    code += "sys.exit('textual' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0
