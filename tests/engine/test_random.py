import asyncio
import os
import random
from pathlib import Path
from typing import Any

import pytest

from agent_tui.engine.commands import (
    Answer,
    CommandBody,
    Continue,
    Decide,
    Interrupt,
    Pause,
    Set,
    Submit,
)
from agent_tui.engine.events import (
    ApprovalAsked,
    CallEnded,
    CallProposed,
    CallStarted,
    Event,
    InputAccepted,
    InputDelivered,
    InputReturned,
    ProgressJudged,
    QuestionAsked,
    ResponseEnded,
    SettingChanged,
    StepStarted,
    TurnEnded,
    TurnStarted,
)
from agent_tui.engine.types import Budgets, Decision, EndReason, InputKind
from agent_tui.models.base import ErrorKind, ModelError
from context.units import read_log
from tests.engine.fakes import Engine, Step, calls, engine, failed, text
from tools.types import CallSink, Grant, Invocation, Outcome, OutcomeStatus

SCRIPTS = int(os.environ.get("AGENT_TUI_RANDOM_SCRIPTS", "120"))
GROUP = 20
TOOLS = (
    "exec_command",
    "read_file",
    "write_file",
    "ask_exec",
    "request_user_input",
    "update_plan",
    "nothing",
)

SANDBOXES = {
    "workspace-write": "workspace, net off",
    "read-only": "read-only, net off",
    "off": "no sandbox",
}


def random_step(rng: random.Random) -> Step:
    dice = rng.random()
    if dice < 0.15:
        return failed(ModelError(kind=rng.choice(list(ErrorKind)), message="no"))
    if dice < 0.35:
        return text(rng.choice(("done", "", "more")))
    wanted: list[tuple[str, Any]] = []
    for _ in range(rng.randint(1, 4)):
        arguments: Any = {"path": f"/w/{rng.randint(0, 3)}", "cmd": str(rng.randint(0, 3)), "question": "?"}
        wanted.append((rng.choice(TOOLS), "{broken" if rng.random() < 0.1 else arguments))
    return calls(*wanted)


def random_settings(rng: random.Random) -> dict[str, Any]:
    budgets = Budgets(
        max_turns=rng.choice((None, 2, 4)),
        max_tool_calls=rng.choice((None, None, 3)),
        max_tokens=rng.choice((None, None, 9_000)),
        max_cost_usd=rng.choice((None, None, None, 1.0)),
        max_idle_steps=rng.choice((None, 4)),
    )
    return {
        "budgets": budgets,
        "interactive": rng.random() < 0.5,
        "verify": rng.choice((None, None, "check")),
        "output_schema": rng.choice((None, None, '{"type": "object"}')),
    }


def random_command(rng: random.Random) -> CommandBody:
    return rng.choice(
        (
            Submit(text="steer", now=rng.random() < 0.3),
            Submit(text="queue", kind=InputKind.QUEUE),
            Interrupt(),
            Pause(),
            Continue(),
            Set(key="sandbox", value=rng.choice(list(SANDBOXES))),
        )
    )


async def answer_everything(run: Engine, rng: random.Random) -> None:
    done: set[str] = set()
    while True:
        for body in run.bodies(ApprovalAsked, QuestionAsked):
            if isinstance(body, ApprovalAsked) and body.approval_id not in done:
                done.add(body.approval_id)
                decision = rng.choice((Decision.ONCE, Decision.DENY, Decision.DENY_AND_PAUSE))
                run.send(Decide(approval_id=body.approval_id, decision=decision, digest=body.digest))
            elif isinstance(body, QuestionAsked) and body.question_id not in done:
                done.add(body.question_id)
                words = (None, "stop", "none") if body.limit else (None, "stop", "this")
                run.send(Answer(question_id=body.question_id, text=rng.choice(words)))
        run._changed.clear()
        await run._changed.wait()


