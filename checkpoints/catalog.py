"""The list of checkpoints of one workspace: a small SQLite database beside the store."""

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from agent_tui.frozen import frozen
from checkpoints.inplace import write_in_place
from checkpoints.nested import HeadState
from checkpoints.types import Author, Cause, Checkpoint, CheckpointError, FileChange, Phase, Uncovered

SCHEMA_VERSION = 2
OPEN_S = 10.0  # for another process to let go of the file
SHOWN_CHANGES = 1000  # kept with a checkpoint for lists; all of them can be computed again
_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS checkpoints (
    session TEXT NOT NULL,
    seq INTEGER NOT NULL,
    root TEXT NOT NULL,
    created_at REAL NOT NULL,
    phase TEXT NOT NULL,
    state BLOB NOT NULL,
    commit_id BLOB NOT NULL,
    body TEXT NOT NULL,
    placed INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (session, seq)
) WITHOUT ROWID;
"""
# The order of coming tells what is newest: a clock can be put back.
_FROM_VERSION_1 = """
ALTER TABLE checkpoints ADD COLUMN placed INTEGER NOT NULL DEFAULT 0;
UPDATE checkpoints SET placed = (
    SELECT count(*) FROM checkpoints AS other
    WHERE (other.created_at, other.session, other.seq) <= (
        checkpoints.created_at, checkpoints.session, checkpoints.seq
    )
);
DROP INDEX IF EXISTS by_time;
UPDATE meta SET value = '2' WHERE key = 'schema';
"""


@frozen
class Row:
    """One checkpoint as it is stored."""

    session: str
    seq: int  # 0 until it is added
    root: str  # workspace below the root of the store; empty: the same folder
    created_at: float
    cause: Cause
    state: bytes
    commit: bytes
    author: Author  # of what changed since the checkpoint before it in this session
    placed: int = 0  # later ones of any session have higher numbers
    only: tuple[str, ...] | None = None  # these changes are the author's, others are external; None: all
    changes: tuple[FileChange, ...] = ()
    change_count: int = 0
    uncovered: tuple[Uncovered, ...] = ()
    heads: dict[str, HeadState] | None = None  # repository folder → where it stood
    running: tuple[str, ...] = ()  # calls that may write after this moment
    target: str = ""  # after a rollback: the checkpoint it went to
    undo: str = ""  # after a rollback: the checkpoint taken before it
    redone: bool = False
    broken: str = ""

    @property
    def id(self) -> str:
        return f"{self.session}/{self.seq}"

    def checkpoint(self) -> Checkpoint:
        """The checkpoint as others see it."""
        return Checkpoint(
            id=self.id,
            session=self.session,
            seq=self.seq,
            created_at=self.created_at,
            cause=self.cause,
            tree=self.state.hex(),
            changes=self.changes,
            uncovered=self.uncovered,
            broken=self.broken,
        )


class DamagedCatalogError(CheckpointError):
    """The list cannot be read as one at all; a new one has to be begun."""


def _use_log(connection: sqlite3.Connection) -> None:
    """Switch to the write-ahead log. SQLite answers that at once with BUSY, whatever the time-out, while
    another process does the same or recovers the log, so it is asked again; raises OperationalError."""
    end = time.monotonic() + OPEN_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError:
            if time.monotonic() > end:
                raise
            time.sleep(0.01)
        else:
            return


def _prepared(connection: sqlite3.Connection) -> int:
    """Make the tables, or those of an older version like ours; the version of what is there."""
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        for statement in _SCHEMA.split(";"):
            connection.execute(statement)
        connection.execute("INSERT OR IGNORE INTO meta VALUES ('schema', ?)", (str(SCHEMA_VERSION),))
        version = int(connection.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone()[0])
        if version == 1:
            for statement in _FROM_VERSION_1.split(";"):
                connection.execute(statement)
            version = SCHEMA_VERSION
        if version == SCHEMA_VERSION:  # else each new one would be placed by a look at all
            connection.execute("CREATE INDEX IF NOT EXISTS by_place ON checkpoints (placed)")
    return version


class Catalog:
    """Opened by each process by itself; all methods raise CheckpointError when the file fails."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = self._open()
        self._inode = path.stat().st_ino
        self._kept: dict[str, int] = {}  # session → number for the checkpoint after the call that runs

    def _open(self) -> sqlite3.Connection:
        write_in_place(self.path)
        try:
            connection = sqlite3.connect(self.path, isolation_level=None, timeout=10, check_same_thread=False)
            _use_log(connection)
            connection.execute("PRAGMA synchronous=FULL")
            version = _prepared(connection)
        except sqlite3.OperationalError as error:
            from checkpoints.records import is_about_writing

            why = "the disk is full; make room" if is_about_writing(error) else str(error)
            raise CheckpointError(f"checkpoint list `{self.path}` cannot be opened: {why}") from error
        except (sqlite3.DatabaseError, TypeError) as error:
            raise DamagedCatalogError(f"checkpoint list `{self.path}` is damaged: {error}") from error
        if version > SCHEMA_VERSION:
            raise CheckpointError(
                f"checkpoint list `{self.path}` was written by a newer agent-tui; update it"
            )
        return connection

    def add(self, row: Row, first: Callable[[Row], None] = lambda _: None) -> Row:
        """Store a checkpoint under the next number of its session. `first` gets it with its number and
        runs before anything is on disk; what it raises keeps the checkpoint from being stored.

        The one before a call keeps the next number for the one after it, which may be told to others
        before it is stored: should it be lost then, no other checkpoint ever goes by its number.
        """
        shown = replace(row, changes=row.changes[:SHOWN_CHANGES], change_count=len(row.changes))
        kept = self._kept.pop(row.session, None)  # for one try: should it fail, its number is nobody's
        try:
            with self._connection as connection:
                connection.execute("BEGIN IMMEDIATE")
                (last,) = connection.execute(
                    "SELECT max(seq) FROM checkpoints WHERE session = ?", (row.session,)
                ).fetchone()
                taken = max(int(last or 0), int(self._meta(f"last:{row.session}") or 0))
                is_kept = row.cause.phase is Phase.AFTER_CALL and taken == kept
                seq = taken if is_kept else taken + 1
                connection.execute(
                    "INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?, ?, "
                    "(SELECT coalesce(max(placed), 0) + 1 FROM checkpoints))",
                    (
                        row.session, seq, row.root, row.created_at, row.cause.phase.value,
                        row.state, row.commit, _body(shown),
                    ),
                )  # fmt: skip
                if row.cause.phase is Phase.BEFORE_CALL:
                    self.set_meta(f"last:{row.session}", str(seq + 1))
                first(replace(row, seq=seq))
        except sqlite3.Error as error:
            raise CheckpointError(f"checkpoint list `{self.path}` cannot be written: {error}") from error
        if row.cause.phase is Phase.BEFORE_CALL:
            self._kept[row.session] = seq + 1
        return replace(row, seq=seq)

    def update(self, row: Row) -> None:
        """Store a changed body (`redone`, `broken`)."""
        self._change(
            "UPDATE checkpoints SET body = ? WHERE session = ? AND seq = ?",
            (_body(row), row.session, row.seq),
        )

    def last(self, session: str) -> Row | None:
        """The newest checkpoint of a session."""
        return self._one("WHERE session = ? ORDER BY seq DESC LIMIT 1", (session,))

    def get(self, session: str, seq: int) -> Row | None:
        """One checkpoint."""
        return self._one("WHERE session = ? AND seq = ?", (session, seq))

    def since(self, session: str, seq: int) -> list[Row]:
        """A session's checkpoints after that number, in order."""
        return self._rows("WHERE session = ? AND seq > ? ORDER BY seq", (session, seq))

    def newest(self, phase: Phase, root: str, session: str = "") -> Row | None:
        """The newest checkpoint of that phase, of one session or of any."""
        clause, values = "WHERE phase = ? AND root = ?", [phase.value, root]
        if session:
            clause, values = clause + " AND session = ?", [*values, session]
        return self._one(clause + " ORDER BY placed DESC LIMIT 1", values)

    def last_turn(self, root: str) -> Row | None:
        """The checkpoint that the last turn of any session began with: its first, when it was paused."""
        newest = self.newest(Phase.TURN_START, root)
        if newest is None or not newest.cause.turn:
            return newest
        rows = self.since(newest.session, 0)
        return next(row for row in rows if row.root == root and _begins(row, newest.cause.turn))

    def listed(self, root: str, session: str | None = None) -> list[Row]:
        """Checkpoints of one workspace, newest first."""
        clause, values = "WHERE root = ?", [root]
        if session is not None:
            clause, values = clause + " AND session = ?", [*values, session]
        return self._rows(clause + " ORDER BY placed DESC", values)

    def changed_elsewhere(self, row: Row) -> list[Row]:
        """Checkpoints of other sessions in the same workspace after that one, in order."""
        clause = "WHERE root = ? AND session != ? AND placed > ? ORDER BY placed"
        return self._rows(clause, (row.root, row.session, row.placed))

    def sessions(self, prefix: str = "") -> list[str]:
        """Names of sessions that begin like that."""
        rows = self._query(
            "SELECT DISTINCT session FROM checkpoints WHERE substr(session, 1, ?) = ? ORDER BY session",
            (len(prefix), prefix),
        )
        return [str(name) for (name,) in rows]

    def present(self) -> list[Row]:
        """The newest checkpoint of each workspace of the store."""
        return self._rows("WHERE placed IN (SELECT max(placed) FROM checkpoints GROUP BY root)", ())

    def states(self) -> set[bytes]:
        """Every state that was recorded."""
        return {bytes(state) for (state,) in self._query("SELECT DISTINCT state FROM checkpoints", ())}

    def commits(self) -> set[bytes]:
        """Every commit that a checkpoint needs."""
        return {bytes(commit) for (commit,) in self._query("SELECT DISTINCT commit_id FROM checkpoints", ())}

    def skip_to(self, session: str, seq: int) -> None:
        """Use no number up to that one for new checkpoints of the session."""
        self.set_meta(f"last:{session}", str(max(seq, int(self._meta(f"last:{session}") or 0))))

    def remove(self, session: str, seqs: Sequence[int]) -> None:
        """Forget checkpoints; their numbers are never used again."""
        last = self.last(session)
        if last is not None:
            self.skip_to(session, last.seq)
        for seq in seqs:
            self._change("DELETE FROM checkpoints WHERE session = ? AND seq = ?", (session, seq))

    def meta(self, key: str) -> str:
        """A stored fact, or nothing."""
        return self._meta(key)

    def set_meta(self, key: str, value: str) -> None:
        """Store a fact."""
        self._change(
            "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            (key, value),
        )

    def is_there(self) -> bool:
        """Whether the file is still in its place; one that was removed takes writes and keeps nothing."""
        try:
            return self.path.stat().st_ino == self._inode
        except OSError:
            return False

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _meta(self, key: str) -> str:
        rows = self._query("SELECT value FROM meta WHERE key = ?", (key,))
        return str(rows[0][0]) if rows else ""

    def _change(self, statement: str, values: Sequence[Any]) -> None:
        try:
            self._connection.execute(statement, values)
        except sqlite3.Error as error:
            raise CheckpointError(f"checkpoint list `{self.path}` cannot be written: {error}") from error

    def _query(self, statement: str, values: Sequence[Any]) -> list[Any]:
        try:
            return self._connection.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise CheckpointError(f"checkpoint list `{self.path}` cannot be read: {error}") from error

    def _one(self, clause: str, values: Sequence[Any]) -> Row | None:
        rows = self._rows(clause, values)
        return rows[0] if rows else None

    def _rows(self, clause: str, values: Sequence[Any]) -> list[Row]:
        columns = "session, seq, root, created_at, placed, state, commit_id, body"
        return [_row(*found) for found in self._query(f"SELECT {columns} FROM checkpoints {clause}", values)]


