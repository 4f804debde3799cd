"""How runs end: the table of reasons, the last call after a limit, and limits that are reached midway."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from agent_tui.engine.commands import Continue, Submit
from agent_tui.engine.events import CallStarted, NoticeRaised, StepStarted, TerminalChanged, TurnEnded
from agent_tui.engine.grace import ENDS_WITH_GRACE
from agent_tui.engine.report import Check
from agent_tui.engine.sentence import Facts, Trouble, sentence
from agent_tui.engine.states import TASK_EDGES, task_after
from agent_tui.engine.types import END_FACTS, Budgets, EndReason, TaskStatus
from agent_tui.models.base import ErrorKind, ModelError, ModelInfo
from context.items import NoticeItem
from tests.engine.fakes import calls, engine, failed, last_results, text
from tests.engine.test_compaction import SMALL, long_output, steps
from tests.engine.test_limits import hang, read, run_to_end
from tools.types import CallSink, Invocation, Outcome, OutcomeStatus

CODES = {
    0: {"completed", "completed_unverified"},
    1: {"crashed", "model_unavailable", "model_rejected", "internal_error"},
    3: {
        "budget_turns",
        "budget_tools",
        "budget_time",
        "budget_tokens",
        "budget_cost",
        "cost_unknown",
        "context_exhausted",
        "loop_detected",
    },
    4: {"approval_unavailable"},
    5: {"checkpoint_unavailable", "state_unwritable"},
    6: {"contract_unmet"},
    130: {"cancelled", "interrupted"},
}

KNOWN = Facts(
    limits=Budgets(
        max_turns=200, max_tool_calls=50, max_tokens=2_000_000, max_cost_usd=10.0, timeout_s=3_600.0
    ),
    check=Check(command="make test", result="", lacks="make test was not run after the last change"),
    finding="what was found",
    provider="openai",
    trouble=Trouble(tries=6, seconds=130.0),
    crashed_at=time.mktime((2026, 1, 2, 14, 2, 0, 0, 0, -1)),
    is_cut=True,
)
SENTENCES = {
    "completed": "done",
    "completed_unverified": "done, not verified: make test was not run after the last change",
    "contract_unmet": "not met: what was found",
    "cancelled": "cancelled by you",
    "interrupted": "interrupted by you; effects may be partial",
    "crashed": "crashed 14:02; resumed",
    "budget_turns": "limit reached: 200 turns",
    "budget_tools": "limit reached: 50 tool calls",
    "budget_time": "limit reached: 1:00:00",
    "budget_tokens": "limit reached: 2.0M tokens",
    "budget_cost": "limit reached: $10.00",
    "cost_unknown": "limit reached: cost is limited and the price of this model is not known",
    "context_exhausted": "the view does not fit the window",
    "loop_detected": "no progress: what was found",
    "model_unavailable": "openai did not answer (6 tries, 2:10)",
    "model_rejected": "openai refused the request",
    "approval_unavailable": "approvals were needed and nobody could be asked",
    "checkpoint_unavailable": "no undo, and checkpoints are required",
    "state_unwritable": "the session cannot be written",
    "internal_error": "internal error; the session is safe",
}


def test_every_reason_has_one_exit_code_one_sentence_and_a_legal_state_of_its_task() -> None:
    assert set(END_FACTS) == set(EndReason)
    found = {code: {str(r) for r, facts in END_FACTS.items() if facts.exit_code == code} for code in CODES}
    assert found == CODES
    sentences = {reason: sentence(reason, KNOWN) for reason in EndReason}
    assert sentences == {EndReason(reason): words for reason, words in SENTENCES.items()}
    assert len(set(sentences.values())) == len(EndReason)
    assert all(task_after(reason) in TASK_EDGES[TaskStatus.RUNNING] for reason in EndReason)


def test_the_last_call_follows_a_limit_but_never_a_cancel_a_cost_or_a_failure_of_the_model() -> None:
    budgets = {"budget_turns", "budget_tools", "budget_time", "budget_tokens"}
    assert {str(reason) for reason in ENDS_WITH_GRACE} == budgets | {"loop_detected"}


@pytest.mark.parametrize(
    "answer",
    [calls(("read_file", {"path": "/x"})), failed(ModelError(kind=ErrorKind.OVERLOADED, message="busy"))],
)
async def test_a_last_call_that_gives_no_text_is_replaced_by_an_account(
    tmp_path: Path, answer: list[object]
) -> None:
    budgets = Budgets(max_turns=1)
    async with engine(tmp_path, read("/a"), answer, budgets=budgets, interactive=False) as run:
        ended = await run_to_end(run)
        assert run.session.fold.owed == {}
    assert ended.reason is EndReason.BUDGET_TURNS
    assert ended.sentence == "limit reached: 1 turn"
    assert ended.text.startswith("The run ended: limit reached: 1 turn\nChanged files: none")
    assert len(run.model.requests) == 2 and len(run.toolbox.ran) == 1


@pytest.mark.parametrize(
    ("info", "cost"), [(SMALL, None), (replace(SMALL, price_input=1.0, price_output=1.0), 0.0)]
)
async def test_a_run_without_an_answer_costs_nothing_only_where_the_price_is_known(
    tmp_path: Path, info: ModelInfo, cost: float | None
) -> None:
    refused = failed(ModelError(kind=ErrorKind.AUTH, message="no"))
    async with engine(tmp_path, refused, info=info) as run:
        ended = await run_to_end(run)
    assert (ended.steps, ended.cost_usd) == (0, cost)


async def test_retries_are_requests_and_three_for_each_turn_are_the_most(tmp_path: Path) -> None:
    busy = failed(ModelError(kind=ErrorKind.OVERLOADED, message="busy"))
    script = [busy, busy, read("/a"), busy, busy, busy]
    async with engine(
        tmp_path,
        *script,
        text("so far"),
        budgets=Budgets(max_turns=2),
        retry=lambda *_: 0.0,
        interactive=False,
    ) as run:
        ended = await run_to_end(run)
    assert (ended.reason, ended.text) == (EndReason.BUDGET_TURNS, "so far")
    assert ended.sentence == "limit reached: 6 requests, retries included"
    assert len(run.model.requests) == 3 * 2 + 1


async def test_a_command_runs_no_longer_than_the_time_limit(tmp_path: Path) -> None:
    given: list[float | None] = []

    async def work(invocation: Invocation, sink: CallSink) -> Outcome:
        given.append(invocation.timeout_s)
        run.clock.at += invocation.timeout_s or 0
        return Outcome(status=OutcomeStatus.TIMED_OUT, text="half of it")

    script = calls(("exec_command", {"cmd": "x"}))
    async with engine(
        tmp_path, script, text("so far"), budgets=Budgets(timeout_s=100), interactive=False
    ) as run:
        run.toolbox.behaviour["exec_command"] = work
        ended = await run_to_end(run)
    assert given == [90]  # a tenth is kept for the last call
    assert (ended.reason, ended.text) == (EndReason.BUDGET_TIME, "so far")
    assert ended.sentence == "limit reached: 1:40"
    assert last_results(run.model.requests[1]) == ["half of it"]


async def test_a_request_names_the_epoch_of_its_view(tmp_path: Path) -> None:
    async with engine(tmp_path, *steps(15), text("done"), info=SMALL) as run:
        run.toolbox.behaviour["exec_command"] = long_output
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
        epoch = run.session.fold.epoch
    views = [body.view_id for body in run.bodies(StepStarted)]
    assert views[0] == "" and views[-1] == epoch != ""


async def test_a_terminal_that_is_live_at_a_close_is_ended_with_it_and_the_model_is_told(
    tmp_path: Path,
) -> None:
    async def lives_on(invocation: Invocation, sink: CallSink) -> Outcome:
        run.toolbox.live = [{"id": "t1", "state": "live"}]
        return Outcome(status=OutcomeStatus.YIELDED, text="serving", terminal="t1")

    async with engine(tmp_path, calls(("exec_command", {"cmd": "serve"})), text("done")) as run:
        run.toolbox.behaviour["exec_command"] = lives_on
        await run_to_end(run)
    (_, ended) = run.bodies(TerminalChanged)
    assert (ended.terminal, ended.state, ended.signal) == ("t1", "ended", "KILL")
    async with engine(tmp_path, text("done")) as again:
        assert again.bodies(TerminalChanged) == []
        await run_to_end(again)
    told = [item.text for item in again.session.fold.log if isinstance(item, NoticeItem)]
    assert told == ["The session was closed, and these terminals were ended with it: t1 (serve)"]


async def test_a_terminal_that_was_live_at_a_crash_is_lost_and_the_model_is_told(tmp_path: Path) -> None:
    async def lives_on(invocation: Invocation, sink: CallSink) -> Outcome:
        return Outcome(status=OutcomeStatus.YIELDED, text="serving", terminal="t1")

    script = [calls(("exec_command", {"cmd": "serve"})), calls(("read_file", {"path": "/a"}))]
    async with engine(tmp_path, *script) as run:
        run.toolbox.behaviour |= {"exec_command": lives_on, "read_file": hang}
        run.send(Submit(text="go"))
        await run.wait(CallStarted, count=2)
        await run.crash()
    async with engine(tmp_path, text("done"), interactive=False) as again:
        again.send(Continue())
        await again.wait(TurnEnded, count=2)
    assert [(body.terminal, body.state) for body in again.bodies(TerminalChanged)] == [("t1", "lost")]
    told = [item.text for item in again.session.fold.log if isinstance(item, NoticeItem)]
    assert [line for line in told if "lost: t1 (serve)" in line] == told[:1]
    (crash,) = again.bodies(NoticeRaised)
    assert "ended at" in crash.text
    assert "without a close" in crash.text and crash.about == "records"
