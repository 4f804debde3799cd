"""What the person types into live terminals: recorded, and told to the model once."""

import asyncio
from pathlib import Path

from agent_tui.engine.by_hand import ByHand
from agent_tui.engine.commands import Continue, Submit, TerminalInput
from agent_tui.engine.events import CallStarted, NoticeRaised, Refused, TerminalTyped, TurnEnded
from agent_tui.engine.typed import MAX_CHARS, MAX_RECORDS, MAX_TOLD, TYPED_NOTICE, add, notice_of
from context.items import NoticeItem
from tests.engine.fakes import Engine, calls, engine, text
from tests.engine.test_limits import hang
from tools.types import STOP, CallSink, Invocation, Outcome, OutcomeStatus

LOOK = ("read_file", {"path": "/a"})
LIVE = [{"id": "t2", "state": "live"}, {"id": "t3", "state": "live"}]


def notices(run: Engine) -> list[str]:
    log = run.session.fold.log
    return [one.text for one in log if isinstance(one, NoticeItem) and one.text.startswith(TYPED_NOTICE)]


async def type_in(run: Engine, *inputs: TerminalInput) -> None:
    """Type, until all of it was taken."""
    refused = len(list(run.bodies(Refused)))
    for one in (*inputs, TerminalInput(terminal="t9", chars="there is no such terminal")):
        run.send(one)
    await run.wait(Refused, count=refused + 1)


async def test_what_is_typed_is_recorded_and_told_once_before_the_next_step(tmp_path: Path) -> None:
    async def work(invocation: Invocation, sink: CallSink) -> Outcome:
        if len(run.toolbox.ran) == 1:
            await type_in(
                run,
                *(TerminalInput(terminal="t2", chars=char) for char in 'say "é"\r'),
                TerminalInput(terminal="t2", columns=80, rows=24),
                TerminalInput(terminal="t2", signal="INT"),
                TerminalInput(terminal="t3", signal=STOP),
            )
        return Outcome(status=OutcomeStatus.SUCCEEDED, text="done")

    async with engine(tmp_path, calls(LOOK), calls(LOOK), text("done")) as run:
        run.toolbox.live = LIVE
        run.toolbox.behaviour["read_file"] = work
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
        records = list(run.bodies(TerminalTyped))
    assert "".join(one.chars for one in records) == 'say "é"\r'
    assert len(records) <= 4, "keys that come close together are one record"
    assert [(one.terminal, one.signal) for one in records if one.signal] == [("t2", "INT"), ("t3", STOP)]
    told = (
        r'In terminals: the user typed in t2: "say \"é\"\r"; the user sent Ctrl+C to t2; the user stopped t3'
    )
    assert notices(run) == [told]
    counts = [str(request.view).count("the user stopped t3") for request in run.model.requests]
    assert counts == [0, 1, 1]


async def test_what_is_typed_where_nothing_shows_it_is_in_no_record_and_no_notice(tmp_path: Path) -> None:
    async with engine(tmp_path, text("one"), text("two")) as run:
        run.toolbox.live = LIVE
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
        run.toolbox.hides = True
        await type_in(run, *(TerminalInput(terminal="t2", chars=char) for char in "hunter2\r"))
        run.send(Submit(text="go on"))
        await run.wait(TurnEnded, count=2)
        assert notices(run) == ["In terminals: the user typed in t2: (hidden input)"]
        assert all(one.hidden and not (one.chars or one.left_out) for one in run.bodies(TerminalTyped))
    stored = b"".join(file.read_bytes() for file in tmp_path.glob("session.db*"))
    assert stored and b"hunter" not in stored


async def test_what_was_typed_before_a_crash_is_told_after_it(tmp_path: Path) -> None:
    async with engine(tmp_path, calls(LOOK)) as run:
        run.toolbox.live = LIVE
        run.toolbox.behaviour["read_file"] = hang
        run.send(Submit(text="go"))
        await run.wait(CallStarted)
        await type_in(run, TerminalInput(terminal="t2", chars="x"))
        await run.wait(TerminalTyped)  # nothing waits for a step to be stored
        await run.crash()
    async with engine(tmp_path, text("done")) as again:
        again.send(Continue())
        await again.wait(TurnEnded, count=2)
        assert notices(again) == ['In terminals: the user typed in t2: "x"']


async def test_what_was_typed_last_is_stored_with_the_end_of_the_session(tmp_path: Path) -> None:
    async with engine(tmp_path) as run:
        run.toolbox.live = LIVE
        await type_in(run, TerminalInput(terminal="t2", chars="exit\r"))
    assert "".join(one.chars for one in run.bodies(TerminalTyped)) == "exit\r"


async def test_what_waits_to_be_stored_as_the_lookout_ends_is_stored(tmp_path: Path) -> None:
    async with engine(tmp_path) as run:
        by_hand = ByHand(run.session)
        by_hand.note(TerminalInput(terminal="t2", chars="exit\r"), is_hidden=False)
        ahead = asyncio.create_task(run.session.commit(NoticeRaised(text="stored first")))
        storing = asyncio.create_task(by_hand.store())
        await asyncio.sleep(0)  # the one is being stored, the other waits for it
        storing.cancel()
        await ahead
        await run.session.settle()
        assert [one.chars for one in run.session.fold.typed] == ["exit\r"]


def test_records_and_notices_are_bounded_and_escaped() -> None:
    records: list[TerminalTyped] = []
    for _ in range(3):
        add(records, TerminalTyped(terminal="t1", chars="x" * 1_500))
    assert [(len(one.chars), one.left_out) for one in records] == [(MAX_CHARS, 2_500)]
    assert notice_of(records).endswith('x" and 2,500 more characters')
    for number in range(2 * MAX_RECORDS):
        add(records, TerminalTyped(terminal=f"t{number}", chars="\x1b[A\u202e\x7f"))
    assert len(records) == MAX_RECORDS
    assert r'"\u001b[A\u202e\x7f"' in notice_of(records)
    many = [TerminalTyped(terminal=f"t{number}", chars="x" * MAX_CHARS) for number in range(MAX_RECORDS)]
    assert len(notice_of(many)) < MAX_TOLD + 50 and notice_of(many).endswith("; more is left out")
