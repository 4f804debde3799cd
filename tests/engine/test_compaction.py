from itertools import pairwise
from pathlib import Path
from typing import Any

from agent_tui.engine.commands import Submit
from agent_tui.engine.events import CompactionEnded, NoticeRaised, TurnEnded
from agent_tui.engine.types import EndReason
from agent_tui.models.base import ErrorKind, ModelError, ModelInfo, ModelRequest
from context.budget import Window
from context.estimate import Meter
from context.items import Usage
from context.view import SummaryUnit
from tests.engine.fakes import Step, calls, engine, failed, text
from tools.types import CallSink, Invocation, Outcome, OutcomeStatus

SMALL = ModelInfo(provider="fake", model="fake", context_window=16_000, max_output=2_000)
WINDOW = Window(size=16_000, max_output=2_000)


def steps(count: int) -> list[Step]:
    return [calls(("exec_command", {"cmd": f"make part{n}"})) for n in range(count)]


async def long_output(invocation: Invocation, sink: CallSink) -> Outcome:
    lines = "".join(f"line {n} of {invocation.call_id}\n" for n in range(150))
    return Outcome(status=OutcomeStatus.SUCCEEDED, text=lines, exit_code=0)


def sizes(requests: list[ModelRequest]) -> list[int]:
    return [Meter().tokens(request.view) for request in requests]


def prefix_breaks(requests: list[ModelRequest]) -> int:
    """How many requests do not begin with all units of the one before."""
    return sum(b.view.units[: len(a.view.units)] != a.view.units for a, b in pairwise(requests))


async def test_views_stay_inside_the_window_and_break_the_prefix_once_an_epoch(tmp_path: Path) -> None:
    async with engine(tmp_path, *steps(40), text("done"), info=SMALL) as run:
        run.toolbox.behaviour["exec_command"] = long_output
        run.send(Submit(text="build everything for `release-9.3.1`"))
        ended = await run.wait(TurnEnded)
    assert isinstance(ended, TurnEnded)
    assert ended.reason is EndReason.COMPLETED
    epochs = [body for body in run.bodies(CompactionEnded) if body.item_id]
    assert len(epochs) >= 2
    assert max(sizes(run.model.requests)) <= WINDOW.input
    assert prefix_breaks(run.model.requests) == len(epochs)
    assert all("release-9.3.1" in repr(request.view.units) for request in run.model.requests)


async def test_a_resumed_session_sends_the_compacted_view(tmp_path: Path) -> None:
    async with engine(tmp_path, *steps(15), text("done"), info=SMALL) as run:
        run.toolbox.behaviour["exec_command"] = long_output
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
    before = run.model.requests[-1].view.units
    async with engine(tmp_path, text("again"), info=SMALL) as resumed:
        resumed.send(Submit(text="more"))
        await resumed.wait(TurnEnded)
    units = resumed.model.requests[0].view.units
    assert isinstance(units[0], SummaryUnit)
    assert units[: len(before)] == before


async def test_an_overflow_lowers_the_window_for_good_and_the_request_is_made_again(tmp_path: Path) -> None:
    overflow = failed(ModelError(kind=ErrorKind.CONTEXT_OVERFLOW, message="too long", context_window=8_000))
    usage = Usage(input_tokens=0)
    script = [*steps(8), overflow, text("done", usage)]
    async with engine(tmp_path, *script, retry=lambda error, attempt: None) as run:
        run.toolbox.behaviour["exec_command"] = long_output
        run.send(Submit(text="go"))
        ended = await run.wait(TurnEnded)
    assert isinstance(ended, TurnEnded)
    assert ended.reason is EndReason.COMPLETED
    assert run.session.fold.settings["context_window"] == "8000"
    assert sizes(run.model.requests)[-1] <= Window(size=8_000, max_output=4_000).input


