"""What a checkpoint holds and what it does not: limits, refused roots, the words for gaps."""

import os
import stat
from collections.abc import Callable, Collection
from pathlib import Path
from typing import NamedTuple

from agent_tui.frozen import frozen

# Files that are there for a sandbox only, now or at a moment since, by `time.time_ns`.
StandIns = Callable[[int], Collection[Path]]
MIB = 1 << 20
MAX_DEPTH = 200  # folders below each other; deeper ones are named as uncovered


def no_stand_ins(_since_ns: int) -> Collection[Path]:
    """Where nothing runs in a sandbox."""
    return ()


@frozen
class Limits:
    """Sizes and times up to which things are covered; tests make them small."""

    file_bytes: int = 10 * MIB  # of a larger file a copy that shares its blocks, or size and times only
    touched_bytes: int = 100 * MIB  # the same for a file that a file tool names
    max_files: int = 200_000  # more: targeted mode
    import_s: float = 15.0  # a first import that takes longer: targeted mode
    take_s: float = 10.0
    lock_s: float = 10.0


class Gap(NamedTuple):
    """A path that exists and is not held; the times tell a change of it."""

    reason: str
    mode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    probe: str  # SHA-256 of its first and last 4 KiB, empty where it was not read

    def differs(self, other: "Gap") -> bool:
        """Whether the path is not what it was; the words for it say nothing of that."""
        return self[1:] != other[1:]


def special_kind(mode: int) -> str:
    """The word for something that is neither file, link nor folder."""
    if stat.S_ISSOCK(mode):
        return "socket"
    if stat.S_ISFIFO(mode):
        return "fifo"
    return "device"


def refusal(root: Path) -> str:
    """Why automatic checkpoints of this root are refused, or nothing when they are not.

    A mount root that is itself a repository is a project (a container's volume), not a disk.
    """
    real = Path(os.path.realpath(root))
    if real == Path("/"):
        return "`/` is too wide for automatic checkpoints"
    homes = {os.path.realpath(home) for home in (os.environ.get("HOME", ""), _account_home()) if home}
    if os.fspath(real) in homes:
        return "the home directory is too wide for automatic checkpoints"
    if any(Path(home).is_relative_to(real) for home in homes):
        return f"`{real}` holds the home directory and is too wide for automatic checkpoints"
    if os.path.ismount(real) and not (real / ".git").exists():
        return f"`{real}` is the root of a file system, too wide for automatic checkpoints"
    return ""


def _account_home() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return ""
