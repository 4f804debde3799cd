import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from agent_tui.engine.commands import (
    Command,
    Compact,
    Continue,
    Inspect,
    Pause,
    Redo,
    Rollback,
    RunShell,
    Set,
    Shutdown,
    Subject,
    Submit,
    TerminalInput,
)
from agent_tui.engine.events import (
    CallEnded,
    CallOutput,
    CallProposed,
    CallStarted,
    InputAwaited,
    Inspected,
    NoticeRaised,
    Refused,
    ResponseEnded,
    RetryScheduled,
    RolledBack,
    SessionClosed,
    SettingChanged,
    StatusChanged,
    TerminalChanged,
    TurnEnded,
)
from agent_tui.engine.types import EndReason
from agent_tui.models.base import ErrorKind, ModelError
from checkpoints.types import Phase
from context.items import NoticeItem, ResponseItem, UserItem
from context.units import visibility_of
from context.view import UserUnit
from tests.engine.fakes import Engine, FakeModel, calls, engine, failed, text
from tests.waiting import WAIT_S
from tools.types import Artifact, CallSink, Invocation, Outcome, OutcomeStatus, TerminalNews


def pauses(run: Engine) -> Callable[[Invocation, CallSink], Awaitable[Outcome]]:
    """A tool during which a pause is asked for."""

    async def work(invocation: Invocation, sink: CallSink) -> Outcome:
        run.send(Pause())
        return Outcome(status=OutcomeStatus.SUCCEEDED, text="")

    return work


async def ask(run: Engine, subject: Subject, **args: str) -> object:
    """The data of an inspection, or the reason it was refused."""
    command = run.send(Inspect(subject=subject, args=args))
    while True:
        for body in run.bodies(Inspected, Refused):
            if body.command_id == command:
                return body.data if isinstance(body, Inspected) else body.reason
        run._changed.clear()
        await asyncio.wait_for(run._changed.wait(), WAIT_S)


async def finish(run: Engine, message: str, count: int = 1) -> None:
    run.send(Submit(text=message))
    await run.wait(TurnEnded, count=count)


