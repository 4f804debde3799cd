"""The rows of rewind and of the list of checkpoints."""

from pathlib import Path
from typing import get_args

import pytest

from agent_tui.engine import commands, events
from agent_tui.tui.screens.checkpoints import points
from checkpoints.types import (
    Action,
    Author,
    Cause,
    Checkpoint,
    Conflict,
    FileChange,
    Operation,
    Phase,
    RollbackPlan,
    RollbackResult,
)
from context.codec import encode
from tests.tui import gallery
from tests.tui.driving import driven
from tools.types import STOP

MINE = FileChange(path="a.py", kind="M")
THEIRS = FileChange(path="notes.txt", kind="A", author=Author.EXTERNAL)


def taken(*rows: tuple[Phase, tuple[FileChange, ...]]) -> list[Checkpoint]:
    """Checkpoints with what changed after each."""
    return [
        Checkpoint(
            id=f"s/{seq}", session="s", seq=seq, created_at=float(seq), tree="t", after=after,
            cause=Cause(phase=phase, session="s"),
        )
        for seq, (phase, after) in enumerate(rows, 1)
    ]  # fmt: skip


def test_a_call_that_changed_nothing_is_no_place_to_go_back_to() -> None:
    found = taken(
        (Phase.TURN_START, ()), (Phase.BEFORE_CALL, ()), (Phase.BEFORE_CALL, (MINE,)), (Phase.BEFORE_CALL, ())
    )
    assert [row.checkpoint.seq for row in points(found, external=True)] == [1, 3, 4], "the newest may yet"
    assert [row.checkpoint.seq for row in points(found, external=False)] == [1, 2, 3, 4]


def test_what_others_changed_between_calls_has_a_row_of_its_own() -> None:
    found = taken((Phase.BEFORE_CALL, (MINE,)), (Phase.TURN_END, (THEIRS,)), (Phase.TURN_START, ()))
    rows = points(found, external=True)
    assert [(row.checkpoint.seq, row.external, row.at) for row in rows] == [
        (1, False, 1.0),
        (2, True, 3.0),
        (3, False, 3.0),
    ]
    assert rows[1].changed == (THEIRS,)


def test_what_changed_together_with_a_call_stays_with_the_call() -> None:
    rows = points(taken((Phase.BEFORE_CALL, (MINE, THEIRS)), (Phase.TURN_END, ())), external=True)
    assert [(row.external, row.changed) for row in rows] == [(False, (MINE, THEIRS))]


def test_what_was_said_while_the_model_worked_is_told_from_what_began_a_turn() -> None:
    found = taken((Phase.TURN_START, ()), (Phase.BEFORE_CALL, (MINE,)), (Phase.TURN_START, ()))
    rows = points(found, external=True)
    assert [(row.checkpoint.seq, row.begins) for row in rows] == [(1, True), (2, False), (3, False)]


async def test_each_checkpoint_is_compared_with_the_next_one(tmp_path: Path) -> None:
    async with driven(tmp_path, on=gallery.Scene().on) as it:
        await it.type("/checkpoints\r")
        await it.press("g", "D")
        asked = commands.Inspect(
            subject=commands.Subject.DIFF, args={"checkpoint": "7f3a/13", "until": "7f3a/14"}
        )
        assert asked in it.engine.sent
        await it.press("escape", "G", "D")
        assert "nothing came after this one" in it.screen


async def test_the_state_before_the_last_rollback_is_what_a_redo_brings(tmp_path: Path) -> None:
    files = RollbackResult(target="7f3a/14", undo="7f3a/19", changed=(), kept=())
    rolled = events.RolledBack(checkpoint_id="7f3a/14", mode="files", files=files)
    async with driven(tmp_path, [rolled], on=gallery.Scene().on) as it:
        await it.type("/rewind\r")
        row = next(row for row in it.screen.split("\n") if "rolled back to before" in row)
        assert row.endswith("undo of an undo: /redo")


