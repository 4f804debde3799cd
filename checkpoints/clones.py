"""Copies of files too large for the object store, which share their blocks with the original (reflinks).

A copy takes no time and no space until one of the two changes, and its content is never read: what
tells whether two files are the same is where their blocks lie. So an id is no hash but made up, with
the size in it; as long as a copy exists, nothing else can lie in its blocks. Needs a file system that
shares blocks and holds both the workspace and the store (`ioctl_ficlone`, `FS_IOC_FIEMAP`).
"""

import errno
import fcntl
import hashlib
import os
import secrets
import struct
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from checkpoints.objects import ID_BYTES

_FICLONE, _FIEMAP = 0x40049409, 0xC020660B
_SYNC, _LAST, _ENCODED, _UNWRITTEN = 0x1, 0x1, 0x8, 0x800
# unknown, delayed, encrypted, not aligned, inline, tail: such an extent does not tell its content
_UNTOLD = 0x2 | 0x4 | 0x80 | 0x100 | 0x200 | 0x400
_HEAD, _EXTENT = struct.Struct("=QQIIII"), struct.Struct("=QQQQQIIII")
_EXTENTS_AT_ONCE = 512
_FILE_SYSTEM_CANNOT = (errno.EOPNOTSUPP, errno.EXDEV, errno.ENOTTY, errno.ENOSYS)
_FILE_CANNOT = (errno.EINVAL, errno.ETXTBSY, errno.EPERM)
_SIZE_BYTES = 8
_PIECE_BYTES = 1 << 20


class NoSharingError(Exception):
    """No copy that shares blocks can be made of a file."""


class Extent(NamedTuple):
    """A run of bytes of a file and where it lies on disk."""

    at: int
    place: int
    length: int


class Layout(NamedTuple):
    """Where the blocks of a file lie; `is_exact`: files with equal ones are equal without a look."""

    extents: tuple[Extent, ...]
    is_exact: bool

    def digest(self) -> bytes:
        return hashlib.sha256(b"".join(struct.pack("=QQQ", *extent) for extent in self.extents)).digest()


def size_of(oid: bytes) -> int:
    """Bytes of the file that a copy was made of."""
    return int.from_bytes(oid[-_SIZE_BYTES:], "big")


