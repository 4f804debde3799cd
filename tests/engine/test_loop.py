import asyncio
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from agent_tui.engine.commands import Decide, Interrupt, Submit
from agent_tui.engine.events import (
    ApprovalAsked,
    CallEnded,
    CallStarted,
    InputReturned,
    NoticeRaised,
    ResponseEnded,
    SessionStarted,
    StepStarted,
    TextStreamed,
    TurnEnded,
    TurnStarted,
)
from agent_tui.engine.types import Decision, EndReason
from agent_tui.models.base import Completed, ErrorKind, ModelError, TextDelta
from context.items import StopReason
from tests.engine.fakes import Step, calls, engine, failed, last_results, text
from tools.types import CallSink, Invocation, Outcome, OutcomeStatus


async def test_a_message_gets_an_answer(tmp_path: Path) -> None:
    async with engine(tmp_path, text("hello")) as run:
        run.send(Submit(text="hi"))
        ended = await run.wait(TurnEnded)
    assert isinstance(ended, TurnEnded)
    assert (ended.reason, ended.text, ended.exit_code) == (EndReason.COMPLETED, "hello", 0)
    kinds = [type(event.body) for event in run.seen if event.is_durable]
    assert kinds[0] is SessionStarted
    assert kinds.index(TurnStarted) < kinds.index(StepStarted) < kinds.index(ResponseEnded)
    assert [body.text for body in run.bodies(TextStreamed)] == ["hello"]
    seqs = [event.seq for event in run.seen]
    assert seqs == sorted(set(seqs))


async def test_calls_are_run_and_answered_in_call_order(tmp_path: Path) -> None:
    script = calls(
        ("read_file", {"path": "/a"}), ("exec_command", {"cmd": "x"}), ("read_file", {"path": "/b"})
    )
    async with engine(tmp_path, script, text("done")) as run:
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
    assert [tool for tool, _ in run.toolbox.ran] == ["read_file", "exec_command", "read_file"]
    assert last_results(run.model.requests[1]) == ["ran read_file", "ran exec_command", "ran read_file"]


async def test_a_call_is_on_disk_as_started_before_it_runs(tmp_path: Path) -> None:
    stored: list[str] = []

    async def look(invocation: Invocation, sink: CallSink) -> Outcome:
        async for record in run.records.read():
            body = record.body.get("body", record.body)
            stored.append(body["checkpoint"]["cause"]["phase"] if "checkpoint" in body else body["type"])
        return Outcome(status=OutcomeStatus.SUCCEEDED, text="")

    async with engine(tmp_path, calls(("exec_command", {"cmd": "x"})), text("done")) as run:
        run.toolbox.behaviour["exec_command"] = look
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
    order = [stored.index(name) for name in ("ResponseItem", "CallProposed", "before_call", "CallStarted")]
    assert order == sorted(order)


async def test_an_invalid_call_is_answered_and_never_runs(tmp_path: Path) -> None:
    script = calls(("read_file", '{"path": "/a'), ("no_such_tool", {}), ("ask_exec", "7"))
    async with engine(tmp_path, script, text("done")) as run:
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
    assert run.toolbox.ran == [] and run.gate.judged == [], "nor is anybody asked"
    first, second, _ = last_results(run.model.requests[1])
    assert "not valid JSON" in first and '{"path": "/a' in first
    assert "no tool `no_such_tool`" in second


