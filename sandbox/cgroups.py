"""A control group for one command, where this process may make one (version 2 delegated, 1 as root).

Only the kernel stops a fork bomb in time when uid 0 runs it, because RLIMIT_NPROC does not count root.
"""

import os
from contextlib import suppress
from functools import cache
from pathlib import Path

from agent_tui.frozen import frozen
from sandbox.processes import start_ticks

_PREFIX = "agent-tui-"


@frozen
class Files:
    """How one version of control groups names things."""

    memory_limit: str
    memory_events: str  # holds a line `oom_kill N`
    tasks_limit: str
    tasks_events: str  # holds a line `max N`, empty where there is none


_V1 = Files(
    memory_limit="memory.limit_in_bytes",
    memory_events="memory.oom_control",
    tasks_limit="pids.max",
    tasks_events="pids.events",
)
_V2 = Files(
    memory_limit="memory.max",
    memory_events="memory.events",
    tasks_limit="pids.max",
    tasks_events="pids.events",
)


@frozen
class Group:
    """Directories of one command's group: one in version 2, one for each controller in version 1."""

    memory: Path
    tasks: Path
    files: Files

    def add(self, pid: int) -> None:
        """Move a process in; up to 20 ms when no process was moved lately (a kernel-wide lock)."""
        for place in {self.memory, self.tasks}:
            with suppress(OSError):  # gone meanwhile
                (place / "cgroup.procs").write_text(str(pid))

    def hit(self) -> str:
        """Which limit was met, as `memory`, `tasks` or nothing."""
        if _counter(self.memory / self.files.memory_events, "oom_kill"):
            return "memory"
        return "tasks" if _counter(self.tasks / self.files.tasks_events, "max") else ""

    def remove(self) -> None:
        """Once no process is left in it; a remaining one is swept at the next start."""
        for place in {self.memory, self.tasks}:
            with suppress(OSError):
                place.rmdir()


def _counter(path: Path, name: str) -> int:
    with suppress(OSError, ValueError):
        for line in path.read_text().splitlines():
            word, _, value = line.partition(" ")
            if word == name:
                return int(value)
    return 0


@cache
def parents() -> tuple[Path, Path, Files] | None:
    """Where groups can be made, for memory and for tasks; None where they cannot. Sweeps leftovers."""
    found = _locate(Path("/proc/self/cgroup").read_text(), Path("/sys/fs/cgroup"))
    if found:
        for place in {found[0], found[1]}:
            _sweep(place)
    return found


def _locate(membership: str, mounted: Path) -> tuple[Path, Path, Files] | None:
    ours = {}
    for line in membership.splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            ours[controller] = path.lstrip("/")
    if "memory" in ours and "pids" in ours:
        memory, tasks = mounted / "memory" / ours["memory"], mounted / "pids" / ours["pids"]
        return (memory, tasks, _V1) if _usable(memory) and _usable(tasks) else None
    own = mounted / ours.get("", "")
    # a group with processes cannot give controllers to its children, so its parent is asked first
    for place in (own.parent, own):
        if place.is_relative_to(mounted) and _usable(place) and {"memory", "pids"} <= _delegated(place):
            return place, place, _V2
    return None


def _usable(place: Path) -> bool:
    return os.access(place, os.W_OK) and os.access(place / "cgroup.procs", os.W_OK)


def _delegated(place: Path) -> set[str]:
    with suppress(OSError):
        return set((place / "cgroup.subtree_control").read_text().split())
    return set()


def _sweep(place: Path) -> None:
    for leftover in place.glob(f"{_PREFIX}*"):
        owner = leftover.name.removeprefix(_PREFIX).partition("-")[0]
        if owner.isdigit() and start_ticks(int(owner)) is None:
            with suppress(OSError):
                leftover.rmdir()


def create(*, number: int, memory_bytes: int, tasks: int) -> Group | None:
    """A group with limits, named after this process and `number`; None where it cannot be had."""
    places = parents()
    if places is None:
        return None
    name = f"{_PREFIX}{os.getpid()}-{number}"
    group = Group(memory=places[0] / name, tasks=places[1] / name, files=places[2])
    try:
        for place in {group.memory, group.tasks}:
            place.mkdir()
        (group.memory / group.files.memory_limit).write_text(str(memory_bytes))
        (group.tasks / group.files.tasks_limit).write_text(str(tasks))
    except OSError:
        group.remove()
        return None
    return group
