"""Server-sent events from bytes, split anywhere; tolerant of comments, any line end and missing blank lines.

The format is that of the HTML standard, section 9.2: a line ends with CR, LF or both, a byte order mark
may stand first.
"""

from collections.abc import Iterator

from agent_tui.frozen import frozen

MAX_LINE_BYTES = 64 * 1024 * 1024  # one line holds at most a whole response; more is not a model


class StreamTooLongError(ValueError):
    """The server sent a line without end."""


@frozen
class ServerEvent:
    """One event: `name` is empty where the server gave none."""

    name: str
    data: str


class SseDecoder:
    """Feed it what arrives; it gives the events that are complete."""

    def __init__(self) -> None:
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._name = ""
        self._data: list[str] = []
        self._ends_in_cr = False  # a LF that follows belongs to it
        self._is_first = True

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """Events completed by `chunk`. Raises StreamTooLongError."""
        chunk = self._with_lf(chunk)
        self._pending.append(chunk)
        self._pending_bytes += len(chunk)
        if b"\n" not in chunk:
            if self._pending_bytes > MAX_LINE_BYTES:
                raise StreamTooLongError(f"a line of more than {MAX_LINE_BYTES} bytes")
            return
        lines = b"".join(self._pending).split(b"\n")
        self._keep(lines.pop())
        for line in lines:
            event = self._line(line)
            if event is not None:
                yield event

    def end(self) -> Iterator[ServerEvent]:
        """The last event, where the server forgot the blank line after it."""
        rest = b"".join(self._pending)
        self._keep(b"")
        for line in (rest, b""):
            event = self._line(line)
            if event is not None:
                yield event

    def _with_lf(self, chunk: bytes) -> bytes:
        """The chunk with LF as its only line end; no data holds a bare CR, JSON escapes it."""
        if self._ends_in_cr and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._ends_in_cr = False
        if b"\r" not in chunk:
            return chunk
        self._ends_in_cr = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _keep(self, rest: bytes) -> None:
        self._pending = [rest] if rest else []
        self._pending_bytes = len(rest)

    def _line(self, line: bytes) -> ServerEvent | None:
        if not line:
            return self._dispatch()
        text = line.decode("utf-8", "replace")
        if self._is_first:
            self._is_first, text = False, text.removeprefix("\ufeff")
        field, _, value = text.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._name = value
        return None

    def _dispatch(self) -> ServerEvent | None:
        data, name = self._data, self._name
        self._data, self._name = [], ""
        return ServerEvent(name=name, data="\n".join(data)) if data else None
