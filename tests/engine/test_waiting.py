"""What a call or a task waits for besides a person: the first checkpoint, a live terminal."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agent_tui.engine.commands import Interrupt, RunShell, Submit
from agent_tui.engine.events import CallChanged, CallEnded, CallStarted, TaskChanged, TurnEnded
from agent_tui.engine.types import Budgets, CallState, EndReason, TaskStatus
from checkpoints.types import Cause, Checkpoint, Phase
from tests.engine.fakes import FakeCheckpointer, calls, engine, last_results, text
from tools.types import CallSink, Invocation, Outcome, OutcomeStatus


class SlowCheckpointer(FakeCheckpointer):
    """Takes the checkpoint of a turn's start when `go` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.go = asyncio.Event()

    async def take(self, cause: Cause) -> Checkpoint:
        if cause.phase is Phase.TURN_START:
            await self.go.wait()
        return await super().take(cause)


async def test_a_writer_says_that_it_waits_for_the_first_checkpoint(tmp_path: Path) -> None:
    slow = SlowCheckpointer()
    script = calls(("exec_command", {"cmd": "x"}))
    async with engine(tmp_path, script, text("done"), checkpointer=slow) as run:
        run.send(Submit(text="go"))
        waits = await run.wait(CallChanged, count=2)
        assert waits == CallChanged(
            call_id="c1.1", state=CallState.VALIDATED, detail="for the first checkpoint"
        )
        assert run.toolbox.ran == []
        slow.go.set()
        await run.wait(TurnEnded)
    assert len(run.toolbox.ran) == 1


async def test_an_interrupt_does_not_wait_for_the_first_checkpoint(tmp_path: Path) -> None:
    slow = SlowCheckpointer()
    async with engine(tmp_path, calls(("exec_command", {"cmd": "x"})), checkpointer=slow) as run:
        run.send(Submit(text="go"))
        await run.wait(CallChanged, count=2)
        run.send(Interrupt())
        ended = await run.wait(TurnEnded)
        assert isinstance(ended, TurnEnded) and ended.reason is EndReason.INTERRUPTED
        assert (run.bodies(CallStarted), run.session.fold.owed) == ([], {})
        slow.go.set()


class StuckCheckpointer(FakeCheckpointer):
    """A checkpoint before a call never comes."""

    async def take(self, cause: Cause) -> Checkpoint:
        if cause.phase is Phase.BEFORE_CALL:
            await asyncio.Event().wait()
        return await super().take(cause)


async def test_a_command_of_the_person_that_was_stopped_before_its_start_ends_in_the_records(
    tmp_path: Path,
) -> None:
    async with engine(tmp_path, checkpointer=StuckCheckpointer()) as run:
        run.send(RunShell(command="make"))
        await run.wait(CallChanged)
        run.send(Interrupt())
        ended = await run.wait(CallEnded)
        assert isinstance(ended, CallEnded) and ended.outcome.status is OutcomeStatus.SKIPPED
        assert (run.bodies(CallStarted), run.toolbox.ran) == ([], [])


@pytest.mark.parametrize(
    ("method", "call"),
    [
        ("preview", ("write_file", {"path": "a"})),
        ("refusal", ("ask_exec", {"cmd": "x"})),
        ("predict", ("write_file", {"path": "a"})),
    ],
)
async def test_an_interrupt_does_not_wait_for_a_look_at_files(
    tmp_path: Path, method: str, call: tuple[str, dict[str, Any]]
) -> None:
    looking = asyncio.Event()

    async def hang(*_: object) -> str:
        looking.set()
        await asyncio.Event().wait()
        return ""

    async with engine(tmp_path, calls(call)) as run:
        setattr(run.toolbox, method, hang)
        run.send(Submit(text="go"))
        await looking.wait()
        run.send(Interrupt())
        ended = await run.wait(TurnEnded)
        assert isinstance(ended, TurnEnded) and ended.reason is EndReason.INTERRUPTED
        assert (run.bodies(CallStarted), run.session.fold.owed) == ([], {})


async def test_a_look_at_a_terminal_is_waiting_for_a_tool_and_its_time_counts(tmp_path: Path) -> None:
    async def look(invocation: Invocation, sink: CallSink) -> Outcome:
        run.clock.at += 30
        states.append(run.session.fold.task_status)
        return Outcome(status=OutcomeStatus.SUCCEEDED, text="nothing new")

    states: list[TaskStatus | None] = []
    script = [
        calls(("write_stdin", {"session": "t1"})),
        calls(("write_stdin", {"session": "t1", "chars": "x"})),
    ]
    async with engine(tmp_path, *script, text("done"), budgets=Budgets(timeout_s=1000)) as run:
        run.toolbox.behaviour["write_stdin"] = look
        run.send(Submit(text="go"))
        ended = await run.wait(TurnEnded)
        assert isinstance(ended, TurnEnded)
    assert states == [TaskStatus.WAITING_TOOL, TaskStatus.RUNNING]
    assert ended.duration_s == 60
    assert last_results(run.model.requests[1]) == ["nothing new"]
    moves = [body.status for body in run.bodies(TaskChanged)]
    assert moves == ["pending", "running", "waiting_tool", "running", "completed"]
