"""Adds up the changed files of several calls to one list."""

from collections.abc import Iterable

from checkpoints.types import ChangeKind, FileChange


def merge_changes(changes: Iterable[FileChange]) -> tuple[FileChange, ...]:
    """One change a path; a path made and deleted again is left out.

    In the order of first change, what has lines before what has none: a list that is cut ends with byte
    code and pictures, not with the source.
    """
    merged: dict[str, FileChange] = {}
    for change in changes:
        old = merged.get(change.path)
        if old is None:
            merged[change.path] = change
        elif old.kind == "A" and change.kind == "D":
            del merged[change.path]
        else:
            merged[change.path] = _join(old, change)
    return tuple(sorted(merged.values(), key=lambda change: change.added is None))


def _join(old: FileChange, new: FileChange) -> FileChange:
    kind: ChangeKind
    if old.kind == "D" and new.kind != "D":
        kind = new.kind if new.kind == "R" else "M"
    else:
        kind = old.kind if old.kind in ("A", "R") else new.kind
    return FileChange(
        path=new.path,
        kind=kind,
        added=_sum(old.added, new.added),
        removed=_sum(old.removed, new.removed),
        old_path=old.old_path or new.old_path,
        detail=new.detail or old.detail,
        author=new.author,
    )


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other
