"""The only mutable truth: one store, one fold over it, one stream of events out of it.

`commit` is the ledger: everything in one call is one transaction, on disk before the fold takes it
in and before any reader sees it. `show` is for display only.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from agent_tui.engine.causes import parent_of
from agent_tui.engine.events import Body, Event, NoticeRaised, SessionStarted, TurnEnded, TurnStarted
from agent_tui.engine.fold import Fold
from agent_tui.engine.hub import Hub, Reader
from agent_tui.engine.log import EVENT, from_record, to_record
from agent_tui.engine.marks import Marks
from agent_tui.engine.pictures import Pictures
from agent_tui.engine.ports import Clock, Records
from checkpoints.records import RecordsError
from context.codec import DecodeError
from context.items import (
    CompactionItem,
    Item,
    NoticeItem,
    ResponseItem,
    ResultItem,
    RollbackItem,
    UserItem,
)

_ITEMS = (UserItem, ResponseItem, ResultItem, NoticeItem, CompactionItem, RollbackItem)
Entry = Item | Event
Part = Item | Body


class Session:
    """A session in this process; rebuilt by `load`, changed by `commit` alone."""

    def __init__(self, records: Records, clock: Clock) -> None:
        self.fold = Fold()
        self.clock = clock
        self.unreadable = 0  # records of the store that this version cannot read
        self._records = records
        self._seq = 0
        self._lock = asyncio.Lock()
        self._held: list[tuple[Body, str]] = []
        self._warned: set[str] = set()
        self._unsaved: list[Entry] = []  # facts that could not be stored; first of the next commit
        self._pictures = Pictures()  # of what is stored
        self._marks = Marks()
        self._hub = Hub(self.stored)

    @classmethod
    async def load(cls, records: Records, clock: Clock) -> "Session":
        """Fold every record of the store; raises RecordsError."""
        session = cls(records, clock)
        async for record in records.read():
            try:
                entry = from_record(record, session._pictures)
            except DecodeError:
                session.unreadable += 1
                continue
            session._take(entry)
            session._marks.note(session._seq, record.seq)
        return session

    @property
    def id(self) -> str:
        """The session's id, empty before `SessionStarted`."""
        return self.fold.session_id

    def subscribe(self) -> Reader:
        """A new reader of the stream, from now on."""
        return self._hub.subscribe(self._seq)

    async def stored(self, after: int) -> AsyncIterator[Event]:
        """Durable events with a `seq` above `after`, from the store, which is read from about there."""
        async for record in self._records.read(self._marks.before(after)):
            self._pictures.restore(record.body)
            if record.kind == EVENT and int(record.body.get("seq", 0)) > after:
                try:
                    entry = from_record(record)
                except DecodeError:
                    continue
                assert isinstance(entry, Event)
                yield entry

    def item_id(self, kind: str, ahead: int = 0) -> str:
        """The next free item id: a letter for the kind and the place in the log."""
        return f"{kind}{len(self.fold.log) + ahead + 1}"

    async def commit(self, *parts: Part, cause: str = "", when: Callable[[], bool] | None = None) -> bool:
        """Store all parts or none, then fold and publish them; False when `when`, asked inside the
        transaction, says no. Raises RecordsError (nothing happened) and StateError."""
        return await self.transact(lambda: parts if when is None or when() else None, cause)

    async def transact(self, make: Callable[[], Sequence[Part] | None], cause: str = "") -> bool:
        """`commit` what `make` gives inside the transaction, when nothing else can change; False and
        no transaction when that is None. A cancellation waits until what was begun is on disk and
        published, so that store and fold never part."""
        async with self._lock:
            parts = make()
            if parts is None:
                return False
            entries = self._entries(parts, cause)
            now, pictures = self.clock.now(), self._pictures
            pictures.drop()
            records = [to_record(e, now, pictures) for e in self._unsaved + entries]
            appended = asyncio.ensure_future(self._records.append(records))
            cancelled = await _ended(appended)
            try:
                newest = appended.result()
            except RecordsError:
                self._seq -= sum(isinstance(entry, Event) for entry in entries)
                self._publish([])
                raise
            pictures.keep()
            self._unsaved.clear()
            self._publish(entries)
            self._marks.note(self._seq, newest)
            if cancelled is not None:
                raise cancelled
        return True

    async def warn_once(self, text: str) -> None:
        """Raise a notice, unless it says nothing or this process has raised it before."""
        if text and text not in self._warned:
            self._warned.add(text)
            await self.settle(NoticeRaised(text=text, level="warning"))

    async def settle(self, *parts: Part, cause: str = "", when: Callable[[], bool] | None = None) -> bool:
        """Like `commit` for facts that already happened: when the store refuses they are kept in
        memory, shown, and stored first by the next commit. False when that was needed."""
        try:
            return await self.commit(*parts, cause=cause, when=when)
        except RecordsError:
            async with self._lock:
                if when is not None and not when():
                    return False
                entries = self._entries(parts, cause)
                self._unsaved.extend(entries)
                self._publish(entries)
            return False

    def show(self, body: Body, cause: str = "") -> None:
        """Publish a transient event; while a commit is under way it waits behind it."""
        if self._lock.locked():
            self._held.append((body, cause))
        else:
            self._publish([self._event(body, cause, self._run_id)])

    async def close(self) -> None:
        """Close the store."""
        await self._records.close()

    def _entries(self, parts: Sequence[Part], cause: str) -> list[Entry]:
        self.fold.states.check(parts)
        entries: list[Entry] = []
        run = self._run_id
        for part in parts:
            if isinstance(part, _ITEMS):
                entries.append(part)
                continue
            run = part.run_id if isinstance(part, TurnStarted) else run  # it opens with what comes with it
            entries.append(self._event(part, cause, run))
            run = "" if isinstance(part, TurnEnded) else run
        return entries

    @property
    def _run_id(self) -> str:
        """The open run; empty between runs."""
        return self.fold.run.id if self.fold.is_running and self.fold.run is not None else ""

    def _event(self, body: Body, cause: str, run: str) -> Event:
        self._seq += 1
        if isinstance(body, TurnEnded):
            run = body.run_id
        elif isinstance(body, SessionStarted):
            run = f"{body.session_id}.{self.fold.runs + 1}"  # the one that comes
        return Event(
            seq=self._seq,
            at=self.clock.now(),
            run_id=run,
            body=body,
            cause=cause or parent_of(body, self.fold),
        )

    def _publish(self, entries: list[Entry]) -> None:
        for entry in entries:
            self._take(entry)
            if isinstance(entry, Event):
                self._hub.publish(entry)
        held, self._held = self._held, []
        for body, cause in held:
            self._hub.publish(self._event(body, cause, self._run_id))

    def _take(self, entry: Entry) -> None:
        if not isinstance(entry, Event):
            self.fold.apply_item(entry)
            return
        self._seq = max(self._seq, entry.seq)
        if entry.is_durable:
            self.fold.apply(entry)


async def _ended(work: asyncio.Future[Any]) -> asyncio.CancelledError | None:
    """Wait for the end of the work; the cancellation that came meanwhile, if one did."""
    seen = None
    while not work.done():
        try:
            await asyncio.wait({work})
        except asyncio.CancelledError as cancellation:
            seen = cancellation
    return seen
