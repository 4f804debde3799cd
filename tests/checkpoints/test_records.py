import os
import sqlite3
from contextlib import suppress
from pathlib import Path

import pytest

from checkpoints.records import DamagedError, Record, RecordsError, SessionRecords, is_on_network
from checkpoints.salvage import open_or_salvage


def record(number: int) -> Record:
    return Record(kind="event", body={"n": number, "text": "x" * 200}, at=float(number))


async def write(path: Path, count: int) -> None:
    records = await SessionRecords.open(path)
    for number in range(1, count + 1):
        await records.append([record(number)])
    await records.close()


async def numbers(records: SessionRecords) -> list[int]:
    return [one.body["n"] async for one in records.read()]


async def test_records_come_back_in_order(tmp_path: Path) -> None:
    records = await SessionRecords.open(tmp_path / "s.db")
    assert await records.append([record(1), record(2)]) == 2
    assert await records.append([record(3)]) == 3
    assert await numbers(records) == [1, 2, 3]
    assert [one.seq async for one in records.read(after=1)] == [2, 3]
    await records.close()


async def test_a_store_in_memory_is_the_same_store() -> None:
    records = await SessionRecords.open(None)
    await records.append([record(1)])
    assert await numbers(records) == [1]
    await records.close()


async def test_a_text_that_is_no_unicode_is_kept(tmp_path: Path) -> None:
    records = await SessionRecords.open(tmp_path / "s.db")
    await records.append([Record(kind="item", body={"n": 1, "text": "\udcff\ud800"}, at=0)])
    assert [one.body["text"] async for one in records.read()] == ["\udcff\ud800"]
    await records.close()


async def test_a_second_writer_is_found_out(tmp_path: Path) -> None:
    one = await SessionRecords.open(tmp_path / "s.db")
    other = await SessionRecords.open(tmp_path / "s.db")
    await one.append([record(1)])
    with pytest.raises(RecordsError, match="another process"):
        await other.append([record(2)])
    assert await numbers(other) == [1]
    await one.close()
    await other.close()


@pytest.mark.parametrize("how", ["removed", "replaced", "cut", "log removed", "log cut"])
async def test_a_store_that_somebody_removes_or_cuts_takes_nothing_more(tmp_path: Path, how: str) -> None:
    path = tmp_path / "s.db"
    records = await SessionRecords.open(path)
    for number in range(1, 3000):  # past the point where the log is written back
        await records.append([record(number)])
    hit = path.with_name("s.db-wal") if how.startswith("log") else path
    if how.endswith("cut"):
        os.truncate(hit, hit.stat().st_size // 2)
    else:
        hit.unlink()
    if how == "replaced":
        hit.write_bytes(b"x" * (1 << 22))
    with pytest.raises(RecordsError, match=f"`{hit}` was removed or cut"):
        await records.append([record(3000)])
    with suppress(sqlite3.Error):
        await records.close()


async def test_a_pipe_is_no_store(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "s.db")
    with pytest.raises(RecordsError, match="no plain file"):
        await SessionRecords.open(tmp_path / "s.db")


async def test_a_store_of_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    await write(tmp_path / "s.db", 1)
    with sqlite3.connect(tmp_path / "s.db") as raw:
        raw.execute("UPDATE meta SET value = '99' WHERE key = 'schema'")
    raw.close()
    before = (tmp_path / "s.db").read_bytes()
    with pytest.raises(RecordsError, match="schema 99"):
        await open_or_salvage(tmp_path / "s.db")
    assert (tmp_path / "s.db").read_bytes() == before


@pytest.mark.parametrize("body", ["{half", pytest.param("[" * 5000, id="nested")])
async def test_a_bad_body_is_skipped_and_counted(tmp_path: Path, body: str) -> None:
    await write(tmp_path / "s.db", 3)
    with sqlite3.connect(tmp_path / "s.db") as raw:
        raw.execute("UPDATE records SET body = ? WHERE seq = 2", (body,))
    raw.close()
    records = await SessionRecords.open(tmp_path / "s.db")
    assert await numbers(records) == [1, 3]
    assert records.unreadable == 1
    await records.close()


async def test_a_file_that_is_no_store_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "s.db").write_bytes(b"not a database at all" * 300)
    with pytest.raises(DamagedError):
        await SessionRecords.open(tmp_path / "s.db")
    with pytest.raises(RecordsError, match="nothing of it can be read"):
        await open_or_salvage(tmp_path / "s.db")
    assert (tmp_path / "s.db.damaged-1").read_bytes().startswith(b"not a database")
    assert not (tmp_path / "s.db").exists()


async def test_a_damaged_store_goes_on_with_its_readable_beginning(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    await write(path, 200)
    content = path.read_bytes()
    path.write_bytes(content[:20_480] + b"\0" * 4096 + content[24_576:])
    records, damage = await open_or_salvage(path)
    assert damage is not None and 0 < damage.kept < 200
    assert await numbers(records) == list(range(1, damage.kept + 1))
    assert damage.moved_to.read_bytes()[20_480:24_576] == b"\0" * 4096
    await records.append([record(damage.kept + 1)])
    await records.close()


async def test_a_damaged_store_ends_before_a_body_that_nests_too_deeply(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    await write(path, 200)
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE records SET body = ? WHERE seq = 3", ("[" * 5000,))
    raw.close()
    content = path.read_bytes()
    path.write_bytes(content[:20_480] + b"\0" * 4096 + content[24_576:])
    records, damage = await open_or_salvage(path)
    assert damage is not None and damage.kept == 2
    assert await numbers(records) == [1, 2]
    await records.close()


def test_local_directories_are_not_on_a_network(tmp_path: Path) -> None:
    assert not is_on_network(tmp_path / "s.db")
