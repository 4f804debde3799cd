"""Checkpoints for the commands: without a running session, beside one, and without a model."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from checkpoints.catalog import Catalog, Row
from checkpoints.coverage import Limits, refusal
from checkpoints.diff import changes, unified
from checkpoints.gitprocess import find_git
from checkpoints.lock import hold
from checkpoints.paths import selected_paths
from checkpoints.retention import Keep, Pruned, Retention, store_size
from checkpoints.roots import existing_home
from checkpoints.states import covered_pairs
from checkpoints.store import Store
from checkpoints.types import Author, CheckpointError, FileChange, Phase
from checkpoints.upkeep import prune
from checkpoints.workspace import Workspace

NONE_YET = "no checkpoints here yet; one is taken before the first change"


@dataclass(frozen=True, slots=True, kw_only=True)
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
    followers = {(row.session, row.seq): row.changes for row in rows}
    previous: dict[str, int] = {}
    found = []
    for row in rows:  # newest first, so the one seen last of a session follows this one
        following = followers.get((row.session, previous.get(row.session, 0)), ())
        previous[row.session] = row.seq
        found.append(Listed(row=row, after=following))
    return found


@contextmanager
def opened(root: Path, state_dir: Path, checkpoint_id: str) -> Iterator[tuple[Workspace, Row]]:
    """The workspace as the session of a checkpoint sees it, and that checkpoint.

    Without an id it is the newest one that a turn began with. Raises CheckpointError.
    """
    home = existing_home(root, state_dir)
    if home is None or not (home.directory / "catalog.db").exists():
        raise CheckpointError(NONE_YET)
    catalog = Catalog(home.directory / "catalog.db")
    try:
        session = _session_of(catalog, home.below, checkpoint_id)
    finally:
        catalog.close()
    core = Workspace(
        home, session, git=find_git(), limits=Limits(), state_dir=state_dir, targeted=refusal(home.root)
    )
    core.open(lambda _: None)
    try:
        core.follow_mode()
        newest = core.catalog.newest(Phase.TURN_START, home.below)
        if not checkpoint_id and newest is None:
            raise CheckpointError("no turn has begun here yet; `agent-tui checkpoints list` shows all")
        yield core, core.resolve(checkpoint_id or (newest.id if newest else ""))
    finally:
        core.close()


def _session_of(catalog: Catalog, root: str, checkpoint_id: str) -> str:
    """The session whose view is needed; unknown ids are refused later, with the reason."""
    if checkpoint_id:
        prefix = checkpoint_id.rpartition("/")[0]
        sessions = catalog.sessions(prefix)
        return prefix if prefix in sessions or not sessions else sessions[0]
    newest = catalog.newest(Phase.TURN_START, root)
    return newest.session if newest else "none"


def compared(
    core: Workspace, older: Row, newer: Row | None, paths: list[str]
) -> tuple[tuple[FileChange, ...], str]:
    """Changed files and unified text between two checkpoints, or one and the workspace."""
    before = core.state(older)
    after = core.state(newer) if newer else core.now()
    pairs = covered_pairs(core.trees, before, after, core.above)
    found = changes(core.trees, before, after, pairs, lambda _: Author.AGENT)
    return found, unified(core.trees, before, after, pairs, selected_paths(core.root, paths))


def pruned(root: Path, state_dir: Path, keep: Keep) -> tuple[Pruned, int]:
    """Prune now; returns what was done and the size of the store after it. Raises CheckpointError."""
    home = existing_home(root, state_dir)
    if home is None:
        raise CheckpointError(NONE_YET)
    store = Store(home.directory / "store", find_git())
    catalog = Catalog(home.directory / "catalog.db")
    try:
        with hold(home.directory / "lock", alone=True, what="`checkpoints prune`", timeout_s=Limits().lock_s):
            done = prune(Retention(home.directory, store, catalog), catalog, keep)
        return done, store_size(store.directory)
    finally:
        store.close()
        catalog.close()
