import json

import pytest

from agent_tui.engine.events import CallEnded, CallProposed
from agent_tui.engine.facts import call_key, fact_of, failing_tests, first_error
from checkpoints.types import FileChange
from context.facts import CallFact
from tools.types import Outcome, OutcomeStatus


def fact(tool: str, arguments: str, outcome: Outcome, changes: tuple[FileChange, ...] = ()) -> CallFact:
    ended = CallEnded(
        call_id="c1.0", tool=tool, outcome=outcome, changes=changes, external=(), duration_s=0.1
    )
    return fact_of(ended, CallProposed(call_id="c1.0", step_id="s1", tool=tool, arguments=arguments), 1)


def test_a_failed_test_run_names_its_failing_tests_and_first_error() -> None:
    text = "collected 2\nFAILED tests/test_a.py::test_x - assert 1 == 2\n1 failed, 1 passed"
    found = fact(
        "exec_command",
        '{"cmd": "pytest -q"}',
        Outcome(status=OutcomeStatus.FAILED, text=text, exit_code=1),
        (FileChange(path="a.txt", kind="A"),),
    )
    assert found.kind == "exec"
    assert found.is_check
    assert not found.passed
    assert found.failing_tests == ("tests/test_a.py::test_x",)
    assert found.first_error.startswith("FAILED tests/test_a.py")
    assert [change.path for change in found.changes] == ["a.txt"]


@pytest.mark.parametrize(
    ("command", "status", "code", "text", "is_told"),
    [
        ("pytest", "succeeded", 0, "", True),
        ("pytest", "failed", 1, "", True),
        ("pytest", "timed_out", 143, "", True),
        ("pytest", "failed", None, "Not run: no sandbox", False),
        ("pytest", "yielded", None, "", False),
        ("pytest", "denied", None, "", False),
        ("pytest", "interrupted", 130, "", False),
        ("python3 -m unittest -v 2>&1 | head -5; git log --oneline", "succeeded", 0, "FAIL: a (b.C)", False),
        ("python3 -m unittest -v 2>&1 | head -5; git log --oneline", "failed", 128, "fatal: no git", False),
        ("pytest && git push", "succeeded", 0, "", True),
        ("pytest && git push", "failed", 128, "fatal: no remote", False),
        ("pytest && git push", "failed", 1, "FAILED tests/a.py::test_b", True),
        ("make; pytest", "succeeded", 0, "", False),
        ("true || pytest", "succeeded", 0, "", False),
        ("ls", "failed", 1, "FAILED tests/a.py::test_b", False),
    ],
)
def test_a_check_counts_where_the_end_of_its_line_says_what_became_of_it(
    command: str, status: str, code: int | None, text: str, is_told: bool
) -> None:
    outcome = Outcome(status=OutcomeStatus(status), exit_code=code, text=text)
    assert fact("exec_command", json.dumps({"cmd": command}), outcome).is_check is is_told


def test_a_read_keeps_its_line_range() -> None:
    found = fact(
        "read_file",
        '{"path": "a.py", "start_line": 3, "end_line": 9}',
        Outcome(status=OutcomeStatus.SUCCEEDED, text="x"),
    )
    assert (found.target, found.first_line, found.last_line) == ("a.py", 3, 9)


@pytest.mark.parametrize(
    ("asked", "last", "total", "lines"),
    [
        ('{"path": "a.py"}', 500, 9_000, (None, 500)),
        ('{"path": "a.py"}', 500, None, (None, 500)),
        ('{"path": "a.py"}', 9_000, 9_000, (None, None)),
        ('{"path": "a.py", "start_line": 400}', 500, 9_000, (400, 500)),
    ],
)
def test_a_read_that_was_full_stands_for_what_it_showed(
    asked: str, last: int, total: int | None, lines: tuple[int | None, int | None]
) -> None:
    data = {"first": 1, "last": last, "total": total}
    found = fact("read_file", asked, Outcome(status=OutcomeStatus.SUCCEEDED, text="x", data=data))
    assert (found.first_line, found.last_line) == lines


def test_a_piece_of_a_line_is_no_range_of_lines() -> None:
    asked = '{"path": "a.py", "start_line": 3, "start_column": 2001}'
    assert fact("read_file", asked, Outcome(status=OutcomeStatus.SUCCEEDED, text="x")).kind == "other"


def test_keys_ignore_the_order_of_arguments_but_not_their_spaces() -> None:
    assert call_key("t", {"a": 1, "b": 2}) == call_key("t", {"b": 2, "a": 1})
    assert call_key("t", {"cmd": "a b"}) != call_key("t", {"cmd": "a  b"})


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("FAILED tests/a.py::test_b - boom", "tests/a.py::test_b"),
        ("FAIL: test_b (pkg.test_a.TestA.test_b)", "test_b (pkg.test_a.TestA.test_b)"),
        ("--- FAIL: TestB (0.00s)", "TestB"),
        ("test a::b ... FAILED", "a::b"),
        ("not ok 3 - adds numbers", "adds numbers"),
    ],
)
def test_failing_tests_of_common_runners_are_found(line: str, name: str) -> None:
    assert failing_tests(f"before\n{line}\nafter") == (name,)


def test_output_without_an_error_has_no_first_error() -> None:
    assert first_error("all good\n3 passed") == ""
