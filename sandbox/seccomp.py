"""The system call filter: built once in a process through libseccomp, handed to bwrap by fd.

A deny list that answers with an errno, so that programs fall back instead of dying. Calls of a
foreign architecture (x32, i386) get ENOSYS. Numbers and reasons: docs/security.md.
"""

import errno
import os
import platform
from functools import cache
from typing import Any

from sandbox.errors import SandboxError

_DENIED = """
add_key keyctl request_key bpf perf_event_open userfaultfd mount umount2 pivot_root chroot setns swapon
swapoff reboot kexec_load kexec_file_load init_module finit_module delete_module create_module query_module
get_kernel_syms acct quotactl quotactl_fd syslog open_by_handle_at kcmp process_vm_writev pidfd_getfd
modify_ldt iopl ioperm move_pages migrate_pages clock_settime clock_settime64 settimeofday stime adjtimex
clock_adjtime clock_adjtime64 sethostname setdomainname fanotify_init vmsplice process_madvise uselib ustat
sysfs nfsservctl lookup_dcookie vhangup
""".split()

_ABSENT = """
clone3 io_uring_setup io_uring_enter io_uring_register
fsopen fsconfig fsmount fspick open_tree move_mount mount_setattr
listmount statmount open_tree_attr file_setattr
""".split()

# Newer than the libseccomp of older distributions; numbers are shared by all architectures
# (kernel: scripts/syscall.tbl).
_NUMBERS = {
    "process_madvise": 440,
    "mount_setattr": 442,
    "quotactl_fd": 443,
    "statmount": 457,
    "listmount": 458,
    "open_tree_attr": 467,
    "file_setattr": 469,
}

_CLONE_FLAGS = {
    "mount": 0x00020000,
    "cgroup": 0x02000000,
    "uts": 0x04000000,
    "ipc": 0x08000000,
    "user": 0x10000000,
    "pid": 0x20000000,
    "net": 0x40000000,
}
_CLONE_NEWTIME = 0x00000080  # in `clone` these bits are the exit signal
_TERMINAL_REQUESTS = {"TIOCSTI": 0x5412, "TIOCLINUX": 0x541C, "TIOCSETD": 0x5423}
_FAMILIES_ALLOWED = {0, 1, 2, 10, 16}  # UNSPEC UNIX INET INET6 NETLINK
_FAMILIES_END = 46  # AF_MAX of Linux 6.x
_NETLINK_ROUTE = 0
_LOW_32_BITS = 0xFFFFFFFF
# READ_IMPLIES_EXEC, MMAP_PAGE_ZERO, ADDR_COMPAT_LAYOUT, STICKY_TIMEOUTS; debuggers need ADDR_NO_RANDOMIZE
_PERSONALITY_FLAGS = (0x0400000, 0x0100000, 0x0200000, 0x4000000)
_TOP_BIT = 1 << 31


def _import_pyseccomp() -> Any:
    try:
        import pyseccomp
    except ImportError as error:
        raise SandboxError("sandbox: the package `pyseccomp` is missing; reinstall agent-tui") from error
    except (RuntimeError, OSError, AttributeError) as error:
        raise SandboxError(f"sandbox: libseccomp cannot be loaded: {error}") from error
    return pyseccomp


def _number(library: Any, name: str) -> int | None:
    """The native number of a call; None where this architecture does not have it."""
    try:
        number = int(library.resolve_syscall(library.Arch.NATIVE, name))
    except OSError:
        return _NUMBERS.get(name)
    # libseccomp answers with negative pseudo numbers for calls of other architectures
    return number if number >= 0 else _NUMBERS.get(name)


def _deny_whole_calls(library: Any, program: Any) -> None:
    for names, code in ((_DENIED, errno.EPERM), (_ABSENT, errno.ENOSYS)):
        for name in names:
            number = _number(library, name)
            if number is not None:
                program.add_rule(library.ERRNO(code), number)


def _deny_namespaces(library: Any, program: Any) -> None:
    refuse = library.ERRNO(errno.EPERM)
    # the flags are the first argument but on s390, where the two first are swapped
    position = 1 if platform.machine().startswith("s390") else 0
    for flag in _CLONE_FLAGS.values():
        program.add_rule(refuse, "clone", library.Arg(position, library.MASKED_EQ, flag, flag))
        program.add_rule(refuse, "unshare", library.Arg(0, library.MASKED_EQ, flag, flag))
    program.add_rule(refuse, "unshare", library.Arg(0, library.MASKED_EQ, _CLONE_NEWTIME, _CLONE_NEWTIME))


def _deny_terminal_injection(library: Any, program: Any) -> None:
    for request in _TERMINAL_REQUESTS.values():
        # the kernel looks at 32 bits only; comparing all 64 would let 1<<32|TIOCSTI by
        argument = library.Arg(1, library.MASKED_EQ, _LOW_32_BITS, request)
        program.add_rule(library.ERRNO(errno.EPERM), "ioctl", argument)


def _deny_socket_families(library: Any, program: Any) -> None:
    refuse = library.ERRNO(errno.EAFNOSUPPORT)
    for family in set(range(_FAMILIES_END)) - _FAMILIES_ALLOWED:
        program.add_rule(refuse, "socket", library.Arg(0, library.MASKED_EQ, _LOW_32_BITS, family))
    program.add_rule(refuse, "socket", library.Arg(0, library.GE, _FAMILIES_END))
    program.add_rule(
        refuse,
        "socket",
        library.Arg(0, library.MASKED_EQ, _LOW_32_BITS, 16),
        library.Arg(2, library.NE, _NETLINK_ROUTE),
    )


def _deny_personalities(library: Any, program: Any) -> None:
    refuse = library.ERRNO(errno.EPERM)
    for flag in _PERSONALITY_FLAGS:
        program.add_rule(refuse, "personality", library.Arg(0, library.MASKED_EQ, flag | _TOP_BIT, flag))
    # all bits set only asks for the present value; any other value with the top bit would slip
    # past the rules above, so a clear bit anywhere below it refuses the call
    for bit in range(31):
        argument = library.Arg(0, library.MASKED_EQ, _TOP_BIT | 1 << bit, _TOP_BIT)
        program.add_rule(refuse, "personality", argument)


@cache
def filter_bytes() -> bytes:
    """The BPF program. Raises `SandboxError` when libseccomp is absent; built once in a process."""
    library = _import_pyseccomp()
    try:
        program = library.SyscallFilter(library.ALLOW)
        program.set_attr(library.Attr.ACT_BADARCH, library.ERRNO(errno.ENOSYS))
        for step in (
            _deny_whole_calls,
            _deny_namespaces,
            _deny_terminal_injection,
            _deny_socket_families,
            _deny_personalities,
        ):
            step(library, program)
        return _export(program)
    except OSError as error:
        raise SandboxError(f"sandbox: libseccomp refused the filter: {error}; update libseccomp") from error


def _export(program: Any) -> bytes:
    with os.fdopen(os.memfd_create("filter", os.MFD_CLOEXEC), "w+b") as file:
        program.export_bpf(file)
        file.seek(0)
        return file.read()


def filter_fd() -> int:
    """A new memfd that holds the program, at its start; the caller closes it."""
    program = filter_bytes()
    fd = os.memfd_create("seccomp", os.MFD_CLOEXEC)
    os.write(fd, program)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd
