"""Unified diffs of files, for people and for the counts on a card."""

import difflib
from collections.abc import Iterator, Sequence

from agent_tui.frozen import frozen
from tools.text_file import Line, TextFile

CONTEXT = 3
_MAX_COMPARED = 20_000  # lines; beyond it everything between the first and the last change counts as changed

Opcode = tuple[str, int, int, int, int]


@frozen
class Difference:
    """A diff and its size."""

    text: str
    added: int
    removed: int


def difference(before: bytes | None, after: bytes | None, old: str, new: str) -> Difference:
    """From one content to another, None where there is none; names as they stand in the diff."""
    source, target = _Side(before), _Side(after)
    opcodes = list(_opcodes(source.lines, target.lines))
    lines: list[str] = [f"--- {old if before is not None else '/dev/null'}"]
    lines.append(f"+++ {new if after is not None else '/dev/null'}")
    for group in _groups(opcodes):
        lines += _hunk(group, source, target)
    added = sum(b2 - b1 for tag, _, _, b1, b2 in opcodes if tag != "equal")
    removed = sum(a2 - a1 for tag, a1, a2, _, _ in opcodes if tag != "equal")
    if not added and not removed:
        lines = [] if old == new else [f"rename from {old}", f"rename to {new}"]
    return Difference(text="".join(line + "\n" for line in lines), added=added, removed=removed)


class _Side:
    """One content by lines; only what is shown is decoded."""

    def __init__(self, data: bytes | None) -> None:
        file = TextFile.of(data or b"")
        self.lines = list(file.lines)
        if file.mark and self.lines:
            first = self.lines[0]
            self.lines[0] = Line(file.mark + first.content, first.end)
        self._encoding, self._feed = file.encoding, file.feed

    def shown(self, start: int, end: int) -> Iterator[str]:
        """Lines as text; one whose end is unlike a plain line feed says so, else its change would not
        show."""
        for line in self.lines[start:end]:
            text = line.content.decode(self._encoding, errors="replace")
            if not line.end:
                text += "\n\\ No newline at end of file"
            yield text if line.end in (b"", self._feed) else text + "\r"


def _opcodes(source: Sequence[Line], target: Sequence[Line]) -> Iterator[Opcode]:
    """Steps from one to the other; equal ends are cut off first, which is most of a file."""
    start = 0
    while start < min(len(source), len(target)) and source[start] == target[start]:
        start += 1
    end = 0
    while end < min(len(source), len(target)) - start and source[-1 - end] == target[-1 - end]:
        end += 1
    if start:
        yield "equal", 0, start, 0, start
    a, b = source[start : len(source) - end], target[start : len(target) - end]
    if len(a) + len(b) > _MAX_COMPARED:
        yield "replace", start, start + len(a), start, start + len(b)
    else:
        for tag, a1, a2, b1, b2 in difflib.SequenceMatcher(None, a, b).get_opcodes():
            yield tag, a1 + start, a2 + start, b1 + start, b2 + start
    if end:
        yield "equal", len(source) - end, len(source), len(target) - end, len(target)


def _groups(opcodes: Sequence[Opcode]) -> Iterator[list[Opcode]]:
    """Changes with the lines around them; an equal part longer than both contexts ends a group."""
    group: list[Opcode] = []
    for tag, a1, a2, b1, b2 in opcodes:
        if tag != "equal":
            group.append((tag, a1, a2, b1, b2))
            continue
        around = min(CONTEXT, a2 - a1)
        if group and a2 - a1 <= 2 * CONTEXT:
            group.append((tag, a1, a2, b1, b2))
            continue
        if group:
            yield [*group, (tag, a1, a1 + around, b1, b1 + around)]
        group = [(tag, a2 - around, a2, b2 - around, b2)]
    if any(tag != "equal" for tag, *_ in group):
        yield [*group[:-1], _shortened(group[-1])]


def _shortened(last: Opcode) -> Opcode:
    tag, a1, a2, b1, b2 = last
    return (tag, a1, min(a2, a1 + CONTEXT), b1, min(b2, b1 + CONTEXT)) if tag == "equal" else last


def _hunk(group: Sequence[Opcode], source: _Side, target: _Side) -> Iterator[str]:
    a1, a2, b1, b2 = group[0][1], group[-1][2], group[0][3], group[-1][4]
    yield f"@@ -{_range(a1, a2)} +{_range(b1, b2)} @@"
    for tag, i1, i2, j1, j2 in group:
        if tag == "equal":
            yield from (f" {line}" for line in source.shown(i1, i2))
            continue
        yield from (f"-{line}" for line in source.shown(i1, i2))
        yield from (f"+{line}" for line in target.shown(j1, j2))


def _range(start: int, end: int) -> str:
    """A range of a unified diff; an empty one names the line before it."""
    length = end - start
    return f"{start + bool(length)},{length}" if length != 1 else f"{start + 1}"
