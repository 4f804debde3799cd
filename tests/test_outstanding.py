"""Which files a session leaves changed, as far as its events tell, and what takes them back."""

from collections.abc import Sequence
from dataclasses import replace

from agent_tui.engine.events import (
    Body,
    CallEnded,
    CheckpointTaken,
    RolledBack,
    SessionStarted,
    TurnEnded,
    TurnStarted,
)
from agent_tui.engine.types import EndReason
from agent_tui.outstanding import Outstanding
from checkpoints.types import Author, Cause, ChangeKind, Checkpoint, FileChange, Phase, RollbackResult
from context.items import Usage
from tools.types import Outcome, OutcomeStatus


def taken(number: int, phase: Phase, turn: int = 1) -> CheckpointTaken:
    cause = Cause(phase=phase, session="s", turn=turn)
    return CheckpointTaken(
        checkpoint=Checkpoint(id=f"s/{number}", session="s", seq=number, created_at=0.0, cause=cause, tree="")
    )


def wrote(*paths: str, kind: ChangeKind = "M", old: str | None = None, before: str = "") -> CallEnded:
    return CallEnded(
        call_id="c1.1", tool="exec_command", outcome=Outcome(status=OutcomeStatus.SUCCEEDED, text=""),
        changes=tuple(FileChange(path=path, kind=kind, old_path=old) for path in paths), external=(),
        duration_s=0.0, checkpoint_id=before,
    )  # fmt: skip


def turn(number: int, first: int, *writes: CallEnded) -> list[Body]:
    """A turn whose calls are one wave, with checkpoints from number `first` on."""
    ended = TurnEnded(
        run_id="r", reason=EndReason.COMPLETED, sentence="done", exit_code=0, usage=Usage(), cost_usd=None,
        steps=1, duration_s=0.0,
    )  # fmt: skip
    wave = [taken(first + 1, Phase.BEFORE_CALL, number), taken(first + 2, Phase.AFTER_CALL, number), *writes]
    return [
        TurnStarted(task_id=f"t{number}", run_id="r"),
        taken(first, Phase.TURN_START, number),
        *(wave if writes else ()),
        ended,
    ]


def went_back(
    target: int, undo: int, *paths: str, kept: Sequence[str] = (), failed: Sequence[str] = (),
    only: Sequence[str] = (), redo: str = "",
) -> RolledBack:  # fmt: skip
    changed = tuple(FileChange(path=path, kind="M", author=Author.ROLLBACK) for path in paths)
    files = RollbackResult(
        target=f"s/{target}", undo=f"s/{undo}", changed=changed, kept=tuple(kept), failed=tuple(failed)
    )
    return RolledBack(checkpoint_id=f"s/{target}", mode="both", files=files, paths=tuple(only), redo_of=redo)


def left(*bodies: Body) -> tuple[int, str]:
    """Files that are left changed, and what takes them back."""
    found = Outstanding()
    for body in bodies:
        found.take(body)
    return len(found), found.checkpoint


TWO = [*turn(1, 1, wrote("a", "b")), *turn(2, 4, wrote("b", "c"))]


def test_all_turns_count_and_one_rollback_takes_them_back() -> None:
    assert left() == (0, "")
    assert left(*turn(1, 1)) == (0, "")
    assert left(*TWO) == (3, "s/1")
    assert left(*turn(1, 1), *turn(2, 2, wrote("a")), *turn(3, 5)) == (1, "s/2"), "not what was said before"


def test_what_was_taken_back_counts_no_more() -> None:
    assert left(*TWO, went_back(1, 7, "a", "b", "c")) == (0, "")
    assert left(*TWO, went_back(4, 7, "b", "c")) == (2, "s/1")
    assert left(*TWO, went_back(3, 7, "b", "c")) == (2, "s/1"), (
        "what a call changed is told behind its checkpoint"
    )
    assert left(*TWO, went_back(1, 7, "a", "b"), *turn(3, 9, wrote("c"))) == (1, "s/9")


def test_what_a_rollback_left_as_it_is_still_counts() -> None:
    assert left(*TWO, went_back(1, 7, "b", "c", kept=["a"])) == (1, "s/1")
    assert left(*TWO, went_back(1, 7, "b", "c", failed=["a"])) == (1, "s/1")
    assert left(*TWO, went_back(1, 7, "b", only=["b"])) == (2, "s/1")
    assert left(*TWO, RolledBack(checkpoint_id="s/1", mode="conversation", files=None)) == (3, "s/1")


