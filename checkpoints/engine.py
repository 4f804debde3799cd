"""The checkpointer that the engine and the commands use: one thread of its own per workspace."""

import asyncio
import functools
import os
import sqlite3
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from checkpoints.coverage import Limits, StandIns, no_stand_ins, refusal
from checkpoints.off import NoCheckpointer
from checkpoints.types import (
    Cause,
    Checkpoint,
    CheckpointError,
    Choice,
    FileChange,
    Health,
    Kept,
    Phase,
    RollbackPlan,
    RollbackResult,
)

if TYPE_CHECKING:  # the rest is imported in the thread
    from checkpoints.gitprocess import Git
    from checkpoints.joined import Joined
    from checkpoints.presence import Presence
    from checkpoints.rollback import AfterStep
    from checkpoints.roots import Home
    from checkpoints.upkeep import Upkeep
    from checkpoints.workspace import Recorded, Workspace

_T = TypeVar("_T")
_CLOSING_BUDGET_S = 5.0
GIVES_WAY_S = 0.3  # to the first request of a program that has just started
DISK_GIVES_WAY_S = 0.005  # to the session's own records of a call and the request that follows it


def open_checkpointer(
    *,
    workspace: Path,
    state_dir: Path,
    session: str,
    enabled: bool = True,
    limits: Limits | None = None,
    git: "Git | str | None" = "",
    beside: Sequence[Path] = (),
    stand_ins: StandIns = no_stand_ins,
) -> "WorkspaceCheckpointer | NoCheckpointer":
    """Start checkpoints of a workspace; the first import runs in the background, after `GIVES_WAY_S` or
    as soon as something needs it.

    Never raises: what is wrong shows in `health` and in what `take` raises. `git` is found on the
    search path unless given; None means plain copies. A rollback that a killed process left is taken
    back before it. `beside` are writable folders outside the workspace, which are taken and restored
    with it. `stand_ins` tells which files are there for the sandbox only.
    """
    if not enabled:
        return NoCheckpointer()
    return WorkspaceCheckpointer(
        workspace=workspace,
        state_dir=state_dir,
        session=session,
        limits=limits or Limits(),
        git=git,
        beside=beside,
        stand_ins=stand_ins,
    )


