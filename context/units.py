"""Groups the visible items of a log into protocol units.

A function of the log alone, whether it is read at once or as it grows. Hidden items, replaced texts
and the place of the summary follow from the compaction and rollback records.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import TypeVar

from agent_tui.frozen import frozen, mutable
from context.items import (
    CallPart,
    CompactionItem,
    Item,
    NoticeItem,
    Part,
    Replacement,
    ResponseItem,
    ResultItem,
    RollbackItem,
    UserItem,
)
from context.view import ExchangeUnit, FinalUnit, NoticeUnit, SummaryUnit, Unit, UserUnit

R = TypeVar("R", RollbackItem, CompactionItem)
RECORDS = (CompactionItem, RollbackItem)  # what changes the place or text of items before it


@frozen
class Visibility:
    """What the records of a log hide, replace and put in front."""

    hidden: frozenset[str]
    rolled_back: frozenset[str]  # the part of `hidden` that no longer counts at all
    replacements: dict[tuple[str, str], Replacement]  # (item id, call id) → newest replacement
    epochs: tuple[CompactionItem, ...]  # neither taken back nor rolled back, oldest first

    @property
    def summary(self) -> CompactionItem | None:
        """The epoch whose text stands at the head of the view."""
        return self.epochs[-1] if self.epochs else None


@frozen
class Reading:
    """The units of a log, and what of it can be in no view."""

    units: tuple[Unit, ...]
    orphans: tuple[str, ...] = ()  # results without a visible call, or a second result of one
    incomplete: tuple[str, ...] = ()  # responses with a call that has no result yet


def visibility_of(log: Iterable[Item]) -> Visibility:
    """Fold compaction and rollback records, in order; a redo or undo names the record it takes back. What was
    rolled back counts no more, a compaction or its undo either."""
    records = [item for item in log if isinstance(item, RECORDS)]
    rollbacks = _in_force(item for item in records if isinstance(item, RollbackItem))
    rolled_back = frozenset(item_id for record in rollbacks for item_id in record.hidden)
    epochs = _in_force(
        item for item in records if isinstance(item, CompactionItem) and item.id not in rolled_back
    )
    hidden = set(rolled_back)
    replacements: dict[tuple[str, str], Replacement] = {}
    for epoch in epochs:
        hidden.update(epoch.hidden)
        replacements.update({(r.item_id, r.call_id): r for r in epoch.replacements})
    return Visibility(
        hidden=frozenset(hidden), rolled_back=rolled_back, replacements=replacements, epochs=epochs
    )


def _in_force(records: Iterable[R]) -> tuple[R, ...]:
    active: dict[str, R] = {}
    for record in records:
        if record.undone is not None:
            active.pop(record.undone, None)
        else:
            active[record.id] = record
    return tuple(active.values())


@mutable
class _Open:
    """A unit that may still grow; `results` by call id."""

    item: UserItem | ResponseItem | NoticeItem
    place: int  # among all units
    calls: tuple[CallPart, ...] = ()
    results: dict[str, ResultItem] = field(default_factory=dict)
    notices: list[NoticeItem] = field(default_factory=list)


class LogReader:
    """Reads a log that only grows: each `read` takes in what was appended since the one before.

    A compaction or rollback record changes what was visible, so that everything is read again then.
    Results are matched inside their own unit, never across it.
    """

    def __init__(self, log: Sequence[Item]) -> None:
        self._log = log
        self._place = 0  # how much of the log was taken in
        self._reading: Reading | None = None

    def _begin(self) -> None:
        """Forget everything but the log."""
        self._seen = visibility_of(self._log)
        self._place = 0
        self._opened: list[_Open] = []
        self._closed: list[Unit | None] = []  # by the place of the unit; None: a result is missing
        self._changed: set[int] = set()  # units to close anew
        self._incomplete: list[int] = []
        self._responses: dict[str, _Open] = {}
        self._orphans: list[str] = []
        found = self._seen.summary
        self._summary = (SummaryUnit(id=found.id, text=found.text),) if found and found.text else ()

    def read(self) -> Reading:
        """The units of the whole log; only what is new is read, the others are as they were."""
        if self._reading is not None and self._place == len(self._log):
            return self._reading
        if self._reading is None or any(isinstance(item, RECORDS) for item in self._log[self._place :]):
            self._begin()
        for item in self._log[self._place :]:
            self._take(item)
        self._place = len(self._log)
        for place in self._changed:
            self._closed[place] = _close(self._opened[place], self._seen)
        self._incomplete = sorted(
            place for place in {*self._incomplete, *self._changed} if self._closed[place] is None
        )
        self._changed.clear()
        self._reading = self._read()
        return self._reading

    def _take(self, item: Item) -> None:
        if item.id in self._seen.hidden or isinstance(item, CompactionItem | RollbackItem):
            return
        if isinstance(item, ResultItem):
            unit = self._responses.get(item.response_item_id)
            if unit is None or not _accept(unit, item):
                self._orphans.append(item.id)
            else:
                self._changed.add(unit.place)
        elif isinstance(item, NoticeItem) and not item.sticky and self._opened:
            self._opened[-1].notices.append(item)
            self._changed.add(self._opened[-1].place)
        else:
            self._open(item)

    def _open(self, item: UserItem | ResponseItem | NoticeItem) -> None:
        calls = item.calls if isinstance(item, ResponseItem) else ()
        unit = _Open(item=item, place=len(self._opened), calls=calls)
        self._opened.append(unit)
        self._closed.append(None)
        self._changed.add(unit.place)
        if isinstance(item, ResponseItem):
            self._responses[item.id] = unit

    def _read(self) -> Reading:
        return Reading(
            units=(*self._summary, *(unit for unit in self._closed if unit is not None)),
            orphans=tuple(self._orphans),
            incomplete=tuple(self._opened[place].item.id for place in self._incomplete),
        )


def read_log(log: Sequence[Item]) -> Reading:
    """Group the visible items; O(n)."""
    return LogReader(log).read()


def units_of(log: Sequence[Item]) -> tuple[Unit, ...]:
    """The units of the view; see `read_log` for what is left out."""
    return read_log(log).units


def _accept(unit: _Open, result: ResultItem) -> bool:
    """Take the first result of a declared call; the first durable one wins."""
    is_declared = any(call.call_id == result.call_id for call in unit.calls)
    if not is_declared or result.call_id in unit.results:
        return False
    unit.results[result.call_id] = result
    return True


def _close(unit: _Open, seen: Visibility) -> Unit | None:
    notices = tuple(unit.notices)
    if isinstance(unit.item, UserItem):
        return with_replacements(UserUnit(item=unit.item, notices=notices), seen.replacements)
    if isinstance(unit.item, NoticeItem):
        return NoticeUnit(notice=unit.item, notices=notices)
    if not unit.calls:
        return FinalUnit(response=unit.item, notices=notices)
    if len(unit.results) < len(unit.calls):
        return None
    results = tuple(unit.results[call.call_id] for call in unit.calls)
    exchange = ExchangeUnit(response=unit.item, results=results, notices=notices)
    return with_replacements(exchange, seen.replacements)


def with_replacements(unit: Unit, replacements: Mapping[tuple[str, str], Replacement]) -> Unit:
    """The unit as it reads with what is shortened, by (item id, call id); itself where nothing of it is."""
    if isinstance(unit, UserUnit):
        found = replacements.get((unit.item.id, ""))
        if found is None or found.message_text is None:
            return unit
        return replace(unit, item=replace(unit.item, text=found.message_text, images=()))
    if not isinstance(unit, ExchangeUnit) or not replacements:
        return unit
    results = tuple(_replaced_result(result, replacements) for result in unit.results)
    parts = tuple(_replaced_part(part, unit.response.id, replacements) for part in unit.response.parts)
    response = unit.response
    if _are_others(parts, response.parts):
        response = replace(response, parts=parts)
    if response is unit.response and not _are_others(results, unit.results):
        return unit
    return replace(unit, response=response, results=results)


def _are_others(new: Iterable[object], old: Iterable[object]) -> bool:
    return any(one is not other for one, other in zip(new, old, strict=True))


def _replaced_result(result: ResultItem, replacements: Mapping[tuple[str, str], Replacement]) -> ResultItem:
    found = replacements.get((result.id, result.call_id))
    if found is None or found.result_text is None:
        return result
    return replace(result, text=found.result_text, images=())


def _replaced_part(part: Part, item_id: str, replacements: Mapping[tuple[str, str], Replacement]) -> Part:
    if not isinstance(part, CallPart):
        return part
    found = replacements.get((item_id, part.call_id))
    if found is None or found.arguments is None:
        return part
    return replace(part, arguments=found.arguments, raw=None)


def item_ids(unit: Unit) -> tuple[str, ...]:
    """Every log item of a unit: they are hidden together."""
    match unit:
        case UserUnit(item=item, notices=notices):
            return (item.id, *(n.id for n in notices))
        case ExchangeUnit(response=response, results=results, notices=notices):
            return (response.id, *(r.id for r in results), *(n.id for n in notices))
        case FinalUnit(response=response, notices=notices):
            return (response.id, *(n.id for n in notices))
        case NoticeUnit(notice=notice, notices=notices):
            return (notice.id, *(n.id for n in notices))
        case SummaryUnit(id=summary_id):
            return (summary_id,)
