"""Runs one command without a sandbox so that its whole tree can still be ended; `python -I` only.

Arguments: STATUS_FD LEASH_FD TTY WORKDIR COMMAND…; TTY is 1 when standard input is the terminal to
control. Writes `pid N` and `exit N` lines to STATUS_FD. The command runs once a line comes on LEASH_FD;
when that reaches its end (our owner closed it or died) everything below is killed. Leaves when nothing
is below any more.
"""

import ctypes
import fcntl
import os
import selectors
import signal
import subprocess
import sys
import termios

_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h: orphans below become our children
_CAUGHT = (signal.SIGCHLD, signal.SIGHUP, signal.SIGINT, signal.SIGTERM)


def _below() -> list[int]:
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        pid = waiting.pop()
        try:
            with open(f"/proc/{pid}/task/{pid}/children") as file:
                pids = [int(word) for word in file.read().split()]
        except OSError:
            continue
        found += pids
        waiting += pids
    return found


def _reap(main_pid: int) -> tuple[int | None, bool]:
    """The exit code of the command if it ended now, and whether any child is left."""
    code = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code, False
        if pid == 0:
            return code, True
        if pid == main_pid:
            result = os.waitstatus_to_exitcode(status)
            code = result if result >= 0 else 128 - result


def _end_all() -> None:
    while True:
        below, others = _below(), set()
        for pid in below:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            except PermissionError:  # of another user, as what `sudo` runs
                others.add(pid)
        if below and others.issuperset(below):
            return
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _await_leave(status_fd: int, leash_fd: int) -> None:
    """In the child, so that it is there when the leave comes: tell of it, and end where none comes."""
    for number in _CAUGHT:
        signal.signal(number, signal.SIG_DFL)
    os.write(status_fd, b"pid %d\n" % os.getpid())
    if not os.read(leash_fd, 64):
        os._exit(1)


def _come_to_the_front() -> None:
    """In the child: its own group, in the foreground of the terminal."""
    os.setpgid(0, 0)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    os.tcsetpgrp(0, os.getpgrp())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)


def main() -> int:
    """Run the command named in the arguments; returns its exit code."""
    status_fd, leash_fd, tty, workdir = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "1", sys.argv[4]
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    os.set_blocking(wake_read, False)
    for number in _CAUGHT:
        signal.signal(number, lambda *_: None)  # a handler, not SIG_IGN, which the command would inherit
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    for fd in (status_fd, leash_fd):
        os.set_inheritable(fd, False)
    if tty:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # we lead the session, so what is left behind gets no HUP

    def prepare() -> None:
        if tty:
            _come_to_the_front()
        _await_leave(status_fd, leash_fd)

    try:
        child = subprocess.Popen(
            sys.argv[5:],
            cwd=workdir,
            start_new_session=not tty,
            preexec_fn=prepare,  # noqa: PLW1509 - one thread only
        )
    except OSError as error:
        os.write(2, f"{sys.argv[5]}: {error.strerror}\n".encode())
        os.write(status_fd, b"exit %d\n" % (127 if isinstance(error, FileNotFoundError) else 126))
        return 127
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    return _watch(child.pid, status_fd, leash_fd, wake_read)


def _watch(main_pid: int, status_fd: int, leash_fd: int, wake_read: int) -> int:
    selector = selectors.DefaultSelector()
    selector.register(leash_fd, selectors.EVENT_READ)
    selector.register(wake_read, selectors.EVENT_READ)
    final = 0
    while True:
        code, alive = _reap(main_pid)
        if code is not None:
            final = code
            os.write(status_fd, b"exit %d\n" % code)
        if not alive:
            return final
        for key, _ in selector.select():
            if key.fd == leash_fd:
                _end_all()
                return final
            os.read(wake_read, 4096)


if __name__ == "__main__":
    sys.exit(main())
