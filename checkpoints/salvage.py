"""Saves what can be read of a damaged session store, and sets the damaged files aside."""

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from agent_tui.frozen import frozen
from checkpoints.records import SCHEMA, SCHEMA_VERSION, DamagedError, RecordsError, SessionRecords

MAX_PADDED_BYTES = 16 * 2**30  # a header that says more is damaged itself
_SUFFIXES = ("", "-wal", "-shm", "-journal")


@frozen
class Damage:
    """What happened to a store: where the old files are, how many records go on."""

    moved_to: Path
    kept: int

    @property
    def text(self) -> str:
        """One line for the person."""
        return (
            f"the session store was damaged; {self.kept} records were saved, what came after them is lost, "
            f"the damaged file is kept as `{self.moved_to}`"
        )


async def open_or_salvage(path: Path) -> tuple[SessionRecords, Damage | None]:
    """Open a store; a damaged one is set aside and its readable beginning goes on in a new file.

    Raises RecordsError when nothing can be read: never silently a new session.
    """
    try:
        return await SessionRecords.open(path), None
    except DamagedError as error:
        damage = _salvage(path, error)
    return await SessionRecords.open(path), damage


def _salvage(path: Path, cause: DamagedError) -> Damage:
    fresh = path.with_name(path.name + ".saved")
    fresh.unlink(missing_ok=True)
    kept = _copy(path, fresh)
    moved_to = _set_aside(path)
    if not kept:
        fresh.unlink(missing_ok=True)
        raise RecordsError(f"{cause}; nothing of it can be read; it was moved to `{moved_to}`") from cause
    os.replace(fresh, path)
    return Damage(moved_to=moved_to, kept=kept)


def _copy(path: Path, fresh: Path) -> int:
    """Copy the readable beginning: a later part without what came before it would be no session."""
    with closing(sqlite3.connect(fresh)) as target, target:
        target.executescript(SCHEMA)
        target.execute("INSERT INTO meta VALUES ('schema', ?)", (str(SCHEMA_VERSION),))
        kept = 0
        for row in _rows(path):
            target.execute("INSERT INTO records VALUES (?, ?, ?, ?)", row)
            kept += 1
    return kept


def _rows(path: Path) -> Iterator[tuple[object, ...]]:
    """Rows in order up to the first that cannot be read or is missing; the file stays as it is."""
    copy = path.with_name(path.name + ".reading")
    _copy_padded(path, copy)
    with closing(sqlite3.connect(copy)) as source:
        try:
            for expected, row in enumerate(
                source.execute("SELECT seq, at, kind, body FROM records ORDER BY seq"), 1
            ):
                if row[0] != expected or not _is_whole(row):
                    return
                yield row
        except (sqlite3.DatabaseError, UnicodeDecodeError):
            return
        finally:
            for suffix in _SUFFIXES:
                copy.with_name(copy.name + suffix).unlink(missing_ok=True)


def _is_whole(row: tuple[object, ...]) -> bool:
    """A row whose end was cut off reads as NULL, or as text with zeros in it."""
    _, at, kind, body = row
    if not (isinstance(at, float | int) and isinstance(kind, str) and isinstance(body, str)):
        return False
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


def _copy_padded(path: Path, copy: Path) -> None:
    """Copy the store and its journal; a file that was cut gets its length back, in zeros.

    SQLite reads nothing of a file that is shorter than its header says: page size at byte 16, count
    of pages at byte 28 (sqlite.org/fileformat.html).
    """
    for suffix in ("", "-wal"):
        source = path.with_name(path.name + suffix)
        if source.exists():
            shutil.copyfile(source, copy.with_name(copy.name + suffix))
    with copy.open("r+b") as file:
        header = file.read(100)
        if len(header) == 100:
            page_bytes = int.from_bytes(header[16:18], "big")
            length = (65_536 if page_bytes == 1 else page_bytes) * int.from_bytes(header[28:32], "big")
            if file.seek(0, os.SEEK_END) < length <= MAX_PADDED_BYTES:
                file.truncate(length)


def _set_aside(path: Path) -> Path:
    number = 1
    while path.with_name(f"{path.name}.damaged-{number}").exists():
        number += 1
    moved_to = path.with_name(f"{path.name}.damaged-{number}")
    for suffix in _SUFFIXES:
        old = path.with_name(path.name + suffix)
        if old.exists():
            os.replace(old, moved_to.with_name(moved_to.name + suffix))
    return moved_to
