"""Checks that what bwrap mounted is what was looked at: another command might have exchanged it.

Newer versions of bwrap can bind by descriptor; 0.8 takes paths only, so the result is compared
from outside while the command is still blocked.
"""

import asyncio
import os
import time
from collections.abc import Iterable
from pathlib import Path

from sandbox.bwrap import Mount
from sandbox.errors import SandboxError
from sandbox.processes import start_ticks

_TIMEOUT_S = 20.0
_INTERVAL_S = 0.0005


async def verify(root_pid: int, mounts: Iterable[Mount]) -> None:
    """Wait until the sandbox of `root_pid` is built, then compare; raises `SandboxError`."""
    await _built(root_pid)
    for mount in mounts:
        if mount.identity and _identity(root_pid, mount.target) != mount.identity:
            raise SandboxError(
                f"sandbox: `{mount.target}` was exchanged while the command started; try again"
            )


async def _built(root_pid: int) -> None:
    """bwrap builds the new tree at `newroot` of a scratch root and enters it last."""
    ours = os.stat("/")
    deadline = time.monotonic() + _TIMEOUT_S
    while time.monotonic() < deadline:
        root = f"/proc/{root_pid}/root"
        try:
            state = os.stat(root)
            if (state.st_dev, state.st_ino) != (ours.st_dev, ours.st_ino) and not os.path.lexists(
                f"{root}/newroot"
            ):
                return
        except OSError:
            if start_ticks(root_pid) is None:
                raise SandboxError("sandbox: `bwrap` gave up while building the sandbox") from None
        await asyncio.sleep(_INTERVAL_S)
    raise SandboxError("sandbox: `bwrap` did not finish building the sandbox")


def _identity(root_pid: int, path: str) -> tuple[int, int] | None:
    """Device and inode of a path inside, without following any link; None where that leads nowhere."""
    flags = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(f"/proc/{root_pid}/root", os.O_PATH | os.O_CLOEXEC)
    try:
        for part in Path(path).parts[1:]:
            below = os.open(part, flags, dir_fd=fd)
            os.close(fd)
            fd = below
        state = os.fstat(fd)
    except OSError:
        return None
    finally:
        os.close(fd)
    return state.st_dev, state.st_ino
