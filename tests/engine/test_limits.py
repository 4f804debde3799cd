import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent_tui.engine.commands import Answer, Interrupt, Submit
from agent_tui.engine.events import CallStarted, NoticeRaised, QuestionAsked, TaskChanged, TurnEnded
from agent_tui.engine.types import Budgets, EndReason, TaskStatus
from agent_tui.models.base import ModelInfo, TextDelta
from checkpoints.types import CheckpointError
from context.items import NoticeItem, Usage
from tests.engine.fakes import Engine, FakeModel, Step, calls, engine, last_results, text
from tools.types import CallSink, Invocation, Outcome, OutcomeStatus


async def run_to_end(run: Engine, count: int = 1) -> TurnEnded:
    run.send(Submit(text="go"))
    ended = await run.wait(TurnEnded, count=count)
    assert isinstance(ended, TurnEnded)
    return ended


def read(path: str, usage: Usage | None = None) -> Any:
    return calls(("read_file", {"path": path}), usage=usage)


async def test_the_turn_limit_allows_exactly_so_many_requests_and_one_grace_call(tmp_path: Path) -> None:
    script = [read(f"/{number}") for number in range(3)]
    async with engine(
        tmp_path, *script, text("so far"), budgets=Budgets(max_turns=3), interactive=False
    ) as run:
        ended = await run_to_end(run)
    assert (ended.reason, ended.exit_code, ended.text) == (EndReason.BUDGET_TURNS, 3, "so far")
    assert (ended.steps, run.session.fold.spent.turns) == (3, 3)
    choices = [(request.tool_choice, request.max_output_tokens) for request in run.model.requests]
    assert choices == [("auto", 4000)] * 3 + [("none", 1000)]
    assert run.model.requests[3].view.tools == run.model.requests[2].view.tools


async def test_a_batch_over_the_tool_limit_runs_nothing(tmp_path: Path) -> None:
    batch = [("read_file", {"path": f"/{number}"}) for number in range(3)]
    budgets = Budgets(max_tool_calls=4)
    async with engine(
        tmp_path, calls(*batch), calls(*batch), text("over"), budgets=budgets, interactive=False
    ) as run:
        ended = await run_to_end(run)
    assert ended.reason is EndReason.BUDGET_TOOLS
    assert len(run.toolbox.ran) == 3
    assert last_results(run.model.requests[2]) == ["Not run: tool budget, 1 left"] * 3


async def test_calls_that_do_not_run_are_not_counted(tmp_path: Path) -> None:
    script = [calls(("read_file", "{bad")), read("/a"), text("done")]
    async with engine(tmp_path, *script, budgets=Budgets(max_tool_calls=1)) as run:
        ended = await run_to_end(run)
    assert ended.reason is EndReason.COMPLETED
    assert len(run.toolbox.ran) == 1


async def test_a_request_that_could_pass_the_token_limit_is_not_sent(tmp_path: Path) -> None:
    async with engine(tmp_path, text("grace"), budgets=Budgets(max_tokens=1000), interactive=False) as run:
        ended = await run_to_end(run)
    assert ended.reason is EndReason.BUDGET_TOKENS
    assert [request.tool_choice for request in run.model.requests] == ["none"]


async def test_a_cost_limit_with_an_unknown_price_stops_before_the_first_request(tmp_path: Path) -> None:
    async with engine(tmp_path, budgets=Budgets(max_cost_usd=1.0), interactive=False) as run:
        ended = await run_to_end(run)
    assert (ended.reason, run.model.requests) == (EndReason.COST_UNKNOWN, [])


async def test_a_cost_limit_ends_without_a_grace_call(tmp_path: Path) -> None:
    info = ModelInfo(
        provider="fake",
        model="fake",
        context_window=100_000,
        max_output=100,
        price_input=10.0,
        price_output=10.0,
    )
    dear = read("/a", Usage(input_tokens=90_000, output_tokens=10))
    async with engine(tmp_path, dear, info=info, budgets=Budgets(max_cost_usd=0.9), interactive=False) as run:
        ended = await run_to_end(run)
    assert ended.reason is EndReason.BUDGET_COST
    assert ended.cost_usd == pytest.approx(0.9001)
    assert len(run.model.requests) == 1


