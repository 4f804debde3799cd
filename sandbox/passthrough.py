"""`agent-tui sandbox -- CMD`: one command with our own streams, as in a terminal of its own."""

import asyncio
import os
import signal
import sys
import termios
import tty
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from sandbox.launch import Exit, Running, spawn
from sandbox.policy import Policy
from sandbox.probe import ProbeResult, probe

_FORWARDED = ("INT", "TERM", "HUP", "QUIT")
_READ_BYTES = 65536


def run_passthrough(
    policy: Policy,
    argv: Sequence[str],
    cwd: Path,
    found: ProbeResult | None = None,
    environ: Mapping[str, str] | None = None,
) -> int:
    """Run to the end and return its exit status, 128 + n for a signal. Raises `SandboxError`.

    On a terminal the command gets one of its own, relayed to ours; else our streams as they are.
    """
    return asyncio.run(_run(policy, argv, cwd, found or probe(policy.state_dir), environ))


async def _run(
    policy: Policy, argv: Sequence[str], cwd: Path, found: ProbeResult, environ: Mapping[str, str] | None
) -> int:
    on_terminal = os.isatty(0) and os.isatty(1)
    size = os.get_terminal_size(0) if on_terminal else os.terminal_size((80, 24))
    running = await spawn(
        argv,
        policy=policy,
        cwd=cwd,
        probe=found,
        tty=on_terminal,
        size=(size.columns, size.lines),
        env={"TERM": os.environ["TERM"]} if on_terminal and "TERM" in os.environ else None,
        inherit=None if on_terminal else (0, 1, 2),
        environ=environ,
    )
    loop = asyncio.get_running_loop()
    for name in _FORWARDED:
        loop.add_signal_handler(signal.Signals[f"SIG{name}"], running.signal, name)
    try:
        ended = await (_relay(running) if on_terminal else running.wait())
    finally:
        running.close()
        await running.ended()
    for line in (running.limit_hit, *running.notices):
        if line:
            sys.stderr.write(f"agent-tui: sandbox: {line}\n")
    return ended.code


async def _relay(running: Running) -> Exit:
    """Keys in, output out, size along, until the command ends."""
    loop = asyncio.get_running_loop()
    (master,) = running.outputs

    def resize() -> None:
        size = os.get_terminal_size(0)
        running.resize(size.columns, size.lines)

    def typed() -> None:
        keys = os.read(0, 4096)
        if keys:
            os.write(master, keys)
        else:
            loop.remove_reader(0)

    loop.add_signal_handler(signal.SIGWINCH, resize)
    loop.add_reader(0, typed)
    loop.add_reader(master, _show, master)
    try:
        with _raw_terminal():
            ended = await running.wait()
            while _show(master):
                pass
    finally:
        loop.remove_reader(0)
        loop.remove_reader(master)
    return ended


def _show(master: int) -> bool:
    """Copy what there is to our output; whether there was anything."""
    try:
        data = os.read(master, _READ_BYTES)
    except OSError:  # nothing now, or the end
        return False
    while data:
        data = data[os.write(1, data) :]
    return True


@contextmanager
def _raw_terminal() -> Iterator[None]:
    saved = termios.tcgetattr(0)
    tty.setraw(0, termios.TCSADRAIN)  # what was typed ahead is for the command
    try:
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, saved)
