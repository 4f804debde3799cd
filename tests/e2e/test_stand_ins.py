"""What the sandbox lays into a workspace is nobody's work: never recorded, never left behind."""

import json
import signal

import pytest

from tests.checkpoints.trees import manifest
from tests.e2e import project
from tests.e2e.project import call
from tests.e2e.running import Bell, running
from tests.model_server.fixture import ModelServer
from tests.program import Program, model_flags
from tests.waiting import until

NAME = ".envrc"  # one of many


def names(text: str) -> set[str]:
    """Every path that a list of checkpoints names."""
    rows = [json.loads(line) for line in text.splitlines()]
    return {change["path"] for row in rows for key in ("changes", "after") for change in row.get(key, ())}


def killed_in_a_command(program: Program, server: ModelServer) -> None:
    bell = Bell(program.workspace)
    server.script([{"calls": [call("exec_command", cmd="echo 1 > made; echo > bell; sleep 60")]}])
    with running(program, server.base_url(), "go") as run:
        bell.wait()
        assert (program.workspace / NAME).exists()
        run.process.send_signal(signal.SIGKILL)
        run.process.wait()
    assert (program.workspace / NAME).exists(), "a kill leaves it"


@pytest.mark.parametrize("command", ["checkpoints", "rollback"])
def test_what_a_kill_left_goes_with_the_next_look_at_the_checkpoints(
    program: Program, model_server: ModelServer, command: str
) -> None:
    killed_in_a_command(program, model_server)
    ran = program.run(*{"checkpoints": ("checkpoints",), "rollback": ("rollback", "--yes")}[command])
    assert ran.code == 0, ran.err
    assert NAME not in ran.out
    assert not (program.workspace / NAME).exists()
    assert (program.workspace / "made").exists() == (command == "checkpoints")


def test_what_a_kill_left_goes_with_the_next_session_and_is_nobodys_change(
    program: Program, model_server: ModelServer
) -> None:
    killed_in_a_command(program, model_server)
    (program.workspace / ".npmrc").unlink()
    (program.workspace / ".npmrc").write_text("mine")
    model_server.script([{"calls": [call("exec_command", cmd="echo 2 > more")]}, {"text": "done"}])
    ran = program.run("exec", "--json", *model_flags("chat", model_server.base_url()), "--last", "go on")
    assert ran.code == 0, ran.err
    assert not (program.workspace / NAME).exists()
    assert (program.workspace / ".npmrc").read_text() == "mine"
    sent = json.dumps(model_server.requests[-1].json)
    assert "made" in sent and NAME not in sent, "the model is told what the lost command changed"
    changed = {change["path"] for change in ran.end["changes"]}
    assert changed == {"more"}
    assert NAME not in names(program.run("checkpoints", "--json").out)


def test_beside_a_live_terminal_checkpoints_pass_stand_ins_by(
    program: Program, model_server: ModelServer
) -> None:
    before = manifest(program.workspace)
    waiting = call("exec_command", cmd="echo 0 > begun; sleep 60", yield_ms=300)
    writing = call("exec_command", cmd="echo 1 > made")
    model_server.script(
        [{"calls": [waiting]}, {"gate": "begun", "calls": [writing]}, {"gate": "look", "text": "done"}]
    )
    with running(program, model_server.base_url(), "go") as run:
        first_call = run.until("item.completed", "command_execution")["item"]
        assert first_call["status"] == "in_progress", first_call
        until((program.workspace / "begun").exists)
        model_server.release("begun")
        written = run.until("item.completed", "command_execution")["item"]
        assert [change["path"] for change in written["changes"]] == ["made"]
        assert (program.workspace / NAME).exists()
        listed = program.run("checkpoints", "--json").out
        first = json.loads(listed.splitlines()[-1])["id"]
        compared = program.run("checkpoints", "diff", first, "--json").out
        assert names(listed) | names(compared) == {"begun", "made"}
        planned = json.loads(program.run("rollback", first, "--files-only", "--dry-run", "--json").out)
        assert [one["path"] for one in planned["plan"]["operations"]] == ["begun", "made"]
        rolled = program.run("rollback", first, "--files-only", "--yes", "--overwrite")
        assert rolled.code == 0, rolled.err
        assert (program.workspace / NAME).exists(), "a sandbox still lies on it"
        model_server.release("look")
        assert run.end()[0] == 0
    assert manifest(program.workspace) == before


def test_beside_a_live_terminal_the_agent_commits_its_work_alone(
    program: Program, model_server: ModelServer
) -> None:
    """`list_files`, `sandbox --` and a command without a sandbox show no stand-in either."""
    before = project.git(program, "ls-files").split()
    project.git(program, "config", "user.name", "p")
    project.git(program, "config", "user.email", "p@example.org")
    waiting = call("exec_command", cmd="echo 0 > begun; sleep 60", yield_ms=300)
    commit = "git add -A && git commit -qm all"
    listing = call("list_files", glob=".*")
    steps = [{"calls": [waiting]}, {"gate": "begun", "calls": [listing, call("exec_command", cmd=commit)]}]
    model_server.script([*steps, {"gate": "look", "text": "done"}])
    with running(program, model_server.base_url(), "go") as run:
        run.until("item.completed", "command_execution")
        until((program.workspace / "begun").exists)
        model_server.release("begun")
        done = run.until("item.completed", "command_execution")["item"]
        assert done["exit_code"] == 0, done
        assert (program.workspace / NAME).exists()
        for mode in ("workspace-write", "off"):
            seen = program.run("sandbox", "--mode", mode, "--", "git", "status", "--short")
            assert (seen.code, seen.out) == (0, ""), mode
        model_server.release("look")
        assert run.end()[0] == 0
    told = [one["content"] for one in model_server.requests[-1].json["messages"] if one["role"] == "tool"]
    assert not any(NAME in text for text in told)
    assert project.git(program, "ls-files").split() == sorted([*before, "begun"])
    assert project.git(program, "status", "--short") == ""
