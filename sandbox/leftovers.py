"""Takes away what a `kill -9` of this program in the middle of a start can leave behind.

bwrap's child waits for its parent to map the user; a parent that dies just before leaves it waiting for
ever. It runs nothing and holds no file of the workspace, so it is only untidy, and the next start that
has run a command clears it.
"""

import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from sandbox import processes

OLDER_THAN_S = 60.0  # longer than a start may take, so that none in progress is meant


def sweep(marks: Sequence[str], older_than_s: float = OLDER_THAN_S) -> list[int]:
    """Kill each bwrap of this user that holds all `marks` among its words, has no children, and whose
    parent is no bwrap: those in use have the one or the other. Returns the killed ones."""
    killed = []
    for pid in [int(place.name) for place in Path("/proc").iterdir() if place.name.isdigit()]:
        if _is_left_behind(pid, marks, older_than_s):
            with suppress(OSError):
                handle = processes.open_handle(pid)
                if _is_left_behind(pid, marks, older_than_s):  # still the same one
                    handle.signal(signal.SIGKILL)
                    killed.append(pid)
                handle.close()
    return killed


def _is_left_behind(pid: int, marks: Sequence[str], older_than_s: float) -> bool:
    with suppress(OSError, ValueError, IndexError):
        if Path(f"/proc/{pid}").stat().st_uid != os.geteuid() or not set(marks) <= set(_words(pid)):
            return False
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        parent, started_s = int(fields[1]), int(fields[19]) / os.sysconf("SC_CLK_TCK")
        age_s = float(Path("/proc/uptime").read_text().split()[0]) - started_s
        is_alone = not processes.children(pid) and not set(marks) <= set(_words(parent))
        return is_alone and age_s > older_than_s
    return False


def _words(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []
