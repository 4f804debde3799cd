import asyncio
import random
from pathlib import Path

import pytest

from agent_tui.engine.commands import Continue, EditPending, Interrupt, Pause, Rollback, Submit
from agent_tui.engine.events import (
    CallEnded,
    CallStarted,
    InputAccepted,
    InputDelivered,
    InputEdited,
    InputReturned,
    Refused,
    RetryScheduled,
    RolledBack,
    TextStreamed,
    TurnEnded,
    TurnStarted,
)
from agent_tui.engine.inbox import MAX_MESSAGES
from agent_tui.engine.types import EndReason, InputKind, moved
from agent_tui.models.base import ErrorKind, ModelError, TextDelta
from checkpoints.types import Cause, Checkpoint, Phase
from context.items import ResponseItem, ResultItem, UserItem
from context.units import visibility_of
from context.view import ExchangeUnit, UserUnit
from tests.engine.fakes import Engine, Step, calls, engine, failed, last_results, text
from tools.types import CallSink, Invocation, Outcome, OutcomeStatus

PAIR = (("exec_command", {"cmd": "a"}), ("exec_command", {"cmd": "b"}))


def gate() -> tuple[asyncio.Event, Step]:
    """A pause in a model's script, and the event that ends it."""
    opened = asyncio.Event()

    async def wait() -> None:
        await opened.wait()

    return opened, [TextDelta(text="thinking", offset=0), wait]


def said(run: Engine) -> list[str]:
    return [item.text for item in run.session.fold.log if isinstance(item, UserItem)]


async def test_a_steer_while_streaming_enters_after_the_batch(tmp_path: Path) -> None:
    opened, pause = gate()
    async with engine(tmp_path, [*pause, *calls(*PAIR)], text("done")) as run:
        run.send(Submit(text="go"))
        await run.wait(TextStreamed)
        run.send(Submit(text="look here"))
        await run.wait(InputAccepted, count=2)
        opened.set()
        await run.wait(TurnEnded)
    assert len(run.toolbox.ran) == 2
    last = run.model.requests[1].view.units[-1]
    assert isinstance(last, UserUnit) and last.item.text == "look here"
    delivered = run.bodies(InputDelivered)[-1]
    assert delivered.step == 2


async def test_a_steer_can_be_gone_back_to(tmp_path: Path) -> None:
    opened, pause = gate()
    async with engine(tmp_path, [*pause, *calls(*PAIR)], calls(*PAIR), text("done")) as run:
        run.send(Submit(text="go"))
        await run.wait(TextStreamed)
        for number, words in enumerate(("look here", "and there"), 2):
            run.send(Submit(text=words))
            await run.wait(InputAccepted, count=number)
        opened.set()
        await run.wait(TurnEnded)
        starts = [one for one in run.checkpointer.taken if one.cause.phase is Phase.TURN_START]
        assert [one.cause.summary for one in starts] == ["go", "look here"]
        run.send(Rollback(checkpoint_id=starts[1].id))
        back = await run.wait(RolledBack)
        assert isinstance(back, RolledBack) and back.messages == ("look here", "and there")
        gone = visibility_of(run.session.fold.log).hidden
        shown = [type(item) for item in run.session.fold.log if item.id not in gone]
        assert shown[:4] == [UserItem, ResponseItem, ResultItem, ResultItem]
        assert UserItem not in shown[4:] and ResponseItem not in shown[4:]


async def test_a_steer_at_the_final_token_keeps_the_turn_going(tmp_path: Path) -> None:
    opened, pause = gate()
    async with engine(tmp_path, [*pause, *text("done")], text("really done")) as run:
        run.send(Submit(text="go"))
        await run.wait(TextStreamed)
        run.send(Submit(text="one more"))
        await run.wait(InputAccepted, count=2)
        opened.set()
        ended = await run.wait(TurnEnded)
    assert isinstance(ended, TurnEnded) and ended.text == "really done"
    assert len(run.bodies(TurnStarted)) == 1


async def test_steer_now_stops_the_running_call_and_skips_the_rest(tmp_path: Path) -> None:
    async def hang(invocation: Invocation, sink: CallSink) -> Outcome:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return Outcome(status=OutcomeStatus.INTERRUPTED, text="half")
        raise AssertionError

    async with engine(tmp_path, calls(*PAIR), text("done")) as run:
        run.toolbox.behaviour["exec_command"] = hang
        run.send(Submit(text="go"))
        await run.wait(CallStarted)
        run.send(Submit(text="stop that", now=True))
        ended = await run.wait(TurnEnded)
    assert isinstance(ended, TurnEnded) and ended.reason is EndReason.COMPLETED
    assert last_results(run.model.requests[1]) == ["half", "Skipped: the user sent a message"]
    assert said(run) == ["go", "stop that"]


async def test_a_queued_message_starts_the_next_turn(tmp_path: Path) -> None:
    opened, pause = gate()
    async with engine(tmp_path, [*pause, *text("one")], text("two")) as run:
        run.send(Submit(text="go"))
        await run.wait(TextStreamed)
        run.send(Submit(text="then this", kind=InputKind.QUEUE))
        await run.wait(InputAccepted, count=2)
        opened.set()
        await run.wait(TurnEnded, count=2)
    assert len(run.bodies(TurnStarted)) == 2
    assert said(run) == ["go", "then this"]


