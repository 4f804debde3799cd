"""The sessions of a state directory: where each lies, and a list of them that is quick to read.

The session stores are the truth. The index database beside them only saves opening each of them,
and is made again when it is missing, damaged or older than a store.
"""

import json
import os
import secrets
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from agent_tui.frozen import frozen
from checkpoints.inplace import write_in_place
from checkpoints.owner import LOCK_NAME, Holder, OwnedError, Owner, holder_of
from checkpoints.session_facts import SessionFacts, read_facts

STORE_NAME, ARTIFACTS_NAME, INDEX_NAME = "session.db", "artifacts", "index.db"
MAX_TITLE_CHARS = 120
STDIN_BEGINS = "\n\n<stdin>\n"  # in a message: here what was piped in follows what was typed
DISK_FULL = "the disk is full; make room"  # the damage of an entry whose store is whole, as far as known

_INDEX = """
DROP TABLE IF EXISTS entries;
DROP TABLE IF EXISTS listing;
CREATE TABLE IF NOT EXISTS listed (
    id TEXT PRIMARY KEY, stamp TEXT NOT NULL, workspace TEXT NOT NULL, title TEXT NOT NULL,
    model TEXT NOT NULL, created_at REAL NOT NULL, updated_at REAL NOT NULL,
    turns INTEGER NOT NULL, damage TEXT NOT NULL, unused INTEGER NOT NULL, more TEXT NOT NULL
) WITHOUT ROWID;
"""
# The few facts of a list, by their place in the stored form of events and items.
_FACTS = """
SELECT
  (SELECT body FROM records WHERE kind = 'event' ORDER BY seq LIMIT 1),
  (SELECT json_extract(body, '$.text') FROM records
     WHERE kind = 'item' AND json_extract(body, '$.type') = 'UserItem' ORDER BY seq LIMIT 1),
  (SELECT count(*) FROM records
     WHERE kind = 'event' AND json_extract(body, '$.body.type') = 'TurnStarted'),
  (SELECT json_extract(body, '$.body.value') FROM records
     WHERE kind = 'event' AND json_extract(body, '$.body.type') = 'SettingChanged'
       AND json_extract(body, '$.body.key') = 'title' ORDER BY seq DESC LIMIT 1),
  (SELECT min(at) FROM records), (SELECT max(at) FROM records)
"""
# What a start leaves in which nothing was said: its opening and its end.
_UNUSED = """
SELECT NOT EXISTS (SELECT 1 FROM records WHERE kind = 'item'
  OR json_extract(body, '$.body.type') NOT IN
    ('SessionStarted', 'NoticeRaised', 'SettingChanged', 'SessionClosed'))
"""
UNUSED_AFTER_S = 60.0  # without a change: long after a start that still makes its parts


class NoSessionError(Exception):
    """No session, or more than one, fits; the text names what was asked for."""


@frozen
class SessionPlace:
    """Where a session lies."""

    id: str
    directory: Path

    @property
    def store(self) -> Path:
        """The SQLite file of its records."""
        return self.directory / STORE_NAME

    @property
    def artifacts(self) -> Path:
        """The directory of spooled output."""
        return self.directory / ARTIFACTS_NAME


@frozen
class SessionEntry:
    """One line of a list of sessions; times are UTC seconds."""

    id: str
    workspace: str
    title: str
    model: str
    created_at: float
    updated_at: float
    turns: int
    damage: str = ""  # why it cannot be read; the rest is then empty
    unused: bool = False  # nothing was ever said in it
    more: SessionFacts = SessionFacts()
    owner: Holder | None = None  # the live process that has it open


def create_session(state_dir: Path) -> SessionPlace:
    """Make the directory of a new session, mode 0700; its id is 8 hexadecimal characters."""
    sessions = state_dir / "sessions"
    sessions.mkdir(mode=0o700, parents=True, exist_ok=True)
    while True:
        session_id = secrets.token_hex(4)
        place = SessionPlace(id=session_id, directory=sessions / session_id)
        try:
            place.directory.mkdir(mode=0o700)
        except FileExistsError:
            continue
        place.artifacts.mkdir(mode=0o700)
        return place


