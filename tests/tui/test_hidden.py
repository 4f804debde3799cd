"""Where the pager says that the model no longer sees what follows."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from agent_tui.engine import events
from agent_tui.tui.earlier import rebuild
from agent_tui.tui.hidden import whole
from agent_tui.tui.transcript import blocks
from checkpoints.types import Cause, Checkpoint, Phase, RollbackResult
from tests.tui import scenes

Span = tuple[int, int]


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Times of day as in London in winter."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def epoch(name: str, *spans: Span, messages: tuple[str, ...] = ()) -> events.CompactionEnded:
    return events.CompactionEnded(
        item_id=name, cause="you asked for it", tokens_before=9, tokens_after=5, hidden_units=1,
        shortened_results=0, steps=(spans[0][0], spans[-1][1]), spans=spans, messages=messages,
    )  # fmt: skip


def undo(name: str) -> events.CompactionEnded:
    return replace(epoch(f"undo-{name}", (0, 0)), undone=name, steps=(), spans=())


def ran(*numbers: int) -> list[events.Body]:
    steps = [
        [*scenes.step(n), *scenes.response(n), *scenes.call(f"c{n}.1", "exec_command", f"make {n}", n)]
        for n in numbers
    ]
    return [body for step in steps for body in step]


def said(number: int, step: int = 1) -> list[events.Body]:
    return scenes.message(f"message {number}", number, step=step)


def shown(*bodies: events.Body) -> list[str]:
    """The blocks of the pager: marks as they read, others by what they are."""
    story = [
        events.Event(seq=seq, at=14 * 3_600 + 5 * 60 + seq, run_id="r1", body=body)
        for seq, body in enumerate(
            [events.SessionStarted(session_id="s", workspace="/w", model="fake/m"), *bodies], start=1
        )
    ]
    found, _ = asyncio.run(rebuild(story, len(story) + 1))
    return [_word(block) for block in whole(found)]


def _word(block: blocks.Block) -> str:
    match block:
        case blocks.Mark():
            return block.text
        case blocks.Card():
            return block.calls[0].shown
        case blocks.UserMessage():
            return block.text
        case _:
            return type(block).__name__


BEGIN = "hidden by compaction 14:05, {} (shown here)"
END = "hidden by compaction to here"
UNDO_BACK = "hidden by rollback to here"


def test_a_mark_stands_before_and_behind_what_a_compaction_hid() -> None:
    story = [*said(1), *ran(1, 2, 3), epoch("k1", (1, 2))]
    expected = ["message 1", BEGIN.format("steps 1–2"), "make 1", "make 2", END, "make 3", "Compaction"]
    assert shown(*story) == expected


def test_a_message_that_stays_in_the_view_parts_what_is_hidden_around_it() -> None:
    story = [*said(1), *ran(1), *said(2, 2), *ran(2, 3), epoch("k1", (1, 1), (2, 2), messages=("u1",))]
    assert shown(*story) == [
        BEGIN.format("step 1"), "message 1", "make 1", END,
        "message 2",
        BEGIN.format("step 2"), "make 2", END,
        "make 3", "Compaction",
    ]  # fmt: skip


def test_where_only_a_message_is_hidden_no_step_is_named() -> None:
    story = [*said(1), *ran(1), epoch("k1", (9, 9), messages=("u1",))]
    assert shown(*story)[:3] == ["hidden by compaction 14:05 (shown here)", "message 1", END]


def test_the_end_of_a_turn_and_what_the_person_ran_go_with_what_is_before_them() -> None:
    own = events.CallProposed(
        call_id="own", step_id="", tool="exec_command", arguments="{}", shown="ls", by="person"
    )
    story = [*said(1), *ran(1), *scenes.end(), own, *said(2, 2), *ran(2)]
    assert shown(*story, epoch("k1", (1, 1), messages=("u1",))) == [
        BEGIN.format("step 1"), "message 1", "make 1", "TurnEnd", "ls", END,
        "message 2", "make 2", "Compaction",
    ]  # fmt: skip


def test_each_of_several_compactions_has_its_part_and_the_report_of_one_may_be_in_another() -> None:
    story = [*said(1), *ran(1, 2), epoch("k1", (1, 1)), *ran(3, 4), epoch("k2", (2, 3))]
    assert shown(*story) == [
        "message 1",
        BEGIN.format("step 1"), "make 1",
        BEGIN.format("steps 2–3"), "make 2", "Compaction", "make 3", END,
        "make 4", "Compaction",
    ]  # fmt: skip


def test_a_compaction_that_was_taken_back_hides_nothing_and_the_one_before_it_still_does() -> None:
    story = [*said(1), *ran(1, 2, 3), epoch("k1", (1, 1)), epoch("k2", (2, 2))]
    one = ["message 1", BEGIN.format("step 1"), "make 1", END, "make 2", "make 3"]
    reports = ["Compaction"] * 3
    assert shown(*story, undo("k2")) == [*one, *reports]
    assert shown(*story, undo("k2"), undo("k1")) == [
        "message 1",
        "make 1",
        "make 2",
        "make 3",
        *reports,
        *reports[:1],
    ]


def test_a_compaction_that_was_stopped_hid_nothing() -> None:
    stopped = replace(epoch("", (1, 1)), spans=(), steps=())
    assert shown(*said(1), *ran(1), stopped) == ["message 1", "make 1", "Compaction"]


def test_a_record_of_an_older_version_tells_its_first_and_last_step() -> None:
    old = replace(epoch("k1", (1, 2)), spans=())
    assert shown(*said(1), *ran(1, 2, 3), old)[1:5] == [BEGIN.format("steps 1–2"), "make 1", "make 2", END]


def back(target: str, undone_by: str, redo_of: str = "") -> events.RolledBack:
    files = RollbackResult(target=target, undo=undone_by, changed=(), kept=())
    return events.RolledBack(checkpoint_id=target, mode="both", files=files, redo_of=redo_of)


def before_step(number: int) -> events.CheckpointTaken:
    cause = Cause(phase=Phase.BEFORE_CALL, session="s", step=number)
    return events.CheckpointTaken(
        checkpoint=Checkpoint(id="s/1", session="s", seq=1, created_at=0.0, cause=cause, tree="t")
    )


def rolled(*more: events.Body) -> Sequence[str]:
    """Steps 1 and 2 were compacted, and then everything from step 2 on was rolled back."""
    story = [*said(1), *ran(1), *scenes.step(2), before_step(2), *scenes.response(2)]
    story += [*scenes.call("c2.1", "exec_command", "make 2", 2), *ran(3), epoch("k1", (1, 2))]
    return shown(*story, back("s/1", "s/2"), *more)


def test_what_a_rollback_hid_is_between_its_own_marks_and_the_compaction_in_it_hides_no_more() -> None:
    assert rolled() == [
        "message 1", "make 1",
        "3 items hidden by rollback (shown here)", "make 2", "make 3", "Compaction", UNDO_BACK,
        "RolledBack",
    ]  # fmt: skip


def test_a_redo_brings_the_compaction_back_and_what_it_hides() -> None:
    assert rolled(back("s/2", "s/4", redo_of="s/1")) == [
        "message 1", BEGIN.format("steps 1–2"), "make 1", "make 2", END, "make 3", "Compaction",
        "RolledBack", "RolledBack",
    ]  # fmt: skip
