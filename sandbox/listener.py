"""A listening socket in the network of a sandbox, held by us.

Whoever accepts on it is in no network but ours: what connects to it inside reaches us and nothing else, by
no file, no token and no process between. A short helper enters the namespaces of the sandbox, which takes
a process without threads, binds there, and hands the socket back.
"""

import fcntl
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

from sandbox.errors import SandboxError
from sandbox.shared_network import NS_GET_USERNS, SYSTEM_PATH, Network

PORT = 3128
_TIMEOUT_S = 20
_BACKLOG = 64
_FREEBIND = 15  # IP_FREEBIND of ip(7): bwrap may not have brought loopback up yet
_HELPER = f"""
import socket
ours = socket.socket(fileno=0)
made = socket.socket()
made.setsockopt(socket.SOL_IP, {_FREEBIND}, 1)
made.bind(("127.0.0.1", {PORT}))
made.listen({_BACKLOG})
socket.send_fds(ours, [b"1"], [made.fileno()])
"""


def listen(root_pid: int) -> socket.socket:
    """A socket that listens on 127.0.0.1:3128 of the sandbox whose pid 1 this is, before its command is let
    run. Blocks for about 20 ms; raises `SandboxError`, also where the sandbox has no network of its own."""
    nsenter = shutil.which("nsenter", path=SYSTEM_PATH)
    if nsenter is None:
        raise SandboxError("sandbox: `nsenter` is missing, which a grant of a host needs; install util-linux")
    try:
        net_fd = os.open(f"/proc/{root_pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise SandboxError(f"sandbox: its network cannot be opened: {error.strerror}") from error
    try:
        if os.path.samestat(os.fstat(net_fd), Path("/proc/self/ns/net").stat()):
            raise SandboxError("sandbox: the command would not be in a network of its own")
        user_fd = fcntl.ioctl(net_fd, NS_GET_USERNS)
    except BaseException:
        os.close(net_fd)
        raise
    network = Network(nsenter=nsenter, user_fd=user_fd, net_fd=net_fd)
    try:
        return _handed_back([*network.words(), sys.executable, "-I", "-S", "-c", _HELPER])
    except (OSError, subprocess.SubprocessError) as error:
        raise SandboxError(f"sandbox: no listener in its network: {error}") from error
    finally:
        network.close()


def _handed_back(words: list[str]) -> socket.socket:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        done = subprocess.run(
            words,
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=_TIMEOUT_S,
            env={},
        )
        ours.setblocking(False)  # it has ended: what it sent is there
        try:
            _, given, _, _ = socket.recv_fds(ours, 1, 1, socket.MSG_CMSG_CLOEXEC)
        except BlockingIOError:
            given = []
    if not given:
        said = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise SandboxError(f"sandbox: no listener in its network: {said or f'exit {done.returncode}'}")
    return socket.socket(fileno=given[0])
