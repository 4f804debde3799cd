"""`checkpoints` and `rollback` as commands: without a model, beside a session, exact in what they print."""

import json
import re
import shutil
from pathlib import Path
from typing import get_args

import pytest

from agent_tui.cli.rollback import plan_lines
from checkpoints.gitprocess import find_git
from checkpoints.types import Action, Operation, Phase, RollbackPlan, Uncovered
from tests.catalogue import is_listed
from tests.checkpoints.sessions import Session
from tests.checkpoints.trees import manifest
from tests.cli.terminal import Terminal
from tests.program import Program

SUMMARY = "sed -i s/1/X/ a.txt"


@pytest.fixture
def session(program: Program) -> Session:
    """A session that made one turn and was left open, as another process would have it."""
    (program.workspace / "a.txt").write_text("1\n2\n")
    program.state.mkdir(parents=True)
    session = Session(program.workspace, program.state, "7f3a0001", git=find_git())
    session.take(turn=1)
    session.before()
    (program.workspace / "a.txt").write_text("X\n2\n")
    (program.workspace / "new").mkdir()
    (program.workspace / "new/file").write_text("n\n")
    session.after()
    return session


def without_times(text: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "WHEN", text)


def test_nothing_yet_is_said_and_nothing_is_made(program: Program) -> None:
    for line in (["checkpoints"], ["checkpoints", "list"]):
        ran = program.run(*line)
        assert (ran.code, ran.err) == (0, "")
        assert ran.out == "no checkpoints here yet; one is taken before the first change\n"
    assert program.run("checkpoints", "--json").out == ""
    for line in (["rollback", "--yes"], ["rollback", "--redo", "--yes"], ["rollback", "7f3a/1", "--yes"]):
        ran = program.run(*line)
        assert (ran.code, ran.err) == (
            2,
            "agent-tui: no checkpoints here yet; one is taken before the first change\n",
        )
    assert program.run("checkpoints", "prune").code == 0
    assert not (program.state / "checkpoints").exists()


def test_the_list_tells_what_each_one_is_before_and_what_changed(program: Program, session: Session) -> None:
    assert without_times(program.run("checkpoints").out).splitlines() == [
        "7f3a0001/3  WHEN  after a call",
        "7f3a0001/2  WHEN  before a call        M a.txt +1 -1 · A new/file +1 -0",
        "7f3a0001/1  WHEN  before your message",
    ]
    lines = [json.loads(line) for line in program.run("checkpoints", "list", "--json").out.splitlines()]
    assert [line["id"] for line in lines] == ["7f3a0001/3", "7f3a0001/2", "7f3a0001/1"]
    assert [change["path"] for change in lines[1]["changes_after"]] == ["a.txt", "new/file"]
    shown = program.run("checkpoints", "show", "7f3a/2")
    assert "changed after it, until the next:\n  M a.txt +1 -1\n  A new/file +1 -0\n" in shown.out
    assert json.loads(program.run("checkpoints", "show", "7f3a/2", "--json").out)["phase"] == "before_call"


def test_diff_compares_two_checkpoints_or_one_and_now(program: Program, session: Session) -> None:
    between = program.run("checkpoints", "diff", "7f3a/1", "7f3a/3")
    assert "-1\n+X\n 2\n" in between.out
    (program.workspace / "a.txt").write_text("now\n")
    assert "+now\n" in program.run("checkpoints", "diff", "7f3a/1").out
    found = json.loads(program.run("checkpoints", "diff", "7f3a/1", "--json").out)
    assert [change["path"] for change in found["changes"]] == ["a.txt", "new/file"]


def test_a_dry_run_prints_the_exact_list_and_changes_nothing(program: Program, session: Session) -> None:
    before = manifest(program.workspace)
    ran = program.run("rollback", "--dry-run")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "back to 7f3a0001/1: before your message",
        "  change    a.txt  +1 -1",
        "  delete    new/",
        "  delete    new/file  +0 -1",
    ]
    plan = json.loads(program.run("rollback", "7f3a/2", "--dry-run", "--json").out)["plan"]
    assert [operation["path"] for operation in plan["operations"]] == ["a.txt", "new", "new/file"]
    assert manifest(program.workspace) == before


def test_the_list_names_each_kind_of_step_and_a_folder_as_one_and_what_stays() -> None:
    steps = [Operation(action=action, path=action.upper()) for action in get_args(Action)]
    new = Operation(action="mkdir", path="NEW", creates=True)
    large = Uncovered(path="data.bin", reason="14 MB", since="changed 13:55")
    gaps = large, Uncovered(path="s", reason="socket")
    plan = RollbackPlan(
        target="7f3a/17", operations=(*steps, new), conflicts=(), kept=("mine",), uncovered=gaps
    )
    assert plan_lines(plan) == [
        "  change    WRITE",
        "  change    MODE",
        "  change    LINK",
        "  change    MKDIR/",
        "  create    NEW/",
        "  delete    DELETE",
        "  delete    RMDIR/",
        "  stays     mine",
        "  stays     data.bin  14 MB, not covered by undo; changed 13:55",
        "  stays     s  socket, not covered by undo",
    ]


