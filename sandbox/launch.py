"""Starts commands in their sandbox and ends them, whole trees at a time.

Contract, for `tools.exec_command`:

* `spawn` must be called on the main thread of the process, inside its event loop: bwrap's parent
  death signal belongs to the thread that started it.
* `Running.outputs` are non-blocking descriptors to read: one for a terminal (reading it raises EIO
  at its end), two for pipes (standard output, standard error). The reader closes none of them and
  takes its readers off the loop before it calls `Running.close`, which does.
* `Running.stdin` is a non-blocking descriptor or None; `close_stdin` ends the input.
* `wait()` returns when the command itself ends. What it left in the background lives on, held by
  the same sandbox: `leftovers()` names it, `ended()` returns when nothing is left, `stop()` and
  `kill()` end all of it. Without leftovers the outputs reach their end right after `wait()`.
* Everything dies when this process dies, by `kill -9` too.
* With a mode other than `off` and no working sandbox `spawn` raises `SandboxError`, never runs.
"""

import asyncio
import json
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from sandbox import channels as wires
from sandbox import limits, processes, seccomp
from sandbox.bwrap import Fds, arguments
from sandbox.channels import Channels, add_arguments, add_bwrap_channels, keep_descriptors, open_channels
from sandbox.environment import build
from sandbox.errors import SandboxError
from sandbox.host import home
from sandbox.policy import Mode, Policy
from sandbox.preparation import prepare
from sandbox.probe import ProbeResult
from sandbox.running import Exit, Running, start_failure

__all__ = ["Exit", "Running", "spawn"]

_START_TIMEOUT_S = 20.0
_FDS = Fds(seccomp=wires.SECCOMP_FD, status=wires.REPORT_FD, block=wires.BLOCK_FD)

# Runs the command, tells its exit code, and then waits for the leash: bwrap would end what the
# command left in the background as soon as its first child ends. Traps, because a signal to the
# group must end the command and not this shell; a caught signal is at its default again in it.
_KEEPER = """
trap : INT QUIT TERM HUP USR1 USR2 ALRM TSTP TTIN TTOU
(exec 3>&- 4<&-; exec "$@")
s=$?
echo "exit $s" >&3
exec 0<&4 1>/dev/null 2>&1 3>&- 4<&-
while read -r _ || [ $? -gt 128 ]; do :; done
exit "$s"
"""
_RESET = [
    getattr(signal, f"SIG{name}")
    for name in "INT QUIT TERM HUP PIPE XFSZ TSTP TTIN TTOU USR1 USR2 ALRM CHLD WINCH".split()
]


async def spawn(
    argv: Sequence[str],
    *,
    policy: Policy,
    cwd: Path,
    probe: ProbeResult,
    env: Mapping[str, str] | None = None,
    tty: bool = False,
    stdin: bool = False,
    size: tuple[int, int] = (80, 24),
    environ: Mapping[str, str] | None = None,
    inherit: Sequence[int] | None = None,
) -> Running:
    """Start `argv`; returns once it runs. `size` is columns, rows; `env` is set for it on top of
    what `sandbox.environment` lets through of `environ` (default: ours); `inherit` hands on three
    descriptors as its streams. Raises `SandboxError`."""
    if threading.current_thread() is not threading.main_thread():
        raise SandboxError("sandbox: commands can be started on the main thread only")
    if policy.mode is not Mode.OFF and not probe.available:
        raise SandboxError(f"sandbox: {probe.detail}; {probe.fix}")
    variables = os.environ if environ is None else environ
    if any("\0" in word for word in argv):
        raise SandboxError("sandbox: the command holds a NUL byte")
    channels = open_channels(tty=tty, stdin=stdin, size=size, inherit=inherit)
    try:
        clean = build(policy, variables, home=home(variables), cwd=cwd, tty=tty)
        if policy.mode is Mode.OFF:
            return _spawn_guarded(argv, channels, cwd, tty, clean | dict(env or {}))
        return await _spawn_sandboxed(
            argv, channels, policy, cwd, tty, probe, clean, dict(env or {}), variables
        )
    except BaseException:
        channels.close()
        raise


def _spawn_guarded(
    argv: Sequence[str], channels: Channels, cwd: Path, tty: bool, env: dict[str, str]
) -> Running:
    guard = str(Path(__file__).with_name("guard.py"))
    words = [sys.executable, "-I", guard, str(wires.STATUS_FD), str(wires.LEASH_FD), str(int(tty)), str(cwd)]
    pid = _start(words + list(argv), channels, env)
    return Running(pid=pid, root=processes.open_handle(pid), channels=channels, sandboxed=False)


async def _spawn_sandboxed(
    argv: Sequence[str],
    channels: Channels,
    policy: Policy,
    cwd: Path,
    tty: bool,
    probe: ProbeResult,
    clean: dict[str, str],
    env: dict[str, str],
    variables: Mapping[str, str],
) -> Running:
    ready = prepare(policy, variables)
    add_bwrap_channels(channels, seccomp=seccomp.filter_fd())
    words = arguments(
        policy,
        ready.host,
        pins=ready.pins,
        granted=ready.granted,
        cwd=cwd,
        fds=_FDS,
        new_session=not tty,
        env=env,
    )
    add_arguments(channels, words)
    session = ["setsid", "--ctty"] if tty else []
    command = [
        probe.bwrap,
        "--args",
        str(wires.ARGUMENTS_FD),
        "--",
        *session,
        "/bin/sh",
        "-c",
        _KEEPER,
        "sh",
        *argv,
    ]
    pid = _start(command, channels, clean)
    try:
        root = await _root_process(channels)
    except BaseException:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise
    limits.apply_rlimits(root, policy.limits)
    running = Running(pid=pid, root=processes.open_handle(root), channels=channels, sandboxed=True)
    os.write(channels.release, b"1")
    return running


def _start(words: list[str], channels: Channels, env: Mapping[str, str]) -> int:
    keep_descriptors()
    pid = os.posix_spawn(
        words[0],
        words,
        env,
        file_actions=channels.file_actions(),
        setsid=True,
        setsigmask=[],
        setsigdef=_RESET,
    )
    channels.close_child_ends()
    return pid


async def _root_process(channels: Channels) -> int:
    """The host pid of the sandbox's pid 1, as soon as bwrap tells it; bwrap writes in pieces."""
    said = b""
    while b"\n" not in said:
        await asyncio.wait_for(_readable(channels.report), _START_TIMEOUT_S)
        data = os.read(channels.report, 65536)
        if not data:
            raise start_failure(_said(channels))
        said += data
    return int(json.loads(said.partition(b"\n")[0])["child-pid"])


async def _readable(fd: int) -> None:
    loop = asyncio.get_running_loop()
    seen: asyncio.Future[None] = loop.create_future()
    loop.add_reader(fd, lambda: None if seen.done() else seen.set_result(None))
    try:
        await seen
    finally:
        loop.remove_reader(fd)


def _said(channels: Channels) -> str:
    """What bwrap wrote before it gave up."""
    said = b""
    for fd in channels.outputs:
        try:
            said += os.read(fd, 65536)
        except OSError:
            continue
    return said.decode(errors="replace")
