"""The activity line: what is said while nothing comes."""

import re
from dataclasses import replace
from typing import Any

import pytest
from rich.cells import cell_len

from agent_tui.engine import events
from agent_tui.engine.types import CallState, InputKind
from agent_tui.tui.feed import Feed
from agent_tui.tui.glyphs import UNICODE
from agent_tui.tui.state import Pending, State, Status
from agent_tui.tui.transcript.lines import plain
from agent_tui.tui.widgets import activity
from checkpoints.types import Health
from context.items import Usage

LATER = activity.Moment(width=100, now=1_030.0)


def said(*bodies: events.Body, **moment: Any) -> str:
    """The line half a minute after these came."""
    return plain(activity.line(after(*bodies), replace(LATER, **moment), UNICODE))


def after(*bodies: events.Body) -> State:
    feed = Feed(State())
    for seq, body in enumerate(bodies, 1):
        feed.apply(events.Event(seq=seq, at=1_000.0, run_id="r1", body=body))
    return feed.state


ASKED = (
    events.StatusChanged(model="openai/gpt"),
    events.TurnStarted(task_id="t1", run_id="r1"),
    events.StepStarted(step_id="s1", number=1),
)
ANSWERED = events.ResponseEnded(
    step_id="s1", item_id="i1", text="", reasoning="", reasoning_s=0.0, usage=Usage(), cost_usd=None,
    reserved_calls=1,
)  # fmt: skip
STARTED = events.CallStarted(
    call_id="c1", attempt=1, arguments_sha256="", cwd="/w", sandbox="", spool="", boot_id="b"
)
HELD = events.CallChanged(call_id="c1", state=CallState.VALIDATED, detail="for the first checkpoint")
IMPORTING = events.StatusChanged(undo=Health(state="importing", done_files=10, total_files=40))


def test_a_model_that_sends_nothing_is_waited_for() -> None:
    assert "waiting for openai · 0:30 since the last word" in said(*ASKED)


def test_a_command_of_yours_is_told_and_how_to_stop_it() -> None:
    shown = said(STARTED)
    assert "◐ running your command" in shown and shown.endswith("Esc interrupt · Enter send ──")


def test_a_model_that_has_answered_is_not_waited_for() -> None:
    shown = said(*ASKED, ANSWERED, IMPORTING, HELD)
    assert "waiting for" not in shown
    assert "first checkpoint ▕███░░░░░░░░░▏ 25% · 10 of 40 files · 90 s left" in shown


def test_the_first_checkpoint_is_told_only_while_a_call_waits_for_it() -> None:
    assert "◐ thinking" in said(*ASKED, ANSWERED, IMPORTING)
    assert "running 1 call" in said(*ASKED, ANSWERED, IMPORTING, HELD, STARTED)


@pytest.mark.parametrize(
    ("kind", "error", "shown"),
    [
        ("rate_limit", "slow down (429)", "provider busy (429) · retry 2 of 6"),
        (
            "connection",
            "cannot connect to `http://127.0.0.1:500/v1`",
            "provider not reachable · retry 2 of 6",
        ),
        ("unavailable", "HTTP 500 without a text", "provider down (500) · retry 2 of 6"),
        ("stalled", "the stream went silent", "provider silent · retry 2 of 6"),
        ("cut", "the stream ended without an end", "connection cut · retry 2 of 6"),
    ],
)
def test_a_wait_says_what_is_so(kind: str, error: str, shown: str) -> None:
    retry = events.RetryScheduled(attempt=2, attempts=6, delay_s=90.0, error=error, kind=kind)
    assert shown in said(*ASKED, retry)


@pytest.mark.parametrize(
    "over", [events.StatusChanged(activity=""), events.Refused(command_id="c1", reason="nothing runs")]
)
def test_what_was_told_to_stop_is_over_once_nothing_runs(over: events.Body) -> None:
    for is_busy in (False, True):
        feed = Feed(State())
        feed.state.busy, feed.state.stopping_at = is_busy, 7.0
        feed.apply(events.Event(seq=1, at=9.0, run_id="", body=over))
        assert (feed.state.stopping_at > 0) is is_busy, "the end of a turn says it"


@pytest.mark.parametrize(
    ("steps", "undo", "shown"),
    [
        (22, Health(state="ok"), "◐ rolling back · 22 files ─"),
        (22, Health(state="ok", going_back=(14, 22)), "◐ rolling back · 14 of 22 files ─"),
        (0, None, "◐ rolling back ─"),
    ],
)
def test_a_rollback_tells_how_many_files_are_done(steps: int, undo: Health | None, shown: str) -> None:
    state = State(going_back=steps, status=Status(undo=undo))
    assert shown in plain(activity.line(state, LATER, UNICODE))


