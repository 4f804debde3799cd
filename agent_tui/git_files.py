"""What git knows of a workspace, read from its files (gitrepository-layout(5), gitformat-index(5)):
running git in a repository can run what its configuration says."""

import hashlib
import os
import stat
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from agent_tui.config.toml_file import content
from agent_tui.frozen import frozen

NEW, MODIFIED = "new", "modified"
MAX_INDEX_BYTES = 64 << 20
MAX_HASHED_BYTES = 32 << 20  # of files whose times differ, before the rest of them counts as modified
_EXTENDED = 0x4000
_ENTRY = struct.Struct(">8xII8xI8xI20sH")  # of the index: modified, mode, size, name of the object, flags


@frozen
class Repository:
    """Where the files of a work tree and those of git are."""

    root: Path
    git_dir: Path


def repository(workspace: Path) -> Repository | None:
    """The repository that the workspace is in."""
    for folder in (workspace, *workspace.parents):
        found = folder / ".git"
        try:
            if found.is_file():  # a worktree or submodule: `gitdir: PATH`
                found = folder / content(found).decode().partition(":")[2].strip()
            if (found / "HEAD").is_file():
                return Repository(root=folder, git_dir=found)
        except (OSError, ValueError):  # ValueError: no UTF-8, or a NUL in the path
            continue
    return None


def states(workspace: Path, paths: Sequence[str]) -> Mapping[str, str]:
    """`new` for files that git does not track, `modified` for those that differ from what is staged;
    others are left out. Nothing where the index cannot be read."""
    found = repository(workspace)
    try:
        tracked = _tracked(found.git_dir / "index") if found is not None else None
    except (OSError, ValueError, IndexError, struct.error):
        return {}
    if found is None or tracked is None:
        return {}
    prefix = os.fsencode(os.path.relpath(workspace, found.root)) + b"/" if workspace != found.root else b""
    judge = _Judge(workspace)
    told = {path: judge.state(path, tracked.get(prefix + os.fsencode(path))) for path in paths}
    return {path: word for path, word in told.items() if word}


class _Staged(NamedTuple):  # there are very many
    mode: int
    size: int
    modified_ns: int
    digest: bytes


class _Judge:
    """Compares files with what is staged; as git does, by size and time first, then by content."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._left = MAX_HASHED_BYTES

    def state(self, path: str, staged: _Staged | None) -> str:
        if staged is None:
            return NEW
        file = os.path.join(self._workspace, path)  # noqa: PTH118 - of very many
        try:
            now = os.lstat(file)
            if not stat.S_ISREG(now.st_mode) or stat.S_IFMT(staged.mode) != stat.S_IFREG:
                return "" if stat.S_IFMT(now.st_mode) == stat.S_IFMT(staged.mode) else MODIFIED
            if bool(now.st_mode & 0o100) != bool(staged.mode & 0o100):
                return MODIFIED
            if (now.st_size & 0xFFFFFFFF, now.st_mtime_ns) == (staged.size, staged.modified_ns):
                return ""
            return MODIFIED if self._differs(file, now.st_size, staged) else ""
        except OSError:
            return ""

    def _differs(self, file: str, size: int, staged: _Staged) -> bool:
        if size > self._left:
            return True
        self._left -= size
        data = Path(file).read_bytes()
        return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).digest() != staged.digest


def _tracked(index: Path) -> Mapping[bytes, _Staged] | None:
    """What is staged, by path from the root; None where it is kept in a way that is not read here."""
    if not index.is_file() or index.stat().st_size > MAX_INDEX_BYTES:  # a pipe would never end
        return None
    data = index.read_bytes()
    version, count = (int.from_bytes(data[at : at + 4]) for at in (4, 8))
    if data[:4] != b"DIRC" or version not in (2, 3, 4):
        return None
    # A checksum of another length than SHA-1's is of a repository with other names of objects.
    if hashlib.sha1(data[:-20], usedforsecurity=False).digest() != data[-20:] and any(data[-20:]):
        return None
    found, at = {}, 12
    for path, entry, after in _entries(data, version, count):
        if stat.S_IFMT(entry.mode) == stat.S_IFDIR:
            return None  # a sparse index: whole directories in one entry
        found[path], at = entry, after
    return None if data[at : at + 4] == b"link" else found  # a split index has its entries elsewhere


def _entries(data: bytes, version: int, count: int) -> Iterator[tuple[bytes, _Staged, int]]:
    at, path = 12, b""
    for _ in range(count):
        seconds, nanoseconds, mode, size, digest, flags = _ENTRY.unpack_from(data, at)
        entry = _Staged(mode, size, seconds * 10**9 + nanoseconds, digest)
        name = at + (64 if flags & _EXTENDED else 62)
        kept = b""
        if version == 4:
            drop, name = _number(data, name)
            kept = path[: len(path) - drop]
        end = data.index(b"\0", name)
        path = kept + data[name:end]
        at = end + 1 if version == 4 else at + (end - at + 8) // 8 * 8
        yield path, entry, at


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A length as git packs it, and the place after it."""
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = (value + 1 << 7) | (data[at] & 0x7F)
    return value, at + 1
