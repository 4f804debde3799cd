"""A model behind one of the three dialects: builds the request, reads the stream, raises nothing."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import replace
from typing import Any, Protocol

from agent_tui.frozen import frozen
from agent_tui.models.base import (
    Completed,
    ErrorKind,
    Failed,
    ModelError,
    ModelInfo,
    ModelRequest,
    ReasoningDelta,
    StreamPart,
    TextDelta,
)
from agent_tui.models.catalog import Quirks
from agent_tui.models.sse import ServerEvent, SseDecoder, StreamTooLongError
from agent_tui.models.transport import TransportError

GATHER_S = 0.004  # between two reads of text: oftener than any screen is drawn


@frozen
class Built:
    """A request body, and why units were left out of it: each is a bug of ours, never the model's."""

    body: bytes
    left_out: tuple[str, ...] = ()


class ResponseReader(Protocol):
    """Reads one response of a dialect. Raises `StreamReportedError` where the server reports a failure,
    `MalformedError` where it cannot be read."""

    def read(self, name: str, data: dict[str, Any]) -> Iterator[StreamPart]:
        """Parts of one event; `name` is the event's, `data` its object."""

    def whole(self, document: dict[str, Any]) -> Iterator[StreamPart]:
        """Parts of a response that came as one document."""

    @property
    def is_done(self) -> bool:
        """The end mark was seen: nothing more is read."""

    @property
    def may_end(self) -> bool:
        """The server said why it stopped: an end without mark is accepted from here on."""

    def completed(self) -> Completed:
        """The response; called once, when it is whole."""


class Dialect(Protocol):
    """Both directions of one API."""

    def build(self, request: ModelRequest, info: ModelInfo, quirks: Quirks) -> Built:
        """The body; the same request gives the same bytes."""

    def reader(self, info: ModelInfo, sent_bytes: int) -> ResponseReader:
        """A reader for the response to it."""


class Sender(Protocol):
    """How bytes get there and back; `transport.Transport` is the real one."""

    def post(
        self, body: bytes, *, idle_timeout_s: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Send, and give what comes back. Raises TransportError, also from the chunks."""

    def prepare(self) -> None:
        """Get ready for a first request."""

    def redacted(self, error: ModelError) -> ModelError:
        """The error without keys."""

    async def aclose(self) -> None:
        """Close the connections."""


class StreamReportedError(Exception):
    """The server reports a failure inside a 200 response; `body` is its error object."""

    def __init__(self, body: Any) -> None:
        super().__init__("error in stream")
        self.body = body


class RemoteModel:
    """Implements `base.Model`."""

    def __init__(
        self, *, info: ModelInfo, quirks: Quirks, dialect: Dialect, transport: Sender, strict: bool = False
    ) -> None:
        """With `strict` a unit that cannot be sent fails the request instead of being left out."""
        self._info = info
        self._quirks = quirks
        self._dialect = dialect
        self._transport = transport
        self._strict = strict

    @property
    def info(self) -> ModelInfo:
        """What is known of the model."""
        return self._info

    def body(self, request: ModelRequest) -> bytes:
        """The exact bytes `stream` would send."""
        return self._dialect.build(request, self._info, self._quirks).body

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamPart]:
        """See `base.Model`."""
        built = self._dialect.build(request, self._info, self._quirks)
        if built.left_out and self._strict:
            yield _failed(ErrorKind.BAD_REQUEST, "; ".join(built.left_out))
            return
        reader = self._dialect.reader(self._info, len(built.body))
        try:
            sent = self._transport.post(built.body, idle_timeout_s=request.idle_timeout_s)
            async with sent as chunks, aclosing(_parts(chunks, reader)) as parts:
                async for part in parts:
                    yield part
        except TransportError as failure:
            if not reader.may_end:
                yield Failed(error=failure.error)
                return
        except StreamReportedError as failure:
            from agent_tui.models.errors import from_response

            error = from_response(None, failure.body, now=time.time())
            yield Failed(error=self._transport.redacted(error))
            return
        except (StreamTooLongError, MalformedError) as failure:
            message = f"the response cannot be read: {failure}"
            error = ModelError(kind=ErrorKind.MALFORMED, message=message)
            yield Failed(error=self._transport.redacted(error))
            return
        if reader.is_done or reader.may_end:
            yield _with_repairs(reader.completed(), built)
        else:
            yield _failed(ErrorKind.CUT, "the response ended without its end mark")

    def prepare(self) -> None:
        """Get ready for a first request that is about to come; nothing is sent."""
        self._transport.prepare()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()


class MalformedError(ValueError):
    """What came is no JSON object, or not of the shape that its API gives."""


async def _parts(chunks: AsyncIterator[bytes], reader: ResponseReader) -> AsyncGenerator[StreamPart, None]:
    decoder = SseDecoder()
    document: list[bytes] | None = None
    is_first = True
    pace = _Pace()
    async for chunk in chunks:
        if is_first and chunk.strip():
            is_first = False
            # A server that ignores `stream` sends one object; no event begins like it.
            document = [] if chunk.lstrip().startswith(b"{") else None
        if document is not None:
            document.append(chunk)
            continue
        part: StreamPart | None = None
        for event in decoder.feed(chunk):
            for part in _event_parts(event, reader):
                yield part
            if reader.is_done:
                return
        await pace.rest(part)
    if document is not None:
        for part in reader.whole(_object(b"".join(document).decode("utf-8", "replace"))):
            yield part
        return
    for event in decoder.end():
        try:
            for part in _event_parts(event, reader):
                yield part
        except MalformedError:
            return  # the connection ended inside an event: a cut, which the caller sees


class _Pace:
    """Lets text gather that comes faster than it can be looked at: to wake up for a piece costs several times
    what reading it does. A call is waited for, so its pieces are read as they come."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._since = self._loop.time()  # the next piece was asked for
        self._has_turned = False  # the loop, since then: the piece did not come with the one before

    async def rest(self, part: StreamPart | None) -> None:
        """Between two pieces, the first of which ended with that part."""
        is_fast = self._loop.time() - self._since < GATHER_S
        if is_fast and self._has_turned and isinstance(part, TextDelta | ReasoningDelta):
            await asyncio.sleep(GATHER_S)
        self._since, self._has_turned = self._loop.time(), False
        if is_fast:  # to ask for a turn costs one, which a slow stream would pay for nothing
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._has_turned = True


def _event_parts(event: ServerEvent, reader: ResponseReader) -> Iterator[StreamPart]:
    if event.data.startswith("[DONE]"):
        yield from reader.read("[DONE]", {})
    elif event.data.strip():
        yield from reader.read(event.name, _object(event.data))


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MalformedError(f"`{text[:80]}` is not JSON") from error
    if not isinstance(value, dict):
        raise MalformedError(f"`{text[:80]}` is not an object")
    return value


def _failed(kind: ErrorKind, message: str) -> Failed:
    return Failed(error=ModelError(kind=kind, message=message))


def _with_repairs(completed: Completed, built: Built) -> Completed:
    return replace(completed, left_out=built.left_out) if built.left_out else completed
