"""A running command wants another host: its question ends with the call, however that ends."""

import asyncio
import random
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from agent_tui.engine.commands import Decide, Interrupt, Pause, Submit
from agent_tui.engine.events import ApprovalAsked, ApprovalDecided, CallEnded, Refused, TurnEnded, TurnStarted
from agent_tui.engine.types import Decision, EndReason
from tests.engine.fakes import Engine, calls, engine, text
from tests.engine.test_random import check
from tools.types import CallSink, Invocation, Outcome, OutcomeStatus

DONE = Outcome(status=OutcomeStatus.SUCCEEDED, text="done", exit_code=0)
SEEDS = 60


class Leftovers:
    """What commands leave running, and what each was told of its host."""

    def __init__(self) -> None:
        self.tasks: list[asyncio.Task[str]] = []

    def start(self, connecting: Coroutine[Any, Any, str]) -> "asyncio.Task[str]":
        self.tasks.append(asyncio.create_task(connecting))
        return self.tasks[-1]


@pytest.fixture
def left() -> Leftovers:
    return Leftovers()


def answer(run: Engine, asked: ApprovalAsked, decision: Decision) -> str:
    return run.send(Decide(approval_id=asked.approval_id, decision=decision, digest=asked.digest))


async def allowed_to_start(run: Engine) -> ApprovalAsked:
    """Let the call begin; gives the question about its host."""
    run.send(Submit(text="go"))
    first = await run.wait(ApprovalAsked)
    assert isinstance(first, ApprovalAsked)
    answer(run, first, Decision.ONCE)
    second = await run.wait(ApprovalAsked, count=2)
    assert isinstance(second, ApprovalAsked)
    return second


@pytest.mark.parametrize("status", [OutcomeStatus.SUCCEEDED, OutcomeStatus.YIELDED, OutcomeStatus.TIMED_OUT])
async def test_the_end_of_a_call_closes_the_question_of_what_it_left_behind(
    tmp_path: Path, left: Leftovers, status: OutcomeStatus
) -> None:
    over = asyncio.Event()

    async def leaves(invocation: Invocation, sink: CallSink) -> Outcome:
        left.start(sink.connects("pip.test:443"))
        await over.wait()
        left.start(sink.connects("late.test:443"))
        return Outcome(status=status, text="done")

    async with engine(tmp_path, calls(("ask_exec", {})), text("end")) as run:
        run.toolbox.behaviour["ask_exec"] = leaves
        asked = await allowed_to_start(run)
        over.set()
        end = await run.wait(TurnEnded)
        assert isinstance(end, TurnEnded) and end.reason is EndReason.COMPLETED
        order = run.bodies(ApprovalDecided, CallEnded)[1:]
        assert [type(body) for body in order] == [ApprovalDecided, CallEnded]
        assert (order[0].decision, order[0].by) == (Decision.DENY, "policy")
        told = await asyncio.gather(*left.tasks)
        assert all(why.startswith("nobody is asked about hosts once") for why in told), told
        answer(run, asked, Decision.ONCE)
        refused = await run.wait(Refused)
        assert isinstance(refused, Refused) and "answered already" in refused.reason


async def test_deny_and_pause_ends_the_questions_of_that_command(tmp_path: Path, left: Leftovers) -> None:
    async def connects(invocation: Invocation, sink: CallSink) -> Outcome:
        for host in "abc":
            left.start(sink.connects(f"{host}.test:443"))
        await asyncio.wait(left.tasks)
        return DONE

    async with engine(tmp_path, calls(("ask_exec", {}))) as run:
        run.toolbox.behaviour["ask_exec"] = connects
        answer(run, await allowed_to_start(run), Decision.DENY_AND_PAUSE)
        end = await run.wait(TurnEnded)
        assert isinstance(end, TurnEnded) and end.reason is EndReason.INTERRUPTED
        assert len(run.bodies(ApprovalAsked)) == 2
        first, *others = [task.result() for task in left.tasks]
        assert first == "by the user" and set(others) == {"the run is paused, so nobody is asked"}


