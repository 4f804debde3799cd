"""Reads one file or link of the workspace: never through a link, never a special file.

The numbers kept with a content are taken before it is read, so that a write meanwhile shows in the
next scan.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Callable
from typing import NamedTuple

from checkpoints.clones import NoSharingError
from checkpoints.coverage import special_kind
from checkpoints.sizes import size_text

_PROBE_BYTES = 4096
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class File(NamedTuple):
    """A file or link that is held; the numbers are those of `lstat` when its content was read."""

    mode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    oid: bytes
    is_clone: bool = False  # the content is a copy beside the objects


class ChangedKindError(Exception):
    """What was a file a moment ago is something else now; `reason` is for the list of gaps."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class UnreadableError(Exception):
    """Something that is there cannot be read; `reason` is for the list of gaps."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def unreadable(error: OSError) -> str:
    """The reason of a gap: closed to us, or what else is in the way."""
    return "unreadable" if isinstance(error, PermissionError) else f"unreadable: {error.strerror}"


def read_link(path: bytes, status: os.stat_result, keep: Callable[[bytes], bytes]) -> File | None:
    """Read a link; None when it is gone or no link any more."""
    try:
        target = os.readlink(path)
    except OSError:
        return None
    return File(
        status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, keep(target)
    )


def read_file(path: bytes, keep: Callable[[bytes], bytes], limit: int) -> File | None:
    """Read a file; None when it is gone. Raises UnreadableError and ChangedKindError."""
    try:
        descriptor = os.open(path, _READ_FLAGS)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            return None  # it is a link now
        raise UnreadableError(unreadable(error)) from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ChangedKindError(special_kind(status.st_mode))
        if status.st_size > limit:
            raise ChangedKindError(size_text(status.st_size))
        content = _read(descriptor, status.st_size, limit)
    except OSError as error:
        raise UnreadableError(unreadable(error)) from error
    finally:
        os.close(descriptor)
    if len(content) > limit:
        raise ChangedKindError(size_text(len(content)))
    return File(
        status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, keep(content)
    )


def clone_file(path: bytes, take: Callable[[int], bytes]) -> File | None:
    """Take a copy of a file beside the objects; None when it is gone. Raises UnreadableError,
    NoSharingError, and OSError when the copy cannot be written."""
    try:
        descriptor = os.open(path, _READ_FLAGS)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UnreadableError(unreadable(error)) from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise NoSharingError
        oid = take(descriptor)
    finally:
        os.close(descriptor)
    return File(
        status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, oid, True
    )


def _read(descriptor: int, size: int, limit: int) -> bytes:
    """The whole content; at most one byte more than the limit."""
    content = os.read(descriptor, size + 1)
    if len(content) == size:
        return content
    pieces = [content]
    total = len(content)
    while total <= limit and (piece := os.read(descriptor, min(1 << 20, limit + 1 - total))):
        pieces.append(piece)
        total += len(piece)
    return b"".join(pieces)


def probe(path: bytes) -> str:
    """SHA-256 of the first and last 4 KiB of a file that is too large to be held."""
    try:
        with open(os.open(path, _READ_FLAGS), "rb") as stream:
            digest = hashlib.sha256(stream.read(_PROBE_BYTES))
            stream.seek(-min(_PROBE_BYTES, os.fstat(stream.fileno()).st_size), os.SEEK_END)
            digest.update(stream.read(_PROBE_BYTES))
            return digest.hexdigest()
    except OSError:
        return ""
