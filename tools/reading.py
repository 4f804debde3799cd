"""Numbered lines of files and of stored output, and pieces of long ones, within a bound."""

import codecs
import errno
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from agent_tui.frozen import frozen
from tools.file_kind import HEAD_BYTES, image_type, kind_of, looks_binary
from tools.integrity import damage_of
from tools.output.canvas import LINE_CAP, MARK, MODEL, Canvas, Span
from tools.output.cleaner import Cleaner
from tools.output.decoder import Decoder
from tools.output.screen import Screen
from tools.output.size import size_of
from tools.paths import open_resolved
from tools.reads import TIMEOUT_S
from tools.text_file import MAX_BYTES, byte_order_mark, decoded_lines
from tools.types import Artifact

_CHUNK = 1 << 20
_UNSOUND = "encoding utf-8; � stands for bytes that are not valid in it"
_ESCAPED = re.compile("[\udc80-\udcff]")  # bytes that are no UTF-8, as `surrogateescape` decodes them
_MARKED_END = re.compile(f"{MARK}([0-9,]+){MARK}\\Z")


class ReadError(Exception):
    """The file cannot be read as text; the text says what would work."""


class Row(NamedTuple):
    """What was kept of a line: its first characters, or those of the wanted span."""

    text: str
    length: int  # characters of the whole line


@frozen
class Source:
    """A file as lines of text."""

    rows: Iterator[Row]
    size_bytes: int
    encoding: str
    total_lines: int | None  # None: not known before the end is read
    data: bytes | None = None  # the content, where all of it was read
    notes: Sequence[str] = ()  # complete once the rows have been read


@frozen
class Page:
    """Numbered lines that fit a bound."""

    text: str
    first: int
    last: int  # 0: nothing shown
    total: int | None
    cut_lines: int  # shown without their end
    first_cut: int  # number of the first of them
    is_end: bool  # the last line of the file or of the wanted range is in it


@frozen
class Piece:
    """Characters of one line that fit a bound."""

    text: str
    start: int  # from 0
    length: int  # of the whole line; 0 with `is_missing`
    is_missing: bool  # there is no such line


def open_source(path: Path, name: str, span: Span | None = None) -> Source:
    """A text file by its resolved path. Raises `ReadError`; reading it on raises TimeoutError."""
    try:
        fd = open_resolved(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        raise ReadError(f"`{name}` cannot be read: {error.strerror}") from error
    state = os.fstat(fd)
    if not stat.S_ISREG(state.st_mode):
        os.close(fd)
        hint = "; list it with `list_files`" if stat.S_ISDIR(state.st_mode) else ""
        what = "a directory" if stat.S_ISDIR(state.st_mode) else "no regular file"
        raise ReadError(f"`{name}` is {what}{hint}")
    with os.fdopen(fd, "rb") as file:
        head = os.pread(fd, HEAD_BYTES, 0)
        _refuse_binary(head, state.st_size, name)
        data = file.read(MAX_BYTES + 1) if state.st_size <= MAX_BYTES else b""
        if max(state.st_size, len(data)) > MAX_BYTES:  # also one that grows while it is read
            notes: list[str] = []
            rows = _streamed(_large(fd, head, state.st_size, name), span, notes)
            return Source(
                rows=rows, size_bytes=state.st_size, encoding="utf-8", total_lines=None, notes=notes
            )
    encoding, lines = decoded_lines(data)
    notes = [] if encoding == "utf-8" else [f"encoding {encoding}"]
    if encoding == "utf-8" and not _is_utf8(data):
        notes = [_UNSOUND]
    return Source(
        rows=_rows(lines, span),
        size_bytes=len(data),
        encoding=encoding,
        total_lines=len(lines),
        data=data,
        notes=notes,
    )


def _rows(lines: Iterable[str], span: Span | None) -> Iterator[Row]:
    for number, line in enumerate(lines, 1):
        start, size = _kept(number, span)
        yield Row(line[start : start + size], len(line))


def _kept(number: int, span: Span | None) -> tuple[int, int]:
    """Start and size of what is kept of a line."""
    return (span.start, span.size) if span is not None and span.line == number else (0, LINE_CAP)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _refuse_binary(head: bytes, size: int, name: str) -> None:
    if image_type(head):
        raise ReadError(f"`{name}` is a {kind_of(head)} of {size:,} bytes; look at it with `view_image`")
    mark, _ = byte_order_mark(head)
    if head.count(0) and not mark:
        raise ReadError(f"`{name}` is binary: {kind_of(head)}, {size:,} bytes; look at it with a program")


def _large(fd: int, head: bytes, size: int, name: str) -> BinaryIO:
    """A file of its own on the same descriptor, behind the byte order mark. Raises `ReadError`."""
    mark, encoding = byte_order_mark(head)
    if encoding not in ("", "utf-8"):
        raise ReadError(
            f"`{name}` is {encoding}, {size:,} bytes; of more than {MAX_BYTES:,} only utf-8 is read: "
            "convert it with `iconv`"
        )
    os.lseek(fd, len(mark), os.SEEK_SET)
    return os.fdopen(os.dup(fd), "rb")


def _streamed(file: BinaryIO, span: Span | None, notes: list[str]) -> Iterator[Row]:
    """Lines of a large file; of a line that is large itself no more than a chunk is held. What is to be
    said of them goes to `notes`."""
    until = time.monotonic() + TIMEOUT_S
    number, kept, length, last = 1, "", 0, ""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="surrogateescape")
    with file:
        while True:
            _check_time(until)
            data = file.readline(_CHUNK)
            is_whole = not data or data.endswith(b"\n")
            text = decoder.decode(data.removesuffix(b"\n"), is_whole)
            if not text.isascii() and _ESCAPED.search(text):
                text, notes[:] = _ESCAPED.sub("�", text), [_UNSOUND]
            start, size = _kept(number, span)
            kept += text[max(0, start - length) : max(0, start + size - length)]
            length, last = length + len(text), text[-1:] or last
            if is_whole and (data or length):
                yield _row(kept, start, length, last) if data else Row(kept, length)
                number, kept, length, last = number + 1, "", 0, ""
            if not data:
                return