def test_rollback_and_redo_beside_an_open_session(program: Program, session: Session) -> None:
    changed = manifest(program.workspace)
    ran = program.run("rollback", "--yes")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[-1] == (
        "rolled back to 7f3a0001/1: 2 paths changed, verified; `agent-tui rollback --redo` takes this back"
    )
    assert manifest(program.workspace) == {b"a.txt": ("file", 0o644, b"1\n2\n")}
    assert session.take(Phase.TURN_END).changes == ()  # it belongs to the rollback, and the session knows it
    with Terminal(program, "rollback", "--redo") as terminal:
        terminal.expect("change    a.txt")
        terminal.expect("create    new/file")
        terminal.expect("redo? [y/N] ")
        terminal.type("y\r")
        assert terminal.end() == 0
    assert manifest(program.workspace) == changed
    ran = program.run("rollback", "--redo", "--yes")
    assert (ran.code, ran.err) == (2, "agent-tui: rollback: there is no rollback to take back here\n")


def test_conflicts_stop_it_unless_a_choice_is_given(program: Program, session: Session) -> None:
    (program.workspace / "a.txt").write_text("by hand\n")
    ran = program.run("rollback", "--yes")
    assert ran.code == 1
    assert ran.err == (
        "agent-tui: rollback: changed by others since 7f3a0001/1: `a.txt`; nothing was done; "
        "leave them with `--keep-external` or replace them with `--overwrite`\n"
    )
    assert "  conflict  a.txt  changed by you or another program, WHEN\n" in without_times(ran.out)
    assert (program.workspace / "new/file").exists()
    ran = program.run("rollback", "--yes", "--keep-external")
    assert ran.out.splitlines()[-1] == "  kept yours: a.txt"
    assert (program.workspace / "a.txt").read_text() == "by hand\n"
    assert not (program.workspace / "new").exists()
    ran = program.run("rollback", "7f3a/1", "--yes", "--overwrite", "--json")
    assert json.loads(ran.out)["files"]["kept"] == []
    assert (program.workspace / "a.txt").read_text() == "1\n2\n"


@pytest.mark.parametrize(
    ("keys", "first", "second"),
    [
        ("\r|\r", "X\n2\n3\n", True),
        ("k\r|t\r", "X\n2\n3\n", False),
        ("d\r|m\r|k\r", "1\n2\n3\n", True),
        ("T\r", "1\n2\n", False),
        ("x\r|t\r|K\r", "1\n2\n", True),
    ],
)
def test_a_person_chooses_for_each_conflict(
    program: Program, session: Session, keys: str, first: str, second: bool
) -> None:
    session.before()
    (program.workspace / "z").write_text("agent\n")
    session.after()
    (program.workspace / "a.txt").write_text("X\n2\n3\n")
    (program.workspace / "z").write_text("agent\nmine\n")
    with Terminal(program, "rollback", "7f3a/1") as terminal:
        terminal.expect("conflict  z")
        for key in keys.split("|"):
            terminal.expect("[k/t/m/d] ")
            terminal.type(key)
            if key == "d\r":
                terminal.expect("+3")
        terminal.expect("roll back? [y/N] ")
        terminal.type("y\r")
        assert terminal.end() == 0
    assert (program.workspace / "a.txt").read_text() == first
    assert (program.workspace / "z").exists() is second
    assert not (program.workspace / "new").exists()


def test_no_choice_is_no_rollback(program: Program, session: Session) -> None:
    (program.workspace / "a.txt").write_text("by hand\n")
    before = manifest(program.workspace)
    with Terminal(program, "rollback", "7f3a/1") as terminal:
        terminal.expect("a.txt [k/t/m/d] ")
        terminal.type("\x04")
        terminal.expect("rollback: nothing was done")
        assert terminal.end() == 1
    assert manifest(program.workspace) == before


def test_one_path_goes_back_alone(program: Program, session: Session) -> None:
    assert program.run("rollback", "--yes", "--path", "a.txt").code == 0
    assert (program.workspace / "a.txt").read_text() == "1\n2\n"
    assert (program.workspace / "new/file").exists()


def test_a_path_may_lead_through_a_link_to_the_workspace(
    program: Program, session: Session, tmp_path: Path
) -> None:
    (tmp_path / "way").symlink_to(program.workspace)
    assert program.run("rollback", "--yes", "--path", str(tmp_path / "way/a.txt")).code == 0
    assert (program.workspace / "a.txt").read_text() == "1\n2\n"
    assert (program.workspace / "new/file").exists()
    assert program.run("rollback", "--yes", "--path", str(tmp_path / "way")).code == 0
    assert not (program.workspace / "new").exists()


