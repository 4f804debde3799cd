"""One list of changed files out of several."""

from agent_tui.engine.changes import merge_changes
from checkpoints.types import FileChange


def test_files_with_lines_come_before_files_without() -> None:
    byte_code = FileChange(path="a/__pycache__/a.pyc", kind="A", detail="binary, 1 KiB")
    source = FileChange(path="a/a.py", kind="M", added=1, removed=1)
    assert merge_changes([byte_code, source]) == (source, byte_code)


def test_a_file_that_came_and_went_is_left_out() -> None:
    came = FileChange(path="a.py", kind="A", added=2, removed=0)
    gone = FileChange(path="a.py", kind="D", added=0, removed=2)
    assert merge_changes([came, gone]) == ()


def test_lines_of_one_file_add_up() -> None:
    first = FileChange(path="a.py", kind="A", added=2, removed=0)
    second = FileChange(path="a.py", kind="M", added=1, removed=1)
    assert merge_changes([first, second]) == (FileChange(path="a.py", kind="A", added=3, removed=1),)
