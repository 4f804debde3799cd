import asyncio
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from agent_tui.engine.commands import Compact, Redo, Rollback, Set, Submit
from agent_tui.engine.events import (
    CompactionEnded,
    NoticeRaised,
    RolledBack,
    SessionStarted,
    SettingChanged,
    StatusChanged,
    TurnEnded,
)
from agent_tui.engine.framing import view_of, window_of
from agent_tui.engine.types import Budgets, EndReason
from agent_tui.models.base import ErrorKind, ModelError, ModelInfo, ModelRequest
from checkpoints.types import Phase
from context.budget import Window
from context.estimate import Meter, text_tokens
from context.items import Usage
from context.view import SummaryUnit
from tests.engine.fakes import (
    Engine,
    FakeModel,
    Step,
    calls,
    engine,
    failed,
    last_results,
    responses,
    text,
)
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
    assert run.session.fold.settings["context_window.fake/fake"] == "8000"
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


@pytest.mark.parametrize(
    "words", [10_500, 11_200], ids=["frees too little", "above the soft limit by itself"]
)
async def test_compactions_in_vain_end_the_run_and_a_message_that_leaves_room_goes_on(
    tmp_path: Path, words: int
) -> None:
    async with engine(tmp_path, *steps(30), text("here"), info=SMALL) as run:
        run.toolbox.behaviour["exec_command"] = long_output
        run.send(Submit(text="word " * words))
        ended = await run.wait(TurnEnded)
        assert isinstance(ended, TurnEnded) and ended.reason is EndReason.CONTEXT_EXHAUSTED
        assert "most of it is your messages" in ended.error
        assert (len(run.bodies(CompactionEnded)), told_off(run)) == (2, 1)
        run.model.steps = [text("here")]
        run.send(Submit(text="only look"))
        ended = await run.wait(TurnEnded, count=2)
    assert isinstance(ended, TurnEnded) and (ended.reason, ended.text) == (EndReason.COMPLETED, "here")
    assert len(run.bodies(CompactionEnded)) == 3


async def test_with_little_room_each_compaction_frees_some_and_that_they_are_off_is_said_once(
    tmp_path: Path,
) -> None:
    async with engine(tmp_path, *steps(30), text("here"), info=SMALL) as run:
        run.toolbox.behaviour["exec_command"] = long_output
        run.send(Submit(text="word " * 8_000))
        ended = await run.wait(TurnEnded)
    assert isinstance(ended, TurnEnded) and (ended.reason, told_off(run)) == (EndReason.COMPLETED, 1)
    assert len(run.bodies(CompactionEnded)) <= 15, "one for each two steps"


def told_off(run: Engine) -> int:
    """How often it was said that compaction is off."""
    return sum("frees too little" in notice.text for notice in run.bodies(NoticeRaised))


async def test_project_instructions_are_read_anew_at_an_epoch(tmp_path: Path) -> None:
    rules = ["RULE-7341"]
    async with engine(tmp_path, *steps(15), text("done"), info=SMALL) as run:
        run.use(instructions=lambda: rules[0])

        async def change(invocation: Invocation, sink: CallSink) -> Outcome:
            rules[0] = "RULE-9000"
            return await long_output(invocation, sink)

        run.toolbox.behaviour["exec_command"] = change
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
    assert run.model.requests[-1].view.project == "RULE-9000"


async def test_the_status_line_is_told_above_what_a_compaction_runs_and_nothing_can_be_sent(
    tmp_path: Path,
) -> None:
    """Also for another model, whose limits are others."""
    small, large = Window(size=16_000, max_output=2_000), Window(size=100_000, max_output=4_000)
    async with engine(tmp_path, text("done"), info=SMALL) as run:
        run.use(choose_model=lambda name: FakeModel([]))
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
        told = [body for body in run.bodies(StatusChanged) if body.context_window]
        assert {(body.context_soft, body.context_hard) for body in told} == {(small.soft, small.input)}
        since = len(run.seen)
        run.send(Set(key="model", value="fake/other"))
        last = await run.wait(StatusChanged, since=since)
        assert isinstance(last, StatusChanged)
        assert (last.context_soft, last.context_hard) == (large.soft, large.input)


