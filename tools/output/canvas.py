"""The last lines of an output as a terminal would show them, and the stream of lines that left them.

A line can be rewritten (carriage return, cursor movement) while it is among the last `height` ones.
Above them it is final. What has been taken is remembered line by line, so nothing is given twice
and a line that changed after it was taken is given again. What a line has beyond its cap is a mark in
the text that readers put into words (`with_marks_in_words`).
"""

import re
from collections.abc import Callable, Sequence
from itertools import groupby

from agent_tui.frozen import frozen

LINE_CAP = 2_000  # characters kept of a line
MARK = "\x1d"  # around the count of what a line has beyond that; cleaned text holds no control characters
_MARKED = re.compile(f"{MARK}([0-9,]+){MARK}")
MODEL, PERSON = 0, 1  # the two readers: each is given every line once
Emit = Callable[[int, int, str], None]  # reader; number of the first line, from 1; text


@frozen
class Span:
    """Characters of one line that are kept in place of its first `LINE_CAP`."""

    line: int  # from 1
    start: int  # from 0
    size: int


class Given:
    """What a reader has of a line."""

    __slots__ = ("ended", "length", "text")

    def __init__(self, text: str, length: int, ended: bool) -> None:
        self.text = text
        self.length = length
        self.ended = ended


class Line:
    """One line: `cap` characters of it from `start` on, and how much came after them."""

    __slots__ = ("beyond_bytes", "beyond_told", "cap", "given", "length", "start", "text")

    def __init__(self, start: int = 0, cap: int = LINE_CAP) -> None:
        self.start = start
        self.cap = cap
        self.text = ""
        self.length = 0  # characters, those that are not kept included
        self.beyond_bytes = 0
        self.beyond_told = 0
        self.given: list[Given | None] = [None, None]

    def write(self, column: int, text: str) -> None:
        """Put text at a column, over what stands there."""
        at, cut = column - self.start, 0
        if at < 0:
            at, cut = 0, -at
        kept = text[cut : cut + self.cap - at] if at < self.cap else ""
        if kept and at == len(self.text):
            self.text += kept
        elif kept:
            self.text = self.text[:at].ljust(at) + kept + self.text[at + len(kept) :]
        end, limit = column + len(text), self.start + self.cap
        if end > limit and end > self.length:
            beyond = text[max(0, max(self.length, limit) - column) :]
            self.beyond_bytes += len(beyond) if beyond.isascii() else len(beyond.encode("utf-8"))
        self.length = max(self.length, end)

    def cut(self, column: int) -> None:
        """Forget everything from a column on."""
        self.text = self.text[: max(0, column - self.start)]
        self.length = min(self.length, column)
        if column <= self.start + self.cap:
            self.beyond_bytes = 0

    def blank(self, column: int, count: int) -> None:
        """Put blanks over what stands there."""
        self.write(column, " " * max(0, min(count, self.start + len(self.text) - column)))

    def delete(self, column: int, count: int) -> None:
        """Take characters out; those after them move up."""
        at = max(0, column - self.start)
        self.text = self.text[:at] + self.text[at + count :]
        self.length = max(column, self.length - count)

    def insert(self, column: int, count: int) -> None:
        """Put blanks before what stands there."""
        at = max(0, column - self.start)
        self.text = (self.text[:at] + " " * count + self.text[at:])[: self.cap]
        self.length = max(self.length, self.start + len(self.text))

    def news(self, reader: int, ended: bool) -> str:
        """What a reader has not been given of it; then it counts as given.

        A person's view replaces the line that is being written: `\\r` before its new text says so.
        """
        old = self.given[reader]
        if old is not None and (old.text, old.length) == (self.text, self.length) and old.ended >= ended:
            return ""
        self.given[reader] = Given(self.text, self.length, ended)
        new = self._text_after(old, reader)
        beyond = self.length - self.start - self.cap
        if beyond > 0 and (old is None or old.length != self.length):
            new += f"{MARK}{beyond:,}{MARK}"
        return new + "\n" if ended else new

    def _text_after(self, old: Given | None, reader: int) -> str:
        if old is None:
            return self.text
        if self.text.startswith(old.text):
            return self.text[len(old.text) :]
        return "\r" + self.text if reader == PERSON and not old.ended else self.text