@pytest.mark.parametrize(("price", "reason"), [(0.0, EndReason.COMPLETED), (1.0, EndReason.BUDGET_COST)])
async def test_with_a_cost_limit_of_nothing_only_what_costs_nothing_runs(
    tmp_path: Path, price: float, reason: EndReason
) -> None:
    info = replace(FakeModel([]).info, price_input=price, price_output=price)
    nothing = Budgets(max_cost_usd=0.0)
    async with engine(tmp_path, text("done"), info=info, budgets=nothing, interactive=False) as run:
        ended = await run_to_end(run)
    assert (ended.reason, run.bodies(NoticeRaised)) == (reason, [])


async def test_four_fifths_of_a_limit_are_said_once_to_person_and_model(tmp_path: Path) -> None:
    script = [read(f"/{number}") for number in range(9)]
    async with engine(tmp_path, *script, text("done"), budgets=Budgets(max_turns=10)) as run:
        ended = await run_to_end(run)
    assert ended.reason is EndReason.COMPLETED
    notices = [body.text for body in run.bodies(NoticeRaised) if body.key == "budget.turns.10"]
    assert notices == ["turns: 8 of 10 turns used"]
    told = [item.text for item in run.session.fold.log if isinstance(item, NoticeItem)]
    assert told == ["Limits: turns: 8 of 10 turns used"]


async def test_time_spent_on_a_person_is_not_counted(tmp_path: Path) -> None:
    question = calls(("request_user_input", {"question": "which?"}))
    async with engine(tmp_path, question, text("done"), budgets=Budgets(timeout_s=100)) as run:
        run.send(Submit(text="go"))
        asked = await run.wait(QuestionAsked)
        assert isinstance(asked, QuestionAsked)
        run.clock.at += 10_000
        run.send(Answer(question_id=asked.question_id, text="this"))
        ended = await run.wait(TurnEnded)
    assert isinstance(ended, TurnEnded)
    assert (ended.reason, ended.duration_s) == (EndReason.COMPLETED, 0.0)
    assert last_results(run.model.requests[1]) == ["this"]


async def test_time_spent_working_is_counted_over_processes(tmp_path: Path) -> None:
    async def slow(invocation: Invocation, sink: CallSink) -> Outcome:
        run.clock.at += 60
        return Outcome(status=OutcomeStatus.SUCCEEDED, text="")

    budgets = Budgets(timeout_s=100)
    async with engine(tmp_path, read("/a"), calls(("exec_command", {"cmd": "x"})), budgets=budgets) as run:
        run.toolbox.behaviour["read_file"] = slow
        run.toolbox.behaviour["exec_command"] = hang
        run.send(Submit(text="go"))
        await run.wait(CallStarted, count=2)
        await run.crash()
    async with engine(tmp_path, budgets=budgets, clock=run.clock) as again:
        again.clock.at += 5_000
        assert again.session.fold.run is not None
        assert again.session.fold.run.active_s == 60


async def hang(invocation: Invocation, sink: CallSink) -> Outcome:
    await asyncio.Event().wait()
    raise AssertionError


async def never() -> None:
    await asyncio.Event().wait()


STALLED: Step = [TextDelta(text="thinking", offset=0), never]


@pytest.mark.parametrize(("last", "said"), [(text("ran out"), "ran out"), (STALLED, "The run ended: ")])
async def test_a_model_that_stalls_ends_with_the_time_limit(tmp_path: Path, last: Step, said: str) -> None:
    class RealClock:
        def now(self) -> float:
            return asyncio.get_running_loop().time()

        monotonic = now

    async with engine(
        tmp_path,
        STALLED,
        last,
        budgets=Budgets(timeout_s=0.5),
        clock=RealClock(),
        interactive=False,
    ) as run:
        ended = await run_to_end(run)
    assert ended.reason is EndReason.BUDGET_TIME and ended.text.startswith(said)
    assert ended.error == "no complete answer within a second"
    assert ended.duration_s < 0.5 + 1.0, "a second over the limit at most"


