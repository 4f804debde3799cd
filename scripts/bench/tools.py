"""Speed and memory of the tools: 50 MB of output, calls of `true`, reads at the same time.

Each line is JSON: name, value, unit, floor, ratio, target. The floor is the same work without us.
"""

import asyncio
import json
import os
import pty
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from sandbox.launch import spawn
from sandbox.policy import Mode, Policy
from sandbox.probe import probe
from sandbox.shared_network import SharedNetwork
from scripts.measuring import QUICK, report
from tools.registry import Toolbox, build_toolbox
from tools.types import Invocation, Outcome, Spawned

SIZE = 10_000_000 if QUICK else 50_000_000
FLOOD = f"yes 'a line of ordinary output' | head -c {SIZE}"
CALLS = 8 if QUICK else 20
READS = 8


class Silent:
    """A sink that keeps nothing."""

    async def spawned(self, process: Spawned) -> None:
        """Not stored."""

    def output(self, text: str) -> None:
        """Not shown."""

    def awaits_input(self, waits: bool) -> None:
        """Not shown."""

    async def connects(self, host: str) -> str:  # noqa: ARG002 - the sink's shape
        """None is granted."""
        return "nobody is asked"


class Bench:
    """A toolbox over a directory of its own."""

    def __init__(self, base: Path) -> None:
        self.workspace = base / "work"
        self.workspace.mkdir()
        self.artifacts = base / "state" / "artifacts"
        self.policy = Policy(mode=Mode.WORKSPACE_WRITE, workspace=self.workspace, state_dir=base / "state")
        self.probe = probe(base / "state")
        self.toolbox: Toolbox = build_toolbox(artifacts=self.artifacts, probe=self.probe, interactive=False)
        self._calls = 0

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Outcome:
        """Run one call."""
        self._calls += 1
        checked = self.toolbox.check(tool, json.dumps(arguments))
        assert not isinstance(checked, str), checked
        invocation = Invocation(
            call_id=f"c1.{self._calls}",
            tool=tool,
            arguments=checked,
            policy=self.policy,
            spool=self.artifacts / f"c1.{self._calls}.out",
            max_output_tokens=10_000,
        )
        return await self.toolbox.run(invocation, Silent())


async def main() -> None:
    """Run all of it."""
    with tempfile.TemporaryDirectory() as directory:
        bench = Bench(Path(directory).resolve())
        if not bench.probe.available:
            sys.exit(f"no sandbox here: {bench.probe.detail}")
        await bench.call("exec_command", {"cmd": "true"})
        await flood(bench, tty=False)
        await flood(bench, tty=True)
        await trues(bench)
        await reads(bench)
        await bench.toolbox.close()


async def flood(bench: Bench, *, tty: bool) -> None:
    """50 MB through a pipe or a terminal: time, memory, and how long the event loop was away."""
    kind = "terminal" if tty else "pipe"
    floor = read_terminal() if tty else read_pipe()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    delays: list[float] = []
    watch = asyncio.ensure_future(heartbeat(delays))
    cpu = time.process_time()
    wall, outcome = await timed(
        lambda: bench.call("exec_command", {"cmd": FLOOD, "tty": tty, "yield_ms": 120_000})
    )
    cpu = time.process_time() - cpu
    watch.cancel()
    assert outcome.exit_code == 0, outcome.text[:200]
    growth = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    report(f"tools: {SIZE // 1_000_000} MB through a {kind}", wall, "s", floor, "under 2 s")
    report(f"tools: processor time of the agent for it, {kind}", cpu, "s", None, "under 2 s")
    report(f"tools: memory growth, {kind}", growth, "MiB", None, "under 32 MiB")
    report(f"tools: longest wait of the event loop, {kind}", max(delays) * 1000, "ms", None, "under 100 ms")


async def heartbeat(delays: list[float]) -> None:
    """How much later than asked a timer of 5 ms fires; what a key press would feel."""
    while True:
        begun = time.perf_counter()
        await asyncio.sleep(0.005)
        delays.append(time.perf_counter() - begun - 0.005)


async def timed(work: Callable[[], Awaitable[Outcome]]) -> tuple[float, Outcome]:
    """Seconds and result."""
    begun = time.perf_counter()
    outcome = await work()
    return time.perf_counter() - begun, outcome


def read_pipe() -> float:
    """The same bytes through a pipe, read and thrown away."""
    begun = time.perf_counter()
    with subprocess.Popen(["bash", "-c", FLOOD], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        while os.read(process.stdout.fileno(), 65_536):
            pass
    return time.perf_counter() - begun


def read_terminal() -> float:
    """The same bytes through a terminal, read and thrown away."""
    begun = time.perf_counter()
    master, slave = pty.openpty()
    with subprocess.Popen(["bash", "-c", FLOOD], stdout=slave) as process:
        os.close(slave)
        try:
            while os.read(master, 65_536):
                pass
        except OSError:  # the end of a terminal
            pass
        process.wait()
    os.close(master)
    return time.perf_counter() - begun


async def trues(bench: Bench) -> None:
    """What a call costs above starting the same command in the same sandbox; lower quartiles, which
    other work on the machine moves least."""
    network = SharedNetwork(bench.probe.bwrap) if bench.probe.shared_network else None
    ours, bare = [], []
    for _ in range(CALLS):
        wall, _ = await timed(lambda: bench.call("exec_command", {"cmd": "true"}))
        ours.append(wall)
        begun = time.perf_counter()
        running = await spawn(
            ["/bin/bash", "-c", "true"],
            policy=bench.policy,
            cwd=bench.workspace,
            probe=bench.probe,
            shared_network=network,
        )
        await running.ended()
        running.close()
        bare.append(time.perf_counter() - begun)
    if network is not None:
        await network.close()
    value, floor = (statistics.quantiles(times, n=4)[0] * 1000 for times in (ours, bare))
    report("tools: one call of `true`", value, "ms", floor, "under 1.3 of the spawn")
    report("tools: overhead of a call above the spawn", value - floor, "ms", None, "under 5 ms")


async def reads(bench: Bench) -> None:
    """Eight files at the same time against one after the other, and against plain reading."""
    names = [f"f{number}.txt" for number in range(READS)]
    for name in names:
        (bench.workspace / name).write_text("a line of text that is read\n" * 20_000)
    begun = time.perf_counter()
    for name in names:
        (bench.workspace / name).read_text().splitlines()
    floor = time.perf_counter() - begun
    begun = time.perf_counter()
    for name in names:
        await bench.call("read_file", {"path": name})
    serial = time.perf_counter() - begun
    begun = time.perf_counter()
    await asyncio.gather(*(bench.call("read_file", {"path": name}) for name in names))
    together = time.perf_counter() - begun
    report("tools: 8 reads one after the other", serial * 1000, "ms", floor * 1000)
    report("tools: 8 reads at the same time", together * 1000, "ms", serial * 1000, "not above serial")


if __name__ == "__main__":
    asyncio.run(main())