def fork_session(source: SessionPlace, state_dir: Path) -> SessionPlace:
    """Copy a session, also one that is open elsewhere, to a new id, with its output files."""
    place = create_session(state_dir)
    with closing(sqlite3.connect(source.store)) as old, closing(sqlite3.connect(place.store)) as new:
        old.backup(new)
    for artifact in source.artifacts.iterdir() if source.artifacts.is_dir() else ():
        if artifact.is_file():
            shutil.copy2(artifact, place.artifacts / artifact.name)
    return place


def find_session(state_dir: Path, prefix: str) -> SessionPlace:
    """The one session whose id begins so; raises NoSessionError."""
    found = [place for place in places(state_dir) if place.id.startswith(prefix)]
    exact = [place for place in found if place.id == prefix]
    if len(found) != 1 and not exact:
        what = "more than one session begins" if found else "no session begins"
        raise NoSessionError(f"{what} with `{prefix}`; `agent-tui sessions` lists them")
    return (exact or found)[0]


def remove_session(place: SessionPlace) -> None:
    """Delete a session for good; the caller holds or has checked its owner."""
    shutil.rmtree(place.directory)


def remove_unused(place: SessionPlace) -> None:
    """Delete a session in which nothing was ever said; the caller holds its owner. Others stay."""
    if _holds_nothing_else(place) and _read_facts(place)[-2]:
        with suppress(OSError):
            shutil.rmtree(place.directory)


def _holds_nothing_else(place: SessionPlace) -> bool:
    """No output, and no store that was set aside for its damage."""
    own = {STORE_NAME, f"{STORE_NAME}-wal", f"{STORE_NAME}-shm", LOCK_NAME, ARTIFACTS_NAME}
    try:
        names = set(os.listdir(place.directory))
        return names <= own and not (place.artifacts.is_dir() and os.listdir(place.artifacts))
    except FileNotFoundError:  # another process takes it away at this moment
        return True


def places(state_dir: Path) -> Iterator[SessionPlace]:
    """Every session directory, in no order."""
    try:
        entries = list(os.scandir(state_dir / "sessions"))
    except FileNotFoundError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield SessionPlace(id=entry.name, directory=Path(entry.path))


def list_sessions(state_dir: Path, workspace: Path | None = None) -> list[SessionEntry]:
    """Newest first; of one workspace, or of all. Never fails for one that is damaged.

    Those in which nothing was said are left out, and taken away when a crash left them.
    """
    found = list(places(state_dir))
    with closing(_open_index(state_dir)) as index, index:
        known = {row[0]: row[1:] for row in index.execute("SELECT * FROM listed")}
        entries = [_entry(index, place, known.get(place.id)) for place in found]
        gone = set(known) - {place.id for place in found}
        index.executemany("DELETE FROM listed WHERE id = ?", [(one,) for one in gone])
    for entry in entries:
        if entry.unused and entry.owner is None:
            _sweep(SessionPlace(id=entry.id, directory=state_dir / "sessions" / entry.id))
    entries = [entry for entry in entries if not entry.unused]
    if workspace is not None:
        entries = [entry for entry in entries if entry.workspace == str(workspace) or entry.damage]
    return sorted(entries, key=lambda entry: entry.updated_at, reverse=True)


def open_elsewhere(state_dir: Path, workspace: Path, own: str) -> list[str]:
    """Ids of the sessions of a workspace, other than `own`, that a live process has open."""
    held = (
        place for place in places(state_dir) if place.id != own and holder_of(place.directory) is not None
    )
    return [place.id for place in held if _read_facts(place)[0] == str(workspace)]


def _sweep(place: SessionPlace) -> None:
    with suppress(OSError, OwnedError):  # gone, or open again
        if time.time() - place.directory.stat().st_mtime < UNUSED_AFTER_S:
            return
        owner = Owner.take(place.directory)
        try:
            remove_unused(place)
        finally:
            owner.release()