async def test_a_pending_message_can_be_edited_and_taken_back(tmp_path: Path) -> None:
    opened, pause = gate()
    async with engine(tmp_path, [*pause, *text("one")], text("two")) as run:
        run.send(Submit(text="go"))
        await run.wait(TextStreamed)
        run.send(Submit(text="frist"))
        run.send(Submit(text="second"))
        await run.wait(InputAccepted, count=3)
        run.send(EditPending(input_id="i2", text="first"))
        run.send(EditPending(input_id="i3", text=None))
        returned = await run.wait(InputReturned)
        assert isinstance(returned, InputReturned) and returned.text == "second"
        opened.set()
        await run.wait(TurnEnded)
        run.send(EditPending(input_id="i2", text="late"))
        await run.wait(Refused)
    assert said(run) == ["go", "first"]


async def test_messages_are_delivered_in_the_order_they_were_moved_to(tmp_path: Path) -> None:
    opened, pause = gate()
    async with engine(tmp_path, [*pause, *text("one")], text("two"), text("three"), text("four")) as run:
        run.send(Submit(text="go"))
        await run.wait(TextStreamed)
        for name in ("a", "b", "c"):
            run.send(Submit(text=name))
        for name in ("x", "y"):
            run.send(Submit(text=name, kind=InputKind.QUEUE))
        await run.wait(InputAccepted, count=6)
        run.send(EditPending(input_id="i4", text="c", before="i2"))  # c a b
        run.send(EditPending(input_id="i2", text="a", before=""))  # c b, behind all: a
        run.send(EditPending(input_id="i6", text="y", before="i5"))
        await run.wait(InputEdited, count=3)
        opened.set()
        await run.wait(TurnEnded, count=3)
        run.send(EditPending(input_id="i4", text="c", before="i2"))
        await run.wait(Refused)
    assert said(run) == ["go", "c", "b", "a", "y", "x"]


async def test_a_message_is_not_moved_before_one_that_was_delivered(tmp_path: Path) -> None:
    opened, pause = gate()
    async with engine(tmp_path, [*pause, *text("one")]) as run:
        run.send(Submit(text="go"))
        await run.wait(TextStreamed)
        run.send(Submit(text="a"))
        await run.wait(InputAccepted, count=2)
        run.send(EditPending(input_id="i2", text="changed", before="i1"))
        refused = await run.wait(Refused)
        assert isinstance(refused, Refused) and "not pending any more" in refused.reason
        assert not run.bodies(InputEdited)
        opened.set()


@pytest.mark.parametrize(
    ("before", "order"),
    [("a", "cab"), ("b", "acb"), ("c", "abc"), ("", "abc"), ("gone", "abc"), (None, "abc")],
)
def test_a_message_is_put_before_another(before: str | None, order: str) -> None:
    assert "".join(moved(dict.fromkeys("abc", 0), "c", before)) == order


async def test_an_interrupt_returns_what_waits_and_takes_what_comes_after(tmp_path: Path) -> None:
    async def hang(invocation: Invocation, sink: CallSink) -> Outcome:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            run.send(Submit(text="three"))
            await run.wait(InputAccepted, count=4)
            return Outcome(status=OutcomeStatus.INTERRUPTED, text="half")
        raise AssertionError

    async with engine(tmp_path, calls(*PAIR), text("done")) as run:
        run.toolbox.behaviour["exec_command"] = hang
        run.send(Submit(text="go"))
        await run.wait(CallStarted)
        run.send(Submit(text="one", kind=InputKind.QUEUE))
        run.send(Submit(text="two"))
        await run.wait(InputAccepted, count=3)
        run.send(Interrupt())
        await run.wait(TurnEnded, count=2)
    assert [body.text for body in run.bodies(InputReturned)] == ["one", "two"]
    assert [body.reason for body in run.bodies(TurnEnded)] == [EndReason.INTERRUPTED, EndReason.COMPLETED]
    assert said(run) == ["go", "three"]


async def test_a_message_ends_the_wait_for_the_next_attempt(tmp_path: Path) -> None:
    error = failed(ModelError(kind=ErrorKind.OVERLOADED, message="busy"))
    async with engine(tmp_path, error, text("done"), retry=lambda *_: 3600.0) as run:
        run.send(Submit(text="go"))
        await run.wait(RetryScheduled)
        run.send(Submit(text="also this"))
        await run.wait(TurnEnded)
        *_, last = (one for one in run.checkpointer.taken if one.cause.phase is Phase.TURN_START)
        run.send(Rollback(checkpoint_id=last.id))
        back = await run.wait(RolledBack)
    assert len(run.model.requests[1].view.units) == 2
    assert isinstance(back, RolledBack) and back.messages == ("also this",)


