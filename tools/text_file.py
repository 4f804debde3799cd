"""A text file as bytes that can be edited by lines: what is not edited stays the same bytes."""

import codecs
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

MAX_BYTES = 32 * 2**20  # larger files are for commands
_SAMPLE_BYTES = 65_536  # that a guess at an encoding is made from
_FEW = 0.02  # share of bytes above ASCII up to which a guess by statistics is worth nothing

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins like the mark of UTF-16, so it comes first
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class Line(NamedTuple):
    """One line: its bytes, and the bytes that end it (none at the end of some files)."""

    content: bytes
    end: bytes


@dataclass(frozen=True, kw_only=True)
class TextFile:
    """Mark, encoding and lines of a file."""

    mark: bytes  # byte order mark, or nothing
    encoding: str
    lines: tuple[Line, ...]

    @classmethod
    def of(cls, data: bytes) -> "TextFile":
        """Taken apart so that `data` gives the same bytes back."""
        mark, encoding = encoding_of(data)
        body = data[len(mark) :]
        feed, turn = "\n".encode(encoding), "\r".encode(encoding)
        return cls(mark=mark, encoding=encoding, lines=tuple(_split(body, feed, turn)))

    @property
    def feed(self) -> bytes:
        """A line feed in the encoding."""
        return "\n".encode(self.encoding)

    @property
    def turn(self) -> bytes:
        """A carriage return in the encoding."""
        return "\r".encode(self.encoding)

    @property
    def width(self) -> int:
        """Bytes of one unit of the encoding."""
        return len(self.feed)

    @property
    def data(self) -> bytes:
        """The whole file."""
        return self.mark + b"".join(line.content + line.end for line in self.lines)

    @cached_property
    def texts(self) -> list[str]:
        """The lines as text; bytes that are not valid in the encoding become U+FFFD."""
        return [line.content.decode(self.encoding, errors="replace") for line in self.lines]

    @property
    def is_sound(self) -> bool:
        """Whether every byte is valid in the encoding."""
        return not any("\ufffd" in text for text in self.texts)

    def encode(self, text: str) -> bytes:
        """A new line in the encoding of the file; raises UnicodeEncodeError where it has no such letter."""
        return text.encode(self.encoding)

    def end_near(self, index: int) -> bytes:
        """The line end that a line inserted before `index` takes: that of its neighbour."""
        before = self.lines[index - 1].end if 0 < index <= len(self.lines) else b""
        after = self.lines[index].end if index < len(self.lines) else b""
        last = self.lines[index - 2].end if 1 < index <= len(self.lines) else b""
        return before or after or last or self.feed


def decoded_lines(data: bytes) -> tuple[str, list[str]]:
    """Encoding and lines as text: the same lines as those of a `TextFile`, at a tenth of the cost."""
    mark, encoding = encoding_of(data)
    text = data[len(mark) :].decode(encoding, errors="replace")
    lines = text.split("\n") if "\n" in text else text.split("\r")
    if not lines[-1]:
        lines.pop()
    has_end = text.endswith("\n")
    ended = [line.removesuffix("\r") for line in lines] if "\r\n" in text else lines
    if ended and not has_end:
        ended[-1] = lines[-1]  # a return at the very end of a file ends no line
    return encoding, ended


def encoding_of(data: bytes) -> tuple[bytes, str]:
    """Byte order mark and encoding; a file that is no UTF-8 is guessed at, `latin-1` at the worst."""
    mark, encoding = byte_order_mark(data)
    if mark:
        return mark, encoding
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return b"", _guess(data)
    return b"", "utf-8"


def byte_order_mark(data: bytes) -> tuple[bytes, str]:
    """The mark at the start and the encoding it stands for; nothing where there is none."""
    return next(((mark, encoding) for mark, encoding in _MARKS if data.startswith(mark)), (b"", ""))


def _guess(data: bytes) -> str:
    if _is_damaged_utf8(data):
        return "utf-8"
    high = sum(byte >= 0x80 for byte in data[:_SAMPLE_BYTES])
    if high > min(len(data), _SAMPLE_BYTES) * _FEW:
        from charset_normalizer import from_bytes

        best = from_bytes(_sample(data)).best()
        if best is not None and _is_usable(best.encoding, data):
            return best.encoding
    return "cp1252" if _is_usable("cp1252", data) else "latin-1"


def _is_damaged_utf8(data: bytes) -> bool:
    """Whether most of what is above ASCII is well-formed UTF-8."""
    text = data.decode("utf-8", errors="replace")
    bad = text.count("\ufffd")
    good = sum(char > "\x7f" for char in text) - bad
    return good > bad


def _sample(data: bytes) -> bytes:
    """The part around the first byte above ASCII, where the evidence is."""
    first = next((index for index, byte in enumerate(data) if byte >= 0x80), 0)
    return data[max(0, first - 1_000) : first + _SAMPLE_BYTES]


def _is_usable(encoding: str, data: bytes) -> bool:
    """Whether it reads all of the file, gives the same bytes back, and has ASCII line ends."""
    try:
        return data.decode(encoding).encode(encoding) == data and "\r\n".encode(encoding) == b"\r\n"
    except (UnicodeError, LookupError):
        return False


def _split(body: bytes, feed: bytes, turn: bytes) -> list[Line]:
    """Lines end with a line feed, with or without a return before it; with lone returns only where a
    file has no line feed at all. Other separators are text, as every compiler sees them."""
    separator = feed if _find(body, feed, 0) >= 0 else turn
    width = len(separator)
    parts = body.split(separator) if width == 1 else _wide_parts(body, separator)
    last = parts.pop()
    both = turn + feed
    if separator == turn or turn not in body:
        lines = [Line(part, separator) for part in parts]
    else:
        lines = [
            Line(part[:-width], both) if part.endswith(turn) and len(part) % width == 0 else Line(part, feed)
            for part in parts
        ]
    return [*lines, Line(last, b"")] if last else lines


def _wide_parts(body: bytes, separator: bytes) -> list[bytes]:
    """As `split`, on boundaries of the width of the separator."""
    parts: list[bytes] = []
    start = 0
    while (at := _find(body, separator, start)) >= 0:
        parts.append(body[start:at])
        start = at + len(separator)
    return [*parts, body[start:]]


def _find(body: bytes, separator: bytes, start: int) -> int:
    """The next separator on a boundary of its width: UTF-16 can hold its bytes askew."""
    at = body.find(separator, start)
    while at >= 0 and at % len(separator):
        at = body.find(separator, at + 1)
    return at
