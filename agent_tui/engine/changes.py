"""Adds up the changed files of several calls to one list, and tells the model of those of one call."""

from collections.abc import Iterable, Sequence

from agent_tui.safe_text import visible
from checkpoints.types import ChangeKind, FileChange

MAX_TOLD = 12  # paths in the result of a call
_MAX_NAME = 200  # characters of one


def with_changes(text: str, changes: Sequence[FileChange], external: Sequence[FileChange]) -> str:
    """The text of a result with what its call changed after its first line, and what others changed
    meanwhile."""
    told = [
        f"[{what}: {_named(found)}]"
        for what, found in (("changed", changes), ("changed meanwhile, not by this call", external))
        if found
    ]
    head, _, rest = text.partition("\n")
    return "\n".join([head, *told, *([rest] if rest else [])])


def _named(changes: Sequence[FileChange]) -> str:
    names = [f"{change.kind} {shown(change.path)}" for change in changes[:MAX_TOLD]]
    left = len(changes) - MAX_TOLD
    return ", ".join([*names, *([f"and {left:,} more"] if left > 0 else [])])


def shown(path: str) -> str:
    """A path on one line, whatever bytes its name has; cut where it is long."""
    name = visible(path.replace("\n", "\\n").replace("\t", "\\t"), strict=True)
    return name if len(name) <= _MAX_NAME else f"{name[:_MAX_NAME]}…"


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
