import subprocess
import sys
from pathlib import Path

import pytest

from agent_tui.tui.sheet_app import SheetApp
from agent_tui.tui.start import FoundModel, model_sheet, sandbox_sheet, sheet_lines, trust_sheet
from agent_tui.tui.transcript.lines import plain

ROOT = Path(__file__).resolve().parents[2]
NOTHING = model_sheet("~/src/slugkit", [], keys=["OPENAI_API_KEY"], ports=[11434], branch="main")
FOUND = model_sheet(
    "~/src/slugkit", [FoundModel(name="openai/gpt-5.1", where="OPENAI_API_KEY")], keys=[], ports=[]
)
TRUST = trust_sheet("~/src/slugkit", [("AGENTS.md", ["38 lines"]), ("[bold]x[/]\x1b", ["6 lines"])])
SANDBOX = sandbox_sheet("~/src/slugkit", what="`bwrap` may not", fix="install the profile")


@pytest.mark.parametrize(
    ("sheet", "keys", "value"),
    [
        (NOTHING, ["enter", "3"], "demo"),  # nothing is preselected, so Enter alone does nothing
        (NOTHING, ["down", "down", "enter"], "address"),
        (NOTHING, ["5"], ""),
        (FOUND, ["enter"], "openai/gpt-5.1"),
        (FOUND, ["d"], "openai/gpt-5.1+"),
        (TRUST, ["enter"], "not_now"),
        (TRUST, ["t"], "trust"),
        (TRUST, ["y", "escape"], ""),
        (SANDBOX, ["enter", "2"], "look_only"),
    ],
)
async def test_a_sheet_returns_what_was_chosen(sheet: object, keys: list[str], value: str) -> None:
    app = SheetApp(sheet)  # type: ignore[arg-type]
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*keys)
    assert (app.return_value or "") == value


@pytest.mark.parametrize("sheet", [NOTHING, FOUND, TRUST, SANDBOX])
@pytest.mark.parametrize("width", [60, 80])
def test_a_sheet_fits_and_shows_names_as_they_are(sheet: object, width: int) -> None:
    rows = [plain(row) for row in sheet_lines(sheet, 0, width)]  # type: ignore[arg-type]
    assert all(len(row) <= width for row in rows)
    assert "\x1b" not in "".join(rows)


def test_no_question_before_a_session_imports_the_toolkit_too_early() -> None:
    code = "import sys; import agent_tui.cli.questions, agent_tui.tui.start, agent_tui.tui.entry; "
    code += "sys.exit('textual' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0
