"""Hunks applied to the lines of one file; every byte outside them stays."""

from collections.abc import Sequence
from dataclasses import replace

from agent_tui.frozen import frozen
from tools.patch.grammar import Hunk, PatchError
from tools.patch.locate import Lines, locate
from tools.text_file import Line, TextFile


@frozen
class Edit:
    """Lines `start` to `end` (without) of the old file, and what takes their place."""

    start: int
    end: int
    lines: tuple[Line, ...]


def apply_hunks(file: TextFile, hunks: Sequence[Hunk], path: str) -> TextFile:
    """The new file. Raises `PatchError`; a place is never guessed."""
    edits: list[Edit] = []
    lines = Lines(file.texts)
    cursor = 0
    for hunk in hunks:
        start = locate(lines, hunk, cursor, path)
        edit = _edit(file, hunk, start, path)
        if any(edit.start < other.end and other.start < edit.end for other in edits):
            raise PatchError(f"`{path}`: the part at patch line {hunk.line} overlaps another one")
        edits.append(edit)
        cursor = edit.end
    edits.sort(key=lambda edit: (edit.start, edit.end))
    return _with_end(file, _splice(file, edits), hunks)


def _splice(file: TextFile, edits: Sequence[Edit]) -> TextFile:
    """The file with sorted edits in place."""
    lines: list[Line] = []
    at = 0
    for edit in edits:
        lines += file.lines[at : edit.start]
        lines += edit.lines
        at = edit.end
    lines += file.lines[at:]
    return replace(file, lines=tuple(lines))


def _edit(file: TextFile, hunk: Hunk, start: int, path: str) -> Edit:
    lines: list[Line] = []
    at = start
    removed: list[Line] = []  # in the run of changes that is being read
    added = 0
    for kind, text in hunk.changes:
        if kind == "+":
            end = removed[min(added, len(removed) - 1)].end if removed else b""
            lines.append(Line(_encoded(file, text, hunk, path), end or file.end_near(at)))
            added += 1
            continue
        if kind == " ":
            lines.append(file.lines[at])
            removed, added = [], 0
        else:
            removed.append(file.lines[at])
        at += 1
    return Edit(start=start, end=at, lines=tuple(lines))


def _encoded(file: TextFile, text: str, hunk: Hunk, path: str) -> bytes:
    if "\ufffd" in text and not file.is_sound:
        raise PatchError(
            f"`{path}`: patch line {hunk.line}: the file holds bytes that are no valid {file.encoding}; "
            "lines with them (shown as �) can be kept or removed, not written"
        )
    try:
        return file.encode(text)
    except UnicodeEncodeError as error:
        letter = text[error.start : error.start + 1]
        raise PatchError(
            f"`{path}`: patch line {hunk.line}: `{letter}` cannot be written in {file.encoding}, the "
            "encoding of the file"
        ) from error


def _with_end(old: TextFile, new: TextFile, hunks: Sequence[Hunk]) -> TextFile:
    """Every line but the last ends; the last one does as it did before, unless a hunk says otherwise."""
    if not new.lines:
        return new
    last = len(new.lines) - 1
    lines = [
        line if line.end or index == last else _ended(new, index) for index, line in enumerate(new.lines)
    ]
    lacks = bool(old.lines) and not old.lines[-1].end
    if any(hunk.new_lacks_newline for hunk in hunks):
        lacks = True
    elif any(hunk.old_lacks_newline for hunk in hunks):
        lacks = False
    if lacks:
        lines[last] = Line(lines[last].content, b"")
    elif not lines[last].end:
        lines[last] = _ended(new, last)
    return replace(new, lines=tuple(lines))


def _ended(file: TextFile, index: int) -> Line:
    return Line(file.lines[index].content, file.end_near(index))