async def test_an_interrupt_ends_the_wait_for_the_next_attempt(tmp_path: Path) -> None:
    error = failed(ModelError(kind=ErrorKind.OVERLOADED, message="busy"))
    async with engine(tmp_path, error, text("done"), retry=lambda *_: 3600.0) as run:
        run.send(Submit(text="go"))
        await run.wait(RetryScheduled)
        run.send(Interrupt())
        ended = await run.wait(TurnEnded)
        assert isinstance(ended, TurnEnded) and ended.reason is EndReason.INTERRUPTED
        run.send(Continue())
        ended = await run.wait(TurnEnded, count=2)
    assert isinstance(ended, TurnEnded) and ended.reason is EndReason.COMPLETED
    assert [body.attempt for body in run.bodies(TurnStarted)] == [1, 2]


async def test_continue_sends_a_waiting_attempt_at_once(tmp_path: Path) -> None:
    error = failed(ModelError(kind=ErrorKind.OVERLOADED, message="busy"))
    async with engine(tmp_path, error, text("done"), retry=lambda *_: 3600.0) as run:
        run.send(Submit(text="go"))
        await run.wait(RetryScheduled)
        run.send(Continue())
        await run.wait(TurnEnded)
    assert run.model.requests[0] == run.model.requests[1]


async def test_a_pause_stops_at_the_next_boundary_and_can_be_continued(tmp_path: Path) -> None:
    opened, pause = gate()
    async with engine(tmp_path, [*pause, *calls(PAIR[0])], text("done")) as run:
        run.send(Submit(text="go"))
        await run.wait(TextStreamed)
        run.send(Pause())
        opened.set()
        ended = await run.wait(TurnEnded)
        assert isinstance(ended, TurnEnded) and ended.reason is EndReason.INTERRUPTED
        assert [body.outcome.status for body in run.bodies(CallEnded)] == [OutcomeStatus.SKIPPED]
        run.send(Continue())
        await run.wait(TurnEnded, count=2)
    assert len(run.model.requests) == 2


async def test_the_inbox_is_bounded(tmp_path: Path) -> None:
    _, pause = gate()
    async with engine(tmp_path, [*pause, *text("one")], *[text("more")] * 2) as run:
        run.send(Submit(text="go"))
        await run.wait(TextStreamed)
        for number in range(MAX_MESSAGES + 5):
            run.send(Submit(text=str(number), kind=InputKind.QUEUE))
        await run.wait(Refused, count=5)
        assert len(run.session.fold.inbox) == MAX_MESSAGES
        run.send(Interrupt())
        await run.wait(InputReturned, count=MAX_MESSAGES)
        await run.wait(TurnEnded)


@pytest.mark.parametrize("seed", range(20))
async def test_a_steer_at_any_moment_is_delivered_exactly_once_or_returned(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    batches = [[("exec_command", {"cmd": f"{n}.{k}"}) for k in range(rng.randint(1, 2))] for n in range(6)]
    script = [calls(*batch) for batch in batches]
    async with engine(tmp_path, *script, *[text("done")] * 9) as run:
        moment = rng.randrange(60)
        stop = rng.random() < 0.3
        run.send(Submit(text="go"))
        for _ in range(moment):
            await asyncio.sleep(0)
            if run.bodies(TurnEnded):
                break
        run.send(Submit(text="the steer", now=rng.random() < 0.3))
        if stop:
            run.send(Interrupt())
        accepted = await run.wait(InputAccepted, count=2)
        assert isinstance(accepted, InputAccepted)
        await run.wait(InputDelivered, InputReturned, count=2)
        await run.idle()
    log = run.session.fold.log
    places = [
        place for place, item in enumerate(log) if isinstance(item, UserItem) and item.text == "the steer"
    ]
    returned = [body for body in run.bodies(InputReturned) if body.text == "the steer"]
    assert len(places) + len(returned) == 1
    open_calls: set[str] = set()
    for place, item in enumerate(log):
        if isinstance(item, ResponseItem):
            open_calls |= {call.call_id for call in item.calls}
        elif isinstance(item, ResultItem):
            open_calls.discard(item.call_id)
        elif place in places:
            assert not open_calls


async def test_a_steer_while_the_end_is_being_stored_is_what_the_next_request_ends_with(
    tmp_path: Path,
) -> None:
    async with engine(tmp_path, calls(*PAIR[:1]), text("done"), text("done again")) as run:
        take = run.checkpointer.take

        async def steer_first(cause: Cause) -> Checkpoint:
            if cause.phase is Phase.TURN_END and len(run.bodies(InputAccepted)) == 1:
                run.send(Submit(text="one more", kind=InputKind.STEER))
                await run.wait(InputAccepted, count=2)
            return await take(cause)

        run.checkpointer.take = steer_first  # type: ignore[method-assign]  # this one end
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
    assert [one.text for one in run.bodies(TurnEnded)] == ["done again"]
    ends = [request.view.units[-1] for request in run.model.requests]
    assert [type(unit) for unit in ends] == [UserUnit, ExchangeUnit, UserUnit]
    assert isinstance(ends[-1], UserUnit) and ends[-1].item.text == "one more"
