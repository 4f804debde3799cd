#!/usr/bin/env python3
"""What the sandbox adds to starting a command: `bash -c true` in it and plain, in one run.

Prints one JSON object a metric: name, value, unit, floor, ratio, target; medians over 40, `--quick`
or AGENT_TUI_BENCH_QUICK over 20. Not more: each start makes and removes 14 stand-ins, and ext4 without a
journal searches past every file that was removed in the last minutes, which few sessions ever see.
"""

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from sandbox import seccomp  # noqa: E402
from sandbox.launch import spawn  # noqa: E402
from sandbox.policy import Mode, Policy  # noqa: E402
from sandbox.probe import ProbeResult, probe  # noqa: E402
from scripts.measuring import QUICK, report  # noqa: E402

COMMAND = ["bash", "-c", "true"]
ADDED_MS = 12.0


async def main() -> None:
    """Measure each mode against the floor; the filter is built before, once, as in a session."""
    repeats = 20 if QUICK else 40
    began = time.perf_counter()
    seccomp.filter_bytes()
    report("seccomp filter, built once", milliseconds(began), "ms")
    with tempfile.TemporaryDirectory(prefix="bench-sandbox-") as base:
        state, workspace = Path(base) / "state", Path(base).resolve() / "workspace"
        state.mkdir(mode=0o700)
        subprocess.run(["git", "init", "-q", str(workspace)], check=True)  # noqa: ASYNC221 - nothing else runs
        began = time.perf_counter()
        found = probe(state)
        report("probe, first in a boot", milliseconds(began), "ms")
        if not found.available:
            sys.exit(f"no sandbox here: {found.detail}; {found.fix}")
        for mode in (Mode.READ_ONLY, Mode.WORKSPACE_WRITE):
            policy = Policy(mode=mode, workspace=workspace, state_dir=state)
            await measure(policy, found, repeats)


async def measure(policy: Policy, found: ProbeResult, repeats: int) -> None:
    """Plain and sandboxed alternate, so that both see the same machine."""
    plain, inside = [], []
    for _ in range(repeats):
        began = time.perf_counter()
        subprocess.run(COMMAND, check=True)  # noqa: ASYNC221 - it is what is measured
        plain.append(milliseconds(began))
        began = time.perf_counter()
        running = await spawn(COMMAND, policy=policy, cwd=policy.workspace, probe=found)
        ended = await running.wait()
        inside.append(milliseconds(began))
        await running.ended()
        running.close()
        assert ended.code == 0
    floor, value = statistics.median(plain), statistics.median(inside)
    report(f"spawn, {policy.mode}", value, "ms", floor=floor)
    report(f"spawn, {policy.mode}, added", value - floor, "ms", floor=floor, target=f"<= {ADDED_MS:g} ms")


def milliseconds(began: float) -> float:
    return (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    asyncio.run(main())
