"""Looks at the checkpoints of a workspace for `agent-tui doctor`; changes nothing."""

import os
import shutil
from pathlib import Path

from agent_tui.frozen import frozen
from checkpoints.catalog import Catalog
from checkpoints.coverage import MIB, refusal
from checkpoints.gitprocess import find_git
from checkpoints.journal import Journal
from checkpoints.offline import NONE_YET
from checkpoints.retention import kept_bytes, reachable
from checkpoints.roots import Home, existing_home
from checkpoints.sizes import size_text
from checkpoints.snapshot import read_state
from checkpoints.store import Store
from checkpoints.types import CheckpointError

_LEAST_FREE_BYTES = 200 * MIB
_FSCK_TIMEOUT_S = 30


@frozen
class Finding:
    """One line of the report; `fix` is what to do, empty where nothing has to be done."""

    ok: bool
    detail: str
    fix: str = ""


def examine(workspace: Path, state_dir: Path) -> list[Finding]:
    """What works and what does not; never raises."""
    found: list[Finding] = []
    try:
        why = refusal(workspace)
        if why:
            found.append(
                Finding(ok=False, detail=f"file tools only: {why}", fix="start in a project directory")
            )
        home = existing_home(workspace, state_dir)
        found += _stored(home) if home is not None else [Finding(ok=True, detail=NONE_YET)]
    except (CheckpointError, OSError) as error:
        found.append(Finding(ok=False, detail=str(error)))
    return found + _space(state_dir)


def _stored(home: Home) -> list[Finding]:
    found = []
    catalog = Catalog(home.directory / "catalog.db")
    store = Store(home.directory / "store", find_git())
    try:
        cut = Journal(home.journal).cut()
        if cut is not None:
            detail = f"a rollback to {cut.target} was cut after {cut.done} of {cut.total} steps"
            found.append(Finding(ok=False, detail=detail, fix="the next session takes it back"))
        rows = catalog.listed(home.below)
        broken = [row.id for row in rows if row.broken]
        if broken:
            found.append(Finding(ok=False, detail=f"cannot be restored any more: {', '.join(broken[:5])}"))
        missing = _missing(store, catalog)
        if missing:
            found.append(Finding(ok=False, detail=missing, fix="what needs it is named when it is used"))
        size = size_text(kept_bytes(store, catalog))
        count = f"{len(rows)} checkpoint{'' if len(rows) == 1 else 's'}"
        found.append(Finding(ok=True, detail=f"{count}, {size}, in `{home.directory}`"))
    finally:
        store.close()
        catalog.close()
    return found


def _missing(store: Store, catalog: Catalog) -> str:
    """What git, or our own walk, misses in the store; nothing when it is whole."""
    if store.git is None:
        lost = [commit for commit in catalog.commits() if not reachable(store, commit)]
        return f"{len(lost)} checkpoint{' lacks' if len(lost) == 1 else 's lack'} objects" if lost else ""
    try:
        store.run_git(
            ["fsck", "--connectivity-only", "--no-dangling", "--no-progress"], timeout_s=_FSCK_TIMEOUT_S
        )
        for state in catalog.states():
            for oid in read_state(store, state).note.clones:
                store.require_clone(oid)
    except CheckpointError as error:
        return str(error)
    return ""


def _space(state_dir: Path) -> list[Finding]:
    place = state_dir
    while not place.exists() and place != place.parent:
        place = place.parent
    try:
        free = shutil.disk_usage(place).free
    except OSError as error:
        return [Finding(ok=False, detail=f"`{os.fspath(place)}`: {error.strerror}")]
    if free >= _LEAST_FREE_BYTES:
        return []
    detail = f"only {size_text(free)} are free at `{state_dir}`"
    return [Finding(ok=False, detail=detail, fix="make room, or `agent-tui checkpoints prune`")]
