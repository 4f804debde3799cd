"""Which sessions have a workspace open right now: a shared lock each, which ends with its process."""

import fcntl
import os
from pathlib import Path

from checkpoints.plainfile import is_plain


class Presence:
    """The mark of one session of this process; held until `close`. Raises OSError."""

    def __init__(self, directory: Path, session: str) -> None:
        self._folder = directory / "live"
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self._path = self._folder / _file_name(session)
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, session.encode(), 0)

    def others(self) -> list[str]:
        """Other sessions that are open now."""
        return [name for path, name in _live(self._folder) if path != self._path]

    def close(self) -> None:
        """Let go of the mark."""
        os.close(self._descriptor)


def live_sessions(directory: Path) -> set[str]:
    """Every session that is open in the workspace now."""
    return {name for _, name in _live(directory / "live")}


def _live(folder: Path) -> list[tuple[Path, str]]:
    found = []
    for path in folder.glob("*") if folder.is_dir() else ():
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            continue  # gone, or a folder: no session's
        try:
            if not is_plain(descriptor):
                continue
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            found.append((path, os.pread(descriptor, 1000, 0).decode("utf-8", "replace")))
        finally:
            os.close(descriptor)
    return found


def _file_name(session: str) -> str:
    return session if session.isalnum() else session.encode().hex()[:200]