async def test_an_overflow_that_never_ends_is_tried_twice_and_ends_the_run(tmp_path: Path) -> None:
    overflow = failed(ModelError(kind=ErrorKind.CONTEXT_OVERFLOW, message="too long"))
    script = [*steps(6), overflow, overflow, overflow]
    async with engine(tmp_path, *script, retry=lambda error, attempt: None) as run:
        run.toolbox.behaviour["exec_command"] = long_output
        run.send(Submit(text="go"))
        ended = await run.wait(TurnEnded)
    assert isinstance(ended, TurnEnded)
    assert ended.reason is EndReason.CONTEXT_EXHAUSTED
    assert len(run.model.requests) <= 6 + 3


async def test_a_floor_that_cannot_shrink_ends_the_run_without_a_loop(tmp_path: Path) -> None:
    async with engine(tmp_path, *steps(3), info=SMALL) as run:
        run.send(Submit(text="words " * 20_000))
        ended = await run.wait(TurnEnded)
    assert isinstance(ended, TurnEnded)
    assert ended.reason is EndReason.CONTEXT_EXHAUSTED
    assert run.model.requests == []
    assert len(run.bodies(CompactionEnded)) <= 2
    assert len([n for n in run.bodies(NoticeRaised) if "compaction" in n.text]) <= 1


async def test_project_instructions_are_read_anew_at_an_epoch(tmp_path: Path) -> None:
    rules = ["RULE-7341"]
    async with engine(tmp_path, *steps(15), text("done"), info=SMALL) as run:
        object.__setattr__(run.runtime._ports, "instructions", lambda: rules[0])

        async def change(invocation: Invocation, sink: CallSink) -> Outcome:
            rules[0] = "RULE-9000"
            return await long_output(invocation, sink)

        run.toolbox.behaviour["exec_command"] = change
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
    assert run.model.requests[-1].view.project == "RULE-9000"


class Summariser:
    """A model that answers every request with one text."""

    def __init__(self, answer: Step) -> None:
        self.answer = answer
        self.requests: list[ModelRequest] = []
        self.info = ModelInfo(provider="fake", model="small", context_window=8_000, max_output=1_000)

    async def stream(self, request: ModelRequest) -> Any:
        self.requests.append(request)
        for part in self.answer:
            yield part

    def body(self, request: ModelRequest) -> bytes:
        return b""


async def _with_summariser(tmp_path: Path, model: Summariser) -> list[CompactionEnded]:
    async with engine(tmp_path, *steps(60), text("done"), info=SMALL) as run:
        object.__setattr__(run.runtime._ports, "summariser", model)
        run.toolbox.behaviour["exec_command"] = long_output
        run.send(Submit(text="go"))
        ended = await run.wait(TurnEnded)
    assert isinstance(ended, TurnEnded)
    assert ended.reason is EndReason.COMPLETED
    return run.bodies(CompactionEnded)


async def test_a_summary_is_asked_for_inside_its_own_window_and_used(tmp_path: Path) -> None:
    model = Summariser(text("The person wants everything built; parts so far are fine, go on."))
    epochs = await _with_summariser(tmp_path, model)
    assert len(model.requests) == len(epochs)
    assert all(Meter().tokens(request.view) <= 8_000 for request in model.requests)
    assert all(not epoch.detail for epoch in epochs)


async def test_a_summariser_that_always_fails_is_asked_three_times_and_the_run_goes_on(
    tmp_path: Path,
) -> None:
    model = Summariser(failed(ModelError(kind=ErrorKind.UNAVAILABLE, message="no")))
    epochs = await _with_summariser(tmp_path, model)
    assert len(epochs) > 3
    assert len(model.requests) == 3


async def test_a_summary_that_calls_tools_is_not_used(tmp_path: Path) -> None:
    model = Summariser(calls(("exec_command", {"cmd": "ls"})))
    epochs = await _with_summariser(tmp_path, model)
    assert len(model.requests) == 3
    assert len(epochs) > 3
