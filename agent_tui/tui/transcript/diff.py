"""Unified diffs to lines: numbered, with `+` and `-` in the text, unified or side by side."""

import re
from collections.abc import Sequence
from dataclasses import field
from itertools import zip_longest
from typing import Literal

from agent_tui.frozen import mutable
from agent_tui.tui.glyphs import own_words
from agent_tui.tui.transcript import code
from agent_tui.tui.transcript.lines import BLANK, Line, Span, clip, untrusted, width_of, wrap
from agent_tui.tui.transcript.look import Look

RowKind = Literal["@", " ", "+", "-"]
# What the text of a file does not tell, in the words of its change.
_NOTE = r"^([AMDX]) (.+)  ((?:binary|link|mode|folder|lost|not covered)\b.*)$"
_HUNK = r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$"
_SIGNS = ("+", "-", " ")
_ESCAPED = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_CONTROLS = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}


@mutable
class Row:
    """One row of a hunk; `number` is that of the new file, for removed rows of the old one."""

    kind: RowKind
    number: int
    text: str


@mutable
class FileDiff:
    """The diff of one file; `note` stands in place of rows for binary files and links, of a mode beside
    them."""

    path: str
    kind: str = "M"
    note: str = ""
    old_path: str = ""  # of a renamed one
    rows: list[Row] = field(default_factory=list)

    @property
    def added(self) -> int:
        """Added lines."""
        return sum(row.kind == "+" for row in self.rows)

    @property
    def removed(self) -> int:
        """Removed lines."""
        return sum(row.kind == "-" for row in self.rows)


def parse(text: str) -> list[FileDiff]:
    """The files of a unified diff, with or without git's extended headers.

    As long as a hunk has rows to come, a row is one whatever it says: else `-- a/x`, removed, would be read
    as a header, and what follows would not be shown.
    """
    files: list[FileDiff] = []
    old, new, old_end, new_end = 0, 0, 0, 0
    old_name, in_hunk, header_git = "", False, False
    for line in text.split("\n"):
        hunk = re.match(_HUNK, line)
        if hunk:
            old, new, in_hunk = int(hunk[1]), int(hunk[3]), True
            old_end, new_end = old + int(hunk[2] or 1), new + int(hunk[4] or 1)
            if files:
                files[-1].rows.append(Row(kind="@", number=new, text=hunk[5]))
        elif files and in_hunk and (old < old_end or new < new_end) and line[:1] in _SIGNS:
            old, new = _row(files[-1], line, old, new)
        elif line.startswith("diff --git "):
            files.append(FileDiff(path=_git_name(line)))
            in_hunk, header_git = False, True
        elif line.startswith("--- ") and not in_hunk:
            old_name = _name(line[4:])
        elif line.startswith("--- ") and _is_header(line):
            old_name, in_hunk, header_git = _name(line[4:]), False, False
        elif line.startswith("+++ ") and not in_hunk:
            new_name = _name(line[4:])
            if not header_git:
                files.append(FileDiff(path=new_name or old_name))
            _named(files[-1], old_name, new_name)
        elif in_hunk and line[:1] in _SIGNS and files:
            old, new = _row(files[-1], line, old, new)
        elif note := re.match(_NOTE, line):
            _noted(files, *note.groups())
            in_hunk = False
        elif files and not in_hunk:
            _extended(files[-1], line)
    return files


def _is_header(line: str) -> bool:
    """A `--- ` row behind the rows of a hunk is a header only when it names a side of a diff."""
    return line.startswith(("--- a/", '--- "a/', "--- /dev/null"))


def _row(file: FileDiff, line: str, old: int, new: int) -> tuple[int, int]:
    kind: RowKind = "+" if line[0] == "+" else "-" if line[0] == "-" else " "
    file.rows.append(Row(kind=kind, number=old if kind == "-" else new, text=line[1:].rstrip("\r")))
    return old + (kind != "+"), new + (kind != "-")


def _name(text: str) -> str:
    name = _unquoted(text.split("\t", maxsplit=1)[0])
    if name == "/dev/null":
        return ""
    return name[2:] if name[:2] in ("a/", "b/") else name


def _git_name(line: str) -> str:
    quoted = line.rpartition(' "b/')[2] if line.endswith('"') else ""
    return _unquoted(f'"{quoted}') if quoted else line.rpartition(" b/")[2]


def _unquoted(name: str) -> str:
    """A name that git wrote with quotes, as it does with control characters, quotes and backslashes."""
    if len(name) < 2 or name[0] != '"' or name[-1] != '"':
        return name
    data = name[1:-1].encode("utf-8", "surrogateescape")
    return _ESCAPED.sub(_character, data).decode("utf-8", "surrogateescape")


def _character(found: re.Match[bytes]) -> bytes:
    code = found[1]
    return bytes([int(code, 8) & 0xFF]) if len(code) == 3 else _CONTROLS.get(code, code)


def _named(file: FileDiff, old: str, new: str) -> None:
    file.kind = "A" if not old else "D" if not new else "R" if old != new else file.kind
    file.path, file.old_path = new or old, old if file.kind == "R" else ""


