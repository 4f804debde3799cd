"""What a compaction tells of itself: what it hid and kept, why a summary is missing, that it was stopped."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent_tui.engine.commands import Answer, Command, Compact, Interrupt, Rollback, Set, Shutdown, Submit
from agent_tui.engine.events import (
    CompactionEnded,
    CompactionStarted,
    NoticeRaised,
    PlanChanged,
    QuestionAsked,
    Refused,
    RolledBack,
    SettingChanged,
    TurnEnded,
)
from agent_tui.engine.fold import step_number
from agent_tui.engine.framing import view_of
from agent_tui.engine.types import Budgets, EndReason
from agent_tui.models.base import ErrorKind, ModelError, ModelRequest, StreamPart, TextDelta
from context.items import CompactionItem, ResponseItem, UserItem
from context.view import SummaryUnit
from tests.engine.fakes import FakeModel, Step, calls, engine, failed, text
from tests.engine.test_compaction import HANGS, SMALL, WINDOW, Summariser, long_output, steps


class Endless(Summariser):
    """Says a word and no more."""

    def __init__(self) -> None:
        super().__init__(())

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamPart]:
        yield TextDelta(text="The person wants ", offset=0)
        await asyncio.Event().wait()


async def test_the_steps_and_messages_that_are_told_are_those_of_the_record(tmp_path: Path) -> None:
    async with engine(tmp_path, *steps(30), text("done"), text("more"), info=SMALL) as run:
        run.toolbox.behaviour["exec_command"] = long_output
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
        run.send(Submit(text="and then"))
        await run.wait(TurnEnded, count=2)
        await run.idle()
        run.send(Compact())
        await run.wait(CompactionEnded, count=len(run.bodies(CompactionEnded)) + 1)
        log = list(run.session.fold.log)
    records = {item.id: set(item.hidden) for item in log if isinstance(item, CompactionItem)}
    epochs = run.bodies(CompactionEnded)
    assert len(epochs) >= 3
    assert any(epoch.messages for epoch in epochs)
    for epoch in epochs:
        gone = records[epoch.item_id]
        hidden = [step_number(i.step_id) for i in log if isinstance(i, ResponseItem) and i.id in gone]
        assert [n for first, last in epoch.spans for n in range(first, last + 1)] == hidden
        assert list(epoch.messages) == [i.id for i in log if isinstance(i, UserItem) and i.id in gone]
        assert epoch.kept is not None and (epoch.kept.messages, epoch.kept.plan) in ((1, False), (2, False))
        assert epoch.kept.steps > 0


async def test_what_a_person_answered_is_kept_by_the_ledger(tmp_path: Path) -> None:
    asks = calls(("request_user_input", {"question": "Which port?"}))
    async with engine(tmp_path, asks, *steps(15), text("done"), info=SMALL) as run:
        run.toolbox.behaviour["exec_command"] = long_output
        run.send(Submit(text="go"))
        asked = await run.wait(QuestionAsked)
        assert isinstance(asked, QuestionAsked)
        run.send(Answer(question_id=asked.question_id, text="8443, never `8080`"))
        await run.wait(TurnEnded)
        ledger = view_of(run.scope()).units[0]
    assert isinstance(ledger, SummaryUnit)
    said = ledger.text.partition("## Said by the person")[2].partition("##")[0]
    assert '- "go"\n' in said and "Which port?" in said and "8443, never `8080`" in said
    (epoch, *_) = run.bodies(CompactionEnded)
    assert epoch.kept is not None and epoch.kept.messages == 1, "an answer is no message"


async def test_a_question_that_nobody_answered_is_nothing_a_person_said(tmp_path: Path) -> None:
    asks = calls(("request_user_input", {"question": "Which port?"}))
    async with engine(tmp_path, asks, *steps(15), text("done"), info=SMALL, interactive=False) as run:
        run.toolbox.behaviour["exec_command"] = long_output
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
        ledger = view_of(run.scope()).units[0]
    assert isinstance(ledger, SummaryUnit)
    assert "no user is available" not in ledger.text


async def test_a_plan_is_kept_by_the_ledger_also_in_a_later_process(tmp_path: Path) -> None:
    dropped = {"step": "rename", "status": "dropped", "note": "breaks imports"}
    plan = calls(("update_plan", {"plan": [{"step": "build all", "status": "pending"}, dropped]}))
    async with engine(tmp_path, plan, *steps(15), text("done"), info=SMALL) as run:
        run.toolbox.behaviour["exec_command"] = long_output
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
        assert run.bodies(PlanChanged)
        kept = repr(view_of(run.scope()).units[0])
        assert "plan: build all (pending)" in kept and "plan: rename (dropped: breaks imports)" in kept
    assert all(epoch.kept is not None and epoch.kept.plan for epoch in run.bodies(CompactionEnded))
    async with engine(tmp_path, *steps(15), text("done"), info=SMALL) as again:
        again.toolbox.behaviour["exec_command"] = long_output
        again.send(Submit(text="go on"))
        await again.wait(TurnEnded)
        assert again.bodies(CompactionEnded)
        kept = repr(view_of(again.scope()).units[0])
    assert "plan: build all (pending)" in kept, "a plan outlives its process too"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (text(""), "refused: empty"),
        (text("I'm sorry, I cannot summarise this conversation."), "refused: a refusal"),
        (text("far too many words " * 9_000), "refused: too long"),
        (failed(ModelError(kind=ErrorKind.UNAVAILABLE, message="it is busy")), "failed: it is busy"),
        (calls(("exec_command", {"cmd": "ls"})), "failed: the answer calls tools"),
        (HANGS, "failed: no answer within 0.05 s"),
    ],
    ids=["empty", "refusal", "over-long", "busy", "tool calls", "hang"],
)  # fmt: skip
async def test_why_there_is_no_summary_is_told(tmp_path: Path, answer: Step, why: str) -> None:
    async with engine(tmp_path, *steps(40), text("done"), info=SMALL) as run:
        run.use(summariser=Summariser(answer), summary_timeout_s=0.05)
        run.toolbox.behaviour["exec_command"] = long_output
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
    told = [epoch.no_summary for epoch in run.bodies(CompactionEnded)]
    assert told[:3] == [why] * 3
    assert set(told[3:]) == {"not asked for: 3 failed in a row"}
    assert all(not epoch.detail and not epoch.summary_tokens for epoch in run.bodies(CompactionEnded))


async def test_that_a_limit_keeps_a_summary_from_being_asked_for_is_told(tmp_path: Path) -> None:
    priced = replace(SMALL, price_input=1.0, price_output=1.0)
    dear = Summariser(text("The person wants everything built; go on."))
    dear.info = replace(dear.info, price_input=100.0, price_output=100.0)
    limits = Budgets(max_cost_usd=0.3)
    async with engine(
        tmp_path, *steps(15), text("done"), info=priced, budgets=limits, interactive=False
    ) as run:
        run.use(summariser=dear)
        run.toolbox.behaviour["exec_command"] = long_output
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
    assert {one.no_summary for one in run.bodies(CompactionEnded)} == {"not asked for: it could pass a limit"}


async def test_no_summary_is_missed_where_none_is_wanted(tmp_path: Path) -> None:
    async with engine(tmp_path, *steps(15), text("done"), info=SMALL) as run:
        run.toolbox.behaviour["exec_command"] = long_output
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
    assert {epoch.no_summary for epoch in run.bodies(CompactionEnded)} == {""}


async def test_a_compaction_that_was_asked_for_and_stopped_is_told_and_changes_nothing(
    tmp_path: Path,
) -> None:
    async with engine(tmp_path, *steps(12), text("done"), info=SMALL) as run:
        run.toolbox.behaviour["exec_command"] = long_output
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
        await run.idle()
        run.use(summariser=Endless())
        before, guard = view_of(run.scope()).units, run.session.fold.guard
        already = len(run.bodies(CompactionEnded))
        run.send(Compact())
        await run.wait(CompactionStarted, count=already + 1)
        run.send(Interrupt())
        stopped = await run.wait(CompactionEnded, count=already + 1)
        await run.idle()
        assert view_of(run.scope()).units == before
        assert run.session.fold.guard == guard
    assert isinstance(stopped, CompactionEnded)
    assert (stopped.item_id, stopped.hidden_units) == ("", 0)
    assert stopped.tokens_before == stopped.tokens_after
    assert run.bodies(Refused) == []


async def test_a_compaction_inside_a_turn_that_is_interrupted_is_told_before_the_end(tmp_path: Path) -> None:
    async with engine(tmp_path, *steps(15), text("done"), info=SMALL) as run:
        run.use(summariser=Endless())
        run.toolbox.behaviour["exec_command"] = long_output
        run.send(Submit(text="go"))
        await run.wait(CompactionStarted)
        run.send(Interrupt())
        ended = await run.wait(TurnEnded)
    assert isinstance(ended, TurnEnded) and ended.reason is EndReason.INTERRUPTED
    assert [epoch.item_id for epoch in run.bodies(CompactionEnded)] == [""]
    kinds = [type(event.body) for event in run.seen]
    assert kinds.index(CompactionEnded) < kinds.index(TurnEnded)


async def test_nobody_stopped_a_compaction_that_ends_with_the_program(tmp_path: Path) -> None:
    async with engine(tmp_path, *steps(15), text("done"), info=SMALL) as run:
        run.use(summariser=Endless())
        run.toolbox.behaviour["exec_command"] = long_output
        run.send(Submit(text="go"))
        await run.wait(CompactionStarted)
        run.runtime.send(Command(id="end", body=Shutdown(why="terminated")))
        await run.wait(TurnEnded)
    assert run.bodies(CompactionEnded) == []


async def test_a_change_of_the_model_that_is_stopped_leaves_the_model(tmp_path: Path) -> None:
    big = replace(SMALL, model="big", context_window=200_000, max_output=4_000)
    async with engine(tmp_path, *steps(40), text("done"), info=big) as run:
        run.toolbox.behaviour["exec_command"] = long_output
        run.use(choose_model=lambda name: FakeModel([], SMALL), summariser=Endless())
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
        await run.idle()
        run.send(Set(key="model", value="fake/fake"))
        await run.wait(CompactionStarted)
        run.send(Interrupt())
        refused = await run.wait(Refused)
        await run.idle()
    assert isinstance(refused, Refused) and refused.reason == "the model is as before"
    assert [epoch.item_id for epoch in run.bodies(CompactionEnded)] == [""]
    assert run.bodies(SettingChanged) == []


async def test_that_compaction_is_off_says_until_when(tmp_path: Path) -> None:
    async with engine(tmp_path, *steps(12), text("done"), info=SMALL) as run:
        run.toolbox.behaviour["exec_command"] = long_output
        run.send(Submit(text="word " * 9_000))
        await run.wait(TurnEnded)
    told = [notice.text for notice in run.bodies(NoticeRaised) if "frees too little" in notice.text]
    assert told == ["compaction frees too little here; it is off until the view grows by 2.7k tokens"]


async def test_what_was_rolled_back_stays_so_although_a_compaction_hid_it_first(tmp_path: Path) -> None:
    async with engine(tmp_path, text("one"), *steps(12), text("done"), info=SMALL) as run:
        run.toolbox.behaviour["exec_command"] = long_output
        for count, said in enumerate(("first", "second"), start=1):
            run.send(Submit(text=said))
            await run.wait(TurnEnded, count=count)
        await run.idle()
        assert any(epoch.messages for epoch in run.bodies(CompactionEnded)), "the first message is hidden"
        run.send(Rollback(checkpoint_id=run.checkpointer.taken[0].id))
        rolled = await run.wait(RolledBack)
        assert isinstance(rolled, RolledBack) and rolled.messages == ("first", "second")
        run.send(Compact(undo=True))
        refused = await run.wait(Refused)
        assert isinstance(refused, Refused) and refused.reason == "there is no compaction to undo"
        assert view_of(run.scope()).units == ()


async def test_what_was_off_for_a_view_that_was_rolled_back_runs_again(tmp_path: Path) -> None:
    async with engine(tmp_path, *steps(8), text("one"), *steps(14), text("two"), info=SMALL) as run:
        run.toolbox.behaviour["exec_command"] = long_output
        run.send(Submit(text="word " * 8_000))
        await run.wait(TurnEnded)
        assert run.session.fold.guard.off_at_tokens is not None
        await run.idle()
        run.send(Rollback(checkpoint_id=run.checkpointer.taken[0].id, mode="conversation"))
        await run.wait(RolledBack)
        since = len(run.seen)
        run.send(Submit(text="go"))
        await run.wait(TurnEnded, count=2)
        first = await run.wait(CompactionEnded, since=since)
    assert isinstance(first, CompactionEnded)
    assert first.tokens_before < WINDOW.soft + 1_500, "at the soft limit, as soon as a step has passed it"
