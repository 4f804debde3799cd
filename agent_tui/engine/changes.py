"""Adds up the changed files of several calls to one list, and tells the model of those of one call."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from agent_tui.safe_text import visible
from checkpoints.types import ChangeKind, FileChange

MAX_TOLD = 12  # paths in the result of a call
_MAX_NAME = 200  # characters of one
_STEP = r"(binary,|link|mode) (.+?)(?: → (.+?))?(?=, mode |$)"


def with_changes(text: str, changes: Sequence[FileChange], external: Sequence[FileChange]) -> str:
    """The text of a result with what its call changed after its first line, and what others changed
    meanwhile."""
    told = [
        f"[{what}: {named(found)}]"
        for what, found in (("changed", changes), ("changed meanwhile, not by this call", external))
        if found
    ]
    head, _, rest = text.partition("\n")
    return "\n".join([head, *told, *([rest] if rest else [])])


def named(changes: Sequence[FileChange], most: int = MAX_TOLD) -> str:
    """Changed files in one line for the model; those beyond the first `most` are counted."""
    names = [f"{change.kind} {shown(change.path)}" for change in changes[:most]]
    left = len(changes) - most
    return ", ".join([*names, *([f"and {left:,} more"] if left > 0 else [])])


def shown(path: str) -> str:
    """A path on one line, whatever bytes its name has; cut where it is long."""
    name = visible(path.replace("\n", "\\n").replace("\t", "\\t"), strict=True)
    return name if len(name) <= _MAX_NAME else f"{name[:_MAX_NAME]}…"


def merge_changes(changes: Iterable[FileChange]) -> tuple[FileChange, ...]:
    """One change a path; a renamed file is followed, and what is as it was before is left out.

    In the order of first change, what has lines before what has none: a list that is cut ends with byte
    code and pictures, not with the source.
    """
    merged: dict[str, FileChange] = {}
    for change in changes:
        for path, joined in what_becomes(merged.get, change).items():
            if joined is None:
                merged.pop(path, None)
            else:
                merged[path] = joined
    return tuple(sorted(merged.values(), key=lambda change: change.added is None))


def what_becomes(
    known: Callable[[str], FileChange | None], change: FileChange
) -> dict[str, FileChange | None]:
    """What one more change makes of the paths it is about, which `known` tells as changed so far; None for
    one that is as it was before all of them."""
    becomes: dict[str, FileChange | None] = {}
    if change.kind == "R" and change.old_path and (renamed := known(change.old_path)) is not None:
        becomes[change.old_path] = None
        change = _join(renamed, change)
    old = known(change.path)
    if old is not None and old.old_path and change.kind == "D":  # what is gone is the file of the old name
        becomes[change.path] = None
        again = known(old.old_path)
        change = replace(change, path=old.old_path) if again is None else replace(again, kind="M")
        old = None
    joined = change if old is None else _join(old, change)
    is_gone = old is not None and old.kind == "A" and change.kind == "D"
    becomes[change.path] = None if is_gone or _is_as_before(joined) else joined
    return becomes


def _is_as_before(change: FileChange) -> bool:
    """Whether it was renamed and got its name back, or its mode."""
    if change.detail:
        return False
    return change.kind == "X" or (change.kind == "M" and change.added == change.removed == 0)


def _join(old: FileChange, new: FileChange) -> FileChange:
    """Two changes of one file, the second of which may have renamed it."""
    kind = _kind(old.kind, new.kind)
    old_path = (old.old_path or new.old_path) if kind == "R" else None
    if old_path == new.path:
        kind, old_path = "M", None
    told = [each for each in (old, new) if each.kind != "X"]  # a mode has no lines
    return FileChange(
        path=new.path,
        kind=kind,
        added=_sum([each.added for each in told]),
        removed=_sum([each.removed for each in told]),
        old_path=old_path,
        detail=_detail(kind, old.detail, new.detail),
        author=new.author,
    )


def _kind(old: ChangeKind, new: ChangeKind) -> ChangeKind:
    if new == "D":
        return "D"
    if old == "D":
        return "R" if new == "R" else "M"
    if old in ("A", "R"):
        return old
    return "R" if new == "R" else "X" if old == new == "X" else "M"


def _detail(kind: ChangeKind, old: str, new: str) -> str:
    """`binary, 14 KB → 15 KB` and `binary, 15 KB → 2 KB` are `binary, 14 KB → 2 KB`."""
    before, after = _steps(old), _steps(new)
    if (old and not before) or (new and not after):
        return new or old
    parts = []
    for word in dict.fromkeys((*before, *after)):
        first, last = (after | before)[word][0], (before | after)[word][1]
        if word == "mode" and (kind in ("A", "D") or first == last):
            continue
        if kind not in ("A", "D"):
            parts.append(f"{word} {first} → {last}")
        else:
            parts.append(f"{word} {last if kind == 'A' else first}")
    return ", ".join(parts)


def _steps(detail: str) -> dict[str, tuple[str, str]]:
    """What `binary,`, `link` and `mode` were and became."""
    return {found[1]: (found[2], found[3] or found[2]) for found in re.finditer(_STEP, detail)}


def _sum(lines: Sequence[int | None]) -> int | None:
    known = [each for each in lines if each is not None]
    return sum(known) if lines and len(known) == len(lines) else None