async def test_a_command_asks_about_few_hosts(tmp_path: Path) -> None:
    told: list[str] = []

    async def connects(invocation: Invocation, sink: CallSink) -> Outcome:
        told.extend([await sink.connects(f"h{number}.test:443") for number in range(20)])
        return DONE

    async with engine(tmp_path, calls(("ask_exec", {})), text("end")) as run:
        run.toolbox.behaviour["ask_exec"] = connects
        asked = await allowed_to_start(run)
        for number in range(3, 19):
            answer(run, asked, Decision.DENY)
            if number < 18:
                found = await run.wait(ApprovalAsked, count=number)
                assert isinstance(found, ApprovalAsked)
                asked = found
        await run.wait(TurnEnded)
        assert len(run.bodies(ApprovalAsked)) == 17
        assert told == ["by the user"] * 16 + ["this command has asked about 16 hosts already"] * 4


async def ticks(rng: random.Random) -> None:
    for _ in range(rng.randrange(30)):
        await asyncio.sleep(0)


async def play(root: Path, seed: int) -> tuple[Engine, list["asyncio.Task[str]"]]:
    """Calls that end at some moment, connections that begin and are given up at some moment, and a person
    who answers, stops and pauses at some moment, or never."""
    rng, left = random.Random(seed), Leftovers()
    patient = rng.random() < 0.3

    async def behave(invocation: Invocation, sink: CallSink) -> Outcome:
        status = OutcomeStatus.YIELDED if rng.random() < 0.3 else OutcomeStatus.SUCCEEDED
        mine = [left.start(sink.connects(f"h{number}.test:443")) for number in range(rng.randint(1, 3))]
        gives_up = rng.random() < 0.3
        try:
            await ticks(rng)
            if patient:
                await asyncio.wait(mine)
        except asyncio.CancelledError:
            status = OutcomeStatus.INTERRUPTED
        if gives_up or status is OutcomeStatus.INTERRUPTED:
            for _ in range(rng.randint(1, 2)):
                for task in mine:
                    task.cancel()
                await asyncio.wait(mine)
        return Outcome(status=status, text="done")

    async def person(run: Engine) -> None:
        done: set[str] = set()
        while True:
            for asked in [body for body in run.bodies(ApprovalAsked) if body.approval_id not in done]:
                done.add(asked.approval_id)
                is_call = not asked.assessment.keys
                if is_call or patient or rng.random() < 0.6:
                    await ticks(rng)
                    answers = [Decision.ONCE, Decision.DENY, Decision.DENY_AND_PAUSE]
                    answer(run, asked, Decision.ONCE if is_call else rng.choice(answers))
            run._changed.clear()
            await run._changed.wait()

    step = calls(*[("ask_exec", {"cmd": str(number)}) for number in range(2)])
    async with engine(root, step, step, *[text("end")] * 9, in_memory=True) as run:
        run.toolbox.behaviour["ask_exec"] = behave
        answering = asyncio.create_task(person(run))
        run.send(Submit(text="go"))
        await run.wait(TurnStarted)
        if rng.random() < 0.4:
            for _ in range(6):
                await ticks(rng)
            run.send(rng.choice((Interrupt(), Pause(), Submit(text="steer", now=True))))
        await run.idle()
        answering.cancel()
    return run, left.tasks


async def test_whenever_a_call_ends_its_questions_end_before_it(tmp_path: Path) -> None:
    for seed in range(SEEDS):
        run, connections = await asyncio.wait_for(play(tmp_path, seed), 10)
        try:
            check(run)
            await asyncio.gather(*connections, return_exceptions=True)
            open_ones: dict[str, str] = {}
            for body in run.bodies(ApprovalAsked, ApprovalDecided, CallEnded):
                if isinstance(body, ApprovalAsked):
                    open_ones[body.approval_id] = body.call_id
                elif isinstance(body, ApprovalDecided):
                    del open_ones[body.approval_id]
                else:
                    assert body.call_id not in open_ones.values()
            assert open_ones == {}
        except (AssertionError, KeyError) as error:
            raise AssertionError(f"seed {seed}: {error!r}") from error