class Canvas:
    """Takes text and cursor movements, gives lines to `emit` as they become final or are taken."""

    def __init__(
        self, emit: Emit, *, height: int, beyond_cap: Callable[[int], None], span: Span | None = None
    ) -> None:
        self._emit = emit
        self._beyond_cap = beyond_cap  # told the bytes of a line that were not kept
        self._span = span
        self.height = height
        self.first = 1  # number of `lines[0]` in the whole output
        self.lines: list[Line] = []
        self._add_line()
        self.row = 0
        self.column = 0

    def _add_line(self) -> None:
        span = self._span
        if span is not None and span.line == self.first + len(self.lines):
            self.lines.append(Line(span.start, span.size))
        else:
            self.lines.append(Line())

    def write(self, text: str) -> None:
        """Text without any control character, at the cursor."""
        if text:
            self.lines[self.row].write(self.column, text)
            self.column += len(text)

    def write_lines(self, text: str) -> None:
        """Text with line feeds; the fast way for output that moves no cursor."""
        head, feed, rest = text.partition("\n")
        self.write(head)
        if not feed:
            return
        self.new_line()
        may_pass = True  # once it passed, what is left has to be written, or a long line comes first
        while rest:
            if may_pass and self.row == len(self.lines) - 1 and not self.lines[self.row].length:
                rest = self._pass(rest)
            head, feed, rest = rest.partition("\n")
            self.write(head)
            if feed:
                self.new_line()
            may_pass = len(head) > LINE_CAP

    def _pass(self, text: str) -> str:
        """Emit at once what would scroll off anyway; gives back the rest. The cursor is on a fresh line."""
        end = len(text)
        for _ in range(self.height):
            end = text.rfind("\n", 0, end)
            if end < 0:
                return text
        end = self._before_span(text, _before_long_line(text, end + 1))
        if end == 0:
            return text
        self._make_final(self.lines[:-1])
        block = text[:end]
        self._emit(MODEL, self.first, block)
        self._emit(PERSON, self.first, block)
        self.first += block.count("\n")
        del self.lines[:-1]
        self.row = 0
        return text[end:]

    def _before_span(self, text: str, end: int) -> int:
        """At most `end`, and no further than to the line of the span."""
        if self._span is None:
            return end
        ahead = self._span.line - (self.first + len(self.lines) - 1)
        if not 0 <= ahead < text.count("\n", 0, end):
            return end
        at = 0
        for _ in range(ahead):
            at = text.index("\n", at) + 1
        return at

    def new_line(self) -> None:
        """To the first column of the next line."""
        self.column = 0
        self.row += 1
        if self.row == len(self.lines):
            self._add_line()
            self.scroll_off(len(self.lines) - self.height)

    def resize(self, height: int) -> None:
        """Another height: empty lines under the cursor go, and the first ones scroll off."""
        self.height = height
        while len(self.lines) > max(height, self.row + 1) and not self.lines[-1].length:
            self.lines.pop()
        self.scroll_off(len(self.lines) - height)

    def scroll_off(self, count: int) -> None:
        """Make the first `count` lines final."""
        if count > 0:
            self._make_final(self.lines[:count])
            del self.lines[:count]
            self.row = max(0, self.row - count)

    def _make_final(self, lines: Sequence[Line]) -> None:
        """The top lines change no more; what is new of neighbours is given at once."""
        for reader in (MODEL, PERSON):
            number, texts = self.first, [line.news(reader, ended=True) for line in lines]
            for is_new, run in groupby(texts, key=bool):
                block = list(run)
                if is_new:
                    self._emit(reader, number, "".join(block))
                number += len(block)
        for line in lines:
            self._tell_beyond(line)
        self.first += len(lines)

    def _tell_beyond(self, line: Line) -> None:
        if line.beyond_bytes > line.beyond_told:
            self._beyond_cap(line.beyond_bytes - line.beyond_told)
            line.beyond_told = line.beyond_bytes

    def move_to(self, row: int, column: int) -> None:
        """Put the cursor somewhere, in lines from the top and columns from 0; clamped."""
        self.row = min(max(row, 0), self.height - 1)
        while self.row >= len(self.lines):
            self._add_line()
        self.column = min(max(column, 0), LINE_CAP)

    def clear(self) -> None:
        """A cleared screen keeps what stood on it above."""
        self.scroll_off(len(self.lines) - (not self.lines[-1].length))
        self.lines = []
        self._add_line()
        self.row = self.column = 0

    def take(self, reader: int) -> None:
        """Emit all that the reader was not given yet, the unfinished last line included."""
        last = len(self.lines) - 1
        for index, line in enumerate(self.lines):
            if index < last or line.text or line.given[reader]:
                self._give(reader, self.first + index, line.news(reader, ended=index < last))
            if reader == MODEL:
                self._tell_beyond(line)

    def _give(self, reader: int, number: int, text: str) -> None:
        if text:
            self._emit(reader, number, text)


def without_marks(text: str) -> str:
    """Only what the command wrote."""
    return _MARKED.sub("", text) if MARK in text else text


def with_marks_in_words(text: str) -> str:
    """For a reader; half a mark, where a line was cut, is dropped."""
    if MARK not in text:
        return text
    return _MARKED.sub(r" … [\1 more characters]", text).replace(MARK, "")


def _before_long_line(text: str, end: int) -> int:
    """The end of the last whole line before one above the cap, at most `end`; 0 when it is the first."""
    start = 0
    while end - start > LINE_CAP:
        feed = text.rfind("\n", start, start + LINE_CAP + 1)
        if feed < 0:
            return start
        start = feed + 1
    return end
