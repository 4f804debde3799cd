"""Items and events to stored records and back; the only place that knows their stored form."""

from agent_tui.engine.events import Event
from checkpoints.records import Record
from context.codec import decode, encode
from context.items import Item

ITEM, EVENT = "item", "event"


def to_record(entry: Item | Event, at: float) -> Record:
    """The stored form."""
    body = encode(entry)
    assert isinstance(body, dict)
    return Record(kind=EVENT if isinstance(entry, Event) else ITEM, body=body, at=at)


def from_record(record: Record) -> Item | Event:
    """Read a record; raises `DecodeError` for one that this version does not know."""
    entry: Item | Event = decode(Event if record.kind == EVENT else Item, record.body)
    return entry
