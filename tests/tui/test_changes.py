from agent_tui.tui.transcript import changes, render
from agent_tui.tui.transcript.blocks import Call, Card
from agent_tui.tui.transcript.lines import plain
from agent_tui.tui.transcript.look import Look
from checkpoints.types import FileChange
from tools.types import Outcome, OutcomeStatus

BINARY = FileChange(path="__pycache__/calc.pyc", kind="A", detail="binary, 252 B")
TEXT = FileChange(path="calc.py", kind="M", added=1, removed=1)


def test_what_is_no_text_is_counted_behind_the_text() -> None:
    assert plain(changes.joined([BINARY, TEXT, BINARY], " · ")) == "M calc.py +1 -1 · + 2 binary"


def test_binaries_alone_are_named() -> None:
    assert plain(changes.joined([BINARY], " · ")) == "A __pycache__/calc.pyc (binary, 252 B)"


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