@dataclass(slots=True)
class Clones:
    """The copies in one directory; not safe for use by two threads at once."""

    directory: Path
    temporary: Path  # a directory on the same file system
    _refused: set[int] = field(default_factory=set)  # devices that share no blocks with ours
    _layouts: dict[bytes, bytes] = field(default_factory=dict)  # id → digest
    _has_new_names: bool = False

    def may_share(self, device: int) -> bool:
        """Whether it was not yet found that files of that device cannot be copied."""
        return device not in self._refused

    def take(self, descriptor: int) -> bytes:
        """The id of a copy of an open file, which is made unless there is an equal one.

        Its content is on disk when this returns, its name after `synchronise`. Raises NoSharingError, and
        OSError when the disk is full.
        """
        path = self.temporary / secrets.token_hex(8)
        copy = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o400)
        try:
            self._share(descriptor, copy)
            size = os.fstat(copy).st_size
            layout = _layout(copy, size)
            if layout is None:
                raise NoSharingError
            known = self._equal(layout, size, copy)
            if known:
                return known
            oid = secrets.token_bytes(ID_BYTES - _SIZE_BYTES) + size.to_bytes(_SIZE_BYTES, "big")
            os.fdatasync(copy)
            path.rename(self._path(oid))
            self._has_new_names = True
            self._layouts[oid] = layout.digest()
            return oid
        finally:
            os.close(copy)
            path.unlink(missing_ok=True)

    def synchronise(self) -> None:
        """Return when all copies have their names on disk; raises OSError."""
        if self._has_new_names:
            synchronise_names(self.directory)
            self._has_new_names = False

    def put(self, oid: bytes, descriptor: int) -> None:
        """Give an empty open file the content of a copy; raises OSError."""
        with open(self._path(oid), "rb") as copy:
            fcntl.ioctl(descriptor, _FICLONE, copy.fileno())

    def is_same(self, oid: bytes, descriptor: int) -> bool:
        """Whether an open file is what a copy was made of; raises OSError."""
        size = size_of(oid)
        if os.fstat(descriptor).st_size != size or not self.has(oid):
            return False
        layout = _layout(descriptor, size)
        return layout is not None and self._is_equal(oid, layout, descriptor)

    def has(self, oid: bytes) -> bool:
        """Whether a copy is there, and whole as far as its size tells."""
        try:
            return self._path(oid).stat().st_size == size_of(oid)
        except OSError:
            return False

    def all(self) -> set[bytes]:
        """Ids of all copies."""
        try:
            names = [name for name in os.listdir(self.directory) if len(name) == 2 * ID_BYTES]
        except FileNotFoundError:
            return set()
        return {bytes.fromhex(name) for name in names}

    def sweep(self, needed: Collection[bytes], before: float) -> None:
        """Remove what is not needed and older than that time (UTC seconds)."""
        for oid in self.all().difference(needed):
            path = self._path(oid)
            if path.stat().st_mtime < before:
                path.unlink()

    def size(self, present: Collection[bytes]) -> int:
        """Bytes on disk that only the copies hold; what they share with those that are `present` in
        the workspace costs nothing."""
        found = self.all()
        return self._covered(found) - self._covered(found.intersection(present))

    def _covered(self, oids: Iterable[bytes]) -> int:
        extents: list[Extent] = []
        for oid in oids:
            with suppress(FileNotFoundError), open(self._path(oid), "rb") as copy:  # another process prunes
                layout = _layout(copy.fileno(), size_of(oid))
                extents += layout.extents if layout else ()
        total = end = 0
        for _, place, length in sorted(extents, key=lambda extent: extent.place):
            total += max(0, place + length - max(place, end))
            end = max(end, place + length)
        return total

    def _share(self, source: int, copy: int) -> None:
        try:
            fcntl.ioctl(copy, _FICLONE, source)
        except OSError as error:
            if error.errno in _FILE_SYSTEM_CANNOT:
                self._refused.add(os.fstat(source).st_dev)
            elif error.errno not in _FILE_CANNOT:
                raise
            raise NoSharingError from error

    def _equal(self, layout: Layout, size: int, descriptor: int) -> bytes:
        """A copy like that, of this process or another; empty when there is none."""
        for oid in sorted(self.all()):
            if size_of(oid) == size and self.has(oid) and self._is_equal(oid, layout, descriptor):
                return oid
        return b""

    def _is_equal(self, oid: bytes, layout: Layout, descriptor: int) -> bool:
        with open(self._path(oid), "rb", buffering=0) as copy:
            if oid not in self._layouts:
                own = _layout(copy.fileno(), size_of(oid))
                self._layouts[oid] = own.digest() if own else b""
            if self._layouts[oid] != layout.digest():
                return False
            return layout.is_exact or _equal_bytes(copy.fileno(), descriptor)

    def _path(self, oid: bytes) -> Path:
        return self.directory / oid.hex()


def synchronise_names(folder: str | Path) -> None:
    """Return when all names in a folder are on disk; raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _layout(descriptor: int, size: int) -> Layout | None:
    """Where the content of a file lies, in runs as long as can be; None when that cannot be told."""
    found: list[Extent] = []
    is_exact, at = True, 0
    while at < size:
        head = _HEAD.pack(at, size - at, _SYNC, 0, _EXTENTS_AT_ONCE, 0)
        answer = bytearray(head + bytes(_EXTENT.size * _EXTENTS_AT_ONCE))
        try:
            fcntl.ioctl(descriptor, _FIEMAP, answer)
        except OSError as error:
            if error.errno in _FILE_SYSTEM_CANNOT:
                return None
            raise
        count = _HEAD.unpack_from(answer)[3]
        flags = _LAST
        for number in range(count):
            start, place, length, _, _, flags, *_ = _EXTENT.unpack_from(
                answer, _HEAD.size + number * _EXTENT.size
            )
            at = start + length
            if flags & _UNTOLD:
                return None
            is_exact = is_exact and not flags & _ENCODED
            if not flags & _UNWRITTEN:  # that reads as a hole does
                _append(found, Extent(start, place, min(length, size - start)))
        if flags & _LAST:
            break
    return Layout(tuple(found), is_exact)


def _append(extents: list[Extent], new: Extent) -> None:
    last = extents[-1] if extents else None
    if last and (last.at + last.length, last.place + last.length) == (new.at, new.place):
        extents[-1] = Extent(last.at, last.place, last.length + new.length)
    else:
        extents.append(new)


def _equal_bytes(one: int, other: int) -> bool:
    at = 0
    while piece := os.pread(one, _PIECE_BYTES, at):
        if piece != os.pread(other, len(piece), at):
            return False
        at += len(piece)
    return True