def test_a_redo_brings_them_back() -> None:
    back = went_back(1, 7, "a", "b", "c")
    again = went_back(7, 9, "a", "b", "c", redo="s/1")
    assert left(*TWO, back, again) == (3, "s/1")
    assert left(*TWO, back, went_back(3, 9, "a", "b")) == (2, "s/1"), "nor is a redo the only way"
    assert left(*TWO, back, again, went_back(8, 11, "a", "b", "c")) == (0, ""), "back to after the rollback"


def test_a_file_made_and_deleted_again_and_a_renamed_one_are_counted_once() -> None:
    made = wrote("new", kind="A")
    assert left(*turn(1, 1, made, wrote("new"), wrote("new", kind="D"))) == (0, "")
    assert left(*turn(1, 1, made, wrote("other", kind="R", old="new"))) == (1, "s/1")
    assert left(*turn(1, 1, made, wrote("o", kind="R", old="new"), wrote("o", kind="D"))) == (0, "")


def test_a_command_of_the_person_has_a_checkpoint_of_its_own() -> None:
    own = [taken(4, Phase.BEFORE_CALL), taken(5, Phase.AFTER_CALL), wrote("a", before="s/4")]
    assert left(*turn(1, 1), *own) == (1, "s/4")


def test_what_no_checkpoint_was_taken_before_cannot_be_taken_back() -> None:
    assert left(wrote("a")) == (1, "")


def moved(old: str, new: str) -> CallEnded:
    ended = wrote(new, kind="R", old=old)
    return replace(ended, changes=(replace(ended.changes[0], added=0, removed=0),))


def test_a_file_that_got_its_name_back_counts_no_more() -> None:
    assert left(*turn(1, 1, moved("a", "b"))) == (1, "s/1")
    assert left(*turn(1, 1, moved("a", "b"), moved("b", "a"))) == (0, "")
    assert left(*turn(1, 1, moved("a", "b")), *turn(2, 4, moved("b", "a"))) == (0, "")
    assert left(*turn(1, 1, moved("a", "b"), moved("b", "c"))) == (1, "s/1")
    assert left(*turn(1, 1, moved("a", "b")), *turn(2, 4, wrote("b", kind="D"))) == (1, "s/1")


def test_a_rollback_finds_the_names_that_were() -> None:
    there, back = turn(1, 1, moved("a", "b")), turn(2, 4, moved("b", "a"))
    assert left(*there, *back, went_back(4, 7, "a", "b")) == (1, "s/1")
    assert left(*there, *back, went_back(1, 7)) == (0, "")


def resumed(origin: str = "") -> SessionStarted:
    return SessionStarted(session_id="s", workspace="/w", model="m", resumed=True, forked_from=origin)


def later(earlier: Sequence[Body], *bodies: Body, origin: str = "") -> Outstanding:
    """What is outstanding in a process that hears of the earlier part when it has told `bodies`."""
    before, now = Outstanding(), Outstanding()
    for body in earlier:
        before.take(body)
    for body in (resumed(origin), *bodies):
        now.take(body)
    return now.behind(before)


def test_a_later_process_goes_on_with_the_count() -> None:
    now = later(TWO, *turn(3, 7, wrote("c", "d")))
    assert (len(now), now.checkpoint) == (4, "s/1")
    now.take(went_back(4, 10, "b", "c", "d"))
    assert (len(now), now.checkpoint) == (2, "s/1")


def test_a_later_process_takes_back_only_what_it_changed_itself() -> None:
    own = turn(3, 7, wrote("c", "d"))
    assert len(later(TWO, *own, went_back(7, 10, "c", "d"))) == 3
    now = later(TWO, *own)
    now.take(went_back(7, 10, "c", "d"))
    assert (len(now), now.checkpoint) == (3, "s/1"), "`c` is as the earlier process left it"
    assert len(later(turn(1, 1, moved("a", "b")), *turn(2, 4, moved("b", "a")))) == 0


def test_a_fork_leaves_changed_only_what_it_changed_itself() -> None:
    assert len(later(TWO, origin="7f3a")) == 0
    own = turn(3, 7, wrote("c", "d"))
    now = later(TWO, *own, origin="7f3a")
    assert (len(now), now.checkpoint) == (2, "s/7")
    again = later([*TWO, resumed("7f3a"), *own], *turn(4, 10, wrote("e")))
    assert (len(again), again.checkpoint) == (3, "s/7")