def _open_index(state_dir: Path) -> sqlite3.Connection:
    """The index, made anew when it is damaged, in memory when it cannot be written."""
    path = state_dir / INDEX_NAME
    for target in (path, path, ":memory:"):
        try:
            index = sqlite3.connect(target, timeout=2)
            index.executescript(_INDEX)
            index.execute("SELECT count(*) FROM listed").fetchone()
            return index
        except sqlite3.OperationalError:
            continue
        except sqlite3.DatabaseError:
            path.unlink(missing_ok=True)
    raise AssertionError("an index in memory always opens")


def _entry(index: sqlite3.Connection, place: SessionPlace, known: tuple[object, ...] | None) -> SessionEntry:
    stamp = _stamp(place.store)
    if known is None or known[0] != stamp:
        facts = _read_facts(place)
        with suppress(sqlite3.OperationalError):  # a full disk: the list is made from the stores
            index.execute(
                "INSERT OR REPLACE INTO listed VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (place.id, stamp, *map(_bound, facts)),
            )
    else:
        facts = tuple(_whole(fact) if isinstance(fact, bytes) else fact for fact in known[1:])
    workspace, title, model, created_at, updated_at, turns, damage, unused, more = facts
    return SessionEntry(
        id=place.id,
        workspace=str(workspace),
        title=str(title),
        model=str(model),
        created_at=float(str(created_at)),
        updated_at=float(str(updated_at)),
        turns=int(str(turns)),
        damage=str(damage),
        unused=bool(unused),
        more=SessionFacts.from_text(str(more)),
        owner=holder_of(place.directory),
    )


def _stamp(store: Path) -> str:
    """Changes with every write: size and time of the store and its write-ahead log."""
    parts = []
    for path in (store, store.with_name(store.name + "-wal")):
        try:
            found = path.stat()
            parts.append(f"{found.st_size}.{found.st_mtime_ns}")
        except FileNotFoundError:
            parts.append("-")
    return "/".join(parts)


def _whole(data: bytes) -> str:
    """Text of a store: paths whose bytes are no UTF-8 hold halves of characters (os.fsdecode)."""
    return data.decode("utf-8", "surrogatepass")


def _bound(value: object) -> object:
    """A value as SQLite takes it, which has no text with halves of characters."""
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value


def _open_to_read(store: Path) -> sqlite3.Connection:
    """The store; where the file beside it that readers need cannot be made (a full disk, one that is
    read-only), the store alone, provided that it is whole: nothing lies in its write-ahead log."""
    write_in_place(store)
    opened = sqlite3.connect(store, timeout=2)
    try:
        opened.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        log = store.with_name(store.name + "-wal")
        if log.exists() and log.stat().st_size:
            opened.close()
            raise
        opened.close()
        return sqlite3.connect(f"{store.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    return opened


def _read_facts(place: SessionPlace) -> tuple[object, ...]:
    """Workspace, title, model, created, updated, turns, damage, unused, more."""
    if not place.store.exists():
        return ("", "", "", 0.0, 0.0, 0, "it has no store", _holds_nothing_else(place), "")
    try:
        with closing(_open_to_read(place.store)) as store:
            store.text_factory = _whole
            store.execute("PRAGMA query_only=ON")
            (unused,) = store.execute(_UNUSED).fetchone()
            first, said, turns, titled, created_at, updated_at = store.execute(_FACTS).fetchone()
            started = json.loads(first or "{}").get("body", {})
            more = read_facts(store)
    except (sqlite3.Error, ValueError, RecursionError) as error:
        from checkpoints.records import is_about_writing

        why = DISK_FULL if is_about_writing(error) else str(error)
        return ("", "", "", 0.0, place.store.stat().st_mtime, 0, why, False, "")
    typed, _, _ = str(said or "").partition(STDIN_BEGINS)
    title = " ".join(str(more.fork_title or titled or typed).split())[:MAX_TITLE_CHARS]
    return (
        str(started.get("workspace", "")),
        title,
        str(started.get("model", "")),
        created_at or 0.0,
        updated_at or 0.0,
        turns,
        "",
        unused,
        more.to_text(),
    )
