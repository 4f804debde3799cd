"""What is kept and what is dropped: whole sessions, the oldest first, never one that is open.

Two jobs. Packing makes many loose objects one pack and removes nothing, so it runs beside others.
Pruning forgets checkpoints, then drops what nothing needs any more and is older than an hour; it
holds the workspace alone, and can be stopped and taken up again at any point.
"""

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from agent_tui.frozen import frozen
from checkpoints.catalog import Catalog, Row
from checkpoints.gitprocess import GitError, environment
from checkpoints.journal import Journal
from checkpoints.objects import CLONE, FOLDER, ID_BYTES
from checkpoints.presence import live_sessions
from checkpoints.snapshot import read_state
from checkpoints.store import DamagedStoreError, Store, ref_name
from checkpoints.types import CheckpointError, Phase

DAY_S = 86_400
GRACE_S = 3600
PACK_FROM_LOOSE = 2000
_LOW_PRIORITY = 10


@frozen
class Keep:
    """How much is kept."""

    days: float = 14
    sessions: int = 50
    bytes: int = 2 << 30


@frozen
class Pruned:
    """What a prune did."""

    sessions: tuple[str, ...]  # gone as a whole
    checkpoints: int
    freed_bytes: int
    finished: bool  # False: it ran out of time, the rest is left for the next one


class Stopped(Exception):  # noqa: N818 - no error: somebody needs the workspace
    """The job was asked to stop."""


