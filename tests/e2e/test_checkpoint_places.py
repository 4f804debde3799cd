"""Checkpoints where others work too, where workspaces overlap, and where there is no git."""

import json
import shutil
from pathlib import Path

import pytest

from tests.checkpoints.trees import git_manifest, manifest
from tests.e2e.running import Bell, running
from tests.e2e.test_checkpoint_cases import changed, goes_back, patch, paths_changed, run, shell, turn
from tests.model_server.fixture import ModelServer
from tests.program import Program, model_flags


@pytest.fixture
def program(tmp_path: Path) -> Program:
    program = Program.at(tmp_path)
    for name in ("a.txt", "b.txt", "sub/c.txt"):
        (program.workspace / name).parent.mkdir(exist_ok=True)
        (program.workspace / name).write_text("old\n")
    return program


def listed(program: Program) -> list[dict[str, object]]:
    return [json.loads(line) for line in program.run("checkpoints", "--json").out.splitlines()]


def test_a_later_session_counts_as_somebody_else(program: Program, model_server: ModelServer) -> None:
    turn(program, model_server, patch(changed("a.txt", "old", "first")), run("echo first > b.txt"))
    first = str(listed(program)[-1]["id"])
    turn(program, model_server, patch(changed("a.txt", "first", "second")))
    refused = program.run("rollback", first, "--yes", "--files-only")
    assert refused.code == 1
    assert "changed by others" in refused.err and "`a.txt`" in refused.err
    assert "a.txt  changed by session" in program.run("rollback", first, "--dry-run").out
    goes_back(program, first, "--files-only", "--keep-external")
    assert (program.workspace / "a.txt").read_text() == "second\n"
    assert (program.workspace / "b.txt").read_text() == "old\n"


def test_two_open_sessions_both_work_and_are_told_apart(program: Program, model_server: ModelServer) -> None:
    bell = Bell(program.workspace)
    model_server.script(
        [
            run("echo one > one.txt; echo > bell; sleep 60"),
            patch("*** Begin Patch\n*** Add File: two.txt\n+two\n*** End Patch"),
            {"text": "done"},
        ]
    )
    with running(program, model_server.base_url(), "go") as first:
        started = first.until("item.completed", "checkpoint")["item"]["id"].removeprefix("checkpoint.")
        bell.wait()
        flags = model_flags("chat", model_server.base_url())
        second = program.run("exec", "--json", *flags, "go")
        assert second.code == 0, second.err
        notices = [json.loads(line) for line in second.out.splitlines() if "is open here too" in line]
        assert notices, second.out
        assert "two.txt" in paths_changed(second)
        busy = program.run("rollback", started, "--yes")
        assert (busy.code, "open elsewhere" in busy.err) == (5, True), busy
        goes_back(program)  # the turn of the second session, which has ended
        assert not (program.workspace / "two.txt").exists()
        assert (program.workspace / "one.txt").read_text() == "one\n"
        first.process.terminate()
        code, _ = first.end()
    assert code == 143
    changes = {one["path"] for event in first.seen for one in event.get("changes", [])}
    assert "two.txt" not in changes


def test_overlapping_workspaces_go_back_each_by_itself(program: Program, model_server: ModelServer) -> None:
    inner = Program(home=program.home, workspace=program.workspace / "sub")
    turn(program, model_server, run("echo outer > a.txt; echo outer > sub/c.txt"))
    before = manifest(program.workspace)
    turn(inner, model_server, run("echo inner > c.txt; echo x > new.txt"))
    assert len(list(program.state.glob("checkpoints/*/workspace.json"))) == 1
    (program.workspace / "b.txt").write_text("by hand\n")
    goes_back(inner)
    (program.workspace / "b.txt").write_text("old\n")
    assert manifest(program.workspace) == before
    goes_back(program)
    assert (program.workspace / "sub/c.txt").read_text() == "old\n"
    assert {str(one["session"]) for one in listed(program)}.isdisjoint(
        {str(one["session"]) for one in listed(inner)}
    )


def test_linked_worktrees_go_back_each_by_itself(
    program: Program, model_server: ModelServer, tmp_path: Path
) -> None:
    shell(
        "git init -q . && git add -A && git commit -qm one && git worktree add -q ../tree", program.workspace
    )
    tree = Program(home=program.home, workspace=tmp_path / "tree")
    before = [manifest(one.workspace) for one in (program, tree)]
    repositories = git_manifest(program.workspace) | git_manifest(tree.workspace)
    for one in (program, tree):
        turn(one, model_server, run("echo changed > a.txt; rm -r sub; echo n > new"))
    goes_back(tree)
    assert manifest(tree.workspace) == before[1]
    assert (program.workspace / "a.txt").read_text() == "changed\n"
    goes_back(program)
    assert manifest(program.workspace) == before[0]
    assert git_manifest(program.workspace) | git_manifest(tree.workspace) == repositories


def test_without_git_checkpoints_are_plain_copies_and_that_is_said(
    program: Program, model_server: ModelServer, tmp_path: Path
) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("env", "bwrap", "sh"):
        (tools / name).symlink_to(str(shutil.which(name)))
    without = {"PATH": str(tools)}
    before = manifest(program.workspace)
    ran = turn(
        program,
        model_server,
        patch(changed("a.txt", "old", "new")),
        run("/bin/rm -r sub; /bin/chmod 600 b.txt; echo n > new"),
        env=without,
    )
    assert "`git` is not installed or too old: checkpoints are plain copies" in ran.out
    assert paths_changed(ran) == {"a.txt", "b.txt", "new", "sub/c.txt"}
    after = manifest(program.workspace)
    assert (
        "-old\n+new\n" in program.run("checkpoints", "diff", str(listed(program)[-1]["id"]), env=without).out
    )
    goes_back(program, env=without)
    assert manifest(program.workspace) == before
    assert program.run("rollback", "--redo", "--yes", env=without).code == 0
    assert manifest(program.workspace) == after
    goes_back(program)  # and with git again
    assert manifest(program.workspace) == before
