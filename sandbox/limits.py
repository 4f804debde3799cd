"""Resource limits of one command: a control group where one can be had, rlimits, and a watcher.

RLIMIT_AS is not used: node, the JVM and sanitizers reserve terabytes they never touch.
"""

import asyncio
import itertools
import os
import resource
from contextlib import suppress
from pathlib import Path

from sandbox import cgroups, processes
from sandbox.cgroups import Group
from sandbox.policy import Limits

GROUP_AFTER_S = 0.02
WATCH_INTERVAL_S = 0.25
_MEMORY_SHARE = 0.75
_numbers = itertools.count(1)


def memory_limit(limits: Limits) -> int:
    """Bytes of resident memory the tree may hold."""
    if limits.memory_bytes is not None:
        return limits.memory_bytes
    with open("/proc/meminfo") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(int(line.split()[1]) * 1024 * _MEMORY_SHARE)
    return 2**62


class Enforcement:
    """The limits of one command: `enforce` while it is blocked, `watch` as it runs, `finish` after."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._memory_bytes = memory_limit(limits)
        self._group: Group | None = None
        self._adopting: asyncio.Future[None] | None = None

    def enforce(self, pid: int) -> None:
        """Put a blocked process under the rlimits; all that it starts inherits them."""
        apply_rlimits(pid, self._limits)

    def adopt(self, root_pid: int, loop: asyncio.AbstractEventLoop) -> None:
        """Move a running tree into a control group, in a thread: the first move takes 10 ms of
        waiting in the kernel. Called once the command has outlived `GROUP_AFTER_S`, since most are
        gone by then and no fork bomb is big."""
        if cgroups.parents() is not None:
            self._adopting = loop.run_in_executor(None, self._move, root_pid)

    def _move(self, root_pid: int) -> None:
        group = cgroups.create(
            number=next(_numbers), memory_bytes=self._memory_bytes, tasks=self._limits.tasks
        )
        if group is None:
            return
        moved: set[int] = set()
        while fresh := {root_pid, *processes.descendants(root_pid)} - moved:
            for pid in fresh:
                group.add(pid)
            moved |= fresh
        self._group = group

    def check(self, root_pid: int) -> str:
        """A sentence when the tree below `root_pid` holds more than it may, else empty."""
        if self._group:
            return ""
        tree = processes.descendants(root_pid)
        if len(tree) > self._limits.tasks + 2:
            return self._sentence("tasks")
        return self._sentence("memory") if resident_bytes(tree) > self._memory_bytes else ""

    async def finish(self) -> str:
        """Remove the group; returns the sentence of a limit that the kernel enforced, or nothing."""
        if self._adopting:
            await self._adopting
        if self._group is None:
            return ""
        hit = self._group.hit()
        self._group.remove()
        return self._sentence(hit) if hit else ""

    def _sentence(self, what: str) -> str:
        if what == "memory":
            return f"memory limit of {self._memory_bytes // 2**20} MiB reached; processes were killed"
        return f"limit of {self._limits.tasks} processes reached; starting more failed"


def apply_rlimits(pid: int, limits: Limits) -> None:
    """Lower the limits of a process; a limit that is lower already stays."""
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: limits.file_size_bytes,
    }
    if processes.kernel() >= (
        5,
        14,
    ):  # counted in the sandbox's user namespace alone; before, for the whole user
        wanted[resource.RLIMIT_NPROC] = limits.tasks
    for name, value in wanted.items():
        _, hard = resource.getrlimit(name)
        lowered = value if hard == resource.RLIM_INFINITY else min(value, hard)
        with suppress(ProcessLookupError):
            resource.prlimit(pid, name, (lowered, lowered))


def resident_bytes(pids: list[int]) -> int:
    """Resident memory of processes; pages of files and shared memory count once, for the largest."""
    page = os.sysconf("SC_PAGE_SIZE")
    private, shared = 0, 0
    for pid in pids:
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/statm").read_text().split()
            private += int(fields[1]) - int(fields[2])
            shared = max(shared, int(fields[2]))
    return (private + shared) * page
