"""The checkpoints of one workspace, without threads: record a state, find one, compare two.

One object serves one session and one thread. What other processes did is read from the catalog each
time, never remembered.
"""

import os
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from agent_tui.frozen import frozen
from checkpoints import manifest
from checkpoints.attribution import authors
from checkpoints.catalog import Catalog, Row
from checkpoints.causes import author_between, running_after, trailers
from checkpoints.coverage import Limits, StandIns, no_stand_ins
from checkpoints.diff import changes
from checkpoints.gitprocess import Git
from checkpoints.ignores import FILE_NAME, from_above
from checkpoints.journal import Journal
from checkpoints.lock import hold
from checkpoints.nested import HeadState, head_states
from checkpoints.objects import Commit, commit_content
from checkpoints.paths import touched_paths
from checkpoints.roots import Home, Standing, texts_above
from checkpoints.scan import Scan, Scanner, TooWideError
from checkpoints.snapshot import Defaults, State, read_state, usual_permissions, write_state
from checkpoints.states import Pair, Trees, covered_pairs, shown
from checkpoints.store import DamagedStoreError, ObjectWriter, Store
from checkpoints.types import Cause, CheckpointError, FileChange, NotThereError, Phase, Uncovered

_SAVE_AFTER = 50  # changed states until the scan cache is saved again
_SHOWN_GAPS = 200


@frozen
class Recorded:
    """A new checkpoint with all its changes."""

    row: Row
    changes: tuple[FileChange, ...]


@frozen
class Rolled:
    """A rollback that was carried out: checkpoints by id, and where it wrote."""

    target: str
    undo: str
    paths: Sequence[bytes]
    is_seen: bool  # the scan before it is of this process and fresh: only `paths` are looked at

    @property
    def only(self) -> Sequence[bytes] | None:
        """What has to be read again; another ignore file may change what else is covered: all."""
        if self.is_seen and not any(path.rpartition(b"/")[2] == FILE_NAME for path in self.paths):
            return self.paths
        return None


