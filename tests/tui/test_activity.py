"""The activity line: what is said while nothing comes."""

import pytest

from agent_tui.engine import events
from agent_tui.engine.types import CallState
from agent_tui.tui.feed import Feed
from agent_tui.tui.glyphs import UNICODE
from agent_tui.tui.state import State, Status
from agent_tui.tui.transcript.lines import plain
from agent_tui.tui.widgets import activity
from checkpoints.types import Health
from context.items import Usage

LATER = activity.Moment(width=100, now=1_030.0)


def said(*bodies: events.Body) -> str:
    """The line half a minute after these came."""
    feed = Feed(State())
    for seq, body in enumerate(bodies, 1):
        feed.apply(events.Event(seq=seq, at=1_000.0, run_id="r1", body=body))
    return plain(activity.line(feed.state, LATER, UNICODE))


ASKED = (
    events.StatusChanged(model="openai/gpt"),
    events.TurnStarted(task_id="t1", run_id="r1"),
    events.StepStarted(step_id="s1", number=1),
)
ANSWERED = events.ResponseEnded(
    step_id="s1", item_id="i1", text="", reasoning="", reasoning_s=0.0, usage=Usage(), cost_usd=None,
    reserved_calls=1,
)  # fmt: skip
HELD = events.CallChanged(call_id="c1", state=CallState.VALIDATED, detail="for the first checkpoint")
IMPORTING = events.StatusChanged(undo=Health(state="importing", done_files=10, total_files=40))


def test_a_model_that_sends_nothing_is_waited_for() -> None:
    assert "waiting for openai · 0:30 since the last word" in said(*ASKED)


def test_a_model_that_has_answered_is_not_waited_for() -> None:
    shown = said(*ASKED, ANSWERED, IMPORTING, HELD)
    assert "waiting for" not in shown
    assert "first checkpoint ▕███░░░░░░░░░▏ 25% · 10 of 40 files · 90 s left" in shown


def test_the_first_checkpoint_is_told_only_while_a_call_waits_for_it() -> None:
    assert "◐ thinking" in said(*ASKED, ANSWERED, IMPORTING)
    started = events.CallStarted(
        call_id="c1", attempt=1, arguments_sha256="", cwd="/w", sandbox="", spool="", boot_id="b"
    )
    assert "running 1 call" in said(*ASKED, ANSWERED, IMPORTING, HELD, started)


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