def _noted(files: list[FileDiff], kind: str, path: str, note: str) -> None:
    known = [file for file in files if file.path == path]
    if kind == "M" and note.startswith("mode ") and known:
        known[0].note = note
        return
    for file in known:  # a link has rows of its target, a file that became one those of both
        files.remove(file)
    files.append(FileDiff(path=path, kind=kind, note=note))


def _extended(file: FileDiff, line: str) -> None:
    if line.startswith("new file"):
        file.kind = "A"
    elif line.startswith("deleted file"):
        file.kind = "D"
    elif line.startswith("rename from "):
        file.kind, file.old_path = "R", _unquoted(line[12:])
    elif line.startswith("Binary files"):
        file.note = "binary"


def heading(file: FileDiff, look: Look) -> Line:
    """` M slugify.py  +2 -1`."""
    is_told = file.note or file.old_path
    facts = [
        f"+{file.added}" if file.added or not (file.removed or is_told) else "",
        f"-{file.removed}" if file.removed else "",
        file.note.replace(" → ", own_words(" → ", look.glyphs)),
    ]
    was = (
        [*untrusted(file.old_path, "strong", strict=True), Span(own_words(" → ", look.glyphs))]
        if file.old_path
        else []
    )
    return (
        Span(f" {file.kind} ", "text"),
        *was,
        *untrusted(file.path, "strong", strict=True),
        Span("  "),
        *untrusted(" ".join(filter(None, facts)), "muted"),
    )


def unified(files: Sequence[FileDiff], look: Look, *, wrapped: bool = False) -> list[Line]:
    """All files, one below the other."""
    result: list[Line] = []
    for file in files:
        if result:
            result.append(BLANK)
        result.append(heading(file, look))
        result += rows(file, look, wrapped=wrapped)
    return result


_WORDS = {"+": "added  ", "-": "removed", " ": "       "}  # of one width


def rows(file: FileDiff, look: Look, *, wrapped: bool = False) -> list[Line]:
    """The rows of one file."""
    syntax = _syntax(file)
    result: list[Line] = []
    for index, row in enumerate(file.rows):
        if row.kind == "@":
            result.append((Span("   @@ ", "muted"), *untrusted(row.text, "muted")))
            continue
        role = {"+": "add", "-": "remove", " ": "text"}[row.kind]
        sign = _WORDS[row.kind] if look.spoken else row.kind
        lead = (Span(f"{row.number:>5}  ", "muted"), Span(f"{sign} ", role))
        body = [Span(text, _mixed(found, role)) for text, found in syntax[index]] or []
        if wrapped:
            result += wrap(body, look.width, first=lead, rest=(Span(" " * width_of(lead)),)) or [lead]
        else:
            result.append((*lead, *clip(body, look.width - width_of(lead), look.glyphs.more)))
    return result


def _mixed(found: str, role: str) -> str:
    """Syntax colours on unchanged rows only: on changed ones the colour says what changed."""
    return found if role == "text" or found == "alarm" else role


def _syntax(file: FileDiff) -> list[tuple[Span, ...]]:
    language = code.language_of(file.path)
    shown = code.highlighted("\n".join(row.text for row in file.rows), language)
    if len(shown) == len(file.rows):
        return list(shown)
    return [tuple(untrusted(row.text)) for row in file.rows]


def side_by_side(files: Sequence[FileDiff], look: Look, before: str, after: str) -> list[Line]:
    """Old left, new right; from 120 columns."""
    half = (look.width - 3) // 2
    result: list[Line] = []
    for number, file in enumerate(files):
        if result:
            result.append(BLANK)
        result.append(heading(file, look))
        if number == 0:
            result.append(
                _pair(
                    list(untrusted(f"   {before}", "muted")),
                    list(untrusted(f"  {after}", "muted")),
                    half,
                    look,
                )
            )
        painted = {id(row): spans for row, spans in zip(file.rows, _syntax(file), strict=True)}
        result += [
            _pair(_side(left, painted, half, look), _side(right, painted, half, look), half, look)
            for left, right in _pairs(file.rows)
        ]
    return result


def _pairs(rows: Sequence[Row]) -> list[tuple[Row | None, Row | None]]:
    result: list[tuple[Row | None, Row | None]] = []
    removed: list[Row] = []
    added: list[Row] = []
    for row in (*rows, Row(kind="@", number=0, text="")):
        if row.kind == "-":
            removed.append(row)
        elif row.kind == "+":
            added.append(row)
        else:
            result += zip_longest(removed, added)
            removed, added = [], []
            if row.kind == " ":
                result.append((row, row))
    return result


def _side(row: Row | None, painted: dict[int, tuple[Span, ...]], half: int, look: Look) -> list[Span]:
    if row is None:
        return []
    role = {"+": "add", "-": "remove"}.get(row.kind, "text")
    lead = [Span(f"{row.number:>5} ", "muted"), Span(f"{row.kind} ", role)]
    body = [Span(text, _mixed(found, role)) for text, found in painted[id(row)]]
    return [*lead, *clip(body, half - 8, look.glyphs.more)]


def _pair(left: list[Span], right: list[Span], half: int, look: Look) -> Line:
    gap = Span(" " * max(half - width_of(left) + 1, 1))
    return (*left, gap, Span(look.glyphs.output, "rule"), Span(" "), *right)
