"""The way of a command's bytes: spool, decoder, cleaner, window. All of one command's output."""

import hashlib
from collections.abc import Callable
from dataclasses import replace

from agent_tui.frozen import frozen
from tools.file_kind import HEAD_BYTES, kind_of, looks_binary
from tools.output.canvas import LINE_CAP, MODEL, PERSON, Canvas, with_marks_in_words
from tools.output.cleaner import Cleaner
from tools.output.decoder import Decoder
from tools.output.screen import Screen
from tools.output.spool import Spool
from tools.output.window import Shown, Window

PIPE_HEIGHT = 60  # lines that can still be rewritten when there is no terminal
_MIN_JUDGED_BYTES = 256  # less is always shown as text
_LIVE_CHARS = 16_384  # of what a person has not been shown yet


@frozen
class Binary:
    """Output that is no text."""

    kind: str
    size_bytes: int
    sha256: str
    head_hex: str


@frozen
class Taken:
    """What is new since the last time, for one result."""

    shown: Shown
    binary: Binary | None = None
    screen: str | None = None  # of a full-screen program, as it stands now


class Collector:
    """Takes the bytes of all streams in the order of their arrival; holds no more than about 2 MiB."""

    def __init__(self, spool: Spool, *, budget_bytes: int, size: tuple[int, int] | None) -> None:
        self.spool = spool
        self.total_bytes = 0
        self._size = size
        self._window = Window(budget_bytes)
        self._live = ""
        self._canvas = self._new_canvas()
        self._streams: dict[int, tuple[Decoder, Cleaner]] = {}
        self._head: bytearray | None = bytearray() if size is None else None  # not judged yet
        self._digest: hashlib._Hash | None = None  # set: binary
        self._told_bytes = 0  # of all that came, at the newest `take`
        self._binary_head = b""

    @property
    def total_lines(self) -> int:
        """Lines so far, an unfinished one included."""
        canvas = self._canvas
        return canvas.first - 1 + len(canvas.lines) - (not canvas.lines[-1].length)

    @property
    def invalid(self) -> int:
        """Byte sequences that were no UTF-8."""
        return sum(decoder.invalid for decoder, _ in self._streams.values())

    def feed(self, stream: int, data: bytes) -> None:
        """Bytes of one stream, as read."""
        self.total_bytes += len(data)
        self.spool.write(data)
        if self._head is not None:
            room = HEAD_BYTES - len(self._head)
            self._head += data[:room]
            if len(self._head) == HEAD_BYTES:
                self._judge(data[room:])
        elif self._digest is not None:
            self._digest.update(data)
        if self._digest is None:
            self._clean(stream, data)

    def end(self, stream: int) -> None:
        """The stream reached its end: what was cut there is shown as far as it goes."""
        if self._digest is None:
            self._clean(stream, b"", final=True)

    def resize(self, columns: int, rows: int) -> None:
        """The window size of a terminal changed."""
        if self._size is not None:
            self._size = (columns, rows)
            self._canvas.resize(rows)
            for _, cleaner in self._streams.values():
                if cleaner.screen is not None:
                    cleaner.screen.resize(columns, rows)

    def _clean(self, stream: int, data: bytes, *, final: bool = False) -> None:
        if stream not in self._streams:
            self._streams[stream] = Decoder(), Cleaner(self._canvas, self._screen_maker())
        decoder, cleaner = self._streams[stream]
        cleaner.feed(decoder.feed(data, final=final))
        if final:
            cleaner.finish()

    def _screen_maker(self) -> Callable[[], Screen] | None:
        return (lambda: Screen(*(self._size or (80, 24)))) if self._size else None

    def _new_canvas(self) -> Canvas:
        height = self._size[1] if self._size else PIPE_HEIGHT
        return Canvas(self._emit, height=height, beyond_cap=self._window.add_beyond)

    def _emit(self, reader: int, first: int, text: str) -> None:
        if reader == MODEL:
            self._window.add(first, text)
            return
        text = with_marks_in_words(text)
        if len(text) >= _LIVE_CHARS:
            self._live = text[text.find("\n", len(text) - _LIVE_CHARS) + 1 :]
        else:
            self._live += text
            if len(self._live) > 2 * _LIVE_CHARS:
                self._live = self._live[self._live.find("\n", _LIVE_CHARS) + 1 :]

    def _judge(self, rest: bytes) -> None:
        """Decide once whether this is text; `rest` follows the head."""
        head = bytes(self._head or b"")
        if len(head) < _MIN_JUDGED_BYTES:
            return
        self._head = None
        if not looks_binary(head):
            return
        self._binary_head = head
        self._digest = hashlib.sha256(head)
        self._digest.update(rest)
        self._window.show()
        self._live = ""
        self._canvas = self._new_canvas()

    def take(self, budget_bytes: int) -> Taken:
        """What was not taken before; the next window gets this budget."""
        if self._head is not None and looks_binary(bytes(self._head)):
            self._judge(b"")
        self._canvas.take(MODEL)
        shown = self._window.show()
        if self._digest is not None:  # none of it is shown, all of it is counted
            new = self.total_bytes - self._told_bytes
            shown = replace(shown, total_bytes=new, omitted_bytes=new)
        self._told_bytes = self.total_bytes
        self._window.budget_bytes = budget_bytes
        return Taken(shown=shown, binary=self._binary(), screen=self._screen())

    def _binary(self) -> Binary | None:
        if self._digest is None:
            return None
        return Binary(
            kind=kind_of(self._binary_head),
            size_bytes=self.total_bytes,
            sha256=self._digest.hexdigest(),
            head_hex=self._binary_head[:64].hex(" "),
        )

    def _screen(self) -> str | None:
        for _, cleaner in self._streams.values():
            if cleaner.screen is not None:
                return cleaner.screen.text()
        return None

    def standing(self) -> str:
        """What a terminal of this size shows now, each line as far as it fits, or a character further."""
        width = (self._size or (LINE_CAP, 0))[0]
        screen = self._screen()
        return "\n".join(line.text[: width + 1] for line in self._canvas.lines) if screen is None else screen

    def display(self) -> str:
        """What a person was not shown yet, the newest part of it when it is much."""
        self._canvas.take(PERSON)
        live, self._live = self._live, ""
        return live