async def play(root: Path, seed: int) -> Engine:
    """One random session: a script, settings, and commands at random moments."""
    rng = random.Random(seed)
    script = [random_step(rng) for _ in range(rng.randint(1, 8))]
    script += [text('{"done": true}')] * 60
    run = engine(root, *script, in_memory=True, **random_settings(rng))

    async def behave(invocation: Invocation, sink: CallSink) -> Outcome:
        sink.output("some output")
        status = rng.choice((OutcomeStatus.SUCCEEDED, OutcomeStatus.SUCCEEDED, OutcomeStatus.FAILED))
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            return Outcome(status=OutcomeStatus.INTERRUPTED, text="half")
        return Outcome(
            status=status,
            text=str(rng.random()),
            exit_code=int(status is OutcomeStatus.FAILED),
            denied_grant=rng.choice((Grant.NONE, Grant.NONE, Grant.NETWORK)),
        )

    async with run:
        for tool in ("exec_command", "write_file", "ask_exec"):
            run.toolbox.behaviour[tool] = behave
        answering = asyncio.create_task(answer_everything(run, rng))
        run.send(Submit(text="go"))
        await run.wait(TurnStarted)
        for _ in range(rng.randint(0, 4)):
            for _ in range(rng.randrange(40)):
                await asyncio.sleep(0)
            run.send(random_command(rng))
        await run.idle()
        answering.cancel()
    return run


def check(run: Engine) -> None:
    starts = [body.run_id for body in run.bodies(TurnStarted)]
    ends = run.bodies(TurnEnded)
    assert starts == [end.run_id for end in ends]
    assert [end.error for end in ends if end.reason is EndReason.INTERNAL_ERROR] == []
    assert all(run.session.fold.states.of("run", run_id) == "ended" for run_id in starts)
    assert all(end.sentence for end in ends)
    durable = [event for event in run.seen if event.is_durable]
    assert [event.body for event in run.seen if not event.cause] == []
    assert [event.seq for event in durable] == sorted({event.seq for event in durable})
    in_run = ""
    for event in run.seen:
        in_run = event.body.run_id if isinstance(event.body, TurnStarted) else in_run
        assert not in_run or event.run_id == in_run, event
        in_run = "" if isinstance(event.body, TurnEnded) else in_run
    sandbox = "workspace-write"
    for event in durable:
        if isinstance(event.body, SettingChanged) and event.body.key == "sandbox":
            sandbox = event.body.value
        elif isinstance(event.body, CallStarted):
            assert event.body.sandbox == SANDBOXES[sandbox], event
    check_stages(durable)
    reading = read_log(run.session.fold.log)
    assert reading.incomplete == () and reading.orphans == ()
    assert run.session.fold.owed == {}
    accepted = [body.input_id for body in run.bodies(InputAccepted)]
    left = [body.input_id for body in run.bodies(InputDelivered, InputReturned)]
    assert sorted(accepted) == sorted(left)


def check_stages(durable: list[Event]) -> None:
    """Request, response, calls, their starts and ends, judgement, and only then what comes next."""
    step, left = "", set[str]()
    for event in durable:
        match event.body:
            case StepStarted(step_id=step_id):
                assert not left, event
                step = step_id
            case ResponseEnded(step_id=step_id):
                assert step_id == step and not left, event
            case CallProposed(step_id=step_id, call_id=call_id, by=by):
                assert step_id == ("" if by == "contract" else step), event
                left.add(call_id)
            case CallStarted(call_id=call_id):
                assert call_id in left, event
            case CallEnded(call_id=call_id):
                left.remove(call_id)
            case ProgressJudged(step_id=step_id):
                assert step_id == step and not left, event
            case TurnEnded():
                assert not left, event


@pytest.mark.parametrize("group", range(max(1, SCRIPTS // GROUP)))
async def test_random_scripts_take_only_legal_edges_and_end_with_a_reason(tmp_path: Path, group: int) -> None:
    for seed in range(group * GROUP, (group + 1) * GROUP):
        run = await play(tmp_path, seed)
        try:
            check(run)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