class Summariser:
    """A model that answers every request with one text."""

    def __init__(self, answer: Step) -> None:
        self.answer = answer
        self.requests: list[ModelRequest] = []
        self.info = ModelInfo(provider="fake", model="small", context_window=8_000, max_output=1_000)

    async def stream(self, request: ModelRequest) -> Any:
        self.requests.append(request)
        for part in self.answer:
            if callable(part):
                await part()
            else:
                yield part

    def body(self, request: ModelRequest) -> bytes:
        return b""


async def _with_summariser(tmp_path: Path, model: Summariser) -> list[CompactionEnded]:
    async with engine(tmp_path, *steps(60), text("done"), info=SMALL) as run:
        run.use(summariser=model)
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


async def _never() -> None:
    await asyncio.Event().wait()


HANGS: Step = [_never]


@pytest.mark.parametrize(
    "answer",
    [
        failed(ModelError(kind=ErrorKind.UNAVAILABLE, message="500")),
        failed(ModelError(kind=ErrorKind.CONTEXT_OVERFLOW, message="too long")),
        text(""),
        text("I'm sorry, I cannot summarise this conversation."),
        text("far too many words " * 9_000),
        calls(("exec_command", {"cmd": "ls"})),
        HANGS,
    ],
    ids=["500", "too long", "empty", "refusal", "over-long", "tool calls", "hang"],
)
async def test_a_bad_summary_leaves_the_ledger_alone(tmp_path: Path, answer: Step) -> None:
    model = Summariser(answer)
    async with engine(tmp_path, *steps(60), text("done"), info=SMALL) as run:
        run.use(summariser=model, summary_timeout_s=0.05)
        run.toolbox.behaviour["exec_command"] = long_output
        run.send(Submit(text="serve on port :8443"))
        ended = await run.wait(TurnEnded)
    assert isinstance(ended, TurnEnded)
    assert ended.reason is EndReason.COMPLETED
    assert len(run.bodies(CompactionEnded)) > 3
    assert len(model.requests) == 3, "the breaker opens after three failures"
    summary = run.model.requests[-1].view.units[0]
    assert isinstance(summary, SummaryUnit)
    assert ":8443" in summary.text and "# Summary" not in summary.text


async def test_results_of_one_step_share_the_room_of_a_step_and_the_rest_is_kept(tmp_path: Path) -> None:
    async def huge(invocation: Invocation, sink: CallSink) -> Outcome:
        lines = "".join(f"line {n} of {invocation.call_id}\n" for n in range(3_000))
        return Outcome(status=OutcomeStatus.SUCCEEDED, text=lines, exit_code=0)

    wanted = [("read_file", {"path": f"f{n}"}) for n in range(8)]
    async with engine(
        tmp_path, calls(*wanted, ("write_file", {"path": "x"})), text("done"), info=SMALL
    ) as run:
        run.toolbox.behaviour["read_file"] = huge
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
    shown = last_results(run.model.requests[-1])
    assert sum(text_tokens(one) for one in shown) <= WINDOW.step
    assert shown[-1] == "ran write_file", "a small result keeps its size"
    assert "`read_file`, path `out/c1.1`" in shown[0]
    assert (tmp_path / "c1.1.out").read_text().endswith("line 2999 of c1.1\n")


async def test_one_result_never_takes_more_than_its_share(tmp_path: Path) -> None:
    async def huge(invocation: Invocation, sink: CallSink) -> Outcome:
        return Outcome(status=OutcomeStatus.SUCCEEDED, text="7 8 9 " * 20_000, exit_code=0)

    async with engine(tmp_path, calls(("read_file", {"path": "f"})), text("done"), info=SMALL) as run:
        run.toolbox.behaviour["read_file"] = huge
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
    assert text_tokens(last_results(run.model.requests[-1])[0]) <= WINDOW.result


