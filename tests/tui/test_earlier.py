"""The part of a session before it was continued."""

import asyncio

from agent_tui.engine import events
from agent_tui.tui.earlier import rebuild
from agent_tui.tui.feed import Feed
from agent_tui.tui.state import State
from agent_tui.tui.transcript import blocks
from checkpoints.types import Cause, Checkpoint, Phase, RollbackResult
from tests.tui import scenes
from tools.types import OutcomeStatus


def stored(*bodies: events.Body) -> list[events.Event]:
    return [
        events.Event(seq=seq, at=1_000.0, run_id="r1", body=body) for seq, body in enumerate(bodies, start=1)
    ]


def cut_off() -> tuple[blocks.Call, Feed]:
    """A call that ran when its process died, and the feed that made its card."""
    before = stored(*scenes.turn(), *scenes.proposed("c1", "exec_command", "make"), *scenes.running("c1"))
    found, feed = asyncio.run(rebuild(before, len(before) + 1))
    card = found[-1]
    assert isinstance(card, blocks.Card)
    return card.calls[0], feed


def settled() -> events.Event:
    (body,) = scenes.ended("c1", "exec_command", status=OutcomeStatus.OUTCOME_UNKNOWN)
    return stored(body)[0]


def test_what_ran_in_a_process_that_is_gone_does_not_run() -> None:
    call, earlier = cut_off()
    live = Feed(State())
    live.calls.take_over(earlier.calls)
    assert call.state == "outcome_unknown"
    assert live.calls.live_cards() == []


def test_a_call_of_before_ends_in_its_own_card() -> None:
    call, earlier = cut_off()
    live = Feed(State())
    live.calls.take_over(earlier.calls)
    live.apply(settled())
    assert (call.state, call.outcome is not None) == ("outcome_unknown", True)


def test_an_end_that_comes_before_the_earlier_part_is_not_lost() -> None:
    call, earlier = cut_off()
    live = Feed(State())
    live.apply(settled())
    live.calls.take_over(earlier.calls)
    assert (call.state, call.outcome is not None) == ("outcome_unknown", True)


def test_a_terminal_of_a_process_that_is_gone_is_not_live() -> None:
    work = scenes.call("c1", "exec_command", "npm run dev", 1, OutcomeStatus.YIELDED, terminal="t1")
    before = stored(*scenes.turn(), *work)
    lost = events.TerminalChanged(terminal="t1", call_id="c1", command="npm run dev", state="lost")
    for is_late in (True, False):
        found, earlier = asyncio.run(rebuild(before, len(before) + 1))
        live = Feed(State())
        if is_late:
            live.calls.take_over(earlier.calls)
        live.apply(stored(lost)[0])
        if not is_late:
            live.calls.take_over(earlier.calls)
        card = found[-1]
        assert isinstance(card, blocks.Card)
        assert (card.calls[0].state, card.calls[0].detail) == ("ended", "lost")
        assert live.calls.live_cards() == []


def test_a_terminal_that_a_signal_ended_names_the_signal_as_the_list_does() -> None:
    work = scenes.call("c1", "exec_command", "npm run dev", 1, OutcomeStatus.YIELDED, terminal="t1")
    feed = Feed(State())
    for event in stored(
        *scenes.turn(),
        *work,
        events.TerminalChanged(
            terminal="t1", call_id="c1", command="npm run dev", state="ended", exit_code=130, signal="INT"
        ),
    ):
        feed.apply(event)
    (card,) = [block for block in feed.added if isinstance(block, blocks.Card)]
    assert (card.calls[0].state, card.calls[0].detail) == ("ended", "signal INT")


def test_a_call_that_is_run_again_runs_in_its_own_card() -> None:
    call, earlier = cut_off()
    live = Feed(State())
    live.calls.take_over(earlier.calls)
    live.apply(stored(*scenes.running("c1"))[0])
    assert call.state == "running"


def test_what_a_rollback_gave_back_is_there_again_until_something_is_said() -> None:
    rolled = events.RolledBack(checkpoint_id="7f3a/1", mode="both", files=None, messages=("said", "more"))
    for later, back in ([], ["said", "more"]), (scenes.message("else"), []):
        before = stored(*scenes.message("said"), rolled, *later)
        _, earlier = asyncio.run(rebuild(before, len(before) + 1))
        live = Feed(State())
        live.take_over(earlier)
        assert live.state.returned == back


def test_a_rollback_to_where_another_began_shows_what_that_hid() -> None:
    def back(target: str, undo: str, redo_of: str = "") -> events.RolledBack:
        files = RollbackResult(target=target, undo=undo, changed=(), kept=())
        return events.RolledBack(checkpoint_id=target, mode="both", files=files, redo_of=redo_of)

    def kinds(*bodies: events.Body) -> list[str]:
        started = events.SessionStarted(session_id="s", workspace="/w", model="fake/m")
        story = stored(started, *bodies)
        found, _ = asyncio.run(rebuild(story, len(story) + 1))
        return [type(block).__name__ for block in found]

    cause = Cause(phase=Phase.TURN_START, session="s")
    point = Checkpoint(id="s/1", session="s", seq=1, created_at=0.0, cause=cause, tree="t")
    first = [*scenes.message("first"), events.CheckpointTaken(checkpoint=point), *scenes.end()]
    went = [*first, back("s/1", "s/2"), *scenes.message("then", number=2, step=2)]
    assert kinds(*went) == ["Muted", "RolledBack", "UserMessage"]
    again = [*went, back("s/2", "s/4")]
    assert kinds(*again) == ["UserMessage", "TurnEnd", "Muted", "RolledBack"]
    assert kinds(*again, back("s/4", "s/6", redo_of="s/2")) == [
        "Muted", "RolledBack", "UserMessage", "RolledBack", "RolledBack",
    ]  # fmt: skip
