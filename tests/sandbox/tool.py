"""Runs inside: small attempts that need system calls. Standard library only; prints $MARK on success."""

import ctypes
import errno
import mmap
import os
import signal
import socket
import sys

MARK = os.environ["MARK"]
libc = ctypes.CDLL(None, use_errno=True)


def call(number, *arguments):
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(each) for each in arguments))
    return result, ctypes.get_errno() if result == -1 else 0


def in_child(action):
    """Run where its effect does no harm; the errno comes back."""
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(action() & 0xFF)
        except OSError as error:
            os._exit(error.errno)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def foreign(code):
    """Run machine code that returns a result in eax; its negative is an errno."""
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    return in_child(lambda: -min(function(), 0))


def clone_with(flags):
    def attempt():
        result, error = call(56, flags | 17, 0, 0, 0, 0)
        if result == 0:
            os._exit(0)
        if result > 0:
            os.waitpid(result, 0)
        return error

    return in_child(attempt)


def clone3_with(flags):
    def attempt():
        arguments = (ctypes.c_uint64 * 8)(flags, 0, 0, 0, 17, 0, 0, 0)
        result, error = call(435, ctypes.addressof(arguments), ctypes.sizeof(arguments))
        if result == 0:
            os._exit(0)
        if result > 0:
            os.waitpid(result, 0)
        return error

    return in_child(attempt)


def family(number, kind=socket.SOCK_RAW, protocol=0):
    try:
        socket.socket(number, kind, protocol).close()
    except OSError as error:
        return error.errno
    return 0


