import asyncio
from collections.abc import AsyncIterator

from agent_tui.engine.events import (
    CallOutput,
    Event,
    NoticeRaised,
    SessionClosed,
    StatusChanged,
    TextStreamed,
)
from agent_tui.engine.hub import MAX_QUEUED, MAX_TRANSIENT, Hub


class Log:
    """A hub and the durable events that a store would hold."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.seq = 0
        self.hub = Hub(self.stored)

    async def stored(self, after: int) -> AsyncIterator[Event]:
        for event in list(self.events):
            if event.seq > after:
                yield event

    def publish(self, body: object) -> None:
        self.seq += 1
        event = Event(seq=self.seq, at=0.0, run_id="", body=body)  # type: ignore[arg-type] # any body
        if event.is_durable:
            self.events.append(event)
        self.hub.publish(event)


async def drain(reader: AsyncIterator[Event]) -> list[Event]:
    return [event async for event in reader]


async def test_neighbouring_pieces_of_text_reach_a_slow_reader_as_one() -> None:
    log = Log()
    reader = log.hub.subscribe(0)
    for offset, piece in enumerate("abc"):
        log.publish(TextStreamed(step_id="s1", text=piece, offset=offset))
    log.publish(CallOutput(call_id="c", text="x"))
    log.publish(StatusChanged(model="m"))
    log.publish(StatusChanged(activity="thinking"))
    log.publish(SessionClosed(reason="end"))
    events = [event.body for event in await drain(aiter(reader))]
    assert events == [
        TextStreamed(step_id="s1", text="abc", offset=0),
        CallOutput(call_id="c", text="x"),
        StatusChanged(model="m", activity="thinking"),
        SessionClosed(reason="end"),
    ]


async def test_a_reader_that_stops_costs_a_bounded_queue_and_gets_every_durable_event_later() -> None:
    log = Log()
    slow, dead = log.hub.subscribe(0), log.hub.subscribe(0)
    for number in range(3 * MAX_QUEUED):
        log.publish(NoticeRaised(text=str(number)))
        log.publish(CallOutput(call_id=str(number), text="x"))
    log.publish(SessionClosed(reason="end"))
    assert len(dead._queue) <= MAX_QUEUED
    events = await drain(aiter(slow))
    assert [e.body.text for e in events if isinstance(e.body, NoticeRaised)] == [
        str(number) for number in range(3 * MAX_QUEUED)
    ]
    seqs = [event.seq for event in events if event.is_durable]
    assert seqs == sorted(seqs)


async def test_display_events_beyond_the_bound_are_dropped() -> None:
    log = Log()
    reader = log.hub.subscribe(0)
    for number in range(2 * MAX_TRANSIENT):
        log.publish(CallOutput(call_id=str(number), text="x"))
    log.publish(SessionClosed(reason="end"))
    assert len(await drain(aiter(reader))) == MAX_TRANSIENT + 1


async def test_a_reader_wakes_when_something_comes() -> None:
    log = Log()
    reader = log.hub.subscribe(0)
    reading = asyncio.create_task(drain(aiter(reader)))
    await asyncio.sleep(0)
    log.publish(NoticeRaised(text="now"))
    log.publish(SessionClosed(reason="end"))
    assert len(await reading) == 2
