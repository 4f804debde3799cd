"""One list of changed files out of several."""

from agent_tui.engine.changes import MAX_TOLD, merge_changes, with_changes
from checkpoints.types import ChangeKind, FileChange


def test_files_with_lines_come_before_files_without() -> None:
    byte_code = FileChange(path="a/__pycache__/a.pyc", kind="A", detail="binary, 1 KiB")
    source = FileChange(path="a/a.py", kind="M", added=1, removed=1)
    assert merge_changes([byte_code, source]) == (source, byte_code)


def test_a_file_that_came_and_went_is_left_out() -> None:
    assert merge_changes([came("a.py"), gone("a.py")]) == ()


def test_lines_of_one_file_add_up() -> None:
    first = FileChange(path="a.py", kind="A", added=2, removed=0)
    second = FileChange(path="a.py", kind="M", added=1, removed=1)
    assert merge_changes([first, second]) == (FileChange(path="a.py", kind="A", added=3, removed=1),)


def merged(*changes: FileChange) -> list[FileChange]:
    return list(merge_changes(changes))


def came(path: str, added: int = 1) -> FileChange:
    return FileChange(path=path, kind="A", added=added, removed=0)


def moved(old: str, new: str, added: int = 0, removed: int = 0) -> FileChange:
    return FileChange(path=new, kind="R", old_path=old, added=added, removed=removed)


def gone(path: str) -> FileChange:
    return FileChange(path=path, kind="D", added=0, removed=3)


def mode(old: str, new: str, path: str = "run.sh") -> FileChange:
    return FileChange(path=path, kind="X", detail=f"mode {old} → {new}")


def test_a_renamed_file_is_one_file() -> None:
    edited = FileChange(path="a", kind="M", added=2, removed=1)
    assert merged(came("a", 3), moved("a", "b", 1, 1)) == [FileChange(path="b", kind="A", added=4, removed=1)]
    assert merged(edited, moved("a", "b")) == [moved("a", "b", 2, 1)]
    assert merged(moved("a", "b"), moved("b", "c", 1, 0)) == [moved("a", "c", 1, 0)]
    assert merged(moved("a", "b"), moved("b", "a")) == []
    assert merged(moved("a", "b"), edited, moved("b", "c")) == [edited, moved("a", "c")]
    assert merged(moved("a", "b", 1, 0), moved("b", "a")) == [
        FileChange(path="a", kind="M", added=1, removed=0)
    ]
    assert merged(gone("b"), came("a"), moved("a", "b")) == [
        FileChange(path="b", kind="M", added=1, removed=3)
    ]


def test_a_renamed_file_that_is_deleted_is_the_one_of_the_old_name() -> None:
    assert merged(moved("a", "b"), gone("b")) == [gone("a")]
    assert merged(came("a"), moved("a", "b"), gone("b")) == []
    assert merged(moved("a", "b"), came("a"), gone("b")) == [
        FileChange(path="a", kind="M", added=1, removed=0)
    ]


def test_a_mode_leaves_the_lines_and_the_kind_of_a_file() -> None:
    assert merged(came("run.sh", 4), mode("644", "755")) == [came("run.sh", 4)]
    edited = FileChange(path="run.sh", kind="M", added=2, removed=1)
    both = FileChange(path="run.sh", kind="M", added=2, removed=1, detail="mode 644 → 755")
    assert merged(edited, mode("644", "755")) == merged(mode("644", "755"), edited) == [both]
    assert merged(mode("644", "755"), mode("755", "600")) == [mode("644", "600")]
    assert merged(mode("644", "755"), mode("755", "644")) == []
    assert merged(mode("644", "755"), edited, mode("755", "644")) == [edited]
    assert merged(both, mode("755", "644")) == [edited]


def test_sizes_and_targets_are_those_of_the_first_and_the_last_change() -> None:
    def changed(detail: str, kind: ChangeKind = "M") -> FileChange:
        return FileChange(path="x", kind=kind, detail=detail)

    grew = [changed("binary, 1 KB → 2 KB, mode 644 → 755"), changed("binary, 2 KB → 3 KB")]
    assert merged(*grew) == [changed("binary, 1 KB → 3 KB, mode 644 → 755")]
    assert merged(*grew, changed("binary, 3 KB", "D")) == [changed("binary, 1 KB", "D")]
    assert merged(changed("link v1", "A"), changed("link v1 → v2")) == [changed("link v2", "A")]
    uncovered = "not covered, size and time only"
    assert merged(changed("not covered: 14 MB", "A"), changed(uncovered)) == [changed(uncovered, "A")]


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
