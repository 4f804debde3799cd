from agent_tui.tui.glyphs import ASCII, UNICODE
from agent_tui.tui.transcript import changes, render
from agent_tui.tui.transcript.blocks import Call, Card
from agent_tui.tui.transcript.lines import plain
from agent_tui.tui.transcript.look import Look
from checkpoints.types import FileChange
from tools.types import Outcome, OutcomeStatus

BINARY = FileChange(path="__pycache__/calc.pyc", kind="A", detail="binary, 252 B")
TEXT = FileChange(path="calc.py", kind="M", added=1, removed=1)


def test_four_files_are_named_text_first() -> None:
    byte_code = "A __pycache__/calc.pyc (binary, 252 B)"
    assert plain(changes.joined([BINARY], UNICODE)) == byte_code
    assert (
        plain(changes.joined([BINARY, TEXT, BINARY], UNICODE))
        == f"M calc.py +1 -1 · {byte_code} · {byte_code}"
    )
    five = plain(changes.joined([BINARY, TEXT, TEXT, TEXT, TEXT], UNICODE))
    assert five == " · ".join(["M calc.py +1 -1"] * 4 + ["+ 1 more"])


def test_a_mode_stands_beside_the_lines() -> None:
    both = FileChange(path="run.sh", kind="M", added=2, removed=1, detail="mode 644 → 755")
    assert plain(changes.joined([both], UNICODE)) == "M run.sh +2 -1 (mode 644 → 755)"


def rows_of(output: str, *, by_person: bool) -> list[str]:
    text, data = f"exit code 0\n{output}", {"notes": []}
    outcome = Outcome(status=OutcomeStatus.SUCCEEDED, text=text, exit_code=0, data=data)
    call = Call(
        call_id="c1", tool="exec_command", shown="ls", state="succeeded", outcome=outcome, by_person=by_person
    )
    return [plain(row).rstrip() for row in render.render(Card(calls=[call]), Look(width=60))]


def test_a_command_of_the_person_says_how_many_lines_are_not_shown() -> None:
    assert any("3 earlier lines" in row for row in rows_of("a\nb\nc\nd\ne\n", by_person=True))


def test_an_empty_line_of_output_takes_no_row() -> None:
    shown = rows_of("a\n\nb\n", by_person=False)
    assert not any(row.strip() == "│" for row in shown)
    assert any(row.endswith("│ b") for row in shown)


def test_a_file_that_was_only_moved_has_no_counts() -> None:
    moved = FileChange(path="b.py", kind="R", added=0, removed=0, old_path="a.py")
    assert plain(changes.joined([moved], UNICODE)) == "R a.py → b.py"
    assert plain(changes.joined([moved], ASCII)) == "R a.py -> b.py"
