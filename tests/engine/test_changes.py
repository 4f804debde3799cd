"""One list of changed files out of several."""

from agent_tui.engine.changes import MAX_TOLD, merge_changes, with_changes
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


def test_a_result_names_what_its_call_changed_after_its_first_line() -> None:
    changes = [FileChange(path="new.txt", kind="A"), FileChange(path="odd\n\udcff.txt", kind="M")]
    told = with_changes("[exit 0]\nout\nput", changes, [FileChange(path="mine.txt", kind="M")])
    assert told.split("\n") == [
        "[exit 0]",
        "[changed: A new.txt, M odd\\n\\xff.txt]",
        "[changed meanwhile, not by this call: M mine.txt]",
        "out",
        "put",
    ]
    assert told.encode()
    assert with_changes("[exit 0]\nout", [], []) == "[exit 0]\nout"
    many = [FileChange(path=f"f{number}", kind="M") for number in range(MAX_TOLD + 1_500)]
    assert with_changes("[exit 0]", many, []).endswith(f"M f{MAX_TOLD - 1}, and 1,500 more]")