def syscalls():
    here = os.getpid()
    buffer = ctypes.create_string_buffer(4096)
    at = ctypes.addressof(buffer)
    word = ctypes.create_string_buffer(b"user\0")
    text = ctypes.addressof(word)
    tmpfs = ctypes.addressof(ctypes.create_string_buffer(b"tmpfs\0"))
    yield "sys-keyctl", call(250, 0, -3, 0)[1]
    yield "sys-add-key", call(248, text, text, at, 1, -2)[1]
    yield "sys-request-key", call(249, text, text, 0, -2)[1]
    yield "sys-bpf", call(321, 9999, at, 8)[1]
    yield "sys-perf-event-open", call(298, 1, 0, -1, -1, 0)[1]
    yield "sys-userfaultfd", call(323, 1 << 30)[1]
    yield "sys-io-uring", call(425, 0, at)[1]
    yield "sys-mount-tmpfs", in_child(lambda: mount_and_undo(tmpfs))
    yield "sys-umount", call(166, ctypes.addressof(ctypes.create_string_buffer(b"/nowhere\0")), 0)[1]
    yield "sys-pivot-root", call(155, text, text)[1]
    yield "sys-chroot", in_child(lambda: call(161, ctypes.addressof(ctypes.create_string_buffer(b".\0")))[1])
    yield "sys-setns", call(308, -1, 0)[1]
    yield "sys-unshare-userns", in_child(lambda: call(272, 0x10000000)[1])
    yield "sys-clone-userns", clone_with(0x10000000)
    yield "sys-clone3-userns", clone3_with(0x10000000)
    yield "sys-fsopen", call(430, tmpfs, 0)[1]
    yield "sys-open-tree", call(428, -100, ctypes.addressof(ctypes.create_string_buffer(b".\0")), 0)[1]
    yield "sys-move-mount", call(429, -1, text, -1, text, 0)[1]
    yield "sys-mount-setattr", call(442, -1, text, 0, at, 8)[1]
    yield "sys-statmount", call(457, at, 0, 0, 0)[1]
    yield "sys-listmount", call(458, at, at, 1, 0)[1]
    yield "sys-open-by-handle", call(304, -1, at, 0)[1]
    yield "sys-kcmp", call(312, here, here, 0, 0, 1)[1]
    yield "sys-process-vm-writev", call(311, here, 0, 0, 0, 0, 0)[1]
    yield "sys-pidfd-getfd", call(438, -1, 0, 0)[1]
    yield "sys-modify-ldt", call(154, 0, at, 16)[1]
    yield "sys-iopl", call(172, 0)[1]
    yield "sys-personality", in_child(lambda: call(135, 0x0400000)[1])
    yield "sys-personality-top-bit", in_child(lambda: call(135, 0x80400000)[1])
    yield "sys-quotactl", call(179, 0, 0, 0, 0)[1]
    yield "sys-swapon", call(167, text, 0)[1]
    yield "sys-acct", call(163, ctypes.addressof(ctypes.create_string_buffer(b"/nowhere\0")))[1]
    yield "sys-init-module", call(175, at, 1, at)[1]
    yield "sys-kexec-load", call(246, 0, 99, 0, 1 << 15)[1]
    yield "sys-syslog", call(103, 10, 0, 0)[1]
    yield "sys-settimeofday", call(164, 0, 0)[1]
    yield "sys-adjtimex", call(159, at)[1]
    yield "sys-sethostname", call(170, at, -1)[1]
    yield "sys-fanotify", call(300, 0x200, 0)[1]
    yield "sys-vmsplice", call(278, -1, 0, 0, 0)[1]
    yield "sys-move-pages", call(279, here, 0, 0, 0, 0, 0)[1]
    yield "sys-process-madvise", call(440, -1, 0, 0, 0, 0)[1]
    yield "sys-vsock", family(40, socket.SOCK_STREAM)
    yield "sys-netlink-odd", family(16, socket.SOCK_RAW, 15)
    yield "sys-alg-socket", family(38, socket.SOCK_SEQPACKET)
    yield "sys-packet-socket", family(17, socket.SOCK_RAW)
    yield "sys-socket-garbage", call(41, (1 << 32) | 40, 1, 0)[1]
    # getpid through x32 (bit 30 of the number) and through int 0x80
    yield "abi-x32", call(0x40000000 | 39)[1]
    yield "abi-i386", foreign(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")


def mount_and_undo(tmpfs):
    os.makedirs("mountpoint", exist_ok=True)
    place = ctypes.addressof(ctypes.create_string_buffer(b"mountpoint\0"))
    result, error = call(165, tmpfs, place, tmpfs, 0, 0)
    if result == 0:
        call(166, place, 2)
    return error


def said(connection):
    connection.settimeout(3)
    print(connection.recv(200).decode(errors="replace"))


def main():  # noqa: PLR0912 - one branch for each attempt
    what, *rest = sys.argv[1:]
    if what == "syscalls":
        for name, error in syscalls():
            print(name, errno.errorcode.get(error, error), flush=True)
    elif what == "tcp":
        said(socket.create_connection((rest[0], int(rest[1])), 3))
    elif what == "udp":
        probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        probe.sendto(b"?", (rest[0], int(rest[1])))
        said(probe)
    elif what in ("unix", "abstract"):
        probe = socket.socket(socket.AF_UNIX)
        probe.connect(rest[0] if what == "unix" else "\0" + rest[0])
        said(probe)
    elif what == "unixrun":
        if any(entry for entry in os.listdir("/run") if entry != "agent-tui"):
            print(MARK)
    elif what == "address":
        probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        probe.connect(("192.0.2.1", 9))
        print(probe.getsockname()[0])
    elif what == "family":
        if family(int(rest[0]), int(rest[1])) == 0:
            print(MARK)
    elif what == "rawicmp":
        if family(2, socket.SOCK_RAW, 1) == 0:
            print(MARK)
    elif what == "sysv":
        libc.shmat.restype = ctypes.c_void_p
        place = libc.shmat(int(rest[0]), 0, 0o10000)
        if place != ctypes.c_void_p(-1).value:
            print(ctypes.string_at(place, 64).decode(errors="replace"))
    elif what == "mqueue":
        queue = libc.mq_open(b"/" + rest[0].encode(), os.O_RDONLY | os.O_NONBLOCK)
        buffer = ctypes.create_string_buffer(8192)
        if queue >= 0 and libc.mq_receive(queue, buffer, 8192, None) > 0:
            print(buffer.value.decode(errors="replace"))
    elif what == "pidfd":
        signal.pidfd_send_signal(os.pidfd_open(int(rest[0])), 0)
    elif what == "ptrace":
        if libc.ptrace(16, int(rest[0]), 0, 0) == 0:
            libc.ptrace(17, int(rest[0]), 0, 0)
            print(MARK)
    elif what == "readmem":
        with open(f"/proc/{rest[0]}/mem", "rb"):
            print(MARK)
    elif what == "tiocsti":
        # by the raw call: fcntl.ioctl would cut the upper half
        typed = ctypes.addressof(ctypes.create_string_buffer(b"x"))
        if call(16, 0, int(rest[0], 16), typed)[1] == 0:
            print(MARK)
    elif what == "ioctlreach":
        error = call(
            16, 0, int(rest[0], 16), ctypes.addressof(ctypes.create_string_buffer(b"\x63" + bytes(16)))
        )[1]
        if error != errno.EPERM:
            print(MARK)


if __name__ == "__main__":
    main()