def followed(rows: Iterable[Row]) -> dict[str, tuple[FileChange, ...]]:
    """By id, what changed after each checkpoint until the next one of its session; `rows` are a whole
    list, newest first."""
    found: dict[str, tuple[FileChange, ...]] = {}
    newer: dict[str, tuple[FileChange, ...]] = {}
    for row in rows:
        found[row.id] = newer.get(row.session, ())
        newer[row.session] = row.changes
    return found


def _begins(row: Row, turn: int) -> bool:
    return row.cause.phase is Phase.TURN_START and row.cause.turn == turn


def _body(row: Row) -> str:
    body = asdict(row)
    for name in ("session", "seq", "root", "created_at", "placed", "state", "commit"):
        del body[name]
    return json.dumps(body)


def _row(
    session: str, seq: int, root: str, created_at: float, placed: int, state: bytes, commit: bytes, body: str
) -> Row:
    facts: dict[str, Any] = json.loads(body)
    cause = facts.pop("cause")
    heads = facts.pop("heads")
    older = facts.pop("exact", None)  # its name while an empty list stood for all
    only = facts.pop("only", older or None)
    return Row(
        session=session,
        seq=seq,
        root=root,
        created_at=created_at,
        placed=placed,
        state=bytes(state),
        commit=bytes(commit),
        cause=Cause(
            **{
                **cause,
                "phase": Phase(cause["phase"]),
                "touched": tuple(cause["touched"]),
                "terminals": tuple(cause["terminals"]),
            }
        ),
        author=Author(facts.pop("author")),
        only=None if only is None else tuple(only),
        changes=tuple(
            FileChange(**{**change, "author": Author(change["author"])}) for change in facts.pop("changes")
        ),
        uncovered=tuple(Uncovered(**gap) for gap in facts.pop("uncovered")),
        heads={path: HeadState(*state) for path, state in heads.items()} if heads is not None else None,
        running=tuple(facts.pop("running")),
        **facts,
    )
