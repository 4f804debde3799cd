"""Items and events to stored records and back; the only place that knows their stored form."""

from agent_tui.engine.events import Event
from agent_tui.engine.pictures import Pictures
from checkpoints.records import Record
from context.codec import decode, encode
from context.items import Item

ITEM, EVENT = "item", "event"


def to_record(entry: Item | Event, at: float, pictures: Pictures | None = None) -> Record:
    """The stored form; without `pictures` each is stored whole."""
    body = encode(entry)
    assert isinstance(body, dict)
    if pictures is not None:
        pictures.shorten(body)
    return Record(kind=EVENT if isinstance(entry, Event) else ITEM, body=body, at=at)


def from_record(record: Record, pictures: Pictures | None = None) -> Item | Event:
    """Read a record, `pictures` being those of the records before it; raises `DecodeError` for one that
    this version does not know."""
    if pictures is not None:
        pictures.restore(record.body)
    entry: Item | Event = decode(Event if record.kind == EVENT else Item, record.body)
    return entry
