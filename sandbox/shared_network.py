"""One private network for the commands of a session: loopback only, so that a server that one
command started answers the next.

Two namespaces without a process in them: a user namespace and the network namespace it owns, kept
alive by the descriptors here alone, so they are gone with this process however it ends. A command
enters both before its bwrap makes the rest; bwrap 0.8 can join a user namespace (`--userns`) but no
network, and joining one takes a process without threads, hence `nsenter`.
"""

import asyncio
import fcntl
import os
import select
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

from agent_tui.frozen import frozen
from sandbox.errors import SandboxError

NS_GET_USERNS = 0xB701  # ioctl_ns(2): the user namespace that owns a namespace
_TIMEOUT_S = 20
SYSTEM_PATH = "/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin:/run/current-system/sw/bin"
# bwrap brings loopback up; the shell is the process to take the namespaces from, and ends with us
_MAKER = ("--unshare-user", "--unshare-net", "--cap-drop", "ALL", "--new-session", "--ro-bind", "/", "/")
_HOLD = 'echo "$$"; read -r _'
MARKS = ("--unshare-net", _HOLD)  # by which a maker is known among processes


@frozen
class Network:
    """An open network. `close` once no command will enter any more; those inside keep theirs."""

    nsenter: str
    user_fd: int
    net_fd: int

    def words(self) -> list[str]:
        """What goes before a program to run it in here. The descriptors are named through us: handed
        on they would reach the command."""
        ours = f"/proc/{os.getpid()}/fd"
        user, net = f"--user={ours}/{self.user_fd}", f"--net={ours}/{self.net_fd}"
        return [self.nsenter, user, net, "--preserve-credentials", "--"]

    def holds(self, pid: int) -> bool:
        """Whether a process is in this network."""
        with suppress(OSError):
            theirs, ours = Path(f"/proc/{pid}/ns/net").stat(), os.fstat(self.net_fd)
            return (theirs.st_dev, theirs.st_ino) == (ours.st_dev, ours.st_ino)
        return False

    def close(self) -> None:
        os.close(self.user_fd)
        os.close(self.net_fd)


def make(bwrap: str) -> Network:
    """A fresh network that was entered once. Blocks for about 10 ms; raises `SandboxError`."""
    nsenter = shutil.which("nsenter", path=SYSTEM_PATH)
    if nsenter is None:
        raise SandboxError("`nsenter` is missing; install util-linux")
    network = _take(bwrap, nsenter)
    done = _run([*network.words(), "/bin/sh", "-c", ":"])
    if done is not None:
        network.close()
        raise SandboxError(f"entering failed: {done}")
    return network


def _take(bwrap: str, nsenter: str) -> Network:
    words = [bwrap, *_MAKER, "--", "/bin/sh", "-c", _HOLD]
    try:
        maker = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={}
        )
    except OSError as error:
        raise SandboxError(f"`{bwrap}` cannot be started: {error.strerror}") from error
    with maker:
        assert maker.stdin is not None and maker.stdout is not None
        try:
            ready, _, _ = select.select([maker.stdout], [], [], _TIMEOUT_S)
            if not ready:
                maker.kill()
            said = maker.stdout.readline()
            if not said.strip().isdigit():
                raise SandboxError("`bwrap` made none")
            net_fd = os.open(f"/proc/{int(said)}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            return Network(nsenter=nsenter, user_fd=fcntl.ioctl(net_fd, NS_GET_USERNS), net_fd=net_fd)
        except OSError as error:
            raise SandboxError(f"its namespaces cannot be opened: {error.strerror}") from error
        finally:
            maker.stdin.close()


def _run(words: list[str]) -> str | None:
    """None when it worked, else why not."""
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TIMEOUT_S, env={}, text=True
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return None if done.returncode == 0 else done.stderr.strip() or f"exit {done.returncode}"


class SharedNetwork:
    """The network of one session, made when its first command starts."""

    def __init__(self, bwrap: str) -> None:
        self._bwrap = bwrap
        self._made: asyncio.Task[Network] | None = None

    async def get(self) -> Network:
        """The network; raises `SandboxError` where none can be had, each time."""
        if self._made is None:
            self._made = asyncio.create_task(asyncio.to_thread(make, self._bwrap))
        return await asyncio.shield(self._made)

    async def close(self) -> None:
        """Let go of it; what runs in it stays there, a later `get` makes another."""
        if self._made is not None:
            with suppress(SandboxError):
                (await self._made).close()
            self._made = None
