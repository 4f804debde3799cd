"""Directories for one start: gone with it, and taken away by the next one where it was killed."""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, get_args

Kind = Literal["demo", "doctor", "ephemeral", "request"]
KINDS: tuple[Kind, ...] = get_args(Kind)
HALF_MADE_AFTER_S = 3_600.0  # a directory is given its name within a second
_PREFIX, _NEW, _LOCK = "agent-tui-", "agent-tui-new-", ".in-use"


@contextmanager
def scratch(kind: Kind) -> Iterator[Path]:
    """A private directory below the system's one for temporary files; raises OSError."""
    sweep()
    folder, held = _make(kind)
    try:
        yield folder
    finally:
        _remove(folder)
        os.close(held)


def sweep() -> None:
    """Take away what processes left that were killed; never what a live one holds, or another user's."""
    with suppress(OSError):
        for entry in os.scandir(tempfile.gettempdir()):
            if entry.name.startswith(_PREFIX) and _is_ours(entry):
                _sweep_one(Path(entry.path))


def _make(kind: Kind) -> tuple[Path, int]:
    """It gets its name only once it is held, so no sweep can find it free."""
    made = Path(tempfile.mkdtemp(prefix=_NEW)).resolve()
    held = os.open(made / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(held, fcntl.LOCK_EX)
    folder = made.with_name(made.name.replace(_NEW, f"{_PREFIX}{kind}-"))
    made.rename(folder)
    return folder, held


def _is_ours(entry: "os.DirEntry[str]") -> bool:
    with suppress(OSError):
        return (
            entry.is_dir(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_uid == os.geteuid()
        )
    return False


def _sweep_one(folder: Path) -> None:
    if folder.name.startswith(_NEW):
        if time.time() - folder.lstat().st_mtime > HALF_MADE_AFTER_S:
            _remove(folder)
        return
    if not folder.name.startswith(tuple(f"{_PREFIX}{kind}-" for kind in KINDS)):
        return
    with suppress(OSError):  # no lock: not made here; locked: a live process has it
        held = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(folder)
        finally:
            os.close(held)


def _remove(folder: Path) -> None:
    """With all in it, directories that a command closed to us included; what cannot go stays."""
    for above, names, _ in os.walk(folder):
        for name in names:
            path = Path(above, name)
            with suppress(OSError):
                if not path.is_symlink():
                    path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
