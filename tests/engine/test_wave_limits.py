"""How many calls of a wave run at the same time."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from agent_tui.engine.commands import Submit
from agent_tui.engine.events import TurnEnded
from agent_tui.engine.waves import MAX_COMMANDS, MAX_CONCURRENT
from sandbox.policy import Policy
from tests.engine.fakes import FakeToolbox, calls, engine, last_results, text
from tools.types import READS_NOTHING, Arguments, Assessment, CallSink, Invocation, Outcome, OutcomeStatus

CALLS = 12


class Reading(FakeToolbox):
    """Its commands only read, so that they share a wave."""

    def assess(self, tool: str, arguments: Arguments, policy: Policy) -> Assessment:
        return replace(super().assess(tool, arguments, policy), effects=READS_NOTHING)


@pytest.mark.parametrize(("tool", "most"), [("exec_command", MAX_COMMANDS), ("read_file", MAX_CONCURRENT)])
async def test_no_more_than_so_many_run_at_once_and_all_are_answered_in_order(
    tmp_path: Path, tool: str, most: int
) -> None:
    running = [0]
    full, peak = asyncio.Event(), [0]

    async def work(invocation: Invocation, sink: CallSink) -> Outcome:
        running[0] += 1
        peak[0] = max(peak[0], running[0])
        if running[0] == most:
            full.set()
        await full.wait()
        await asyncio.sleep(0)
        running[0] -= 1
        return Outcome(status=OutcomeStatus.SUCCEEDED, text=str(invocation.arguments["path"]), exit_code=0)

    wanted = [(tool, {"path": f"/{number}"}) for number in range(CALLS)]
    async with engine(tmp_path, calls(*wanted), text("done"), toolbox=Reading()) as run:
        run.toolbox.behaviour[tool] = work
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
    assert peak == [most]
    assert last_results(run.model.requests[1]) == [f"/{number}" for number in range(CALLS)]
