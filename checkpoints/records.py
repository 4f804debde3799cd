"""The durable record of one session: an append-only SQLite file, written before acting.

Knows nothing of what a record means: a kind and a JSON body. One `append` is one transaction that
is on disk when it returns (WAL with full synchronisation, design b.3).
"""

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiosqlite

SCHEMA_VERSION = 1

_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS records (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at REAL NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL
);
"""


class RecordsError(Exception):
    """The session store cannot be read or written; the text says what and where."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One durable fact; `seq` is given by the store (0 before it is appended)."""

    kind: str
    body: dict[str, Any]
    at: float  # UTC seconds
    seq: int = 0


class SessionRecords:
    """The store of one session; opened by its single owner."""

    def __init__(self, connection: aiosqlite.Connection, path: Path) -> None:
        self._connection = connection
        self.path = path

    @classmethod
    async def open(cls, path: Path) -> "SessionRecords":
        """Open or create the file; raises RecordsError."""
        try:
            connection = await aiosqlite.connect(path, isolation_level=None)
            await connection.executescript(
                "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA busy_timeout=5000; " + _SCHEMA
            )
            await connection.execute(
                "INSERT OR IGNORE INTO meta VALUES ('schema', ?)", (str(SCHEMA_VERSION),)
            )
        except (aiosqlite.Error, OSError) as error:
            raise RecordsError(f"session store `{path}` cannot be opened: {error}") from error
        return cls(connection, path)

    async def append(self, records: Sequence[Record]) -> int:
        """Append all or none; returns the `seq` of the last one. Raises RecordsError."""
        if not records:
            return 0
        # One statement is one transaction, and one hop to the thread of the connection.
        rows = ", ".join(["(?, ?, ?)"] * len(records))
        values = [v for r in records for v in (r.at, r.kind, json.dumps(r.body))]
        try:
            last = await self._connection.execute_insert(
                f"INSERT INTO records (at, kind, body) VALUES {rows}", values
            )
        except (aiosqlite.Error, OSError) as error:
            raise RecordsError(f"session store `{self.path}` cannot be written: {error}") from error
        return int(last[0]) if last else 0

    async def read(self, after: int = 0) -> AsyncIterator[Record]:
        """Yield every record with a `seq` above `after`, in order."""
        query = "SELECT seq, at, kind, body FROM records WHERE seq > ? ORDER BY seq"
        async with self._connection.execute(query, (after,)) as rows:
            async for seq, at, kind, body in rows:
                yield Record(seq=seq, at=at, kind=kind, body=json.loads(body))

    async def close(self) -> None:
        """Close the file; further use raises."""
        await self._connection.close()