def _row(kept: str, start: int, length: int, last: str) -> Row:
    """Without the return before the line feed."""
    if last != "\r":
        return Row(kept, length)
    return Row(kept[:-1] if start + len(kept) == length else kept, length - 1)


def _check_time(until: float) -> None:
    """A read that nobody waits for any more ends by itself."""
    if time.monotonic() > until:
        raise TimeoutError


def stored_output(path: Path, name: str, span: Span | None = None, known: Artifact | None = None) -> Source:
    """The spooled output of a command, cleaned as it was for its result; `known` is what was recorded of it.
    Raises `ReadError`; reading it on raises TimeoutError."""
    try:
        damage = damage_of(known, path) if known is not None else ""
        fd = open_resolved(path, os.O_RDONLY)
    except OSError as error:
        raise ReadError(f"`{name}`: no output is stored under this reference ({error.strerror})") from error
    size = os.fstat(fd).st_size
    head = os.pread(fd, HEAD_BYTES, 0)
    if looks_binary(head):
        os.close(fd)
        raise ReadError(f"`{name}` is binary output: {kind_of(head)}, {size:,} bytes")
    notes = (damage,) if damage else ()
    return Source(rows=_cleaned(fd, span), size_bytes=size, encoding="utf-8", total_lines=None, notes=notes)


def _cleaned(fd: int, span: Span | None) -> Iterator[Row]:
    until = time.monotonic() + TIMEOUT_S
    pending: list[Row] = []
    number = 0

    def emit(reader: int, first: int, text: str) -> None:  # noqa: ARG001 - numbers follow from the order
        nonlocal number
        if reader == MODEL:
            for line in text.removesuffix("\n").split("\n"):
                number += 1
                more = _MARKED_END.search(line)
                kept = line[: more.start()] if more else line
                beyond = int(more[1].replace(",", "")) if more else 0
                pending.append(Row(kept, _kept(number, span)[0] + len(kept) + beyond))

    canvas = Canvas(emit, height=60, beyond_cap=lambda size: None, span=span)  # noqa: ARG005 - the row says it
    decoder, cleaner = Decoder(), Cleaner(canvas, lambda: Screen(80, 24))
    with os.fdopen(fd, "rb", buffering=0) as file:
        while True:
            _check_time(until)
            hole, size = _pass_hole(fd)
            if hole:
                cleaner.feed(f"\n… [{hole:,} bytes were not kept]\n")
            if not (data := file.read(min(size, _CHUNK))):
                break
            cleaner.feed(decoder.feed(data))
            yield from pending
            pending.clear()
    cleaner.feed(decoder.feed(b"", final=True))
    canvas.take(MODEL)
    yield from pending


def _pass_hole(fd: int) -> tuple[int, int]:
    """Go on behind what was given back to the file system; the bytes of that, and those up to the next
    such place."""
    at = os.lseek(fd, 0, os.SEEK_CUR)
    try:
        data = os.lseek(fd, at, os.SEEK_DATA)
        end = os.lseek(fd, data, os.SEEK_HOLE)
    except OSError as error:
        if error.errno not in (errno.ENXIO, errno.EINVAL):  # the end, or a file system without holes
            raise
        return 0, _CHUNK
    os.lseek(fd, data, os.SEEK_SET)
    return data - at, end - data


def page_of(source: Source, start_line: int, end_line: int | None, budget: int) -> Page:
    """Lines from `start_line` to `end_line`, as many as fit `budget` bytes."""
    shown: list[str] = []
    number = last = cut = first_cut = 0
    is_full = False
    for row in source.rows:
        number += 1
        if number < start_line:
            continue
        if end_line is not None and number > end_line:
            break
        line = f"{number}\t{_told(row)}\n"
        budget -= size_of(line)
        if budget < 0 and shown:
            is_full = True
            break
        if row.length > LINE_CAP:
            cut, first_cut = cut + 1, first_cut or number
        shown.append(line)
        last = number
    reached = not is_full and (end_line is None or number <= end_line)
    total = source.total_lines if source.total_lines is not None else (number if reached else None)
    return Page(
        text="".join(shown),
        first=start_line,
        last=last,
        total=total,
        cut_lines=cut,
        first_cut=first_cut,
        is_end=not is_full,
    )


def _told(row: Row) -> str:
    text = row.text.replace("\0", "␀")
    return text if row.length <= LINE_CAP else f"{text} … [{row.length - LINE_CAP:,} more characters]"


def piece_of(source: Source, span: Span, budget: int) -> Piece:
    """The characters of the span, as many as fit `budget` bytes."""
    for number, row in enumerate(source.rows, 1):
        if number == span.line:
            data = row.text.encode("utf-8", errors="surrogatepass")[:budget]
            text = data.decode("utf-8", errors="ignore").replace("\0", "␀")
            return Piece(text=text, start=span.start, length=row.length, is_missing=False)
    return Piece(text="", start=span.start, length=0, is_missing=True)
