"""The durable record of one session: an append-only SQLite file, written before acting.

Knows nothing of what a record means: a kind and a JSON body. One `append` is one transaction that
is on disk when it returns (WAL with full synchronisation). A store that cannot be read
whole is set aside, and what can be read of it goes on in a new one (`checkpoints.salvage`).
"""

import json
import os
import sqlite3
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiosqlite

from agent_tui.frozen import frozen
from checkpoints.inplace import write_in_place

SCHEMA_VERSION = 1

SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS records (
    seq INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL
);
"""
ROWS_AT_ONCE = 64  # that a reader takes from the thread of the connection
_WRITING = (
    "SQLITE_FULL",
    "SQLITE_IOERR_WRITE",
    "SQLITE_IOERR_FSYNC",
    "SQLITE_IOERR_TRUNCATE",
    "SQLITE_IOERR_SHMOPEN",
    "SQLITE_IOERR_SHMSIZE",
    "SQLITE_IOERR_SHMMAP",
)
_NETWORK_FILESYSTEMS = ("nfs", "cifs", "smb", "9p", "fuse.sshfs", "afs", "ceph", "glusterfs")


class RecordsError(Exception):
    """The session store cannot be read or written; the text says what and where."""


class DamagedError(RecordsError):
    """The file is no intact store; `checkpoints.salvage` may save a part of it."""


@frozen
class Record:
    """One durable fact; `seq` is given by the store (0 before it is appended)."""

    kind: str
    body: dict[str, Any]
    at: float  # UTC seconds
    seq: int = 0


class SessionRecords:
    """The store of one session; opened by its single owner."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.unreadable = 0  # records whose body is no JSON object; skipped by `read`
        self._connection = aiosqlite.Connection(self._connect, ROWS_AT_ONCE)
        self._last = 0
        self._failure: Exception | None = None  # to open it
        self._files = (str(path), f"{path}-wal") if path is not None else ()
        self._sizes: dict[str, tuple[int, int]] = {}
        self._name = f"session store `{path}`" if path else "session store in memory"

    @classmethod
    async def open(cls, path: Path | None) -> "SessionRecords":
        """Open or create the file, in memory for None. Raises DamagedError for a file that is no
        intact store, RecordsError for one that cannot be opened or is from a newer version."""
        if path is not None and path.exists() and not path.is_file():
            raise RecordsError(f"session store `{path}` cannot be opened: it is no plain file")
        records = cls(path)
        try:
            await records._connection
            if records._failure is not None:
                await records._connection.close()
                raise records._failure
        except (aiosqlite.Error, OSError) as error:
            if _is_damage(error):
                raise DamagedError(f"session store `{path}` is damaged: {error}") from error
            why = "the disk is full; make room" if is_about_writing(error) else str(error)
            raise RecordsError(f"session store `{path}` cannot be opened: {why}") from error
        records._sizes = _sizes(records._files)
        return records

    def _connect(self) -> sqlite3.Connection:
        """In the thread of the connection and in one go, so that a start imports meanwhile."""
        path = self.path
        existed = path is not None and path.exists()
        if path is not None and not is_on_network(path):
            write_in_place(path)
        connection = sqlite3.connect(path or ":memory:", isolation_level=None)
        try:
            self._last = _prepare(connection, path, existed)
        except (sqlite3.Error, OSError, ValueError, RecordsError) as error:  # raised by `open`
            self._failure = error
        return connection

    async def append(self, records: Sequence[Record]) -> int:
        """Append all or none; returns the `seq` of the last one. Raises RecordsError, also when
        somebody else has written to the file since it was opened."""
        if not records:
            return self._last
        self._check_place()
        # One statement is one transaction, and one hop to the thread of the connection.
        rows = ", ".join(["(?, ?, ?, ?)"] * len(records))
        values: list[object] = []
        for seq, record in enumerate(records, self._last + 1):
            values += (seq, record.at, record.kind, json.dumps(record.body))
        try:
            await self._connection.execute_insert(f"INSERT INTO records VALUES {rows}", values)
        except sqlite3.IntegrityError as error:
            raise RecordsError(f"{self._name} was written by another process; resume it anew") from error
        except (aiosqlite.Error, OSError, ValueError) as error:  # aiosqlite: ValueError once it is closed
            raise RecordsError(f"{self._name} cannot be written: {error}") from error
        self._last += len(records)
        self._sizes = _sizes(self._files)
        return self._last

    def _check_place(self) -> None:
        """SQLite writes on into a file that somebody else removed or cut, and nothing of it is kept."""
        found = _sizes(self._files)
        for name, (inode, size) in self._sizes.items():
            if name not in found or found[name][0] != inode or found[name][1] < size:
                raise RecordsError(
                    f"`{name}` was removed or cut by another program while this session is open: "
                    "nothing more can be kept in it; start a new one"
                )

    async def read(self, after: int = 0) -> AsyncGenerator[Record, None]:
        """Yield every readable record with a `seq` above `after`, in order. Raises RecordsError."""
        query = "SELECT seq, at, kind, body FROM records WHERE seq > ? ORDER BY seq"
        try:
            async with self._connection.execute(query, (after,)) as rows:
                async for seq, at, kind, body in rows:
                    record = parse(seq, at, kind, body)
                    if record is not None:
                        yield record
                    else:
                        self.unreadable += 1
        except aiosqlite.Error as error:
            raise RecordsError(f"{self._name} cannot be read: {error}") from error

    async def close(self) -> None:
        """Close the file; further use raises."""
        await self._connection.close()


