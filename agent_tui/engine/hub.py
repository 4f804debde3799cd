"""Fan-out of events to readers in two grades: durable ones arrive, transient ones may be merged.

Publishing never blocks and never fails. A reader that stops reading costs a bounded queue: beyond
it, its durable events are read again from the store when it comes back.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import fields, replace
from typing import TypeVar

from agent_tui.engine.events import (
    Body,
    CallDrafted,
    CallOutput,
    Event,
    ReasoningStreamed,
    SessionClosed,
    StatusChanged,
    TextStreamed,
)

MAX_QUEUED = 2_000  # events of one reader; above it the store is the queue
MAX_TRANSIENT = 500  # above it an event for display is dropped
DISPLAY = (TextStreamed, ReasoningStreamed, CallDrafted, CallOutput, StatusChanged)
MAX_MERGED_CHARS = 64 * 1024  # of one merged transient text

Stored = Callable[[int], AsyncIterator[Event]]  # durable events with a seq above the argument


class Reader:
    """One front end's view of the stream, from the moment it was made; ends after `SessionClosed`."""

    def __init__(self, stored: Stored, after: int) -> None:
        self._stored = stored
        self._queue: deque[Event] = deque()
        self._wake = asyncio.Event()
        self._missed = False
        self._last = after
        self._closed = False

    def put(self, event: Event) -> None:
        """Queue one event: merge or drop a transient one, never a durable one."""
        if not event.is_durable and self._queue:
            merged = _merge(self._queue[-1], event)
            if merged is not None:
                self._queue[-1] = merged
                return
            if len(self._queue) >= MAX_TRANSIENT and isinstance(event.body, DISPLAY):
                return
        if len(self._queue) >= MAX_QUEUED:
            self._missed = True
            self._queue.clear()
        if not self._missed or event.is_durable:
            self._queue.append(event)
        self._wake.set()

    def close(self) -> None:
        """No more events for this reader."""
        self._closed = True
        self._wake.set()

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._read()

    async def _read(self) -> AsyncIterator[Event]:
        while not self._closed or self._queue:
            if self._missed:
                self._missed = False
                async for event in self._stored(self._last):
                    self._last = event.seq
                    yield event
                    if isinstance(event.body, SessionClosed):
                        return
            while self._queue and not self._missed:
                event = self._queue.popleft()
                if event.is_durable and event.seq <= self._last:
                    continue  # already seen while catching up
                self._last = max(self._last, event.seq) if event.is_durable else self._last
                yield event
                if isinstance(event.body, SessionClosed):
                    return
            self._wake.clear()
            if not self._queue and not self._missed and not self._closed:
                await self._wake.wait()


class Hub:
    """All readers; `publish` in order of `seq`."""

    def __init__(self, stored: Stored) -> None:
        self._stored = stored
        self._readers: list[Reader] = []

    def subscribe(self, after: int) -> Reader:
        """A new reader of what is published from now on."""
        reader = Reader(self._stored, after)
        self._readers.append(reader)
        return reader

    def publish(self, event: Event) -> None:
        """Give the event to every reader."""
        for reader in self._readers:
            reader.put(event)


def _merge(old: Event, new: Event) -> Event | None:
    """One event for two neighbours of the same thing; None where they stay two."""
    body = _merge_bodies(old.body, new.body)
    return None if body is None else replace(new, body=body)


def _merge_bodies(old: Body, new: Body) -> Body | None:
    match old, new:
        case TextStreamed(), TextStreamed():
            return _joined(old, new)
        case ReasoningStreamed(), ReasoningStreamed():
            return _joined(old, new)
        case CallOutput(), CallOutput() if (old.call_id, old.terminal) == (new.call_id, new.terminal):
            return replace(old, text=(old.text + new.text)[-MAX_MERGED_CHARS:])
        case StatusChanged(), StatusChanged():
            values = {field.name: getattr(new, field.name) for field in fields(new)}
            return replace(old, **{name: value for name, value in values.items() if value is not None})
        case CallDrafted(), CallDrafted() if old.step_id == new.step_id:
            return new
        case _:
            return None


T = TypeVar("T", TextStreamed, ReasoningStreamed)


def _joined(old: T, new: T) -> T | None:
    if old.step_id != new.step_id or len(old.text) > MAX_MERGED_CHARS:
        return None
    return replace(old, text=old.text + new.text)