def test_a_compaction_in_a_turn_counts_its_own_time() -> None:
    started = events.CompactionStarted(cause="soft")
    feed = Feed(State())
    for at, body in ((900.0, ASKED[1]), (950.0, ASKED[2]), (1_023.0, started)):
        feed.apply(events.Event(seq=int(at), at=at, run_id="r1", body=body))
    assert "◐ compacting · 0:07 ─" in plain(activity.line(feed.state, LATER, UNICODE))


@pytest.mark.parametrize(
    ("now", "shown"),
    [
        (1_000.9, "◐ first checkpoint · 25% · 10 of 40 files ─"),
        (1_001.0, "◐ first checkpoint ▕███░░░░░░░░░▏ 25% · 10 of 40 files ─"),
        (1_003.0, "◐ first checkpoint ▕███░░░░░░░░░▏ 25% · 10 of 40 files · 9 s left ─"),
    ],
)
def test_a_bar_is_there_only_after_a_second_of_waiting(now: float, shown: str) -> None:
    assert shown in said(*ASKED, ANSWERED, IMPORTING, HELD, now=now)


LARGE = events.StatusChanged(undo=Health(state="importing", done_files=26_000, total_files=50_000))
RETRY = events.RetryScheduled(attempt=2, attempts=6, delay_s=40.0, error="busy (429)", kind="rate_limit")
MANY = replace(RETRY, attempt=12, attempts=16)
DOWN = replace(RETRY, error="no", kind="connection")
DRAFTED = events.CallDrafted(step_id="s1", tool="a_tool_of_a_long_name_of_some_server", arguments_chars=9)


@pytest.mark.parametrize(
    ("bodies", "width", "shown"),
    [
        ((ANSWERED, LARGE, HELD), 60, "◐ first checkpoint · 26k of 50k files ─ Esc interrupt"),
        ((ANSWERED, LARGE, HELD), 70, "◐ first checkpoint · 52% · 26k of 50k files ─ Esc interrupt"),
        (
            (ANSWERED, LARGE, HELD),
            80,
            "◐ first checkpoint ▕██████░░░░░░▏ 52% · 26k of 50k files ─ Esc interrupt",
        ),
        ((RETRY,), 60, "provider busy (429) · retry 2 of 6 in 0:10 ─ Esc stop"),
        ((MANY,), 60, "provider busy · retry 12 of 16 in 0:10 ─ Esc stop"),
        ((RETRY,), 80, "provider busy (429) · retry 2 of 6 in 0:10 ─ Enter retry now · Esc stop"),
        ((DOWN,), 60, "not reachable · retry 2 of 6 in 0:10 ─ Esc stop"),
        ((), 60, "◐ waiting for openai · 0:30 ─ Esc interrupt"),
        ((DRAFTED,), 60, "◐ writing a call · 0:30 ─ Esc interrupt"),
    ],
)
def test_what_is_said_gets_shorter_before_the_last_hint_goes(
    bodies: tuple[events.Body, ...], width: int, shown: str
) -> None:
    state = after(*ASKED, *bodies)
    if DRAFTED in bodies:
        state.heard_at = LATER.now
    row = plain(activity.line(state, replace(LATER, width=width), UNICODE))
    assert re.sub("─+", "─", row) == f"─ {shown} ─" and cell_len(row) == width


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (60, "◐ running 1 call · 0:30 ─ Esc interrupt"),
        (64, "◐ running 1 call · step 4 · 0:30 ─ Esc interrupt"),
        (80, "◐ running 1 call · step 4 · 0:30 ─ Alt+Up edit · Ctrl+S steer now"),
        (100, "◐ running 1 call · step 4 · 0:30 ─ Alt+Up edit · Ctrl+S steer now · Esc interrupt"),
    ],
)
def test_what_waits_can_be_edited_and_of_one_hint_it_is_how_to_stop(width: int, shown: str) -> None:
    state = State(busy=True, step=4, turn_started_at=1_000.0, running={"c1"})
    state.pending = [Pending(input_id="i1", kind=InputKind.STEER, text="x")]
    row = plain(activity.line(state, replace(LATER, width=width), UNICODE))
    assert re.sub("─+", "─", row) == f"─ {shown} ─"