class Retention:
    """The two jobs on one store; `stop` ends either at its next step."""

    def __init__(
        self,
        directory: Path,
        store: Store,
        catalog: Catalog,
        *,
        budget_s: float = 60.0,
        pack_from: int = PACK_FROM_LOOSE,
        stop: threading.Event | None = None,
    ) -> None:
        self._directory = directory
        self._store = store
        self._catalog = catalog
        self._pack_from = pack_from
        self._deadline = time.monotonic() + budget_s
        self._stop = stop or threading.Event()

    # --- packing ----------------------------------------------------------------------------------

    def needs_packing(self) -> bool:
        """Whether there are more loose objects than a store should have; from a sample of them."""
        return self._store.git is not None and self._loose_estimate() > self._pack_from

    def pack(self) -> None:
        """Make the loose objects a pack; the caller holds the workspace at least with others."""
        self._git("repack", "-d", "-q", "--window=10", "--threads=1")
        self._git("prune-packed", "-q")

    def _loose_estimate(self) -> int:
        """Ids are spread evenly, so four of the 256 folders tell enough."""
        folders = [self._store.directory / "objects" / name for name in ("17", "5b", "a0", "e4")]
        return 64 * sum(len(os.listdir(folder)) for folder in folders if folder.is_dir())

    # --- pruning ----------------------------------------------------------------------------------

    def prune(self, keep: Keep, now: float | None = None, *, spare: Iterable[str] = ()) -> Pruned:
        """Drop what is too old, too many or too big; the caller holds the workspace alone."""
        now = time.time() if now is None else now
        size = self._size()
        gone: list[str] = []
        count = 0
        finished = True
        try:
            self._sweep_temporary(now)
            ages = self._ages(spare)
            for index, (newest, session) in enumerate(reversed(ages)):
                if now - newest > keep.days * DAY_S or index >= keep.sessions:
                    count += self._drop(session, self._catalog.since(session, 0))
                    gone.append(session)
            self._collect()
            while self._size() > keep.bytes and (more := self._drop_oldest(spare, gone)):
                count += more
                self._collect()
        except Stopped:
            finished = False
        return Pruned(
            sessions=tuple(gone),
            checkpoints=count,
            freed_bytes=max(0, size - self._size()),
            finished=finished,
        )

    def _ages(self, spare: Iterable[str]) -> list[tuple[float, str]]:
        """Time of the newest checkpoint and name of each session that may be dropped, oldest first."""
        kept = live_sessions(self._directory) | set(spare) | self._cut_sessions()
        found = []
        for session in self._catalog.sessions():
            last = self._catalog.last(session)
            if last is not None and session not in kept:
                found.append((last.created_at, session))
        return sorted(found)

    def _cut_sessions(self) -> set[str]:
        """Sessions whose rollback was killed: what settles it is still needed. Where a journal does not
        tell, the newest checkpoint is the one before it."""
        try:
            found = [Journal(path).read() for path in self._directory.glob("*.journal")]
        except CheckpointError:
            return {row.session for row in self._catalog.present()}
        return {one[0]["session"] for one in found if one is not None}

    def _drop_oldest(self, spare: Iterable[str], gone: list[str]) -> int:
        """Of the oldest session first the checkpoints inside turns, then the rest of it."""
        ages = self._ages(spare)
        if not ages:
            return 0
        session = ages[0][1]
        rows = self._catalog.since(session, 0)
        inner = [row for row in rows if row.cause.phase not in (Phase.TURN_START, Phase.BEFORE_ROLLBACK)]
        if inner and len(inner) < len(rows):
            return self._drop(session, inner)
        gone.append(session)
        return self._drop(session, rows)

    def _drop(self, session: str, rows: Sequence[Row]) -> int:
        self._check()
        self._catalog.remove(session, [row.seq for row in rows])
        return len(rows)

    def _collect(self) -> None:
        """Drop what no checkpoint needs."""
        if self._store.git is None:
            self._collect_loose()
        else:
            self._match_refs()
            grace = f"{GRACE_S}.seconds.ago"
            self._git("repack", "-A", "-d", "-q", f"--unpack-unreachable={grace}", "--threads=1")
            self._git("prune", f"--expire={grace}")
        self._collect_clones()

    def _collect_clones(self) -> None:
        """Drop the copies of large files that no state names, which is told by all that is kept."""
        if not self._store.clones.all():
            return
        needed: set[bytes] = set()
        for commit in self._kept_commits():
            self._check()
            with suppress(DamagedStoreError):  # it cannot be restored, with its copies or without
                needed |= read_state(self._store, self._store.commit_tree(commit)).note.clones
        self._store.clones.sweep(needed, time.time() - GRACE_S)

    def _kept_commits(self) -> set[bytes]:
        if self._store.git is None:
            return self._catalog.commits() | set(self._store.ref_targets("live"))
        lines = self._git("for-each-ref", "--format=%(objectname)").split()
        return {bytes.fromhex(line.decode()) for line in lines}

    def _match_refs(self) -> None:
        """Exactly one ref for each commit that a checkpoint needs; no ref for a closed session."""
        needed = self._catalog.commits()
        live = {ref_name(session) for session in live_sessions(self._directory)}
        lines = self._git("for-each-ref", "--format=%(objectname) %(refname)").decode().splitlines()
        commands = []
        missing = set(needed)
        for line in lines:
            oid, _, name = line.partition(" ")
            kind, _, rest = name.removeprefix("refs/").partition("/")
            is_closed = rest.startswith("session/") and rest.removeprefix("session/") not in live
            if (kind == "checkpoints" and bytes.fromhex(oid) not in needed) or (kind == "live" and is_closed):
                commands.append(f"delete {name}\n")
            elif kind == "checkpoints":
                missing.discard(bytes.fromhex(oid))
        commands += [
            f"create refs/checkpoints/kept/{oid.hex()} {oid.hex()}\n" for oid in missing if self._exists(oid)
        ]
        if commands:
            self._git("update-ref", "--stdin", stdin="".join(commands).encode())
        self._git("pack-refs", "--all", "--prune")

    def _exists(self, oid: bytes) -> bool:
        try:
            self._store.read(oid, "commit")
        except DamagedStoreError:
            return False
        return True

    def _collect_loose(self) -> None:
        """Without git: keep what can be reached from the list and from refs, drop old others."""
        reached: set[bytes] = set()
        for commit in self._catalog.commits() | set(self._store.ref_targets("live")):
            self._check()
            self._reach(commit, reached)
        limit = time.time() - GRACE_S
        for path in (self._store.directory / "objects").glob("??/*"):
            name = path.parent.name + path.name
            if (
                len(name) == 2 * ID_BYTES
                and bytes.fromhex(name) not in reached
                and path.stat().st_mtime < limit
            ):
                path.unlink()

    def _reach(self, commit: bytes, reached: set[bytes]) -> None:
        try:
            pending = [self._store.commit_tree(commit)]
        except DamagedStoreError:
            return
        reached.add(commit)
        while pending:
            tree = pending.pop()
            if tree in reached:
                continue
            reached.add(tree)
            try:
                items = self._store.tree(tree)
            except DamagedStoreError:
                continue
            for item in items:
                if item.mode == FOLDER:
                    pending.append(item.oid)
                else:
                    reached.add(item.oid)

    def _sweep_temporary(self, now: float) -> None:
        """Remove what killed processes left half-written."""
        for path in (self._store.directory / "tmp").iterdir():
            if path.lstat().st_mtime < now - GRACE_S:
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def _size(self) -> int:
        return kept_bytes(self._store, self._catalog)

    # --- git --------------------------------------------------------------------------------------

    def _check(self) -> None:
        if self._stop.is_set() or time.monotonic() > self._deadline:
            raise Stopped

    def _git(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """Run git with low priority; killed as soon as the job has to stop, which harms nothing."""
        self._check()
        assert self._store.git is not None
        directory = os.fspath(self._store.directory)
        process = subprocess.Popen(
            [self._store.git.program, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(directory),
            cwd=directory,
            process_group=0,
        )
        os.setpriority(os.PRIO_PROCESS, process.pid, _LOW_PRIORITY)
        while True:
            try:
                output, errors = process.communicate(stdin, timeout=0.1)
                break
            except subprocess.TimeoutExpired:
                stdin = b""
                if self._stop.is_set() or time.monotonic() > self._deadline:
                    process.kill()
                    process.communicate()
                    raise Stopped from None
        if process.returncode != 0:
            raise GitError(f"`git {arguments[0]}` failed: {errors.decode('utf-8', 'replace').strip()}")
        return output


def reachable(store: Store, commit: bytes) -> bool:
    """Whether everything of a commit can be read; for stores without git."""
    try:
        pending = [store.commit_tree(commit)]
        while pending:
            for item in store.tree(pending.pop()):
                if item.mode == FOLDER:
                    pending.append(item.oid)
                elif item.mode == CLONE:
                    store.require_clone(item.oid)
                else:
                    store.read(item.oid)
    except DamagedStoreError:
        return False
    return True


def kept_bytes(store: Store, catalog: Catalog) -> int:
    """Bytes that the checkpoints take on disk: the store, and what only copies of large files hold."""
    present: set[bytes] = set()
    for row in catalog.present():
        with suppress(DamagedStoreError):
            present |= read_state(store, row.state).note.clones
    return store_size(store.directory) + store.clones.size(present)


def store_size(directory: Path) -> int:
    """Bytes of the files of a store on disk, by blocks; without copies of large files, which share theirs."""
    total = 0
    for folder, inner, files in os.walk(directory):
        if "clones" in inner:
            inner.remove("clones")
        for name in files:
            try:
                total += os.lstat(os.path.join(folder, name)).st_blocks * 512
            except FileNotFoundError:
                continue  # another process replaced it
    return total
