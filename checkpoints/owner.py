"""One owner for each session: an advisory lock that dies with its process, and who holds it.

A live but silent owner is never robbed. Where the file system has no locks, pid, start time, boot
and host decide alone.
"""

import asyncio
import errno
import fcntl
import json
import os
import time
from dataclasses import asdict
from pathlib import Path

from agent_tui.frozen import frozen
from checkpoints.identity import boot_id, start_ticks
from checkpoints.plainfile import is_plain

LOCK_NAME = "owner.lock"
HEARTBEAT_S = 5.0
_NO_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}


@frozen
class Holder:
    """Who owns a session; `started_at_ticks` is field 22 of /proc/PID/stat."""

    pid: int
    started_at_ticks: int
    boot_id: str
    host: str
    beat_at: float  # UTC seconds of the newest heartbeat

    @property
    def is_dead(self) -> bool:
        """Whether it provably runs no more: only this host can tell."""
        if self.host != os.uname().nodename:
            return False
        return self.boot_id != boot_id() or start_ticks(self.pid) != self.started_at_ticks


class OwnedError(Exception):
    """Another live process owns the session; `holder` is None when it cannot be told who."""

    def __init__(self, directory: Path, holder: Holder | None) -> None:
        who = f"process {holder.pid}" if holder else "another process"
        where = f" on {holder.host}" if holder and holder.host != os.uname().nodename else ""
        super().__init__(
            f"session `{directory.name}` is open in {who}{where}; "
            "close it there, or continue a copy with `--fork`"
        )
        self.holder = holder


class Owner:
    """The hold of this process on a session directory; released by `release` or by its death."""

    def __init__(self, path: Path, fd: int) -> None:
        self._path = path
        self._fd = fd

    @classmethod
    def take(cls, directory: Path) -> "Owner":
        """Own the session, or raise OwnedError at once; takes over from a dead process."""
        path = directory / LOCK_NAME
        for _ in range(3):
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            if not is_plain(fd):  # nobody's lock
                os.close(fd)
                path.unlink()
                continue
            holder = _read(fd)
            if _lock(fd, holder) and _is_same_file(fd, path):
                owner = cls(path, fd)
                owner.beat()
                return owner
            os.close(fd)
            if holder is None or not holder.is_dead:
                raise OwnedError(directory, holder)
            # The lock outlived its process, held by something that inherited it: a new file is free.
            path.unlink(missing_ok=True)
        raise OwnedError(directory, None)

    def beat(self) -> None:
        """Write who and when."""
        holder = Holder(
            pid=os.getpid(),
            started_at_ticks=start_ticks(os.getpid()),
            boot_id=boot_id(),
            host=os.uname().nodename,
            beat_at=time.time(),
        )
        content = json.dumps(asdict(holder)).encode()
        os.pwrite(self._fd, content, 0)
        os.ftruncate(self._fd, len(content))

    async def keep_beating(self) -> None:
        """Beat until cancelled; a full disk is no reason to stop."""
        while True:
            await asyncio.sleep(HEARTBEAT_S)
            try:
                self.beat()
            except OSError:
                continue

    def release(self) -> None:
        """Give the session up."""
        os.ftruncate(self._fd, 0)
        os.close(self._fd)


def holder_of(directory: Path) -> Holder | None:
    """The live owner of a session, None when it is free."""
    try:
        fd = os.open(directory / LOCK_NAME, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not is_plain(fd):
            return None
        holder = _read(fd)
        return None if _lock(fd, holder) or (holder is not None and holder.is_dead) else holder
    finally:
        os.close(fd)  # gives back the lock that the question took


def _lock(fd: int, holder: Holder | None) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        return holder is None or holder.is_dead or holder.pid == os.getpid()
    return True


def _is_same_file(fd: int, path: Path) -> bool:
    """Whether the path still names the locked file; it may have been replaced meanwhile."""
    try:
        return os.fstat(fd).st_ino == os.stat(path).st_ino
    except FileNotFoundError:
        return False


def _read(fd: int) -> Holder | None:
    try:
        value = json.loads(os.pread(fd, 4096, 0))
        return Holder(**value)
    except (ValueError, TypeError, RecursionError):
        return None