async def test_a_rollback_names_each_kind_of_step(tmp_path: Path) -> None:
    """Also a folder that comes back in place of a file."""
    steps = [Operation(action=action, path=action.upper()) for action in get_args(Action)]
    new = Operation(action="mkdir", path="NEW", creates=True)
    plan = RollbackPlan(target="7f3a/17", operations=(*steps, new), conflicts=(), kept=())
    scene = gallery.Scene(data={commands.Subject.ROLLBACK_PLAN: encode(plan)})
    async with driven(tmp_path, on=scene.on) as it:
        await it.type("/rollback 7f3a/17\r")
        await it.until("change 4")
        for row in ("M WRITE", "X MODE", "M LINK", "M MKDIR/", "create 1", "A NEW/", "D DELETE", "D RMDIR/"):
            assert row in it.screen


async def test_the_diff_of_a_preview_begins_with_the_picked_file(tmp_path: Path) -> None:
    conflicts = tuple(
        Conflict(path=path, author=Author.EXTERNAL, changed_at=0.0, reason="changed by you")
        for path in ("a.py", "b.py")
    )
    plan = RollbackPlan(target="7f3a/17", operations=(), conflicts=conflicts)
    many = "".join(f"+{number}\n" for number in range(30))
    text = "".join(
        f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -0,0 +1,30 @@\n{many}"
        for path in ("a.py", "b.py")
    )
    data = {commands.Subject.ROLLBACK_PLAN: encode(plan), commands.Subject.DIFF: text}
    async with driven(tmp_path, on=gallery.Scene(data=data).on) as it:
        await it.type("/rollback 7f3a/17\r")
        await it.until("conflicts 2")
        await it.press("down", "d")
        await it.until("file 2 of 2")
        assert "M b.py" in it.screen


async def test_what_was_merged_is_not_said_to_equal_the_checkpoint(tmp_path: Path) -> None:
    changed = tuple(FileChange(path=path, kind="M") for path in ("a.py", "b.py", "c.py"))
    files = RollbackResult(
        target="7f3a/14", undo="7f3a/19", changed=changed, kept=(), merged_with_markers=("c.py",),
        merged=("b.py", "c.py"),
    )  # fmt: skip
    rolled = events.RolledBack(checkpoint_id="7f3a/14", mode="files", files=files)
    async with driven(tmp_path, [rolled]) as it:
        for row in (
            "verified: 1 of 1 paths equal the checkpoint", "merged with yours: b.py",
            "! merged with conflict markers: c.py",
        ):  # fmt: skip
            assert row in it.screen


@pytest.mark.parametrize("redo", [False, True])
async def test_files_go_back_past_a_live_terminal_only_when_that_is_said(tmp_path: Path, redo: bool) -> None:
    files = RollbackResult(target="7f3a/14", undo="7f3a/19", changed=(), kept=())
    rolled = events.RolledBack(checkpoint_id="7f3a/14", mode="both", files=files)
    live = events.TerminalChanged(terminal="t2", call_id="c7", state="live", command="npm run dev")
    async with driven(tmp_path, [rolled, live], on=gallery.Scene().on) as it:
        await it.type("/redo\r" if redo else "/rollback 7f3a/17\r")
        await it.until("! t2 npm run dev can still write")
        await it.act("arm")
        assert "Enter stop it first · k go on anyway" in it.screen
        await it.press("enter")
        assert "stopping 1 terminal first" in it.screen
        assert it.engine.sent_of(commands.TerminalInput) == [
            commands.TerminalInput(terminal="t2", signal=STOP)
        ]
        going_back = commands.Redo if redo else commands.Rollback
        assert not it.engine.sent_of(going_back)
        await it.press("k")
        (sent,) = it.engine.sent_of(going_back)
        assert isinstance(sent, commands.Redo | commands.Rollback) and sent.force
