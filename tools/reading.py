"""Numbered lines of files and of stored output, within a bound."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tools.file_kind import HEAD_BYTES, image_type, kind_of, looks_binary
from tools.output.canvas import LINE_CAP, MODEL, Canvas, with_marks_in_words
from tools.output.cleaner import Cleaner
from tools.output.decoder import Decoder
from tools.output.screen import Screen
from tools.output.size import size_of
from tools.paths import open_resolved
from tools.text_file import MAX_BYTES, byte_order_mark, decoded_lines

_CHUNK = 1 << 20


class ReadError(Exception):
    """The file cannot be read as text; the text says what would work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file as lines of text."""

    lines: Iterator[str]
    size_bytes: int
    encoding: str
    total_lines: int | None  # None: not known before the end is read
    data: bytes | None = None  # the content, where all of it was read
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Numbered lines that fit a bound."""

    text: str
    first: int
    last: int  # 0: nothing shown
    total: int | None
    cut_lines: int  # shown without their end
    is_end: bool  # the last line of the file or of the wanted range is in it


def open_source(path: Path, name: str) -> Source:
    """A text file by its resolved path. Raises `ReadError`."""
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
    file = os.fdopen(fd, "rb")
    if state.st_size > MAX_BYTES:
        return Source(lines=_streamed(file), size_bytes=state.st_size, encoding="utf-8", total_lines=None)
    with file:
        data = file.read()
    _refuse_binary(data[:HEAD_BYTES], len(data), name)
    encoding, lines = decoded_lines(data)
    is_sound = encoding != "utf-8" or _is_utf8(data)
    note = "" if encoding == "utf-8" else f"encoding {encoding}"
    if not is_sound:
        note = "encoding utf-8; � stands for bytes that are not valid in it"
    return Source(
        lines=iter(lines),
        size_bytes=len(data),
        encoding=encoding,
        total_lines=len(lines),
        data=data,
        note=note,
    )


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


def _streamed(file: BinaryIO) -> Iterator[str]:
    with file:
        for line in file:
            yield line.rstrip(b"\n").removesuffix(b"\r").decode("utf-8", errors="replace")


def stored_output(path: Path, name: str) -> Source:
    """The spooled output of a command, cleaned as it was for its result. Raises `ReadError`."""
    try:
        fd = open_resolved(path, os.O_RDONLY)
    except OSError as error:
        raise ReadError(f"`{name}`: no output is stored under this reference ({error.strerror})") from error
    size = os.fstat(fd).st_size
    head = os.pread(fd, HEAD_BYTES, 0)
    if looks_binary(head):
        os.close(fd)
        raise ReadError(f"`{name}` is binary output: {kind_of(head)}, {size:,} bytes")
    return Source(lines=_cleaned(fd), size_bytes=size, encoding="utf-8", total_lines=None)


def _cleaned(fd: int) -> Iterator[str]:
    pending: list[str] = []

    def emit(reader: int, first: int, text: str) -> None:  # noqa: ARG001 - numbers follow from the order
        if reader == MODEL:
            pending.extend(with_marks_in_words(text).removesuffix("\n").split("\n"))

    canvas = Canvas(emit, height=60, beyond_cap=lambda size: None)  # noqa: ARG005 - the line itself says it
    decoder, cleaner = Decoder(), Cleaner(canvas, lambda: Screen(80, 24))
    with os.fdopen(fd, "rb") as file:
        while data := file.read(_CHUNK):
            cleaner.feed(decoder.feed(data))
            yield from pending
            pending.clear()
    cleaner.feed(decoder.feed(b"", final=True))
    canvas.take(MODEL)
    yield from pending


def page_of(source: Source, start_line: int, end_line: int | None, budget: int) -> Page:
    """Lines from `start_line` to `end_line`, as many as fit `budget` bytes."""
    shown: list[str] = []
    number = last = cut = 0
    is_full = False
    for text in source.lines:
        number += 1
        if number < start_line:
            continue
        if end_line is not None and number > end_line:
            break
        line = f"{number}\t{_capped(text)}\n"
        budget -= size_of(line)
        if budget < 0 and shown:
            is_full = True
            break
        cut += len(text) > LINE_CAP
        shown.append(line)
        last = number
    reached = not is_full and (end_line is None or number <= end_line)
    total = source.total_lines if source.total_lines is not None else (number if reached else None)
    return Page(
        text="".join(shown), first=start_line, last=last, total=total, cut_lines=cut, is_end=not is_full
    )


def _capped(text: str) -> str:
    text = text.replace("\0", "␀")
    if len(text) <= LINE_CAP:
        return text
    return f"{text[:LINE_CAP]} … [{len(text) - LINE_CAP:,} more characters]"