async def test_a_compaction_can_be_asked_for_and_taken_back(tmp_path: Path) -> None:
    async with engine(tmp_path, *steps(12), text("done"), info=SMALL) as run:
        run.toolbox.behaviour["exec_command"] = long_output
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
        await run.idle()
        before = view_of(run.scope()).units
        already = len(run.bodies(CompactionEnded))
        run.send(Compact(focus="the API design"))
        done = await run.wait(CompactionEnded, count=already + 1)
        assert isinstance(done, CompactionEnded)
        assert done.tokens_after < done.tokens_before and done.hidden_units
        await run.idle()
        assert "Keep in mind: the API design" in repr(view_of(run.scope()).units[0])
        run.send(Compact(undo=True))
        undone = await run.wait(CompactionEnded, count=already + 2)
        assert isinstance(undone, CompactionEnded)
        assert (undone.undone, undone.tokens_after > undone.tokens_before) == (done.item_id, True)
        await run.idle()
        assert view_of(run.scope()).units == before


async def test_the_focus_is_what_the_model_is_asked_to_keep_in_mind(tmp_path: Path) -> None:
    model = Summariser(text("The person wants everything built; parts so far are fine, go on."))
    async with engine(tmp_path, *steps(12), text("done"), info=SMALL) as run:
        run.use(summariser=model)
        run.toolbox.behaviour["exec_command"] = long_output
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
        await run.idle()
        already = len(model.requests)
        run.send(Compact(focus="keep API design"))
        await run.wait(CompactionEnded, count=len(run.bodies(CompactionEnded)) + 1)
    assert ["keep API design" in repr(request.view) for request in model.requests[already:]] == [True]


@pytest.mark.parametrize("phase", [Phase.TURN_START, Phase.TURN_END])
async def test_a_rollback_to_before_a_compaction_brings_the_old_view_back(
    tmp_path: Path, phase: Phase
) -> None:
    turns = ("go", "on") if phase is Phase.TURN_START else ("go",)
    async with engine(tmp_path, *steps(6), *[text("done")] * 3, info=SMALL) as run:
        run.toolbox.behaviour["exec_command"] = long_output
        views = []
        for count, words in enumerate(turns, 1):
            run.send(Submit(text=words))
            await run.wait(TurnEnded, count=count)
            await run.idle()
            views.append(view_of(run.scope()).units)
        target = [one for one in run.checkpointer.taken if one.cause.phase is phase][-1]
        run.send(Compact())
        done = await run.wait(CompactionEnded)
        assert isinstance(done, CompactionEnded) and done.hidden_units
        await run.idle()
        compacted = view_of(run.scope()).units
        run.send(Rollback(checkpoint_id=target.id, mode="conversation"))
        await run.wait(RolledBack)
        assert view_of(run.scope()).units == views[0]
        assert run.session.fold.epoch == ""
        run.send(Redo())
        await run.wait(RolledBack, count=2)
        assert view_of(run.scope()).units == compacted
        assert run.session.fold.epoch == done.item_id


async def test_a_long_argument_moves_the_size_that_is_shown(tmp_path: Path) -> None:
    lines = "".join(f"w1 line {n} of some text\n" for n in range(1, 221)) * 19  # 100 KB
    counted = 1_980 * 19  # by o200k, the vocabulary of OpenAI's models
    script = [calls(("write_file", {"path": "a", "text": lines})), text("done")]
    async with engine(tmp_path, *script) as run:
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
        shown = [body.context_used for body in run.bodies(StatusChanged) if body.context_used]
    assert 0.8 < (shown[-1] - shown[0]) / counted < 1.2