def test_nothing_to_change_is_said_and_nobody_is_asked(program: Program, session: Session) -> None:
    assert program.run("rollback", "--yes").code == 0
    listed = program.run("checkpoints").out
    for line in (["rollback"], ["rollback", "--yes"], ["rollback", "7f3a/1", "--path", "a.txt"]):
        ran = program.run(*line)
        assert (ran.code, ran.err) == (0, "")
        assert ran.out.splitlines() == ["back to 7f3a0001/1: before your message", "  nothing to change"]
    files = json.loads(program.run("rollback", "--json").out)["files"]
    assert (files["undo"], files["changed"]) == ("", [])
    assert program.run("checkpoints").out == listed  # and no rollback is recorded
    (program.workspace / "mine").write_text("mine\n")
    ran = program.run("rollback")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[1:] == ["  stays     mine", "  nothing to change"]


def test_only_conflicts_that_stay_are_nothing_to_change(program: Program, session: Session) -> None:
    assert program.run("rollback", "--yes").code == 0
    (program.workspace / "a.txt").write_text("by hand\n")
    assert program.run("rollback", "--yes").code == 1
    ran = program.run("rollback", "--yes", "--keep-external")
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "  nothing to change")
    assert (program.workspace / "a.txt").read_text() == "by hand\n"
    assert program.run("rollback", "--yes", "--overwrite").code == 0
    assert (program.workspace / "a.txt").read_text() == "1\n2\n"


def test_nobody_is_asked_without_a_terminal(program: Program, session: Session) -> None:
    ran = program.run("rollback")
    assert ran.code == 2
    assert (
        ran.err == "agent-tui: rollback: nobody can be asked here; look with `--dry-run`, then give `--yes`\n"
    )
    assert program.run("rollback", "--yes").code == 0
    ran = program.run("rollback", "--redo")
    assert (ran.code, ran.err) == (
        2,
        "agent-tui: rollback: nobody can be asked here; take the rollback back with `--yes`\n",
    )


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("rollback 7f3a/99 --yes", 2, "no checkpoint `7f3a/99` here"),
        ("rollback nonsense --yes", 2, "is no checkpoint id"),
        ("rollback --redo 7f3a/1", 2, "`--redo` takes back the last rollback"),
        ("rollback --conversation-only --path a.txt", 2, "`--path` is about files"),
        ("rollback --conversation-only --yes", 2, "is not stored any more"),
        ("rollback --files-only --conversation-only", 2, "not allowed with"),
        ("rollback --path ../x --yes", 2, "outside the workspace"),
        ("rollback --path nowhere --yes", 2, "`nowhere` matches nothing"),
        ("rollback --path a.txt --path nowhere --dry-run", 2, "`nowhere` matches nothing"),
        ("checkpoints show", 2, "no ID"),
        ("checkpoints show 7f3a/99", 2, "no checkpoint `7f3a/99` here"),
        ("checkpoints diff 7f3a/1 nonsense", 2, "is no checkpoint id"),
        ("checkpoints diff 7f3a/1 7f3a/2 7f3a/3", 2, "one ID too many"),
        ("checkpoints prune --days -1", 2, "must not be negative"),
    ],
)
def test_errors_are_one_line(program: Program, session: Session, line: str, code: int, words: str) -> None:
    ran = program.run(*line.split())
    assert (ran.code, ran.out.count("rolled back")) == (code, 0)
    assert words in ran.err
    assert ran.err.count("\n") == 1
    assert is_listed(ran.err.strip().removeprefix("agent-tui: ")), "docs/errors.md does not have it"


def test_prune_drops_what_is_old(program: Program, session: Session) -> None:
    session.close()
    ran = program.run("checkpoints", "prune", "--days", "0")
    assert ran.code == 0
    assert ran.out.startswith("3 checkpoints of 1 session dropped")
    assert ran.out.endswith("; the sessions stay\n")
    assert program.run("checkpoints").out.startswith("no checkpoints here yet")


def test_a_prune_with_nothing_to_drop_says_so(program: Program, session: Session) -> None:
    assert program.run("checkpoints", "prune").out.startswith("no checkpoint is old enough to be dropped, ")


def test_a_person_is_asked_before_undo_is_dropped(program: Program, session: Session) -> None:
    session.close()
    with Terminal(program, "checkpoints", "prune", "--days", "0") as terminal:
        terminal.expect("drop these checkpoints? [y/N] ")
        terminal.type("\r")
        assert terminal.end() == 0
    assert not program.run("checkpoints").out.startswith("no checkpoints here yet")


def test_names_from_the_workspace_cannot_steer_the_terminal(program: Program, session: Session) -> None:
    session.before()
    (program.workspace / "evil\x1b[2J\n").write_text("x")
    session.after()
    out = program.run("checkpoints").out + program.run("rollback", "--dry-run").out
    assert "\x1b" not in out
    assert "evil\\x1b[2J ⏎ " in out


def test_a_lost_git_costs_nothing_but_packing(program: Program, session: Session, tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "env").symlink_to(shutil.which("env") or "/usr/bin/env")
    ran = program.run("rollback", "--yes", env={"PATH": str(tools)})
    assert ran.code == 0, ran.err
    assert (program.workspace / "a.txt").read_text() == "1\n2\n"
