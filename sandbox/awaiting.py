"""Whether a process waits for its input, as the kernel tells it from outside (proc_pid_syscall(5)).

A program waits where it is stopped in a read of its input, or in a look at several descriptors of which its
input is one and no other is a socket: a server that takes keys beside its work waits for nothing. Where the
kernel does not tell, nothing is known and the answer is no.
"""

import os
import stat
import struct
from contextlib import suppress
from pathlib import Path

from agent_tui.frozen import frozen

_CONTROLLING_TERMINAL = os.makedev(5, 0)  # tty(4)
_MAX_DESCRIPTORS = 1_024  # of one look
_POLLIN = 1
_X86 = {0: "read", 19: "read", 7: "poll", 271: "poll", 23: "select", 270: "select"} | dict.fromkeys(
    (232, 281, 441), "epoll"
)
_GENERIC = {63: "read", 65: "read", 73: "poll", 72: "select"} | dict.fromkeys((22, 441), "epoll")
_CALLS = {"x86_64": _X86, "aarch64": _GENERIC, "riscv64": _GENERIC}.get(os.uname().machine, {})


@frozen
class Input:
    """The input of a command: the file that it reads from."""

    device: int
    inode: int
    is_terminal: bool

    @classmethod
    def of(cls, fd: int) -> "Input":
        """What the command is given to read from."""
        found = os.fstat(fd)
        return cls(device=found.st_dev, inode=found.st_ino, is_terminal=stat.S_ISCHR(found.st_mode))

    def is_awaited_by(self, pid: int) -> bool:
        """Whether one of the threads of a process waits for it."""
        with suppress(OSError):  # it is gone
            return any(self._is_awaited_in(thread) for thread in Path(f"/proc/{pid}/task").iterdir())
        return False

    def _is_awaited_in(self, thread: Path) -> bool:
        try:
            words = Path(thread, "syscall").read_text().split()
            files = [Path(thread, "fd", str(fd)).stat() for fd in _looked_at(thread, words)]
        except (OSError, ValueError, OverflowError, struct.error):  # gone, not ours to ask, or nonsense
            return False
        return any(map(self._is_same, files)) and not any(stat.S_ISSOCK(file.st_mode) for file in files)

    def _is_same(self, file: os.stat_result) -> bool:
        if (file.st_dev, file.st_ino) == (self.device, self.inode):
            return True
        return self.is_terminal and stat.S_ISCHR(file.st_mode) and file.st_rdev == _CONTROLLING_TERMINAL


def _looked_at(thread: Path, words: list[str]) -> list[int]:
    """The descriptors that a thread waits to read from; `words` are its system call and arguments."""
    kind = _CALLS.get(int(words[0])) if len(words) > 2 and words[0].isdigit() else None
    if kind is None:
        return []
    first, second = int(words[1], 16), int(words[2], 16)
    if kind == "read":
        return [first]
    if kind == "epoll":
        return _registered(thread, first)
    if not 0 < (count := second if kind == "poll" else first) <= _MAX_DESCRIPTORS:
        return []
    if kind == "poll":
        found = struct.iter_unpack("ihh", _memory(thread, first, 8 * count))
        return [fd for fd, events, _ in found if fd >= 0 and events & _POLLIN]
    bits = int.from_bytes(_memory(thread, second, (count + 7) // 8), "little") if second else 0
    return [fd for fd in range(count) if bits >> fd & 1]


def _registered(thread: Path, fd: int) -> list[int]:
    lines = Path(thread, "fdinfo", str(fd)).read_text().splitlines()
    found = [line.split() for line in lines if line.startswith("tfd:")]
    return [int(words[1]) for words in found if int(words[3], 16) & _POLLIN]


def _memory(thread: Path, address: int, size: int) -> bytes:
    with Path(thread, "mem").open("rb", buffering=0) as memory:
        memory.seek(address)
        return memory.read(size)
