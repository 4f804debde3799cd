"""kill -9 at each commit of a compaction epoch: the view is the old one or the new one, never a mixture."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_tui.engine.commands import Submit
from agent_tui.engine.events import TurnEnded
from agent_tui.engine.types import EndReason
from agent_tui.models.base import ModelInfo
from context.items import CompactionItem
from context.units import read_log
from context.view import SummaryUnit, Unit
from tests.durability.test_kill import KILLED, Driver, entries
from tests.engine.fakes import calls, engine, text
from tools.types import CallSink, Invocation, Outcome, OutcomeStatus

COMMITS = 3  # an epoch makes one; those of opening and closing the session stand beside it


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    started = Driver()
    yield started
    started.close()


async def long_output(invocation: Invocation, sink: CallSink) -> Outcome:
    lines = "".join(f"line {n} of {invocation.call_id}\n" for n in range(150))
    return Outcome(status=OutcomeStatus.SUCCEEDED, text=lines, exit_code=0)


async def long_session(root: Path) -> None:
    root.mkdir()
    steps = [calls(("exec_command", {"cmd": f"make part{n}"})) for n in range(15)]
    async with engine(root, *steps, text("so far")) as run:
        run.toolbox.behaviour["exec_command"] = long_output
        run.send(Submit(text="build everything for `release-9.3.1`"))
        await run.wait(TurnEnded)


async def units(root: Path) -> tuple[Unit, ...]:
    log, _ = await entries(root)
    reading = read_log(log)
    assert reading.orphans == () and reading.incomplete == ()
    return tuple(reading.units)


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_kill_at_each_commit_of_an_epoch_leaves_one_view_whole(
    driver: Driver, tmp_path: Path, when: str
) -> None:
    start, reference = tmp_path / "start", tmp_path / "reference"
    await long_session(start)
    shutil.copytree(start, reference)
    assert driver.run(reference, []) == 0
    old, new = await units(start), await units(reference)
    assert isinstance(new[0], SummaryUnit) and old != new
    found = set()
    for at in range(1, COMMITS + 1):
        root = tmp_path / f"killed-{at}"
        shutil.copytree(start, root)
        assert driver.run(root, [], at, when) in (KILLED, 0)
        left = await units(root)
        assert left in (old, new), "a mixture of two views"
        found.add(left == new)
        await goes_on(root)
    assert found == {False, True}, "both sides of the commit that matters were seen"


async def goes_on(root: Path) -> None:
    """The next turn completes, in the window, with one epoch on record at least."""
    small = ModelInfo(provider="fake", model="fake", context_window=16_000, max_output=2_000)
    async with engine(root, text("again"), info=small) as run:
        run.send(Submit(text="more"))
        ended = await run.wait(TurnEnded)
    assert isinstance(ended, TurnEnded) and ended.reason is EndReason.COMPLETED
    log, _ = await entries(root)
    assert any(isinstance(item, CompactionItem) for item in log)
    assert "release-9.3.1" in repr(run.model.requests[-1].view.units)
