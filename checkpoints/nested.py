"""The user's repositories in and around a workspace: found and looked at, never used.

Reads `HEAD`, the ref it names and the times of `index` as plain files, so that a checkpoint can say
when they moved. No git process runs with a user's repository; nothing below a `.git` is written.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from checkpoints.plainfile import read_plain

_SMALL = 1 << 16


class HeadState(NamedTuple):
    """Where a repository stood; all empty when it could not be read."""

    branch: str
    commit: str
    staged: str  # size and time of the index file


def git_dir_of(folder: bytes) -> bytes | None:
    """The git directory of a folder that has `.git`, following the file of a linked worktree."""
    path = folder + b"/.git"
    if os.path.isdir(path):
        return path
    text = _read(path)
    if not text.startswith("gitdir:"):
        return None
    return os.path.normpath(os.path.join(folder, os.fsencode(text.removeprefix("gitdir:").strip())))


def head_state(git_dir: bytes) -> HeadState:
    """Branch, commit and index of a repository, from its files."""
    head = _read(git_dir + b"/HEAD").strip()
    branch = head.removeprefix("ref: ") if head.startswith("ref: ") else ""
    commit = _resolve(git_dir, branch) if branch else head
    try:
        status = os.stat(git_dir + b"/index")
        index = f"{status.st_size}:{status.st_mtime_ns}"
    except OSError:
        index = ""
    return HeadState(branch.removeprefix("refs/heads/"), commit, index)


def enclosing(root: Path) -> Path | None:
    """The folder of the repository that the workspace lies in, itself included."""
    for folder in (root, *root.parents):
        if (folder / ".git").exists():
            return folder
    return None


def exclude_file(git_dir: bytes) -> bytes:
    """The path of the repository's own ignore file."""
    common = _read(git_dir + b"/commondir").strip()
    base = os.path.join(git_dir, os.fsencode(common)) if common else git_dir
    return os.path.normpath(base) + b"/info/exclude"


def head_states(root: Path, folders: Iterable[bytes]) -> dict[str, HeadState]:
    """Where the repositories in these folders of a workspace stand, and as `.` the one that holds it."""
    places = {os.fsdecode(folder): os.fsencode(root) + b"/" + folder for folder in folders}
    top = enclosing(root)
    if top is not None:
        places["."] = os.fsencode(top)
        places.pop("", None)
    found = {}
    for name, place in sorted(places.items()):
        git_dir = git_dir_of(place)
        if git_dir is not None:
            found[name] = head_state(git_dir)
    return found


def expected_files(root: Path) -> int:
    """About how many files a workspace has: the number of entries in the index of its repository.

    The number is in bytes 8 to 12 of the file (`gitformat-index`); 0 where there is none.
    """
    git_dir = git_dir_of(os.fsencode(root))
    if git_dir is None:
        return 0
    head = _head(git_dir + b"/index", 12)
    return int.from_bytes(head[8:12], "big") if head.startswith(b"DIRC") else 0


def _resolve(git_dir: bytes, ref: str) -> str:
    common = _read(git_dir + b"/commondir").strip()
    folders = [git_dir, os.path.join(git_dir, os.fsencode(common))] if common else [git_dir]
    for folder in folders:
        value = _read(os.path.join(folder, os.fsencode(ref))).strip()
        if value:
            return value
    for folder in folders:
        for line in _read(folder + b"/packed-refs", 8 << 20).splitlines():
            value, _, name = line.partition(" ")
            if name == ref:
                return value
    return ""


def _read(path: bytes, limit: int = _SMALL) -> str:
    return os.fsdecode(_head(path, limit))


def _head(path: bytes, limit: int) -> bytes:
    """The first bytes of a plain file; none of what is missing, a pipe, a folder or a device."""
    try:
        return read_plain(path, limit=limit)
    except OSError:
        return b""