async def test_three_approvals_that_nobody_can_give_end_the_run(tmp_path: Path) -> None:
    script = [calls(("ask_exec", {"cmd": str(number)})) for number in range(3)]
    async with engine(tmp_path, *script, interactive=False) as run:
        run.gate.unavailable = True
        ended = await run_to_end(run)
    assert (ended.reason, ended.exit_code) == (EndReason.APPROVAL_UNAVAILABLE, 4)


async def test_questions_without_a_person_take_the_given_answers_in_order(tmp_path: Path) -> None:
    ask = ("request_user_input", {"question": "which?"})
    async with engine(tmp_path, calls(ask, ask), text("done"), interactive=False, answers=("first",)) as run:
        await run_to_end(run)
    first, second = last_results(run.model.requests[1])
    assert first == "first" and second.startswith("No answer")


async def test_a_missing_checkpoint_asks_the_person_before_the_call_runs(tmp_path: Path) -> None:
    async with engine(tmp_path, calls(("exec_command", {"cmd": "x"})), text("done")) as run:
        run.checkpointer.error = CheckpointError("disk busy")
        run.send(Submit(text="go"))
        asked = await run.wait(QuestionAsked)
        assert isinstance(asked, QuestionAsked) and "disk busy" in asked.text
        assert run.toolbox.ran == []
        run.send(Answer(question_id=asked.question_id, text="deny"))
        await run.wait(TurnEnded)
    assert run.toolbox.ran == []
    assert "no checkpoint" in last_results(run.model.requests[1])[0]


async def test_leaving_the_question_of_a_missing_checkpoint_denies_and_pauses(tmp_path: Path) -> None:
    async with engine(tmp_path, calls(("exec_command", {"cmd": "x"}))) as run:
        run.checkpointer.error = CheckpointError("disk busy")
        run.send(Submit(text="go"))
        asked = await run.wait(QuestionAsked)
        assert isinstance(asked, QuestionAsked)
        run.send(Answer(question_id=asked.question_id, text=None))
        ended = await run.wait(TurnEnded)
    assert isinstance(ended, TurnEnded) and ended.reason is EndReason.INTERRUPTED
    assert run.toolbox.ran == [] and run.bodies(TaskChanged)[-1].status is TaskStatus.PAUSED


async def test_a_required_checkpoint_that_cannot_be_had_ends_the_run(tmp_path: Path) -> None:
    script = calls(("exec_command", {"cmd": "x"}))
    async with engine(tmp_path, script, interactive=False, require_checkpoints=True) as run:
        run.checkpointer.error = CheckpointError("disk busy")
        ended = await run_to_end(run)
    assert (ended.reason, ended.exit_code) == (EndReason.CHECKPOINT_UNAVAILABLE, 5)
    assert run.toolbox.ran == []


async def test_without_a_person_a_missing_checkpoint_is_said_and_the_call_runs(tmp_path: Path) -> None:
    script = calls(("exec_command", {"cmd": "x"}))
    async with engine(tmp_path, script, text("done"), interactive=False) as run:
        run.checkpointer.error = CheckpointError("disk busy")
        ended = await run_to_end(run)
    assert ended.reason is EndReason.COMPLETED
    assert len(run.toolbox.ran) == 1
    assert [body.text for body in run.bodies(NoticeRaised)] == ["no undo: disk busy"]


async def test_a_response_that_was_cut_is_counted_with_what_was_sent_for_it(tmp_path: Path) -> None:
    async def interrupt() -> None:
        run.send(Interrupt())
        await asyncio.Event().wait()

    async with engine(tmp_path, [TextDelta(text="half of it", offset=0), interrupt]) as run:
        ended = await run_to_end(run)
    assert ended.reason is EndReason.INTERRUPTED
    assert ended.usage.estimated and ended.usage.output_tokens > 0
    assert ended.usage.input_tokens == run.scope().meter.tokens(run.model.requests[0].view)
