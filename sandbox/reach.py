"""Becomes a command that can open nothing but what lies below one directory, and the system's programs.

`python -I reach.py PARENT FD COMMAND …`: FD is that directory, open; it becomes the working directory.
Unlike a check of each path it holds for links that take the place of a directory while the command
walks. The command is killed when its parent, of process id PARENT, dies (prctl(2), PR_SET_PDEATHSIG).
Exit code 126 where the kernel has no Landlock (Linux 5.13; linux/landlock.h), 127 where the command
cannot be started: it has not run then.
"""

import ctypes
import os
import signal
import stat
import sys
from contextlib import suppress

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture
_PATH_BENEATH = 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38
_SYSTEM = ("/usr", "/bin", "/lib", "/lib32", "/lib64", "/opt", "/nix", "/snap", "/etc/ld.so.cache")
NO_LANDLOCK, NOT_STARTED = 126, 127


class _Rule(ctypes.Structure):
    _fields_ = (("allowed", ctypes.c_uint64), ("place", ctypes.c_int32))


def main() -> None:
    """Confine this process and become the command."""
    parent, root, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before that
        return
    try:
        os.fchdir(root)
        confine(root, command[0])
    except OSError as error:
        sys.stderr.write(f"{error}\n")
        os._exit(NO_LANDLOCK)
    try:
        os.execv(command[0], command)
    except OSError as error:
        sys.stderr.write(f"{error}\n")
        os._exit(NOT_STARTED)


def confine(root: int, program: str) -> None:
    """Allow reading below the directory and what the program needs; raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    handled = ctypes.c_uint64(_EXECUTE | _WRITE_FILE | _READ_FILE | _READ_DIR)
    rules = _done(libc.syscall(_CREATE_RULESET, ctypes.byref(handled), ctypes.sizeof(handled), 0))
    _allow(libc, rules, root, _READ_FILE | _READ_DIR)
    for path in (*_SYSTEM, os.path.realpath(program)):
        _allow_path(libc, rules, path, _EXECUTE | _READ_FILE | _READ_DIR, os.O_PATH)
    above = os.getcwd()
    while above != "/":  # rules for ignored files hold below the directory they lie in
        above = os.path.dirname(above)
        _allow_path(libc, rules, os.path.join(above, ".gitignore"), _READ_FILE, os.O_PATH | os.O_NOFOLLOW)
    _done(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _done(libc.syscall(_RESTRICT_SELF, rules, 0))
    os.close(rules)


def _allow_path(libc: ctypes.CDLL, rules: int, path: str, allowed: int, flags: int) -> None:
    """Nothing where it does not exist, or is no plain file or directory."""
    with suppress(OSError):
        fd = os.open(path, flags | os.O_CLOEXEC)
        mode = os.fstat(fd).st_mode
        if stat.S_ISDIR(mode):
            _allow(libc, rules, fd, allowed)
        elif stat.S_ISREG(mode):
            _allow(libc, rules, fd, allowed & ~_READ_DIR)
        os.close(fd)


def _allow(libc: ctypes.CDLL, rules: int, place: int, allowed: int) -> None:
    rule = _Rule(allowed, place)
    _done(libc.syscall(_ADD_RULE, rules, _PATH_BENEATH, ctypes.byref(rule), 0))


def _done(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"landlock: {os.strerror(number)}")
    return result


if __name__ == "__main__":
    main()
