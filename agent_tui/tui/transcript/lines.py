"""Lines of (text, role) spans: measuring, wrapping, and the shapes every block is made of.

Pure text: no toolkit, no colour. A line never holds a newline or a control character.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.cells import cell_len, split_graphemes

from agent_tui import safe_text


class Span(NamedTuple):
    """Text of one look."""

    text: str
    role: str = "text"


Line = tuple[Span, ...]

BLANK: Line = ()


def line(*spans: Span | str) -> Line:
    """A line from spans and plain strings."""
    return tuple(Span(span) if isinstance(span, str) else span for span in spans)


def width_of(spans: Iterable[Span]) -> int:
    """Cells the spans take."""
    return sum(cell_len(span.text) for span in spans)


def plain(spans: Iterable[Span]) -> str:
    """The text without roles."""
    return "".join(span.text for span in spans)


def untrusted(text: str, role: str = "text", *, strict: bool = False) -> list[Span]:
    """Spans of text from outside; what was made visible stands out in the alarm role."""
    return [Span(part, "alarm" if marked else role) for part, marked in safe_text.parts(text, strict=strict)]


_WORD = re.compile(r" *[^ ]+| +")


def breaks(text: str, width: int, first_width: int | None = None) -> list[int]:
    """Offsets at which `text` continues on a new row of `width` cells; long words are cut."""
    offsets: list[int] = []
    room = width if first_width is None else first_width
    used = 0
    for found in _WORD.finditer(text):
        word = found.group()
        size = cell_len(word)
        if used + size <= room:
            used += size
            continue
        body = word.lstrip()
        if not body:  # blanks at the end of a row hang over it
            used = room
            continue
        if used:
            offsets.append(found.end() - len(body))
            room, used, word = width, 0, body
        used, room = _placed(word, found.end() - len(word), room, width, offsets)
    return offsets


def _placed(word: str, start: int, room: int, width: int, offsets: list[int]) -> tuple[int, int]:
    """Put a word at the start of a row, cut at cluster borders; returns cells used and the room."""
    used = 0
    for begin, _, size in split_graphemes(word)[0]:
        if used and used + size > room:
            offsets.append(start + begin)
            room, used = width, 0
        used += size
    return used, room


def cut(spans: Sequence[Span], offsets: Sequence[int]) -> list[list[Span]]:
    """The spans cut at character offsets into rows."""
    rows: list[list[Span]] = [[]]
    at, pending = 0, list(offsets)
    for whole, role in spans:
        text = whole
        while pending and pending[0] < at + len(text):
            split = pending.pop(0) - at
            if split:
                rows[-1].append(Span(text[:split], role))
            rows.append([])
            text, at = text[split:], at + split
        if text:
            rows[-1].append(Span(text, role))
        at += len(text)
    return rows


def wrap(spans: Sequence[Span], width: int, *, first: Line = (), rest: Line = ()) -> list[Line]:
    """Rows of at most `width` cells; `first` leads the first row, `rest` the others.

    A newline in the text begins a new row.
    """
    result: list[Line] = []
    lead = first
    for paragraph in _paragraphs(spans):
        room, again = max(width - width_of(lead), 4), max(width - width_of(rest), 4)
        text = plain(paragraph)
        for row in cut(paragraph, breaks(text, again, room)):
            result.append(lead + _trimmed(row))
            lead = rest
    return result


def _trimmed(row: list[Span]) -> Line:
    while row and not row[-1].text.rstrip(" "):
        row.pop()
    if row and row[-1].text.endswith(" "):
        row[-1] = Span(row[-1].text.rstrip(" "), row[-1].role)
    return tuple(row)


def _paragraphs(spans: Sequence[Span]) -> list[list[Span]]:
    result: list[list[Span]] = [[]]
    for text, role in spans:
        first, *others = text.split("\n")
        if first:
            result[-1].append(Span(first, role))
        for other in others:
            result.append([Span(other, role)] if other else [])
    return result


def clip(spans: Sequence[Span], width: int, more: str) -> Line:
    """The spans cut to `width` cells, `more` at the end when something was cut."""
    if width_of(spans) <= width:
        return tuple(spans)
    room = max(width - cell_len(more), 0)
    result: list[Span] = []
    for text, role in spans:
        size = cell_len(text)
        if size > room:
            result.append(Span(fit(text, room) + more, role))
            break
        result.append(Span(text, role))
        room -= size
    return tuple(result)


def fit(text: str, width: int) -> str:
    """The longest start of `text` that takes at most `width` cells, whole clusters only."""
    if cell_len(text) <= width:
        return text
    used = 0
    for begin, _, size in split_graphemes(text)[0]:
        if used + size > width:
            return text[:begin]
        used += size
    return text


def with_right(left: Line, right: Line, width: int) -> Line:
    """`left`, then `right` at the right end; `left` must leave room."""
    gap = width - width_of(left) - width_of(right)
    return (*left, Span(" " * max(gap, 1)), *right) if right else left


def ruled(left: Line, right: Line, width: int, rule: str, role: str = "rule") -> Line:
    """A full-width rule with words in it: `── left ───── right ──`."""
    head = (Span(rule * 2 + " ", role), *left, Span(" ", role)) if left else ()
    tail = (Span(" ", role), *right, Span(" " + rule * 2, role)) if right else ()
    fill = max(width - width_of(head) - width_of(tail), 1)
    return (*head, Span(rule * fill, role), *tail)
