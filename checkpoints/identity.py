"""What tells a process from every other: its boot and its start, since numbers are given out again."""

from pathlib import Path


def boot_id() -> str:
    """Identity of this boot (random(4)); empty where the kernel does not tell."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def start_ticks(pid: int) -> int:
    """When a process began, in ticks since boot (proc_pid_stat(5)); -1 for one that is gone or a zombie. The
    name in the second field may hold blanks and brackets."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return -1
    state, *rest = stat.rpartition(")")[2].split()
    return -1 if state in ("Z", "X") else int(rest[18])