@pytest.mark.parametrize("stop", [StopReason.LENGTH, StopReason.REFUSAL])
async def test_a_whole_call_of_a_cut_response_never_runs(tmp_path: Path, stop: StopReason) -> None:
    (whole,) = calls(("run", {"cmd": "rm -r build"}))
    assert isinstance(whole, Completed)
    async with engine(tmp_path, [replace(whole, stop=stop)], text("done")) as run:
        run.send(Submit(text="go"))
        ended = await run.wait(TurnEnded)
    assert run.toolbox.ran == []
    assert isinstance(ended, TurnEnded) and ended.reason is EndReason.COMPLETED
    (result,) = last_results(run.model.requests[-1])
    assert result.startswith("Not run: ")


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (text("Half an"), ""),
        (calls(("run", {"cmd": "rm -r build"})), "; the call in it did not run"),
        (calls(*[("run", {"cmd": "rm -r build"})] * 2), "; the 2 calls in it did not run"),
    ],
)
async def test_a_response_cut_at_the_output_limit_is_told_once(tmp_path: Path, step: Step, said: str) -> None:
    whole = step[-1]
    assert isinstance(whole, Completed)
    async with engine(tmp_path, [replace(whole, stop=StopReason.LENGTH)], text("done")) as run:
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
    told = [notice.text for notice in run.bodies(NoticeRaised)]
    assert told == [f"this answer was cut at the output limit{said}"]


async def test_repeated_provider_ids_stay_apart(tmp_path: Path) -> None:
    script = [calls(("exec_command", {"cmd": str(n)})) for n in range(3)]
    async with engine(tmp_path, *script, text("done")) as run:
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
    assert [body.call_id for body in run.bodies(CallStarted)] == ["c1.1", "c2.1", "c3.1"]
    assert [call.provider_id for item in run.session.fold.log for call in getattr(item, "calls", ())] == [
        "p0"
    ] * 3


async def test_an_approved_call_runs_and_a_denied_one_does_not(tmp_path: Path) -> None:
    script = calls(("ask_exec", {"cmd": "a"}), ("ask_exec", {"cmd": "b"}))
    async with engine(tmp_path, script, text("done")) as run:
        run.send(Submit(text="go"))
        first = await run.wait(ApprovalAsked)
        assert isinstance(first, ApprovalAsked)
        run.send(Decide(approval_id=first.approval_id, decision=Decision.ONCE, digest=first.digest))
        second = await run.wait(ApprovalAsked, count=2)
        assert isinstance(second, ApprovalAsked)
        run.send(
            Decide(
                approval_id=second.approval_id, decision=Decision.DENY, digest=second.digest, feedback="no"
            )
        )
        await run.wait(TurnEnded)
    assert [arguments["cmd"] for _, arguments in run.toolbox.ran] == ["a"]
    assert last_results(run.model.requests[1]) == ["ran ask_exec", "denied: no"]


async def test_a_failure_that_passes_is_sent_again_with_the_same_request(tmp_path: Path) -> None:
    error = failed(ModelError(kind=ErrorKind.OVERLOADED, message="busy"))
    async with engine(tmp_path, error, error, text("done")) as run:
        run.send(Submit(text="go"))
        ended = await run.wait(TurnEnded)
    assert isinstance(ended, TurnEnded) and ended.reason is EndReason.COMPLETED
    assert run.model.requests[0] == run.model.requests[1] == run.model.requests[2]


async def test_a_model_that_stays_away_ends_the_run(tmp_path: Path) -> None:
    error = failed(ModelError(kind=ErrorKind.OVERLOADED, message="busy"))
    async with engine(tmp_path, error, error, error) as run:
        run.send(Submit(text="go"))
        ended = await run.wait(TurnEnded)
    assert isinstance(ended, TurnEnded)
    assert (ended.reason, ended.exit_code, ended.error) == (EndReason.MODEL_UNAVAILABLE, 1, "busy")
    assert ended.sentence == "fake did not answer (3 tries, 0:00)"


async def test_an_interrupt_while_streaming_keeps_the_text(tmp_path: Path) -> None:
    async def hang() -> None:
        await asyncio.Event().wait()

    async with engine(tmp_path, [TextDelta(text="so far", offset=0), hang], text("done")) as run:
        run.send(Submit(text="go"))
        await run.wait(TextStreamed)
        run.send(Interrupt())
        ended = await run.wait(TurnEnded)
        assert isinstance(ended, TurnEnded)
        assert (ended.reason, ended.exit_code) == (EndReason.INTERRUPTED, 130)
        assert ended.sentence == "interrupted by you"
        run.send(Submit(text="again"))
        await run.wait(TurnEnded, count=2)
    assert [item.text for item in run.session.fold.log if hasattr(item, "text")][1] == "so far"


