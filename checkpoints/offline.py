"""Checkpoints for the commands: without a running session, beside one, and without a model."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from agent_tui.frozen import frozen
from checkpoints.catalog import Catalog, Row, followed
from checkpoints.coverage import Limits, StandIns, no_stand_ins, refusal
from checkpoints.gitprocess import find_git
from checkpoints.joined import Joined
from checkpoints.journal import DamagedJournalError, Journal
from checkpoints.lock import hold
from checkpoints.retention import Keep, Pruned, Retention, kept_bytes
from checkpoints.roots import Home, existing_home
from checkpoints.store import Store
from checkpoints.types import CutRollback, FileChange, NotThereError
from checkpoints.upkeep import prune
from checkpoints.workspace import Workspace

NONE_YET = "no checkpoints here yet; one is taken before the first change"


@frozen
class Listed:
    """A checkpoint of a list, with what changed after it until the next one of its session."""

    row: Row
    after: tuple[FileChange, ...]


def listed(root: Path, state_dir: Path) -> list[Listed]:
    """Every checkpoint of a workspace, newest first; reads the list only."""
    home = existing_home(root, state_dir)
    if home is None or not (home.directory / "catalog.db").exists():
        return []
    catalog = Catalog(home.directory / "catalog.db")
    try:
        rows = catalog.listed(home.below)
    finally:
        catalog.close()
    after = followed(rows)
    return [Listed(row=row, after=after[row.id]) for row in rows]


@contextmanager
def opened(
    root: Path, state_dir: Path, checkpoint_id: str, stand_ins: StandIns = no_stand_ins
) -> Iterator[tuple[Joined, Row]]:
    """The workspace as the session of a checkpoint sees it, and that checkpoint.

    Without an id it is the one that the last turn began with; `stand_ins` as in `open_checkpointer`.
    Raises CheckpointError.
    """
    home = existing_home(root, state_dir)
    if home is None or not (home.directory / "catalog.db").exists():
        raise NotThereError(NONE_YET)
    catalog = Catalog(home.directory / "catalog.db")
    try:
        session = _session_of(catalog, home.below, checkpoint_id)
    finally:
        catalog.close()
    core = _joined(home, session, state_dir, stand_ins)
    try:
        newest = core.main.catalog.last_turn(home.below)
        if not checkpoint_id and newest is None:
            raise NotThereError(
                "no checkpoint of a turn is kept here; `agent-tui checkpoints list` shows all"
            )
        yield core, core.main.resolve(checkpoint_id or (newest.id if newest else ""))
    finally:
        core.close()


def _joined(home: Home, session: str, state_dir: Path, stand_ins: StandIns) -> Joined:
    """The workspace and the folders that the session had beside it, as far as they are there."""
    main = _one(home, session, state_dir, stand_ins)
    beside = []
    for name in json.loads(main.catalog.meta(f"beside:{session}") or "[]"):
        found = existing_home(Path(name), state_dir) if Path(name).is_dir() else None
        if found is not None:
            beside.append(_one(found, session, state_dir, stand_ins))
    return Joined(main, tuple(beside))


def _one(home: Home, session: str, state_dir: Path, stand_ins: StandIns) -> Workspace:
    core = Workspace(
        home,
        session,
        git=find_git(),
        limits=Limits(),
        state_dir=state_dir,
        targeted=refusal(home.root),
        stand_ins=stand_ins,
    )
    core.open(lambda _: None)
    core.follow_mode()
    return core


def _session_of(catalog: Catalog, root: str, checkpoint_id: str) -> str:
    """The session whose view is needed; unknown ids are refused later, with the reason."""
    if checkpoint_id:
        prefix = checkpoint_id.rpartition("/")[0]
        sessions = catalog.sessions(prefix)
        return prefix if prefix in sessions or not sessions else sessions[0]
    newest = catalog.last_turn(root)
    return newest.session if newest else "none"


def cut_rollback(root: Path, state_dir: Path) -> CutRollback | None:
    """The rollback that a killed process left in a workspace; one whose journal is damaged is not to be
    asked about: the session that opens says so. Raises CheckpointError."""
    home = existing_home(root, state_dir)
    with suppress(DamagedJournalError):
        return Journal(home.journal).cut() if home else None
    return None


def settle_cut(root: Path, state_dir: Path, cut: CutRollback, *, complete: bool) -> None:
    """Finish it, or take it back; raises CheckpointError."""
    with opened(root, state_dir, cut.target) as (core, _):
        core.recover(complete=complete)


def pruned(root: Path, state_dir: Path, keep: Keep) -> tuple[Pruned, int]:
    """Prune now; returns what was done and the size of the store after it. Raises CheckpointError."""
    home = existing_home(root, state_dir)
    if home is None:
        raise NotThereError(NONE_YET)
    store = Store(home.directory / "store", find_git())
    store.create()
    catalog = Catalog(home.directory / "catalog.db")
    try:
        with hold(home.directory / "lock", alone=True, what="`checkpoints prune`", timeout_s=Limits().lock_s):
            done = prune(Retention(home.directory, store, catalog), catalog, keep)
        return done, kept_bytes(store, catalog)
    finally:
        store.close()
        catalog.close()
