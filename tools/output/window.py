"""What one result shows of an output: its beginning, its end, and an exact account of the rest."""

import re
from collections import deque
from dataclasses import dataclass

from agent_tui.frozen import frozen
from tools.output.canvas import with_marks_in_words, without_marks
from tools.output.size import size_of

HEAD_SHARE = 0.4  # of the budget; the end gets the rest
MAX_LISTED = 20  # error lines out of the omitted part
LISTED_CHARS = 300
_SLACK_BYTES = 65_536  # beyond the budget before the middle is let go

_HINTS = ("rror", "RROR", "FAIL", "ailed", "atal", "FATAL", "anic", "xception", "Traceback", "undefined")
_ERROR_LINE = re.compile(
    r"(?:\b[Ee]rror\b|\bERRORS?\b|\w(?:Error|Exception)\b|\bFAIL(?:ED|URE)?\b|\b[Ff]ailed\b|\b[Ff]atal\b|\bFATAL\b"
    r"|\bpanic(?:ked)?\b|\bTraceback\b|\bundefined (?:reference|symbol)\b)"
)
_MAX_CHECKS = 20_000  # lines looked at for one window: an output full of the word `mirror` stays cheap


@frozen
class Shown:
    """The text of one window, and what of the output it is."""

    head: str
    tail: str  # after what was omitted; empty when nothing was
    total_bytes: int
    total_lines: int
    omitted_bytes: int
    omitted_lines: int
    errors: tuple[tuple[int, str], ...] = ()  # line number and line, out of what was omitted


@dataclass(slots=True)
class _Block:
    first: int  # number of its first line
    text: str
    size: int


class Window:
    """Collects lines for one result; `show` gives it and begins the next."""

    def __init__(self, budget_bytes: int) -> None:
        self.budget_bytes = budget_bytes
        self._begin()

    def _begin(self) -> None:
        self._head: list[str] = []
        self._head_room = int(self.budget_bytes * HEAD_SHARE)
        self._tail: deque[_Block] = deque()
        self._tail_size = 0
        self._bytes = self._lines = 0
        self._omitted_bytes = self._omitted_lines = 0
        self._beyond_bytes = 0
        self._errors: list[tuple[int, str]] = []
        self._checks_left = _MAX_CHECKS

    @property
    def is_empty(self) -> bool:
        """Whether nothing came since the last `show`."""
        return self._bytes == 0

    def add(self, first: int, text: str) -> None:
        """Lines of the output, in order; `first` is the number of the first of them."""
        size = _written(text)
        self._bytes += size
        self._lines += _lines_in(text)
        if self._head_room > 0 and not self._tail:
            text, first, size = self._add_to_head(first, text, size)
        if text:
            self._tail.append(_Block(first, text, size))
            self._tail_size += size
            self._drop(self._tail_budget + _SLACK_BYTES)

    def add_beyond(self, size: int) -> None:
        """Bytes of a line above its cap: never shown, always counted."""
        self._beyond_bytes += size

    @property
    def _tail_budget(self) -> int:
        return self.budget_bytes - int(self.budget_bytes * HEAD_SHARE)

    def _add_to_head(self, first: int, text: str, size: int) -> tuple[str, int, int]:
        """Take whole lines as long as they fit; gives back the rest."""
        if size <= self._head_room:
            self._head.append(text)
            self._head_room -= size
            return "", first, 0
        end = _line_end(text, self._head_room)
        kept = text[:end]
        self._head.append(kept)
        self._head_room = 0
        return text[end:], first + kept.count("\n"), size - _written(kept)

    def _drop(self, limit: int) -> None:
        """Let whole blocks go from the front of the end part until it fits the limit."""
        while len(self._tail) > 1 and self._tail_size - self._tail[0].size >= limit:
            self._omit(self._tail.popleft())

    def _omit(self, block: _Block) -> None:
        self._tail_size -= block.size
        self._omitted_bytes += block.size
        self._omitted_lines += _lines_in(block.text)
        if len(self._errors) < MAX_LISTED and self._checks_left > 0:
            self._list_errors(block)

    def _list_errors(self, block: _Block) -> None:
        text = block.text
        for start in sorted(self._candidates(text)):
            line = text[start : _end_of_line(text, start)]
            if _ERROR_LINE.search(line):
                self._errors.append((block.first + text.count("\n", 0, start), line[:LISTED_CHARS]))
                if len(self._errors) == MAX_LISTED:
                    return

    def _candidates(self, text: str) -> set[int]:
        """Starts of lines that hold one of the hints."""
        found: set[int] = set()
        for hint in _HINTS:
            at = text.find(hint)
            while at >= 0 and self._checks_left > 0:
                self._checks_left -= 1
                found.add(text.rfind("\n", 0, at) + 1)
                at = text.find(hint, _end_of_line(text, at))
        return found

    def show(self) -> Shown:
        """What fits the budget; the next window begins empty."""
        if self._tail_size > self._tail_budget:
            self._cut_tail()
        tail = "".join(block.text for block in self._tail)
        head = "".join(self._head)
        shown = Shown(
            head=with_marks_in_words(head if self._omitted_bytes else head + tail),
            tail=with_marks_in_words(tail) if self._omitted_bytes else "",
            total_bytes=self._bytes + self._beyond_bytes,
            total_lines=self._lines,
            omitted_bytes=self._omitted_bytes + self._beyond_bytes,
            omitted_lines=self._omitted_lines,
            errors=tuple(self._errors),
        )
        self._begin()
        return shown

    def _cut_tail(self) -> None:
        """Omit from the front of the end part, up to the start of a line that fits."""
        self._drop(self._tail_budget)
        excess = self._tail_size - self._tail_budget
        if excess <= 0:
            return
        block = self._tail.popleft()
        start = _line_start(block.text, excess)
        if start == len(block.text) and not self._tail and not self._head:
            start = _characters(block.text, excess)  # one line above the budget: its end is shown
        gone, rest = block.text[:start], block.text[start:]
        self._omit(_Block(block.first, gone, _written(gone)))
        if rest:
            self._omitted_lines -= not gone.endswith("\n")  # a line of which the end is shown
            self._tail.appendleft(_Block(block.first + gone.count("\n"), rest, _written(rest)))


def _written(text: str) -> int:
    """Bytes that the command wrote: marks are none of them."""
    return size_of(without_marks(text))


def _lines_in(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n"))


def _end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _line_end(text: str, room: int) -> int:
    """Characters up to the end of the last line that fits `room` bytes; 0 when none does."""
    data = text.encode("utf-8", errors="surrogatepass")
    return len(data[: data.rfind(b"\n", 0, room) + 1].decode("utf-8", errors="surrogatepass"))


def _line_start(text: str, excess: int) -> int:
    """Characters to leave out so that at least `excess` bytes go and a line begins."""
    data = text.encode("utf-8", errors="surrogatepass")
    feed = data.find(b"\n", max(0, excess - 1))
    return len(data[: feed + 1].decode("utf-8", errors="surrogatepass")) if feed >= 0 else len(text)


def _characters(text: str, size: int) -> int:
    """The fewest characters that make up at least `size` bytes."""
    data = text.encode("utf-8", errors="surrogatepass")
    while size < len(data) and data[size] & 0xC0 == 0x80:
        size += 1
    return len(data[:size].decode("utf-8", errors="surrogatepass"))
