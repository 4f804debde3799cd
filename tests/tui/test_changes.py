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


def rows_of(output: str, *, by_person: bool, facts: bool = False) -> list[str]:
    text, data = f"exit code 0\n{output}", {"notes": []}
    outcome = Outcome(status=OutcomeStatus.SUCCEEDED, text=text, exit_code=0, data=data)
    call = Call(
        call_id="c1", tool="exec_command", shown="ls", state="succeeded", outcome=outcome, by_person=by_person
    )
    return [plain(row).rstrip() for row in render.render(Card(calls=[call]), Look(width=60, facts=facts))]


def numbered(count: int) -> str:
    return "".join(f"{number}\n" for number in range(1, count + 1))


def test_what_a_command_of_the_person_says_is_shown_and_how_many_lines_are_not() -> None:
    assert rows_of(numbered(6), by_person=True)[1:] == [f"  │ {number}" for number in range(1, 7)]
    assert rows_of(numbered(20), by_person=True)[1:3] == ["  ↑ 5 earlier lines", "  │ 6"]


def test_a_row_that_says_of_one_line_more_is_that_line() -> None:
    assert rows_of(numbered(16), by_person=True)[1] == "  │ 1"
    assert rows_of(numbered(6), by_person=False, facts=True)[1:] == [
        f"  │ {number}" for number in range(1, 7)
    ]


def test_the_pager_has_all_of_a_short_output() -> None:
    assert rows_of(numbered(4), by_person=False, facts=True)[1:] == [
        f"  │ {number}" for number in range(1, 5)
    ]
    assert rows_of(numbered(7), by_person=False, facts=True)[-1].startswith("  │ … 2 lines, Enter shows them")


def test_an_empty_line_of_output_takes_no_row() -> None:
    shown = rows_of("a\n\nb\n", by_person=False)
    assert not any(row.strip() == "│" for row in shown)
    assert any(row.endswith("│ b") for row in shown)


def test_a_file_that_was_only_moved_has_no_counts() -> None:
    moved = FileChange(path="b.py", kind="R", added=0, removed=0, old_path="a.py")
    assert plain(changes.joined([moved], UNICODE)) == "R a.py → b.py"
    assert plain(changes.joined([moved], ASCII)) == "R a.py -> b.py"