def _sizes(files: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Inode and size of a store and its write-ahead log, which both only grow while it is open."""
    found = {}
    for name in files:
        with suppress(FileNotFoundError):
            status = os.stat(name)
            found[name] = (status.st_ino, status.st_size)
    return found


def parse(seq: int, at: float, kind: str, body: object) -> Record | None:
    """A row as a record; None when its body is no JSON object."""
    try:
        value = json.loads(body) if isinstance(body, str | bytes) else None
    except (ValueError, RecursionError):
        return None
    return Record(seq=seq, at=at, kind=str(kind), body=value) if isinstance(value, dict) else None


def _prepare(connection: sqlite3.Connection, path: Path | None, existed: bool) -> int:
    """Journal, schema, version and integrity; returns the `seq` of the last record."""
    # WAL needs shared memory, which network file systems do not have (sqlite.org/wal.html).
    journal = "TRUNCATE" if path is not None and is_on_network(path) else "WAL"
    connection.executescript(
        f"PRAGMA busy_timeout=2000; PRAGMA journal_mode={journal}; PRAGMA synchronous=FULL;"
    )
    if existed:
        _check(connection, path)
    # One transaction: a new store waits for the disk once.
    version = f"INSERT OR IGNORE INTO meta VALUES ('schema', '{SCHEMA_VERSION}');"
    connection.executescript(f"BEGIN; {SCHEMA} {version} COMMIT;")
    return int(connection.execute("SELECT max(seq) FROM records").fetchone()[0] or 0)


def _check(connection: sqlite3.Connection, path: Path | None) -> None:
    found = connection.execute("PRAGMA quick_check(1)").fetchone()
    if found and found[0] != "ok":
        raise sqlite3.DatabaseError(f"malformed: {found[0]}")
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    if not {"meta", "records"} <= tables:
        raise sqlite3.DatabaseError("malformed: its tables are missing")
    row = connection.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone()
    version = int(row[0]) if row else SCHEMA_VERSION
    if version > SCHEMA_VERSION:
        raise RecordsError(
            f"session store `{path}` has schema {version}, this version reads up to {SCHEMA_VERSION}; "
            "update agent-tui to open it"
        )


def _is_damage(error: BaseException) -> bool:
    """SQLite says it with these words (SQLITE_CORRUPT, SQLITE_NOTADB); the code is not always set."""
    text = str(error)
    if is_about_writing(error):
        return False
    return isinstance(error, sqlite3.DatabaseError) and any(
        word in text for word in ("malformed", "not a database", "disk I/O error", "file is encrypted")
    )


def is_about_writing(error: BaseException) -> bool:
    """Whether SQLite found no room for a file of its own, such as the one beside a store that it needs even
    to read it; the content is as it was (sqlite.org/rescode.html)."""
    return getattr(error, "sqlite_errorname", "") in _WRITING


def is_on_network(path: Path) -> bool:
    """Whether the file lies on a network file system, by the longest mount point above it
    (proc_pid_mountinfo(5)); False where that cannot be read."""
    try:
        lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return False
    where, best, kind = str(path.resolve()), -1, ""
    for line in lines.splitlines():
        left, _, right = line.partition(" - ")
        point = left.split()[4]
        inside = where == point or where.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= best:
            best, kind = len(point), right.split()[0]
    return kind.startswith(_NETWORK_FILESYSTEMS)
