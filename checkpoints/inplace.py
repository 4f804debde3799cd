"""Keeps a process with an open SQLite store alive on a full disk that never writes in place (btrfs)."""

import fcntl
import os
import struct
from contextlib import suppress
from pathlib import Path

_GET_FLAGS, _SET_FLAGS, _NO_COPY_ON_WRITE = 0x80086601, 0x40086602, 0x00800000
_FLAGS = struct.Struct("@l")


def write_in_place(store: Path) -> None:
    """Have the memory that processes share beside a store (`-shm`) written in place.

    SQLite maps it. Where each write takes a new block, one that finds none ends the process by SIGBUS.
    Before the store is opened; without effect where files are written in place anyway, and on a file that
    is in use.
    """
    with suppress(OSError):
        if store.exists() and store.stat().st_uid != os.geteuid():
            return  # SQLite gives that file the owner of the store
        flags = os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(f"{store}-shm", flags, 0o600)
        try:
            if os.fstat(descriptor).st_size == 0:
                (found,) = _FLAGS.unpack(fcntl.ioctl(descriptor, _GET_FLAGS, _FLAGS.pack(0)))
                fcntl.ioctl(descriptor, _SET_FLAGS, _FLAGS.pack(found | _NO_COPY_ON_WRITE))
        finally:
            os.close(descriptor)