async def test_an_interrupt_answers_the_running_call_and_skips_the_rest(tmp_path: Path) -> None:
    async def hang(invocation: Invocation, sink: CallSink) -> Outcome:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return Outcome(status=OutcomeStatus.INTERRUPTED, text="stopped half way")
        raise AssertionError

    script = calls(("exec_command", {"cmd": "a"}), ("exec_command", {"cmd": "b"}))
    async with engine(tmp_path, script, text("done")) as run:
        run.toolbox.behaviour["exec_command"] = hang
        run.send(Submit(text="go"))
        await run.wait(CallStarted)
        run.send(Submit(text="a steer"))
        run.send(Interrupt())
        ended = await run.wait(TurnEnded)
        assert isinstance(ended, TurnEnded) and ended.sentence == "interrupted by you; effects may be partial"
        returned = await run.wait(InputReturned)
        assert isinstance(returned, InputReturned) and returned.text == "a steer"
        run.send(Submit(text="go on"))
        await run.wait(TurnEnded, count=2)
    assert [body.outcome.status for body in run.bodies(CallEnded)] == [
        OutcomeStatus.INTERRUPTED,
        OutcomeStatus.SKIPPED,
    ]
    assert last_results(run.model.requests[1])[0] == "stopped half way"
    assert len(run.toolbox.ran) == 1


async def test_a_new_process_goes_on_with_the_same_conversation(tmp_path: Path) -> None:
    async with engine(tmp_path, calls(("read_file", {"path": "/a"})), text("one")) as run:
        run.send(Submit(text="first"))
        await run.wait(TurnEnded)
    async with engine(tmp_path, text("two")) as again:
        again.send(Submit(text="second"))
        await again.wait(TurnEnded)
    assert again.model.requests[0].view.units[:2] == run.model.requests[1].view.units
    assert len(again.model.requests[0].view.units) == 4


async def test_the_same_requests_go_out_with_and_without_a_store(tmp_path: Path) -> None:
    requests = []
    for in_memory in (False, True):
        root = tmp_path / str(in_memory)
        root.mkdir()
        script = [
            calls(("read_file", {"path": "/a"}), ("exec_command", {"cmd": "x"})),
            text("one"),
            text("two"),
        ]
        async with engine(root, *script, in_memory=in_memory) as run:
            run.send(Submit(text="first"))
            await run.wait(TurnEnded)
            run.send(Submit(text="second"))
            await run.wait(TurnEnded, count=2)
        requests.append([run.model.body(request) for request in run.model.requests])
    assert requests[0] == requests[1]


async def test_requests_only_grow_at_their_end(tmp_path: Path) -> None:
    script = [calls(("exec_command", {"cmd": str(n)})) for n in range(4)]
    async with engine(tmp_path, *script, text("done")) as run:
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
    views = [request.view for request in run.model.requests]
    for earlier, later in pairwise(views):
        assert later.units[: len(earlier.units)] == earlier.units
        assert (later.system, later.tools, later.project) == (earlier.system, earlier.tools, earlier.project)


async def test_an_internal_error_ends_the_run_with_every_call_answered(tmp_path: Path) -> None:
    async def fail(invocation: Invocation, sink: CallSink) -> Outcome:
        raise RuntimeError("a bug")

    script = calls(("exec_command", {"cmd": "a"}), ("exec_command", {"cmd": "b"}))
    async with engine(tmp_path, script, text("done")) as run:
        run.toolbox.behaviour["exec_command"] = fail
        run.send(Submit(text="go"))
        ended = await run.wait(TurnEnded)
        assert isinstance(ended, TurnEnded)
        assert (ended.reason, ended.error) == (EndReason.INTERNAL_ERROR, "RuntimeError: a bug")
        run.send(Submit(text="again"))
        await run.wait(TurnEnded, count=2)
    assert "a bug" in (tmp_path / "internal-error.txt").read_text()
    first, second = last_results(run.model.requests[1])
    assert "before the result was known" in first and "Not run" in second
