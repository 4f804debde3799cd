"""The lock of one workspace: many may record at once, a rollback or a prune is alone.

An advisory lock of the kernel: it ends with its process, so a dead owner never blocks. Who holds it
alone is written beside, for the message to those who wait in vain.
"""

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from checkpoints.plainfile import is_plain, read_plain
from checkpoints.types import CheckpointError, WorkspaceBusyError

_POLL_S = 0.02


@contextmanager
def hold(path: Path, *, alone: bool, what: str, timeout_s: float) -> Iterator[None]:
    """Hold the lock; raises WorkspaceBusyError, naming the owner, when it cannot be had in time."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise CheckpointError(f"`{path}` cannot be written: {error.strerror}") from error
    try:
        if not is_plain(descriptor):
            raise CheckpointError(f"`{path}` is no plain file; remove it to go on")
        _acquire(descriptor, fcntl.LOCK_EX if alone else fcntl.LOCK_SH, path, timeout_s)
        if alone:
            _sign(descriptor, what)
        try:
            yield
        finally:
            if alone:
                with suppress(OSError):  # a full disk that never writes in place; the lock itself ends
                    os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _acquire(descriptor: int, operation: int, path: Path, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise WorkspaceBusyError(
                    f"the checkpoints here are in use by {owner(path)}; try again when it is done"
                ) from None
            time.sleep(_POLL_S)


def _sign(descriptor: int, what: str) -> None:
    with suppress(OSError):  # only for the message to others; a full disk must not stop a rollback here
        os.ftruncate(descriptor, 0)
        os.pwrite(
            descriptor, json.dumps({"pid": os.getpid(), "what": what, "since": time.time()}).encode(), 0
        )


def owner(path: Path) -> str:
    """Who holds the lock alone, in words."""
    try:
        facts = json.loads(read_plain(path))
        return f"process {facts['pid']} ({facts['what']})"
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "another process"
