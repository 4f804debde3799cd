"""Becomes the command in its arguments, cut off from abstract sockets and signals outside; `python -I` only.

Uses Landlock's scopes (ABI 6, Linux 6.12; linux/landlock.h). No file rights are handled, so bwrap
can still mount. On an older kernel it does nothing: the probe names what is lost there.
"""

import ctypes
import os
import sys

_CREATE_RULESET = 444  # the same numbers on every architecture
_RESTRICT_SELF = 446
_VERSION = 1 << 0
_SCOPE_ABSTRACT_SOCKET = 1 << 0
_SCOPE_SIGNAL = 1 << 1
_PR_SET_NO_NEW_PRIVS = 38
ABI_WITH_SCOPES = 6


class _Ruleset(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


def abi() -> int:
    """Landlock's version here, 0 where there is none."""
    found: int = ctypes.CDLL(None, use_errno=True).syscall(_CREATE_RULESET, None, 0, _VERSION)
    return max(found, 0)


def restrict() -> None:
    """Set the scopes for this process and all it becomes; raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    rules = _Ruleset(0, 0, _SCOPE_ABSTRACT_SOCKET | _SCOPE_SIGNAL)
    fd = libc.syscall(_CREATE_RULESET, ctypes.byref(rules), ctypes.sizeof(rules), 0)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "landlock_create_ruleset")
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.syscall(_RESTRICT_SELF, fd, 0):
        raise OSError(ctypes.get_errno(), "landlock_restrict_self")
    os.close(fd)


if __name__ == "__main__":
    if abi() >= ABI_WITH_SCOPES:
        restrict()
    os.execv(sys.argv[1], sys.argv[1:])