async def test_a_smaller_model_is_only_taken_with_a_view_that_fits(tmp_path: Path) -> None:
    big = ModelInfo(provider="fake", model="big", context_window=200_000, max_output=4_000)
    async with engine(tmp_path, *steps(40), text("done"), info=big) as run:
        run.toolbox.behaviour["exec_command"] = long_output
        small = FakeModel([text("small")], SMALL)
        run.use(choose_model=lambda name: small)
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
        assert run.bodies(CompactionEnded) == []
        await run.idle()
        run.send(Set(key="model", value="fake/fake"))
        changed = await run.wait(SettingChanged)
        await run.idle()
        epochs = run.bodies(CompactionEnded)
        assert [epoch.cause for epoch in epochs] == ["`fake/fake` has a smaller window"]
        kinds = [type(e.body) for e in run.seen]
        assert kinds.index(CompactionEnded) < kinds.index(type(changed)), "the epoch comes first"
        run.send(Submit(text="on"))
        await run.wait(TurnEnded, count=2)
    assert len(run.bodies(CompactionEnded)) == 1
    assert sizes(small.requests)[0] <= WINDOW.input


async def test_another_model_forgets_the_window_that_a_provider_stated(tmp_path: Path) -> None:
    overflow = failed(ModelError(kind=ErrorKind.CONTEXT_OVERFLOW, message="too long", context_window=8_000))
    script = [*steps(8), overflow, text("done", Usage(input_tokens=0))]
    async with engine(tmp_path, *script, retry=lambda error, attempt: None) as run:
        run.toolbox.behaviour["exec_command"] = long_output
        run.use(choose_model=lambda name: FakeModel([], replace(SMALL, model="other")))
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
        await run.idle()
        assert (
            run.model.requests[-1].max_output_tokens <= Window(size=8_000, max_output=4_000).reserved_output
        )
        run.send(Set(key="model", value="fake/other"))
        await run.wait(SettingChanged, count=2)
        await run.idle()
        assert window_of(run.scope()).size == SMALL.context_window


async def test_a_large_fixed_part_is_said_once_at_the_start(tmp_path: Path) -> None:
    async with engine(tmp_path, *steps(3), text("done"), info=SMALL) as run:
        run.send(Submit(text="words " * 6_500))
        await run.wait(TurnEnded)
    said = [notice.text for notice in run.bodies(NoticeRaised) if "cannot be hidden" in notice.text]
    assert len(said) == 1
    assert "your messages" in said[0]
    assert 0 <= int(said[0].split(" %")[0]) <= 100


async def test_asking_again_and_again_for_what_was_hidden_is_told_to_the_person(tmp_path: Path) -> None:
    script = [calls(("read_file", {"path": f"f{n % 6}"})) for n in range(60)]

    async def long_file(invocation: Invocation, sink: CallSink) -> Outcome:
        name = invocation.arguments["path"]
        return Outcome(status=OutcomeStatus.SUCCEEDED, text=f"{name} {invocation.call_id} text\n" * 400)

    async with engine(
        tmp_path, *script, text("done"), info=SMALL, budgets=Budgets(max_idle_steps=None)
    ) as run:
        run.toolbox.behaviour["read_file"] = long_file
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
    said = [notice for notice in run.bodies(NoticeRaised) if "does not fit the model's window" in notice.text]
    assert len(said) == 1


async def test_measuring_goes_on_after_a_resume(tmp_path: Path) -> None:
    usage = Usage(input_tokens=5_000, output_tokens=5)
    async with engine(
        tmp_path, calls(("exec_command", {"cmd": "x"}), usage=usage), text("done", Usage())
    ) as run:
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
    async with engine(tmp_path, text("again")) as resumed:
        await resumed.wait(SessionStarted)
        await resumed.idle()
        scope = resumed.scope()
        assert scope.meter.factor > 1.0
        assert scope.meter.tokens(view_of(scope)) >= 5_000


async def test_a_guess_of_the_usage_is_not_taken_for_a_count(tmp_path: Path) -> None:
    guess = Usage(input_tokens=3, output_tokens=1, estimated=True)
    async with engine(tmp_path, text("one", guess), text("two", guess), info=SMALL) as run:
        run.send(Submit(text="a longer message with many words in it"))
        await run.wait(TurnEnded)
        run.send(Submit(text="more"))
        await run.wait(TurnEnded, count=2)
        kept = [usage for item in responses(run.session.fold.log) if (usage := item.usage).estimated]
    assert [usage.input_tokens for usage in kept] == sizes(run.model.requests)
