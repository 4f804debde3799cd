"""Resource limits of one command: a control group where we may make one, else rlimits and a watcher.

RLIMIT_AS is not used: node, the JVM and sanitizers reserve terabytes they never touch.
"""

import resource
from contextlib import suppress

from sandbox import processes
from sandbox.policy import Limits

_MEMORY_SHARE = 0.75


def memory_limit(limits: Limits) -> int:
    """Bytes of resident memory the tree may hold."""
    if limits.memory_bytes is not None:
        return limits.memory_bytes
    with open("/proc/meminfo") as file:  # noqa: PTH123 - read for every command
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(int(line.split()[1]) * 1024 * _MEMORY_SHARE)
    return 2**62


def apply_rlimits(pid: int, limits: Limits) -> None:
    """Lower the limits of a process that is still blocked; what it starts inherits them."""
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: limits.file_size_bytes,
        resource.RLIMIT_NPROC: limits.tasks,
    }
    for name, value in wanted.items():
        _, hard = resource.getrlimit(name)
        lowered = value if hard == resource.RLIM_INFINITY else min(value, hard)
        with suppress(ProcessLookupError):
            resource.prlimit(pid, name, (lowered, lowered))


def resident_bytes(pid: int) -> int:
    """Resident memory of a process and everything below it; shared pages count for each."""
    return sum(processes.resident_bytes(each) for each in (pid, *processes.descendants(pid)))