class Workspace:
    """Opened with `open`; `close` saves the scan cache. Methods raise CheckpointError."""

    def __init__(
        self,
        home: Home,
        session: str,
        *,
        git: Git | None,
        limits: Limits,
        state_dir: Path,
        targeted: str = "",
        stand_ins: StandIns = no_stand_ins,
    ) -> None:
        self.home = home
        self.session = session
        self.limits = limits
        self.targeted = targeted  # why only paths named by file tools are held; empty: all are
        self.store = Store(home.directory / "store", git)
        self.trees = Trees(self.store)
        self.catalog: Catalog
        self.journal = Journal(home.journal)
        self._above = texts_above(home.root)
        self.touched: set[bytes] = set()
        self.is_replaced = False  # another directory came into its place since it was opened
        self._standing = Standing(home)
        self.defaults = Defaults()
        self.root = os.fsencode(home.root)
        self._scanner = Scanner(
            root=self.root,
            limits=limits,
            above=from_above(self._above),
            skipped=_own_folders(state_dir),
            clones=self.store.clones,
            targeted=bool(targeted),
        )
        self._stand_ins = stand_ins  # files that are nobody's work: never recorded, never restored over
        self._latest: State | None = None
        self._unsaved = 0

    # --- opening ----------------------------------------------------------------------------------

    def open(self, progress: Callable[[int], None]) -> None:
        """Open or make the store and the list, and load the scan cache."""
        self.store.create()
        self.catalog = Catalog(self.home.directory / "catalog.db")
        self._standing.hold()
        self._scanner.progress = progress
        self._load_defaults()
        last = self.catalog.last(self.session)
        known = self._readable(last) if last is not None else None
        if known is not None:
            self.touched, self._scanner.hold = set(known.note.touched), set(known.note.held)
            self._scanner.sticky = True
        if not self.targeted:
            self._load_manifest()

    def _load_defaults(self) -> None:
        stored = self.catalog.meta("defaults:" + self.home.below)
        if stored:
            file, executable, folder = (int(part) for part in stored.split())
            self.defaults = Defaults(file=file, executable=executable, folder=folder)

    def _load_manifest(self) -> None:
        found = manifest.load(self.home.directory / f"scan-{self.home.name}.cache")
        if found is None:
            return
        try:
            self._latest = read_state(self.store, found.state)
            self.trees.items(self._latest.files)
        except CheckpointError:
            return  # the store does not have it any more: everything is read again
        self._scanner.previous = found.scan

    def first_import(self) -> int:
        """Read and store the workspace for the first time; returns the number of files.

        Falls back to targeted mode when it is too wide or takes too long.
        """
        if self.targeted:
            return 0
        deadline = time.monotonic() + self.limits.import_s
        try:
            with self.locked():
                self._state_now(deadline=deadline, keep_alive=True)
        except TooWideError as error:
            self.switch_to_targeted(str(error))
            return 0
        self.save()
        previous = self._scanner.previous
        return previous.root.count if previous else 0

    def follow_mode(self) -> None:
        """Work as the newest checkpoint of the session did, full or targeted."""
        last = self.catalog.last(self.session)
        known = self._readable(last) if last is not None else None
        if known is not None and known.note.targeted and not self.targeted:
            self.switch_to_targeted("the session held only what file tools named")

    def switch_to_targeted(self, why: str) -> None:
        """Hold only what file tools name from now on."""
        self.targeted = why
        self._scanner.targeted = True
        self._scanner.previous = None
        self._latest = None

    def save(self) -> None:
        """Save the scan cache; a failure costs the next start time and nothing else."""
        previous = self._scanner.previous
        if previous is None or self._latest is None or self.targeted:
            return
        try:
            with self.locked():
                self._save_locked(previous, self._latest)
        except CheckpointError:
            return

    def is_there(self) -> bool:
        """Whether the store is still the one that was opened: nobody removed or replaced it."""
        return self.catalog.is_there() and self.home.directory.is_dir()

    def close(self) -> None:
        """Save what is worth it and let go of files and processes."""
        if self._unsaved:
            self.save()
        self.let_go()

    def let_go(self) -> None:
        """Close without saving."""
        self._standing.let_go()
        self.store.close()
        self.catalog.close()

    def locked(self, *, alone: bool = False, what: str = "a checkpoint") -> AbstractContextManager[None]:
        """The lock of the workspace."""
        what = f"{what} of session {self.session}"
        return hold(self.home.directory / "lock", alone=alone, what=what, timeout_s=self.limits.lock_s)

    # --- recording --------------------------------------------------------------------------------

    def record(self, cause: Cause, early: Callable[[Recorded], None] | None = None) -> Recorded:
        """Take a checkpoint; it is on disk when this returns, its objects before the list names it.
        `early` is told of it before that, for those who need only know what changed."""
        with self.locked():
            return self.record_locked(cause, deadline=time.monotonic() + self.limits.take_s, early=early)

    def record_locked(
        self,
        cause: Cause,
        *,
        deadline: float | None = None,
        rolled: Rolled | None = None,
        early: Callable[[Recorded], None] | None = None,
    ) -> Recorded:
        """Take a checkpoint under a lock already held; `rolled` is what a rollback did before it."""
        self.touched |= touched_paths(self.root, cause.touched)
        last = self.catalog.last(cause.session)
        author, _ = author_between(cause, last)
        named = Commit(author=author.value, created_at=time.time(), message=trailers(cause, author))
        state = self._state_or_error(deadline=deadline, only=rolled.only if rolled else None, named=named)
        row = self._row(cause, state, last, rolled, named)
        pairs: dict[bytes, Pair] = {}
        found: tuple[FileChange, ...] = ()
        if last is not None and last.state != state.oid:
            older = self._readable(last)
            if older is None:
                gap = Uncovered(path=".", reason=f"what changed since `{last.id}`, which is damaged")
                row = replace(row, uncovered=(gap, *row.uncovered))
            else:
                pairs = covered_pairs(self.trees, older, state)
                found = changes(self.trees, older, state, pairs, authors(row))

        def store(numbered: Row) -> None:
            if early is not None:
                early(Recorded(row=numbered, changes=found))
            self._write_held()

        row = self.catalog.add(replace(row, changes=found), store)
        if last is None or last.commit != row.commit:
            self._keep(["checkpoints", row.session, str(row.seq)], row.commit)
        return Recorded(row=row, changes=found)

    def _row(self, cause: Cause, state: State, last: Row | None, rolled: Rolled | None, named: Commit) -> Row:
        author, is_exact = author_between(cause, last)
        only: Collection[bytes] | None = rolled.paths if rolled else None
        if is_exact:
            only = touched_paths(self.root, cause.touched)
        if last is not None and last.state == state.oid:
            commit = last.commit
        else:
            commit = self._commit(replace(named, tree=state.oid))
        return Row(
            session=cause.session,
            seq=0,
            root=self.home.below,
            created_at=named.created_at,
            cause=cause,
            state=state.oid,
            commit=commit,
            author=author,
            only=None if only is None else tuple(sorted(shown(path) for path in only)),
            uncovered=self._uncovered(state),
            heads=self.heads(),
            running=running_after(cause, last),
            target=rolled.target if rolled else "",
            undo=rolled.undo if rolled else "",
        )

    def now(self, touched: Iterable[bytes] = ()) -> State:
        """The state of the workspace at this moment, stored but not listed."""
        with self.locked():
            return self.now_locked(touched)

    def now_locked(self, touched: Iterable[bytes] = ()) -> State:
        """The same under a lock already held."""
        self.touched |= set(touched)
        return self._state_or_error(deadline=time.monotonic() + self.limits.take_s, keep_alive=True)

    def unlisted(self, last: Row, state: State) -> Row:
        """The row that a checkpoint taken now would get; it is not stored."""
        cause = Cause(phase=Phase.BEFORE_ROLLBACK, session=last.session)
        author, _ = author_between(cause, last)
        return replace(
            last,
            seq=last.seq + 1,
            created_at=time.time(),
            cause=cause,
            state=state.oid,
            author=author,
            only=None,
        )

    def _state_or_error(
        self,
        *,
        deadline: float | None,
        only: Collection[bytes] | None = None,
        keep_alive: bool = False,
        named: Commit | None = None,
    ) -> State:
        try:
            return self._state_now(deadline=deadline, only=only, keep_alive=keep_alive, named=named)
        except TooWideError as error:
            raise CheckpointError(f"no checkpoint of `{self.home.root}`: {error}") from error

    def _state_now(
        self,
        *,
        deadline: float | None,
        only: Collection[bytes] | None = None,
        keep_alive: bool = False,
        named: Commit | None = None,
    ) -> State:
        """The state, stored; a new one together with its commit, if `named`, so that the disk is waited
        for once, by `_write_held`."""
        writer = ObjectWriter(self.store)
        before = self._scanner.previous
        try:
            self.is_replaced = self._standing.is_replaced() or self.is_replaced
            scan = self._scan(writer, deadline=deadline, only=only)
            if before is not None and self._is_same(before, scan):
                assert self._latest is not None
                return self._latest
            state = self._write(writer, scan, named)
        except BaseException as error:
            writer.abandon()
            self._scanner.previous = before
            if isinstance(error, OSError):
                raise self._failed(error) from error
            raise
        self._latest = state
        self._unsaved += 1
        if keep_alive:
            commit = Commit(tree=state.oid, author="live", created_at=0, message="now")
            self._keep(["live", "session", self.session], self._commit(commit))
        if self._unsaved >= _SAVE_AFTER:
            self._save_locked(scan, state)
        return state

    def _scan(self, writer: ObjectWriter, *, deadline: float | None, only: Collection[bytes] | None) -> Scan:
        """Walk past the stand-ins; again when some were made meanwhile, gone by now or not."""
        occupied, since_ns = self.occupied(), time.time_ns()
        while True:
            scan = self._scanner.scan(
                writer.blob, touched=self.touched, deadline=deadline, only=only, occupied=occupied
            )
            more = self.occupied(since_ns) - occupied
            if not more:
                return scan
            occupied |= more

    def occupied(self, since_ns: int | None = None) -> frozenset[bytes]:
        """Paths in the workspace that a stand-in holds at this moment, or has held since `since_ns`."""
        prefix = self.root + b"/"
        places = (os.fsencode(path) for path in self._stand_ins(since_ns or time.time_ns()))
        return frozenset(place.removeprefix(prefix) for place in places if place.startswith(prefix))

    def _is_same(self, before: Scan, scan: Scan) -> bool:
        return (
            self._latest is not None
            and before.root is scan.root
            and before.exclude == scan.exclude
            and before.held == scan.held
            and self._latest.note.touched == self.touched
            and self._latest.note.above == self._above
        )

    def _write(self, writer: ObjectWriter, scan: Scan, named: Commit | None) -> State:
        if not self.catalog.meta("defaults:" + self.home.below) and not self.targeted:
            self.defaults = usual_permissions(scan.root)
            bits = (self.defaults.file, self.defaults.executable, self.defaults.folder)
            self.catalog.set_meta("defaults:" + self.home.below, " ".join(str(bit) for bit in bits))
        state = write_state(
            writer,
            scan,
            touched=self.touched,
            targeted=bool(self.targeted),
            defaults=self.defaults,
            above=self._above,
        )
        if named is not None:
            writer.add("commit", commit_content(replace(named, tree=state.oid)))
        writer.finish(hold=named is not None)
        return state

    def _write_held(self) -> None:
        try:
            self.store.write_held()
        except OSError as error:
            self.store.drop_held()
            self.read_anew()
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> CheckpointError:
        what, where = error.strerror, _file_of(error, self.home)
        return CheckpointError(f"no checkpoint of `{self.home.root}`: {what}: `{where}`")

    def _save_locked(self, scan: Scan, state: State) -> None:
        """Save the scan cache, and keep alive what it counts on."""
        self._write_held()
        try:
            commit = self._commit(Commit(tree=state.oid, author="scan", created_at=0, message="scan cache"))
            self._keep(["live", "scan", self.home.name], commit)
            manifest.save(
                self.home.directory / f"scan-{self.home.name}.cache",
                manifest.Manifest(scan=scan, state=state.oid),
                self.store.temporary(),
            )
        except (OSError, CheckpointError):
            return  # only a cache
        self._unsaved = 0

    def _commit(self, commit: Commit) -> bytes:
        try:
            return self.store.put_commit(commit)
        except OSError as error:
            raise CheckpointError(f"checkpoint store `{self.store.directory}`: {error.strerror}") from error

    def _keep(self, ref: Sequence[str], commit: bytes) -> None:
        try:
            self.store.set_ref(ref[0], ref[1:], commit)
        except OSError as error:
            raise CheckpointError(f"checkpoint store `{self.store.directory}`: {error.strerror}") from error

    # --- reading ----------------------------------------------------------------------------------

    def state(self, row: Row) -> State:
        """The recorded state of a checkpoint; raises DamagedStoreError and notes it as broken."""
        try:
            return read_state(self.store, row.state)
        except DamagedStoreError as error:
            self.distrust(row, str(error))
            raise DamagedStoreError(f"checkpoint `{row.id}` cannot be used any more: {error}") from error

    def distrust(self, row: Row, why: str) -> None:
        """Note a checkpoint as broken, and store everything anew: what else is missing is not known."""
        if not row.broken:
            self.catalog.update(replace(row, broken=why))
        self.read_anew()

    def read_anew(self) -> None:
        """Take nothing for stored: the next checkpoint reads and stores everything."""
        self._scanner.previous = None
        self._latest = None

    def _readable(self, row: Row) -> State | None:
        try:
            return self.state(row)
        except DamagedStoreError:
            return None

    def resolve(self, checkpoint_id: str) -> Row:
        """The checkpoint of that id; the session may be shortened as long as it is one."""
        session, slash, seq = checkpoint_id.strip().rpartition("/")
        if not slash or not seq.isdigit():
            raise NotThereError(f"`{checkpoint_id}` is no checkpoint id; it looks like `7f3a/12`")
        sessions = self.catalog.sessions(session)
        if session in sessions:
            sessions = [session]
        if len(sessions) > 1:
            raise NotThereError(f"`{session}` is the beginning of {len(sessions)} sessions; give more of it")
        row = self.catalog.get(sessions[0], int(seq)) if sessions else None
        if row is None or row.root != self.home.below:
            raise NotThereError(
                f"there is no checkpoint `{checkpoint_id}` here; `agent-tui checkpoints list` shows all"
            )
        return row

    def _uncovered(self, state: State) -> tuple[Uncovered, ...]:
        found = [
            Uncovered(path=shown(path), reason=gap.reason) for path, gap in sorted(state.note.gaps.items())
        ]
        if len(found) > _SHOWN_GAPS:
            rest = len(found) - _SHOWN_GAPS
            found = [*found[:_SHOWN_GAPS], Uncovered(path=".", reason=f"{rest} more paths")]
        if self.targeted:
            found.insert(0, Uncovered(path=".", reason=f"all but files named by file tools: {self.targeted}"))
        return tuple(found)

    def heads(self) -> dict[str, HeadState]:
        """Where the user's repositories stand; information only."""
        previous = self._scanner.previous
        return head_states(self.home.root, previous.exclude if previous else ())


def _own_folders(state_dir: Path) -> frozenset[tuple[int, int]]:
    """Device and inode of what is ours and must never be recorded, wherever it lies."""
    try:
        status = state_dir.stat()
    except OSError:
        return frozenset()
    return frozenset({(status.st_dev, status.st_ino)})


def _file_of(error: OSError, home: Home) -> str:
    name = error.filename
    return os.fsdecode(name) if isinstance(name, str | bytes) else os.fspath(home.directory)
