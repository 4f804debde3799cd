"""After a command of the git lane: what it left in the repository that would act outside later.

The index can be given entries that make the user's own `git status` read the configuration of a
repository inside the workspace. Such a repository is disarmed by moving its `.git` away.
"""

import os
import time
from pathlib import Path

from sandbox import repository
from sandbox.host import private_dir
from sandbox.policy import Policy
from sandbox.repository import Repository

_UNFINISHED = ("rebase-merge", "rebase-apply", "sequencer")


def after_lane(policy: Policy, found: Repository, before: frozenset[str]) -> list[str]:
    """Disarm new nested repositories of the index; returns one sentence for each thing to know."""
    told = []
    for name in sorted(repository.gitlinks(found) - before):
        place = policy.workspace / name / ".git"
        if os.path.lexists(place) and _inside(place, policy.workspace):
            kept = _move_away(place, policy.state_dir)
            told.append(f"`{name}` was added as a nested repository; its `.git` was moved to `{kept}`")
    told += [
        f"git stopped inside `{name}`; look at its steps before continuing it"
        for name in _UNFINISHED
        if (found.git_dir / name).exists()
    ]
    return told


def _inside(place: Path, workspace: Path) -> bool:
    return Path(os.path.realpath(place.parent)).is_relative_to(workspace)


def _move_away(place: Path, state_dir: Path) -> Path:
    target = private_dir(state_dir / "sandbox" / "quarantine") / f"{time.time_ns()}.git"
    try:
        place.rename(target)
    except OSError:  # another file system: beside it, under a name that git ignores
        target = place.with_name(f".git-disarmed-{time.time_ns()}")
        place.rename(target)
    return target
