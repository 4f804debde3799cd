"""The descriptors between us and a command: standard streams, its status, its leash."""

import fcntl
import os
import pty
import socket
import struct
import termios
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from sandbox.awaiting import Input

_SAFE_FROM = 64  # sources are moved above every number the child uses, so no dup2 overwrites another

STATUS_FD = 3  # `up`, `pid N` and `exit N` lines, from whoever runs the command
LEASH_FD = 4  # a line means: run the command; its end means: leave
SECCOMP_FD = 5
REPORT_FD = 6  # bwrap's JSON lines
BLOCK_FD = 7
ARGUMENTS_FD = 8
FILES_FD = 9  # and those after it


@dataclass(slots=True)
class Channels:
    """Our ends, and what the child gets. `close_child_ends` once it is started."""

    outputs: tuple[int, ...] = ()
    stdin: int | None = None
    terminal: int | None = None  # the master side, one of `outputs`
    awaited: Input | None = None  # what the command reads that is written to `stdin`
    status: int = -1
    leash: int = -1
    report: int = -1
    release: int = -1
    arguments: int = -1
    files: list[int] = field(default_factory=list)
    for_child: dict[int, int] = field(default_factory=dict)  # number in the child → our descriptor

    def ours(self) -> list[int]:
        """Every descriptor on our side that is still open."""
        fds = {*self.outputs, self.status, self.leash, self.report, self.release}
        fds |= {self.arguments, *self.files}
        if self.stdin is not None:
            fds.add(self.stdin)
        return sorted(fd for fd in fds if fd >= 0)

    def close_child_ends(self) -> None:
        for fd in set(self.for_child.values()):
            os.close(fd)
        self.for_child.clear()

    def close(self) -> None:
        self.close_child_ends()
        for fd in self.ours():
            os.close(fd)
        self.outputs, self.stdin, self.terminal = (), None, None
        self.status = self.leash = self.report = self.release = -1
        self.arguments, self.files = -1, []

    def file_actions(self) -> list[tuple[int, int, int]]:
        """What posix_spawn does with them."""
        return [(os.POSIX_SPAWN_DUP2, source, number) for number, source in self.for_child.items()]

    def give(self, number: int, fd: int) -> None:
        """Hand a descriptor to the child under a number; it is closed here."""
        self.for_child[number] = _move_up(fd)


def open_channels(
    *, tty: bool, stdin: bool, size: tuple[int, int], inherit: Sequence[int] | None = None
) -> Channels:
    """Open the streams; `inherit` names three descriptors of ours to hand on instead of pipes."""
    channels = Channels()
    if inherit is not None:
        for number, fd in enumerate(inherit):
            channels.give(number, os.dup(fd))
    elif tty:
        _open_terminal(channels, size)
    else:
        _open_pipes(channels, stdin=stdin)
    channels.status = _pipe_from_child(channels, STATUS_FD)
    channels.leash = _pipe_to_child(channels, LEASH_FD)
    os.set_blocking(channels.status, False)
    return channels


def add_bwrap_channels(channels: Channels, *, seccomp: int, files: int) -> None:
    """More that bwrap itself needs; `instruct` and `let_mount` give it the content of the last ones, its
    arguments and so many `files`."""
    channels.give(SECCOMP_FD, seccomp)
    channels.report, reported = os.pipe()
    # a writer that is a reader too: bwrap would end on a broken pipe should we die while it starts,
    # and leave its child behind, which waits for it for ever
    channels.give(REPORT_FD, os.open(f"/proc/self/fd/{reported}", os.O_RDWR | os.O_CLOEXEC))
    os.close(reported)
    os.set_blocking(channels.report, False)
    channels.release = _pipe_to_child(channels, BLOCK_FD)
    channels.arguments = _whole(channels, ARGUMENTS_FD)
    first, *more = range(FILES_FD, FILES_FD + files)
    channels.files = [_whole(channels, first), *(_file(channels, number) for number in more)]


def instruct(channels: Channels, words: Sequence[str]) -> None:
    """Give a started bwrap its arguments, which stay out of the process list so and have no length limit. It
    builds what no workspace has a part in, and then waits for `let_mount`."""
    fd, channels.arguments = channels.arguments, -1
    _send_whole(fd, os.fsencode("".join(f"{word}\0" for word in words)))


def let_mount(channels: Channels, files: Iterable[bytes]) -> None:
    """Give an instructed bwrap its files, with which it goes on to the workspace: all that it mounts on there
    exists by now."""
    first, *more = files
    for fd, content in zip(channels.files[1:], more, strict=True):
        os.pwrite(fd, content, 0)
    _send_whole(channels.files.pop(0), first)


def _whole(channels: Channels, number: int) -> int:
    """Something that the child reads to its end, and waits for. A byte lies on our side until all is written:
    should we die before, the read fails (ECONNRESET, unix(7)), and a part is never taken for the whole."""
    ours, theirs = socket.socketpair()
    theirs.send(b"-")
    channels.give(number, theirs.detach())
    return ours.detach()


def _send_whole(fd: int, content: bytes) -> None:
    with socket.socket(fileno=fd) as ours, suppress(ConnectionError):  # it gave up; its words are read later
        ours.sendall(content)
        ours.recv(1)


def _file(channels: Channels, number: int) -> int:
    """A file in memory that the child reads from its start, whatever we wrote meanwhile."""
    fd = os.memfd_create("file", os.MFD_CLOEXEC)
    channels.give(number, os.dup(fd))
    return fd


def keep_descriptors() -> None:
    """Close every descriptor above 2 on exec: what our own parent left open is no command's business."""
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # the listing's own descriptor is gone by now
            if int(name) > 2:
                os.set_inheritable(int(name), False)


def resize(terminal: int, size: tuple[int, int]) -> None:
    """Set columns and rows; the kernel sends WINCH to the foreground group."""
    columns, rows = size
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def _open_terminal(channels: Channels, size: tuple[int, int]) -> None:
    master, slave = pty.openpty()
    os.set_inheritable(master, False)
    resize(master, size)
    os.set_blocking(master, False)
    channels.outputs, channels.terminal, channels.awaited = (master,), master, Input.of(slave)
    channels.stdin = fcntl.fcntl(master, fcntl.F_DUPFD_CLOEXEC, 0)
    for number in (0, 1, 2):
        channels.give(number, os.dup(slave))
    os.close(slave)


def _open_pipes(channels: Channels, *, stdin: bool) -> None:
    if stdin:
        channels.stdin = _pipe_to_child(channels, 0)
        channels.awaited = Input.of(channels.for_child[0])
        os.set_blocking(channels.stdin, False)
    else:
        channels.give(0, os.open(os.devnull, os.O_RDONLY))
    channels.outputs = (_pipe_from_child(channels, 1), _pipe_from_child(channels, 2))
    for fd in channels.outputs:
        os.set_blocking(fd, False)


def _pipe_from_child(channels: Channels, number: int) -> int:
    read, write = os.pipe()
    channels.give(number, write)
    return read


def _pipe_to_child(channels: Channels, number: int) -> int:
    read, write = os.pipe()
    channels.give(number, read)
    return write


def _move_up(fd: int) -> int:
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _SAFE_FROM)
    os.close(fd)
    return moved
