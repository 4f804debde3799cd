#!/usr/bin/env python3
"""A session of many steps over the real store: time and bytes of a step must not grow with it.

Prints one JSON object a metric: `value` is the lower quartile of the last fifth of the steps, which other
work on the machine moves least, `floor` that of the first fifth after a warm-up; the target is for their
ratio. AGENT_TUI_BENCH_QUICK plays fewer steps.
"""

import asyncio
import json
import statistics
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from agent_tui.engine.clock import SystemClock
from agent_tui.engine.commands import Submit
from agent_tui.engine.events import ResponseEnded, TurnStarted
from agent_tui.engine.session import Session
from agent_tui.engine.types import Budgets
from checkpoints.records import SessionRecords
from scripts.measuring import QUICK, report
from tests.engine.fakes import calls, engine, text
from tools.types import CallSink, Invocation, Outcome, OutcomeStatus

STEPS = 120 if QUICK else 500


class WallClock:
    """The real one."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


async def measure(root: Path, steps: int) -> tuple[list[float], list[int]]:
    """Milliseconds of processor time and bytes written of each step."""
    times: list[float] = []

    async def work(_: Invocation, __: CallSink) -> Outcome:
        times.append(time.process_time())
        return Outcome(status=OutcomeStatus.SUCCEEDED, text=f"line {len(times)}\n" * 60, exit_code=0)

    script = [calls(("exec_command", {"cmd": f"step {number}"})) for number in range(steps)]
    budgets = Budgets(max_idle_steps=None)
    async with engine(root, *script, text("done"), clock=WallClock(), budgets=budgets) as run:
        run.toolbox.behaviour["exec_command"] = work
        run.send(Submit(text="go"))
        await run.wait(TurnStarted)
        await run.idle()  # scanning what was seen would grow with it
        assert len(run.bodies(ResponseEnded)) == steps + 1
        written = [record async for record in run.records.read()]
    seconds = [1000 * (after - before) for before, after in pairwise(times)]
    marks = [
        n for n, record in enumerate(written) if record.body.get("body", {}).get("type") == "StepStarted"
    ]
    bytes_of = [
        sum(len(json.dumps(record.body)) for record in written[start:end]) for start, end in pairwise(marks)
    ]
    return seconds, bytes_of


def report_growth(name: str, unit: str, values: list[float] | list[int]) -> None:
    """The last fifth against the first, by lower quartiles."""
    fifth = max(1, len(values) // 5)
    first = statistics.quantiles(values[5 : 5 + fifth])[0]
    last = statistics.quantiles(values[-fifth - 1 : -1])[0]
    report(name, last, unit, first, "under 1.15 of the first fifth")


async def measure_load(root: Path, steps: int) -> float:
    """Milliseconds a step that a resume takes to read the session and its view; the best of three."""
    best = float("inf")
    for _ in range(3):
        records = await SessionRecords.open(root / "session.db")
        begun = time.process_time()
        session = await Session.load(records, SystemClock())
        session.fold.reader.read()
        best = min(best, 1000 * (time.process_time() - begun) / steps)
        await session.close()
    return best


def main() -> int:
    """Run and print."""
    with tempfile.TemporaryDirectory() as scratch:
        times, sizes = asyncio.run(measure(Path(scratch), STEPS))
        load = asyncio.run(measure_load(Path(scratch), STEPS))
    report_growth("engine step, processor time", "ms", times)
    report_growth("engine bytes written per step", "bytes", sizes)
    report(f"engine resume of {STEPS} steps, processor time a step", load, "ms", target="under 1 ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
