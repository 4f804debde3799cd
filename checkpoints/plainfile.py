"""Reads whole small files without ever waiting: a pipe or a device in the place of one is no file."""

import errno
import os
import stat
from pathlib import Path


def read_plain(path: bytes | str | Path, *, limit: int = -1, follow: bool = True) -> bytes:
    """The content of a plain file, or its first `limit` bytes. Raises OSError, also for what is no plain
    file, and for a link unless `follow`."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    descriptor = os.open(path, flags)
    try:
        if not is_plain(descriptor):
            raise OSError(errno.EINVAL, "no plain file", path)
        with open(descriptor, "rb", buffering=0, closefd=False) as stream:
            return stream.read(limit)
    finally:
        os.close(descriptor)


def is_plain(descriptor: int) -> bool:
    """Whether an open file is a plain one."""
    return stat.S_ISREG(os.fstat(descriptor).st_mode)