async def test_facts_of_a_session_are_told_as_plain_data(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("one\ntwo\nthree\n")
    digest = sha256((tmp_path / "out").read_bytes()).hexdigest()
    artifact = Artifact(ref="out", path=tmp_path / "out", size_bytes=14, sha256=digest)

    async def work(invocation: Invocation, sink: CallSink) -> Outcome:
        return Outcome(status=OutcomeStatus.SUCCEEDED, text="", artifact=artifact)

    async with engine(tmp_path, calls(("exec_command", {"cmd": "x"})), text("done")) as run:
        run.toolbox.behaviour["exec_command"] = work
        await finish(run, "go")
        assert await ask(run, Subject.OUTPUT, ref="out", start_line="2", end_line="2") == "two"
        assert "no output" in str(await ask(run, Subject.OUTPUT, ref="../session.db"))
        (tmp_path / "out").write_text("one\n")
        assert await ask(run, Subject.OUTPUT, ref="out") == (
            "[not what the command wrote: changed or cut since]\none"
        )
        checkpoints = await ask(run, Subject.CHECKPOINTS)
        assert isinstance(checkpoints, list) and len(checkpoints) == 4
        assert await ask(run, Subject.DIFF, call="c1.1") == "diff 0123abcd/2 0123abcd/3"
        # what the person changes after the turn is none of it
        assert await ask(run, Subject.DIFF, turn="1") == "diff 0123abcd/1 0123abcd/4"
        assert await ask(run, Subject.DIFF, session="1") == "diff 0123abcd/1 now"
        transcript = await ask(run, Subject.TRANSCRIPT, after="0")
        assert transcript == [event for event in run.seen if event.is_durable]
        context = await ask(run, Subject.CONTEXT)
        assert isinstance(context, dict) and context["window"] == 100_000
        used = [body.context_used for body in run.bodies(StatusChanged) if body.context_used is not None]
        assert used[-1] == context["total"], "with the last answer"
        assert "be brief" in str(await ask(run, Subject.REQUEST))


async def test_a_rollback_takes_the_conversation_back_and_a_redo_brings_it_again(tmp_path: Path) -> None:
    script = [text("one"), calls(("exec_command", {"cmd": "x"})), text("two"), text("three"), text("four")]
    async with engine(tmp_path, *script) as run:
        await finish(run, "first")
        await finish(run, "second", 2)
        start = next(c for c in run.checkpointer.taken if c.cause.turn == 2)
        run.send(Rollback(checkpoint_id=start.id))
        back = await run.wait(RolledBack)
        assert isinstance(back, RolledBack) and (back.messages, back.mode) == (("second",), "both")
        await finish(run, "third", 3)
        assert len(run.model.requests[-1].view.units) == 3
        assert run.checkpointer.rolled_back == [start.id]
        run.send(Redo())
        await run.wait(RolledBack, count=2)
        await finish(run, "fourth", 4)
    said = [unit.item.text for unit in run.model.requests[-1].view.units if hasattr(unit, "item")]
    assert said == ["first", "second", "third", "fourth"]


async def test_the_next_request_after_a_rollback_ends_where_that_turn_began(tmp_path: Path) -> None:
    async with engine(tmp_path, *(text(f"answer {number}") for number in range(5))) as run:
        for number in range(1, 5):
            await finish(run, f"turn {number}", number)
        run.send(Rollback(checkpoint_id=next(c.id for c in run.checkpointer.taken if c.cause.turn == 2)))
        back = await run.wait(RolledBack)
        assert isinstance(back, RolledBack) and back.messages == ("turn 2", "turn 3", "turn 4")
        await finish(run, "another turn 2", 5)
    *before, new = run.model.requests[-1].view.units
    assert tuple(before) == run.model.requests[1].view.units[:-1]
    assert isinstance(new, UserUnit) and new.item.text == "another turn 2"


async def test_all_that_was_said_since_comes_back_to_the_editor(tmp_path: Path) -> None:
    async with engine(tmp_path, text("one"), text("two")) as run:
        await finish(run, "first")
        await finish(run, "second", 2)
        run.send(Rollback(checkpoint_id=run.checkpointer.taken[0].id))
        back = await run.wait(RolledBack)
        assert isinstance(back, RolledBack) and back.messages == ("first", "second")


async def test_to_take_back_a_rollback_hides_only_what_it_had_brought_back(tmp_path: Path) -> None:
    async with engine(tmp_path, text("one"), text("two")) as run:
        await finish(run, "first")
        start = run.checkpointer.taken[0]
        run.send(Rollback(checkpoint_id=start.id))
        await run.wait(RolledBack)
        before = replace(start.cause, phase=Phase.BEFORE_ROLLBACK)
        run.checkpointer.taken.append(replace(start, id="0123abcd/undo", seq=2, cause=before))
        for count, command in enumerate((Redo(), Rollback(checkpoint_id="0123abcd/undo"), Redo()), start=2):
            run.send(command)
            await run.wait(RolledBack, count=count)
        await finish(run, "second", 2)
    said = [unit.item.text for unit in run.model.requests[-1].view.units if hasattr(unit, "item")]
    assert said == ["first", "second"]


async def test_a_rollback_of_files_only_keeps_the_conversation_and_tells_the_model(tmp_path: Path) -> None:
    async with engine(tmp_path, text("one"), text("two"), text("three")) as run:
        await finish(run, "first")
        run.send(Rollback(checkpoint_id=run.checkpointer.taken[0].id, mode="files"))
        await run.wait(RolledBack)
        await finish(run, "second", 2)
        run.send(Redo())
        await run.wait(RolledBack, count=2)
        await finish(run, "third", 3)
    assert "took files back" in run.model.requests[1].view.units[1].notices[0].text  # type: ignore[union-attr] # a final unit
    told = run.model.requests[2].view.units[3].notices[0].text  # type: ignore[union-attr] # a final unit
    assert told.startswith("The user took the rollback to checkpoint 0123abcd/1 back; changed now: ")


async def test_a_turn_that_went_on_after_a_pause_can_be_taken_back_to_either_start(tmp_path: Path) -> None:
    async with engine(tmp_path, calls(("exec_command", {"cmd": "x"})), text("done")) as run:
        run.toolbox.behaviour["exec_command"] = pauses(run)
        await finish(run, "do  this\nand that")
        run.send(Continue())
        await run.wait(TurnEnded, count=2)
        first, again = (c for c in run.checkpointer.taken if c.cause.phase is Phase.TURN_START)
        assert (first.cause.summary, again.cause.summary) == ("do this and that", "")
        run.send(Rollback(checkpoint_id=again.id))
        await run.wait(RolledBack)
        gone = visibility_of(run.session.fold.log).hidden
        assert [type(item) for item in run.session.fold.log if item.id in gone] == [ResponseItem]
        run.send(Rollback(checkpoint_id=first.id))
        back = await run.wait(RolledBack, count=2)
        assert isinstance(back, RolledBack) and back.messages == ("do  this\nand that",)


async def test_a_rollback_to_nowhere_or_with_a_live_terminal_is_refused(tmp_path: Path) -> None:
    async with engine(tmp_path, text("one")) as run:
        await finish(run, "first")
        run.send(Rollback(checkpoint_id="nope"))
        refused = await run.wait(Refused)
        assert isinstance(refused, Refused) and "no checkpoint `nope`" in refused.reason
        run.toolbox.live = [{"id": "t1", "state": "live"}]
        run.send(Rollback(checkpoint_id=run.checkpointer.taken[0].id))
        refused = await run.wait(Refused, count=2)
        assert isinstance(refused, Refused) and "terminal" in refused.reason
        for ways in ({"mode": "conversation"}, {"force": True}):
            run.send(Rollback(checkpoint_id=run.checkpointer.taken[0].id, **ways))  # type: ignore[arg-type]  # two of its fields
        await run.wait(RolledBack, count=2)
        assert run.checkpointer.rolled_back == ["0123abcd/1"]
        run.send(Redo())
        refused = await run.wait(Refused, count=3)
        assert isinstance(refused, Refused) and "terminal" in refused.reason
        run.send(Redo(force=True))
        again = await run.wait(RolledBack, count=3)
        assert isinstance(again, RolledBack) and again.redo_of == "0123abcd/1"


async def test_a_command_of_the_person_runs_and_can_be_told_to_the_model(tmp_path: Path) -> None:
    async with engine(tmp_path, text("one")) as run:
        run.send(RunShell(command="git log"))
        await run.wait(CallEnded)
        await run.idle()
        run.send(RunShell(command="cat .env", to_context=False))
        await run.wait(CallEnded, count=2)
        await run.idle()
        assert [body.by for body in run.bodies(CallProposed)] == ["person", "person"]
        await finish(run, "go")
    notices = [item.text for item in run.session.fold.log if isinstance(item, NoticeItem)]
    assert notices == ["The user ran `git log`:\nran exec_command"]


async def test_what_is_asked_as_soon_as_a_command_has_ended_is_not_refused(tmp_path: Path) -> None:
    async with engine(tmp_path) as run:
        for number in range(1, 4):
            run.send(RunShell(command=f"make {number}"))
            await run.wait(CallEnded, count=number)
        run.send(Compact())
        await run.idle()
        assert run.bodies(Refused) == []


async def test_a_changed_model_holds_for_the_next_turn_and_the_next_process(tmp_path: Path) -> None:
    other = FakeModel([text("from the other")], replace(FakeModel([]).info, model="other"))
    async with engine(tmp_path) as run:
        run.use(choose_model=lambda name: other)
        run.send(Set(key="model", value="fake/other"))
        await run.wait(SettingChanged)
        await finish(run, "go")
        run.send(Set(key="colour", value="red"))
        await run.wait(Refused)
    assert len(other.requests) == 1
    assert run.session.fold.settings == {"model": "fake/other"}


async def test_a_model_changed_in_a_run_answers_from_the_next_request_and_what_is_under_way_is_left(
    tmp_path: Path,
) -> None:
    other = FakeModel([text("from the other"), text("again")], replace(FakeModel([]).info, model="other"))

    async def change() -> None:
        for key, value in (("model", "fake/other"), ("effort", "high"), ("title", "mine")):
            run.send(Set(key=key, value=value))
        await run.wait(SettingChanged, count=3)

    async with engine(tmp_path, [change, *calls(("read_file", {"path": "a"}))]) as run:
        run.use(choose_model=lambda name: other)
        await finish(run, "go")
        assert not run.bodies(Refused)
        assert [body.model for body in run.bodies(ResponseEnded)] == ["fake/fake", "fake/other"]
        assert [request.effort for request in (*run.model.requests, *other.requests)] == [None, "high"]
        assert other.requests[0].model == "other"
        await run.idle()
        await finish(run, "on", 2)
    assert [len(run.model.requests), len(other.requests)] == [1, 2]
    assert run.session.fold.settings == {"model": "fake/other", "effort": "high", "title": "mine"}


async def test_a_model_chosen_while_the_next_attempt_is_waited_for_answers_at_once(tmp_path: Path) -> None:
    down = failed(ModelError(kind=ErrorKind.UNAVAILABLE, message="down"))
    other = FakeModel([text("from the other")], replace(FakeModel([]).info, model="other"))
    async with engine(tmp_path, down, retry=lambda error, attempt: 600.0) as run:
        run.use(choose_model=lambda name: other)
        run.send(Submit(text="go"))
        await run.wait(RetryScheduled)
        run.send(Set(key="model", value="fake/other"))
        ended = await run.wait(TurnEnded)
    assert isinstance(ended, TurnEnded) and ended.reason is EndReason.COMPLETED
    assert [len(run.model.requests), len(other.requests)] == [1, 1]


async def test_a_model_chosen_in_a_run_does_not_take_over_from_itself(tmp_path: Path) -> None:
    down = failed(ModelError(kind=ErrorKind.UNAVAILABLE, message="down"))
    other = FakeModel([down, text("back")], replace(FakeModel([]).info, model="other"))

    async def change() -> None:
        run.send(Set(key="model", value="fake/other"))
        await run.wait(SettingChanged)

    script = [change, *calls(("read_file", {"path": "a"}))]
    async with engine(tmp_path, script, retry=lambda error, attempt: None) as run:
        run.use(choose_model=lambda name: other, fallback=("fake/other",), falls_back=lambda error: True)
        run.send(Submit(text="go"))
        ended = await run.wait(TurnEnded)
    assert isinstance(ended, TurnEnded) and ended.reason is EndReason.MODEL_UNAVAILABLE
    assert [len(run.model.requests), len(other.requests)] == [1, 1]


async def test_a_model_chosen_in_a_run_without_a_request_to_come_holds_for_the_next(tmp_path: Path) -> None:
    other = FakeModel([text("from the other")], replace(FakeModel([]).info, model="other"))

    async def change() -> None:
        run.send(Set(key="model", value="fake/other"))
        await run.wait(SettingChanged)

    async with engine(tmp_path, [change, *text("one")]) as run:
        run.use(choose_model=lambda name: other)
        await finish(run, "go")
        await run.idle()
        assert run.scope().relay.info.name == "fake/other"
        await finish(run, "on", 2)
    assert [body.model for body in run.bodies(ResponseEnded)] == ["fake/fake", "fake/other"]


async def test_terminals_are_followed_to_their_end(tmp_path: Path) -> None:
    async def start(invocation: Invocation, sink: CallSink) -> Outcome:
        run.toolbox.live = [{"id": "t1", "state": "live"}]
        return Outcome(status=OutcomeStatus.YIELDED, text="started", terminal="t1")

    script = [calls(("exec_command", {"cmd": "serve"})), text("done"), text("done")]
    async with engine(tmp_path, *script) as run:
        run.toolbox.behaviour["exec_command"] = start
        await finish(run, "go")
        run.send(TerminalInput(terminal="t9", chars="x"))
        await run.wait(Refused)
        run.toolbox.news.put_nowait(TerminalNews(terminal="t1", call_id="c1.1", text="ready"))
        shown = await run.wait(CallOutput)
        assert isinstance(shown, CallOutput) and (shown.terminal, shown.text) == ("t1", "ready")
        run.toolbox.news.put_nowait(TerminalNews(terminal="t1", call_id="c1.1", awaits_input=True))
        assert await run.wait(InputAwaited) == InputAwaited(call_id="c1.1", waits=True, terminal="t1")
        await finish(run, "again", 2)
        run.toolbox.live = [{"id": "t1", "state": "ended", "exit_code": 3}]
        run.toolbox.news.put_nowait(TerminalNews(terminal="t1", call_id="c1.1", ended=True))
        ended = await run.wait(TerminalChanged, count=2)
    assert isinstance(ended, TerminalChanged)
    assert (ended.state, ended.exit_code, ended.command) == ("ended", 3, "serve")
    notices = [item.text for item in run.session.fold.log if isinstance(item, NoticeItem)]
    assert notices == ["Live terminals: t1 (``)"]


async def test_a_shutdown_stops_what_runs_and_leaves_a_session_that_goes_on(tmp_path: Path) -> None:
    async def hang(invocation: Invocation, sink: CallSink) -> Outcome:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return Outcome(status=OutcomeStatus.INTERRUPTED, text="half")
        raise AssertionError

    async with engine(tmp_path, calls(("exec_command", {"cmd": "x"}))) as run:
        run.toolbox.behaviour["exec_command"] = hang
        run.send(Submit(text="go"))
        await run.wait(CallStarted)
        run.send(Shutdown(why="SIGTERM"))
        closed = await run.wait(SessionClosed)
    assert isinstance(closed, SessionClosed) and closed.reason == "SIGTERM"
    assert [body.reason for body in run.bodies(TurnEnded)] == [EndReason.INTERRUPTED]
    async with engine(tmp_path, text("done")) as again:
        again.send(Continue())
        ended = await again.wait(TurnEnded)
    assert isinstance(ended, TurnEnded) and ended.reason is EndReason.COMPLETED


async def test_records_that_this_version_does_not_know_are_skipped_and_counted(tmp_path: Path) -> None:
    async with engine(tmp_path, text("one")) as run:
        await finish(run, "first")
    with sqlite3.connect(tmp_path / "session.db") as raw:
        raw.execute(
            "UPDATE records SET body = '{\"type\": \"FromTheFuture\"}' WHERE kind = 'event' AND seq = 4"
        )
    raw.close()
    async with engine(tmp_path, text("two")) as again:
        notice = await again.wait(NoticeRaised)
        assert isinstance(notice, NoticeRaised) and "1 records" in notice.text
        await finish(again, "second")
    assert [item.text for item in again.session.fold.log if isinstance(item, UserItem)] == ["first", "second"]


async def test_too_many_commands_are_refused_and_none_blocks(tmp_path: Path) -> None:
    async with engine(tmp_path) as run:
        for number in range(1_200):
            run.runtime.send(Command(id=str(number), body=Continue()))
        await run.wait(Refused, count=1_200)
    reasons = {body.reason for body in run.bodies(Refused)}
    assert reasons == {"there is no paused task", "too many commands are waiting"}
