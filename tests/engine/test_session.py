"""The ledger under cancellation: what was begun is stored and published, whole."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent_tui.engine.clock import SystemClock
from agent_tui.engine.events import NoticeRaised, StatusChanged
from agent_tui.engine.marks import EVERY
from agent_tui.engine.session import Session
from checkpoints.records import Record, SessionRecords
from context.items import Item, UserItem


@asynccontextmanager
async def stored(path: Path) -> AsyncIterator[Session]:
    records = await SessionRecords.open(path)
    try:
        yield await Session.load(records, SystemClock())
    finally:
        await records.close()


@pytest.mark.parametrize("seed", range(3))
async def test_a_cancelled_commit_is_stored_and_folded_or_neither(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    async with stored(tmp_path / "session.db") as session:
        for number in range(60):
            commit = asyncio.create_task(say(session, f"message {number}"))
            for _ in range(rng.randrange(6)):
                await asyncio.sleep(0)
            commit.cancel()
            await asyncio.gather(commit, return_exceptions=True)
            await say(session, f"after {number}")
        folded = list(session.fold.log)
    async with stored(tmp_path / "session.db") as again:
        assert list(again.fold.log) == folded
    assert len({item.id for item in folded}) == len(folded)
    said = [item.text for item in folded if isinstance(item, UserItem)]
    assert [text for text in said if text.startswith("after")] == [f"after {n}" for n in range(60)]
    assert len(said) > 60, "some cancellations came after the write had begun"


async def say(session: Session, text: str) -> None:
    item: Item = UserItem(id=session.item_id("u"), text=text)
    await session.commit(item)


class CountedRecords(SessionRecords):
    """Counts what is read."""

    count = 0

    async def read(self, after: int = 0) -> AsyncIterator[Record]:
        async for record in super().read(after):
            self.count += 1
            yield record


async def test_who_fell_behind_reads_from_there_and_not_the_whole_store(tmp_path: Path) -> None:
    records = await CountedRecords.open(tmp_path / "session.db")
    assert isinstance(records, CountedRecords)
    session = await Session.load(records, SystemClock())
    for number in range(100):
        parts = [NoticeRaised(text=f"{number}.{place}") for place in range(100)]
        await session.commit(*parts, UserItem(id=session.item_id("u"), text="x"))
        session.show(StatusChanged(activity="running"))
    for loaded in (session, await Session.load(records, SystemClock())):
        newest = [event.seq async for event in loaded.stored(0)][-1]
        records.count = 0
        found = [event.seq async for event in loaded.stored(newest - 150)]
        assert found == [seq for seq in range(newest - 149, newest + 1) if seq in found]
        assert 148 <= len(found) <= 150
        assert records.count <= 150 + EVERY + 101, "of more than 10,000"
    await records.close()
