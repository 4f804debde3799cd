"""Keys typed behind the one that opens a view: they are for the view, also before it has what it shows."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

from textual import events as toolkit

from agent_tui.engine import commands, events
from agent_tui.engine.types import TaskStatus
from agent_tui.tui.screens.checkpoints import CheckpointsView
from agent_tui.tui.screens.rollback import PreviewView
from tests.tui import gallery
from tests.tui.driving import Driven, driven
from tests.waiting import WAIT_S
from tools.types import Outcome, OutcomeStatus


def listed(it: Driven) -> CheckpointsView:
    view = it.app.screen
    assert isinstance(view, CheckpointsView)
    return view


async def test_keys_behind_the_one_that_opens_a_view_are_for_the_view(tmp_path: Path) -> None:
    async with driven(tmp_path, on=gallery.Scene().on) as it:
        await it.feed(b"/checkpoints\rgj")
        assert listed(it).picked == listed(it).items[1]
        assert it.app.editor.text == ""


async def until(holds: Callable[[], bool]) -> None:
    """Wait for what comes while a fetch stays open, which never settles."""
    end = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < end, "it did not come"
        await asyncio.sleep(0.002)


@asynccontextmanager
async def fetching(tmp_path: Path) -> AsyncIterator[tuple[Driven, Callable[[], None]]]:
    """A view that fetches, with two keys typed ahead; the call gives it what it waits for."""
    async with driven(tmp_path) as it:
        asked: list[commands.Command] = []
        it.engine.send = asked.append  # type: ignore[method-assign]  # the answer is held back
        it.send(b"/checkpoints\rgj")
        await until(lambda: bool(asked) and len(listed(it)._ahead) == 2)
        data = gallery.ANSWERS[gallery.Q.CHECKPOINTS]
        yield it, lambda: it.engine.emit(events.Inspected(command_id=asked[0].id, data=data))


async def test_they_wait_for_what_the_view_fetches(tmp_path: Path) -> None:
    async with fetching(tmp_path) as (it, answer):
        assert "loading" in it.screen
        answer()
        await until(lambda: bool(listed(it).items) and listed(it).at == 1)
        assert it.app.editor.text == ""


async def test_a_newer_key_does_not_overtake_those_that_wait(tmp_path: Path) -> None:
    async with fetching(tmp_path) as (it, answer):
        view, draw, done = listed(it), listed(it).draw, list[str]()

        def draw_behind_a_key() -> None:
            view.post_message(toolkit.Key("j", "j"))
            view.draw = draw  # type: ignore[method-assign]
            draw()
            done.append("")

        view.draw = draw_behind_a_key  # type: ignore[method-assign]  # the key comes while the list does
        answer()
        await until(lambda: bool(done) and view.at == 2)


async def test_escape_leaves_a_view_that_fetches(tmp_path: Path) -> None:
    async with fetching(tmp_path) as (it, _):
        it.send(b"\x1b")
        await until(lambda: len(it.app.screen_stack) == 1)
        it.send(b"more")
        await until(lambda: it.app.editor.text == "more")


async def test_a_preview_that_was_not_seen_is_not_confirmed(tmp_path: Path) -> None:
    async with driven(tmp_path, on=gallery.Scene().on) as it:
        await it.feed(b"/checkpoints\r\r\r")
        assert isinstance(it.app.screen, PreviewView)
        assert it.engine.sent_of(commands.Rollback) == []
        await it.press("escape")
        assert isinstance(it.app.screen, CheckpointsView), "one preview was opened"


async def test_a_key_that_is_held_down_confirms_no_preview(tmp_path: Path) -> None:
    async with driven(tmp_path, on=gallery.Scene().on) as it:
        await it.feed(b"/checkpoints\r\r")
        await it.until("conflicts")
        assert "too early" not in it.screen
        await it.press("enter", "enter")
        assert it.engine.sent_of(commands.Rollback) == []
        assert "too early: that key did nothing" in it.screen
        it.clock.at += 0.4
        await it.press("enter")
        it.clock.at += 0.4  # it starts the pause again
        await it.press("enter")
        assert it.engine.sent_of(commands.Rollback) == [] and "Enter roll back" not in it.screen
        await it.act("arm")
        assert "Enter roll back" in it.screen and "too early" not in it.screen
        await it.press("enter")
        assert len(it.engine.sent_of(commands.Rollback)) == 1


async def test_a_preview_that_was_away_is_read_again_before_it_is_confirmed(tmp_path: Path) -> None:
    async with driven(tmp_path, on=gallery.Scene().on) as it:
        await it.feed(b"/checkpoints\r\r")
        await it.until("conflicts")
        await it.act("arm")
        it.app.app_resume_signal.publish(it.app)  # as after Ctrl+Z and `fg`
        await it.press("enter")
        assert it.engine.sent_of(commands.Rollback) == []


async def test_a_preview_that_cannot_be_shown_whole_is_not_confirmed(tmp_path: Path) -> None:
    without_grants = gallery.Scene(data={gallery.Q.GRANTS: None})
    async with driven(tmp_path, on=without_grants.on) as it:
        await it.feed(b"/checkpoints\r\r")
        await it.until("nothing to inspect here")
        await it.act("arm")
        await it.press("enter")
        assert it.engine.sent_of(commands.Rollback) == []


async def test_a_rollback_that_waits_for_terminals_is_the_one_that_was_confirmed(tmp_path: Path) -> None:
    def terminal(state: Literal["live", "ended"]) -> events.TerminalChanged:
        return events.TerminalChanged(terminal="t1", call_id="c1", command="npm run dev", state=state)

    async with driven(tmp_path, [terminal("live")], on=gallery.Scene().on) as it:
        await it.feed(b"/checkpoints\r\r")
        await it.act("arm")
        await it.press("enter")
        assert "stopping 1 terminal first" in it.screen
        await it.press("c")
        assert it.engine.sent_of(commands.Rollback) == []
        it.engine.emit(terminal("ended"))
        await it.settle()
        sent = [body for body in it.engine.sent_of(commands.Rollback) if isinstance(body, commands.Rollback)]
        assert [body.mode for body in sent] == ["both"]


async def test_a_key_that_is_held_down_deletes_no_session(tmp_path: Path) -> None:
    def removed(it: Driven) -> list[commands.Inspect]:
        return [each for each in it.engine.sent_of(commands.Inspect) if "remove" in each.args]

    async with driven(tmp_path, on=gallery.Scene().on) as it:
        await it.feed(b"/resume\rjxxx")
        await it.until("for good?")
        assert "x again" not in it.screen
        await it.press("x")
        assert removed(it) == []
        assert "for good? too early" in it.screen
        await it.act("arm")
        assert "x again" in it.screen
        await it.press("x")
        assert len(removed(it)) == 1


async def test_enter_does_not_go_on_past_an_open_question_but_after_it(tmp_path: Path) -> None:
    async with driven(tmp_path) as it:
        it.engine.emit(*gallery.lost())
        it.engine.emit(events.TaskChanged(task_id="k1", status=TaskStatus.PAUSED))
        await it.until("result lost")
        await it.press("enter", "enter")
        assert it.engine.sent_of(commands.Continue) == []
        await it.act("arm")
        await it.press("x")
        assert len(it.engine.sent_of(commands.Settle)) == 1
        await it.press("enter")
        assert len(it.engine.sent_of(commands.Continue)) == 1


async def test_a_lost_result_that_a_run_settles_is_asked_no_more(tmp_path: Path) -> None:
    async with driven(tmp_path) as it:
        it.engine.emit(*gallery.lost())
        await it.until("result lost")
        outcome = Outcome(status=OutcomeStatus.OUTCOME_UNKNOWN, text="Outcome unknown")
        it.engine.emit(
            events.CallEnded(
                call_id="c1", tool="exec_command", outcome=outcome, changes=(), external=(), duration_s=0.0
            )
        )
        await it.settle()
        assert "result lost" not in it.screen


async def test_what_enter_does_while_paused_is_said_of_a_draft_too(tmp_path: Path) -> None:
    async with driven(tmp_path) as it:
        it.engine.emit(events.TaskChanged(task_id="k1", status=TaskStatus.PAUSED))
        await it.until("Enter continue")
        await it.type("look again")
        await it.until("Enter send")
        assert "Enter continue" not in it.screen


async def test_a_key_that_is_held_down_goes_on_with_no_paused_session(tmp_path: Path) -> None:
    async with driven(tmp_path) as it:
        await it.press("enter")
        it.engine.emit(events.TaskChanged(task_id="k1", status=TaskStatus.PAUSED))
        await it.until("Enter continue")
        await it.press("enter", "enter")
        assert it.engine.sent_of(commands.Continue) == []
        it.clock.at += 0.6
        await it.press("enter")
        assert len(it.engine.sent_of(commands.Continue)) == 1
