"""Identity and signals of processes: no number is trusted without its start time."""

import os
import re
import select
import signal
from contextlib import suppress
from functools import cache
from pathlib import Path

from agent_tui.frozen import frozen


def start_ticks(pid: int) -> int | None:
    """Clock ticks after boot at which a process started (field 22 of /proc/PID/stat), or None."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    return int(text.rpartition(b")")[2].split()[19])


def is_waiting(pid: int) -> bool:
    """Whether a process sleeps (state S of proc_pid_stat(5))."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False
    return text.rpartition(b")")[2].split()[0] == b"S"


@cache
def boot_id() -> str:
    """The kernel's identity of this boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


@cache
def kernel() -> tuple[int, ...]:
    """Version and revision of the running kernel, as (6, 1)."""
    found = re.match(r"(\d+)\.(\d+)", os.uname().release)
    return tuple(int(number) for number in found.groups()) if found else (0, 0)


_NAMESPACE_SETTINGS = (
    "kernel/unprivileged_userns_clone",
    "kernel/apparmor_restrict_unprivileged_userns",
    "user/max_user_namespaces",
)


def namespace_settings() -> dict[str, str]:
    """What the kernel is set to as far as user namespaces go; empty for a setting it does not have."""
    found = dict.fromkeys(_NAMESPACE_SETTINGS, "")
    for name in found:
        with suppress(OSError):
            found[name] = Path("/proc/sys", name).read_text().strip()
    return found


def children(pid: int) -> list[int]:
    """Direct children, zombies included; empty when the process is gone."""
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(word) for word in text.split()]


def descendants(pid: int) -> list[int]:
    """The whole tree below a process, parents first."""
    found: list[int] = []
    waiting = [pid]
    while waiting:
        below = children(waiting.pop())
        found += below
        waiting += below
    return found


@frozen
class Handle:
    """A process by pidfd: a signal through it never reaches another that got the same number."""

    pid: int
    fd: int

    def signal(self, number: int) -> None:
        """Send a signal; nothing happens when the process is gone."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.fd, number)

    def close(self) -> None:
        os.close(self.fd)


def has_handles() -> bool:
    """Whether processes can be held by pidfd: not before Linux 5.3, nor under some containers' filters."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:
        return False
    return True


def open_handle(pid: int) -> Handle:
    """Raises OSError when the process is gone or the kernel is older than 5.3."""
    return Handle(pid=pid, fd=os.pidfd_open(pid))


def end_tree(pid: int) -> None:
    """Kill a child of ours and all below it; blocks until nothing of them is left. It is stopped first, so
    that it starts nothing while it is looked at."""
    os.kill(pid, signal.SIGSTOP)
    _, status = os.waitpid(pid, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        return  # it had ended, and is reaped with this
    try:
        for below in descendants(pid):
            with suppress(ProcessLookupError):
                _end(open_handle(below))
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _end(handle: Handle) -> None:
    try:
        handle.signal(signal.SIGKILL)
        gone = select.poll()
        gone.register(handle.fd, select.POLLIN)
        gone.poll()
    finally:
        handle.close()
