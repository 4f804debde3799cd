"""Directories of our own that nobody else may enter."""

import os
import stat
from pathlib import Path

from sandbox.errors import SandboxError


def private_dir(path: Path) -> Path:
    """Make a directory that only we may enter; raises `SandboxError` when it is not ours."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.lstat()
    except OSError as error:
        raise SandboxError(f"sandbox: cannot make `{path}`: {error.strerror}") from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise SandboxError(f"sandbox: `{path}` is not a directory of ours; remove it")
    return path