class WorkspaceCheckpointer:
    """See `agent_tui.engine.ports.Checkpointer`."""

    def __init__(
        self,
        *,
        workspace: Path,
        state_dir: Path,
        session: str,
        limits: Limits,
        git: "Git | str | None",
        beside: Sequence[Path],
        stand_ins: StandIns,
    ) -> None:
        self._root = workspace
        self._state_dir = state_dir
        self._session = session
        self._limits = limits
        self._wanted_git = git
        self._git: Git | None = None
        self._stand_ins = stand_ins
        real = Path(os.path.realpath(workspace))
        self._beside = [root for root in beside if not Path(os.path.realpath(root)).is_relative_to(real)]
        self._real = real
        self._expected = 0
        self._health = Health(state="importing")
        self._lock = threading.Lock()
        self._needed = threading.Event()
        self._more = threading.Event()  # something waits for the thread
        self._core: Joined | None = None
        self._presence: Presence | None = None
        self._remarks: list[str] = []
        self._upkeep: Upkeep | None = None
        self._error: CheckpointError | None = None
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="checkpoints")
        self._imported: Future[None] = self._executor.submit(self._begin)

    # --- the port ---------------------------------------------------------------------------------

    def health(self) -> Health:
        """The state for the status line; never blocks."""
        return self._health

    def hurry(self) -> None:
        """Somebody waits for what runs in the background."""
        self._needed.set()

    def add(self, folder: Path) -> None:
        """From the next checkpoint on take a folder beside the workspace too."""
        real = Path(os.path.realpath(folder))
        if not real.is_relative_to(self._real) and folder not in self._beside:
            self._beside.append(folder)
            self._submit(functools.partial(self._join, folder, real))

    async def take(self, cause: Cause) -> Checkpoint:
        if cause.phase is not Phase.TURN_START:
            self.hurry()
        await self._settled()
        known: Future[Checkpoint] = Future()
        known.set_running_or_notify_cancel()
        done = self._submit(functools.partial(self._run, functools.partial(self._take, cause, known)))
        done.add_done_callback(functools.partial(self._taken, known))
        return await self._in_time(asyncio.shield(asyncio.wrap_future(known)))

    async def changes_since(self, checkpoint_id: str) -> tuple[FileChange, ...]:
        return await self._call(functools.partial(self._changes_since, checkpoint_id))

    async def list(self, session: str | None = None) -> tuple[Checkpoint, ...]:
        return await self._call(functools.partial(self._list, session))

    async def kept(self) -> Kept:
        return await self._call(_kept)

    async def diff(self, older: str, newer: str | None = None, paths: Sequence[str] = ()) -> str:
        return await self._call(functools.partial(self._diff, older, newer, tuple(paths)))

    async def plan(self, target: str, paths: Sequence[str] = ()) -> RollbackPlan:
        return await self._call(lambda core: core.plan(core.main.resolve(target), paths))

    async def rollback(
        self,
        target: str,
        *,
        paths: Sequence[str] = (),
        choices: Mapping[str, Choice] | None = None,
        default: Choice = "keep",
        session: str = "",
    ) -> RollbackResult:
        from checkpoints.rollback import Request

        request = Request(
            target=target, paths=tuple(paths), choices=dict(choices or {}), default=default, asked_by=session
        )
        return await self._call(lambda core: self._going_back(lambda told: core.run(request, told)))

    async def redo(self, session: str = "") -> RollbackResult:
        return await self._call(lambda core: self._going_back(lambda told: core.redo(session, told)))

    async def close(self) -> None:
        """Wait for what runs, save the scan cache, pack the store if that is due, end the thread."""
        self.hurry()
        self._more.set()
        await asyncio.wrap_future(self._executor.submit(self._end))
        self._executor.shutdown(wait=True)

    # --- beyond the port --------------------------------------------------------------------------

    async def ready(self) -> Health:
        """Wait for the first import, at once; tells how it ended."""
        self.hurry()
        await self._ready()
        return self._health

    async def _ready(self) -> None:
        await asyncio.shield(asyncio.wrap_future(self._imported))

    # --- in the thread ----------------------------------------------------------------------------

    async def _settled(self) -> None:
        """Wait for the first import; it ends by itself unless the disk hangs."""
        if not self._imported.done():
            await self._in_time(self._ready(), self._limits.import_s)

    async def _in_time(self, work: Awaitable[_T], more_s: float = 0.0) -> _T:
        """Give up after the time limit; what hangs goes on in its thread, and the next one waits for it."""
        limit_s = self._limits.take_s + more_s
        try:
            return await asyncio.wait_for(work, limit_s)
        except TimeoutError as error:
            raise CheckpointError(f"the checkpoint took longer than {limit_s:g} s") from error

    async def _call(self, work: "Callable[[Joined], _T]") -> _T:
        """Run in the thread, after what runs there; a cancelled caller does not stop the work."""
        self.hurry()
        return await asyncio.shield(asyncio.wrap_future(self._submit(functools.partial(self._run, work))))

    def _going_back(self, work: "Callable[[AfterStep], RollbackResult]") -> RollbackResult:
        """Say in the health how far it is."""

        def told(done: int, total: int) -> None:
            self._health = replace(self._health, going_back=(done, total))

        try:
            return work(told)
        finally:
            self._health = replace(self._health, going_back=None)

    def _submit(self, work: "Callable[[], _T]") -> "Future[_T]":
        if self._upkeep is not None:
            self._upkeep.interrupt()
        self._more.set()
        return self._executor.submit(work)

    def _run(self, work: "Callable[[Joined], _T]") -> _T:
        if self._error is not None:
            raise self._error
        if self._core is None:
            raise CheckpointError("the checkpoints of this session are closed")
        if not self._core.main.is_there():
            self._start_anew(self._core)
        return work(self._core)

    def _start_anew(self, lost: "Joined") -> None:
        """Somebody removed the store while it was open: begin another, and say so."""
        last = lost.main.catalog.last(self._session)  # an open file can be read although it is removed
        presence, upkeep = self._presence, self._upkeep
        try:
            core = self._opened()
        except OSError as error:  # all stays as it was, and the next call tries again
            raise CheckpointError(f"the removed checkpoints cannot be begun anew: {error}") from error
        self._core = core
        lost.let_go()
        if presence is not None:
            presence.close()
        if upkeep is not None:
            upkeep.interrupt()
        core.main.catalog.skip_to(self._session, last.seq if last else 0)
        core.first_import()
        self._remarks.append("the older checkpoints were removed by somebody; new ones are taken from now on")
        self._health = self._settled_health(self._core)

    def _begin(self) -> None:
        self._needed.wait(GIVES_WAY_S)
        try:
            self._import()
        except CheckpointError as error:
            self._fail(error)
        except (OSError, sqlite3.Error) as error:
            self._fail(CheckpointError(f"the first checkpoint of `{self._root}` cannot be taken: {error}"))

    def _fail(self, error: CheckpointError) -> None:
        self._error = error
        self._health = Health(state="failed", detail=str(error))

    def _import(self) -> None:
        from checkpoints.gitprocess import find_git
        from checkpoints.nested import expected_files

        git = self._wanted_git
        self._git = find_git() if isinstance(git, str) else git
        self._expected = expected_files(self._real)
        self._core = self._opened()
        self._settle_cut(self._core)
        self._core.first_import()
        self._health = self._settled_health(self._core)

    def _settle_cut(self, core: "Joined") -> None:
        """A rollback that was cut is taken back: nothing is lost by it, and it can be asked for again."""
        self._remarks += core.set_aside_damaged()
        cut = core.cut()
        core.recover(complete=False)
        if cut is not None:
            self._remarks.append(
                f"a rollback to {cut.target} was cut after {cut.done} of {cut.total} steps and was taken "
                "back; it can be asked for again"
            )

    def _opened(self) -> "Joined":
        from checkpoints.joined import Joined
        from checkpoints.presence import Presence
        from checkpoints.retention import Keep
        from checkpoints.upkeep import Upkeep

        main = self._open(self._root)
        with ExitStack() as undone:
            undone.callback(main.close)
            try:
                presence = Presence(main.home.directory, self._session)
                undone.callback(presence.close)
                core = Joined(main, tuple(self._open(root) for root in self._beside))
            except OSError as error:
                where = main.home.directory
                raise CheckpointError(f"`{where}` cannot be written: {error.strerror}") from error
            core.remember()
            undone.pop_all()
        self._presence = presence
        self._upkeep = Upkeep(main.home.directory, self._git, Keep())
        return core

    def _join(self, folder: Path, real: Path) -> None:
        core = self._core
        if core is None or any(one.home.root == real for one in core.beside):
            return
        try:
            with ExitStack() as undone:
                one = self._open(folder)
                undone.callback(one.let_go)
                one.first_import()
                joined = replace(core, beside=(*core.beside, one))
                joined.remember()
                undone.pop_all()
            self._core = joined
        except (CheckpointError, OSError, sqlite3.Error) as error:
            self._remarks.append(f"what changes in `{folder}` cannot be taken back: {error}")
        self._health = self._settled_health(core)

    def _open(self, root: Path) -> "Workspace":
        """One folder; a damaged list of its checkpoints is set aside, and a new one begun."""
        from checkpoints.catalog import DamagedCatalogError
        from checkpoints.roots import home_of, set_aside
        from checkpoints.store import DamagedStoreError
        from checkpoints.workspace import Workspace

        why = refusal(root)
        home = home_of(root, self._state_dir, alone=bool(why))
        core = Workspace(
            home,
            self._session,
            git=self._git,
            limits=self._limits,
            state_dir=self._state_dir,
            targeted=why,
            stand_ins=self._stand_ins,
        )
        try:
            core.open(self._progress)
        except (DamagedCatalogError, DamagedStoreError):
            core.store.close()
            aside = set_aside(home.directory)
            self._remarks.append(f"the older checkpoints were damaged and are gone; they lie in `{aside}`")
            return self._open(root)
        return core

    def _progress(self, count: int) -> None:
        if self._health.state == "importing":
            total = self._expected if self._expected >= count else 0
            self._health = Health(state="importing", done_files=count, total_files=total)

    def _settled_health(self, core: "Joined") -> Health:
        if core.main.targeted:
            return Health(state="file_tools_only", detail=core.main.targeted)
        words = list(self._remarks)
        if self._git is None:
            words.append("`git` is not installed or too old: checkpoints are plain copies")
        if core.main.is_replaced:
            words.append(
                f"another directory was put in the place of `{self._root}`; its files count as made by "
                "others, those of the old one can be rolled back to"
            )
        if others := self._others(core.main.home):
            words.append(f"session {', '.join(others)} is open here too: its changes count as made by others")
        return Health(state="ok", detail="; ".join(words))

    def _others(self, home: "Home") -> Sequence[str]:
        """Other sessions that are open in this workspace, around it or in it."""
        from checkpoints.presence import live_sessions
        from checkpoints.roots import overlapping

        here = self._presence.others() if self._presence else []
        return sorted({*here, *(name for other in overlapping(home) for name in live_sessions(other))})

    def _take(self, cause: Cause, known: "Future[Checkpoint]", core: "Joined") -> Checkpoint:
        """Take a checkpoint. One after a call is `known` before it is on disk: what the model may see is
        what changed, and the next one, before another call, is taken by this thread after it."""

        def tell(recorded: "Recorded") -> None:
            known.set_result(_told(recorded))
            self._more.wait(DISK_GIVES_WAY_S)

        self._more.clear()
        recorded = core.record(cause, tell if cause.phase is Phase.AFTER_CALL else None)
        if core.main.is_replaced:
            self._health = self._settled_health(core)
        if cause.phase is Phase.TURN_END and self._upkeep is not None:
            self._upkeep.schedule()
        return _told(recorded)

    def _taken(self, known: "Future[Checkpoint]", done: "Future[Checkpoint]") -> None:
        error = done.exception()
        if known.done():
            if error is not None:
                self._lose(error)
        elif error is not None:
            known.set_exception(error)
        else:
            known.set_result(done.result())

    def _lose(self, error: BaseException) -> None:
        """Say that a checkpoint which was told is none; the one before its call is there."""
        self._remarks.append(f"a checkpoint after a call could not be kept: {error}")
        if self._core is not None:
            self._health = self._settled_health(self._core)

    def _changes_since(self, checkpoint_id: str, core: "Joined") -> tuple[FileChange, ...]:
        return core.compared(core.main.resolve(checkpoint_id), None)[0]

    def _list(self, session: str | None, core: "Joined") -> tuple[Checkpoint, ...]:
        from checkpoints.catalog import followed

        rows = core.main.catalog.listed(core.main.home.below, session)
        after = followed(rows)
        return tuple(replace(row.checkpoint(), after=after[row.id]) for row in rows)

    def _diff(self, older: str, newer: str | None, paths: tuple[str, ...], core: "Joined") -> str:
        before, after = core.main.resolve(older), core.main.resolve(newer) if newer else None
        return core.compared(before, after, paths)[1]

    def _end(self) -> None:
        core, self._core = self._core, None
        if core is not None:
            core.close()
        if self._upkeep is not None:
            self._upkeep.finish(_CLOSING_BUDGET_S)
        if self._presence is not None:
            self._presence.close()


def _told(recorded: "Recorded") -> Checkpoint:
    return replace(recorded.row.checkpoint(), changes=recorded.changes)


def _kept(core: "Joined") -> Kept:
    from checkpoints.retention import Keep, kept_bytes

    size = sum(kept_bytes(one.store, one.catalog) for one in (core.main, *core.beside))
    return Kept(size_bytes=size, days=Keep().days)
