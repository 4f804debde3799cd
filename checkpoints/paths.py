"""Paths as tools and people name them, as names below the workspace."""

import os
import stat
from collections.abc import Iterable

from checkpoints.types import NotThereError


def touched_paths(root: bytes, paths: Iterable[str]) -> set[bytes]:
    """What file tools are about to write, relative; links in the folders are resolved.

    Where a path is a link, the file it leads to is taken as well. Paths outside the workspace, and
    those of a repository's own files, are left out: they are out of the promise.
    """
    found: set[bytes] = set()
    base = root.rstrip(b"/") + b"/"
    for path in paths:
        full = os.path.join(root, os.fsencode(path))
        place = os.path.join(os.path.realpath(os.path.dirname(full)), os.path.basename(full))
        for one in {os.path.normpath(place), os.path.realpath(full)}:
            if one.startswith(base) and b".git" not in one[len(base) :].split(b"/"):
                found.add(one[len(base) :])
    return found


def selected_paths(root: bytes, paths: Iterable[str]) -> list[bytes]:
    """Paths a person chose, relative to the workspace or absolute; no link inside it is followed.

    Raises NotThereError for a path outside. The workspace itself stands for all paths.
    """
    found = []
    base = root.rstrip(b"/") + b"/"
    for path in paths:
        full = os.path.normpath(os.path.join(root, os.fsencode(path)))
        if not (full + b"/").startswith(base):  # the workspace may be named through a link
            whole = os.path.realpath(full)
            full = os.path.join(os.path.realpath(os.path.dirname(full)), os.path.basename(full))
            full = whole if whole + b"/" == base else full
        if full + b"/" == base:
            return []
        if not full.startswith(base):
            raise NotThereError(f"`{path}` is outside the workspace `{os.fsdecode(root)}`")
        found.append(full[len(base) :])
    return found


def exists_below(root: bytes, path: bytes) -> bool:
    """Whether something is at a path, no folder on the way being a link."""
    place = root
    *folders, name = path.split(b"/")
    try:
        for folder in folders:
            place += b"/" + folder
            if not stat.S_ISDIR(os.lstat(place).st_mode):
                return False
        os.lstat(place + b"/" + name)
    except OSError:
        return False
    return True


def is_hard_link(root: bytes, path: bytes) -> bool:
    """Whether a file has another name somewhere."""
    try:
        status = os.lstat(root + b"/" + path)
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_nlink > 1
