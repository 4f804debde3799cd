"""Files of a person that are written anew as a whole: settings and rules."""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """One writer at a time, by a lock on the directory, made when it is not there. Raises OSError."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def write(path: Path, text: str) -> None:
    """Beside it, synced, then in its place; a link is followed to the real file, whose mode stays. Raises
    OSError."""
    target = path.resolve()
    descriptor, name = tempfile.mkstemp(prefix=f".{path.stem}-", dir=target.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            with suppress(FileNotFoundError):
                os.fchmod(file.fileno(), target.stat().st_mode & 0o777)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
