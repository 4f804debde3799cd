"""After a command of the git lane: what it left in the repository that would act outside later.

The index can be given entries that make the user's own `git status` read the configuration of a
repository inside the workspace. Such a repository is disarmed by moving its `.git` away.
"""

import errno
import os
import time
from pathlib import Path

from sandbox import repository
from sandbox.policy import Policy
from sandbox.private import private_dir
from sandbox.repository import Repository

_UNFINISHED = ("rebase-merge", "rebase-apply", "sequencer")


def after_lane(policy: Policy, found: Repository, before: frozenset[str]) -> list[str]:
    """Disarm new nested repositories of the index; returns one sentence for each thing to know."""
    told = []
    for name in sorted(repository.gitlinks(found) - before):
        kept = _disarm(policy, name)
        if kept:
            told.append(f"`{name}` was added as a nested repository; its `.git` was moved to `{kept}`")
    told += [
        f"git stopped inside `{name}`; look at its steps before continuing it"
        for name in _UNFINISHED
        if (found.git_dir / name).exists()
    ]
    return told


def _disarm(policy: Policy, name: str) -> Path | None:
    """Move the `.git` of a nested repository away; None where there is none in the workspace. Another
    command may exchange directories meanwhile, so no step of the way follows a link."""
    store = private_dir(policy.state_dir / "sandbox" / "quarantine")  # first: nothing is open yet
    try:
        fd = _opened(policy.workspace, name)
    except OSError:
        return None
    new_name = f"{time.time_ns()}.git"
    store_fd = os.open(store, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.rename(".git", new_name, src_dir_fd=fd, dst_dir_fd=store_fd)
        return store / new_name
    except FileNotFoundError:
        return None
    except OSError:  # another file system: beside it, under a name that git ignores
        beside = f".git-disarmed-{new_name}"
        os.rename(".git", beside, src_dir_fd=fd, dst_dir_fd=fd)
        return policy.workspace / name / beside
    finally:
        os.close(fd)
        os.close(store_fd)


def _opened(workspace: Path, name: str) -> int:
    """A directory of the workspace; raises OSError where a link or `..` leads to it."""
    fd = os.open(workspace, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    for part in Path(name).parts:
        if part in ("..", "/"):
            os.close(fd)
            raise OSError(errno.EXDEV, "leads out of the workspace", name)
        try:
            below = os.open(part, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
        finally:
            os.close(fd)
        fd = below
    return fd
