"""Names that are looked up one by one, without listing their folders."""

import errno
import os
from collections.abc import Collection, Iterable
from typing import Protocol

# a file tool may name what no file can be called, and all later checkpoints look for it again
_MISSING = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)


class Entry(Protocol):
    """What `os.scandir` gives."""

    def stat(self, *, follow_symlinks: bool) -> os.stat_result: ...


class _Named:
    """A name looked up without listing its folder."""

    __slots__ = ("_status",)

    def __init__(self, path: bytes) -> None:
        self._status = os.lstat(path)

    def stat(self, *, follow_symlinks: bool) -> os.stat_result:  # noqa: ARG002 - never asked to
        return self._status


def looked_up(path: bytes, names: Collection[bytes]) -> list[tuple[bytes, Entry]]:
    """Those of the names that exist; raises PermissionError for a closed folder, and OSError."""
    found: list[tuple[bytes, Entry]] = []
    for name in names:
        try:
            found.append((name, _Named(path + b"/" + name)))
        except OSError as error:
            if error.errno not in _MISSING:
                raise
    return found


def ways_to(paths: Iterable[bytes]) -> dict[bytes, set[bytes]]:
    """Folder → names in it on the way to a touched path; the last name of each path included."""
    table: dict[bytes, set[bytes]] = {}
    for path in paths:
        while path:
            folder, _, name = path.rpartition(b"/")
            names = table.setdefault(folder, set())
            if name in names:
                break
            names.add(name)
            path = folder  # noqa: PLW2901 - walks up
    return table


def names_in_folders(paths: Iterable[bytes]) -> dict[bytes, set[bytes]]:
    """Folder → names in it."""
    table: dict[bytes, set[bytes]] = {}
    for path in paths:
        folder, _, name = path.rpartition(b"/")
        table.setdefault(folder, set()).add(name)
    return table
