"""Rollback of one call, of the conversation, of files only, and what the model learns of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.project import call
from tests.model_server.fixture import ModelServer
from tests.program import Program, Ran, model_flags


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program.at(tmp_path)


def turn(
    program: Program,
    server: ModelServer,
    *steps: dict[str, Any],
    argv: tuple[str, ...] = ("go",),
    **rest: Any,
) -> Ran:
    """One turn that plays the steps and then says so."""
    server.script([*steps, {"text": "done"}])
    ran = program.run("exec", *model_flags("chat", server.base_url()), *argv, **rest)
    assert ran.code == 0, ran.err
    return ran


def goes_back(program: Program, *argv: str) -> None:
    ran = program.run("rollback", "--yes", *argv)
    assert ran.code == 0, ran.err


def run(*lines: str) -> dict[str, Any]:
    return {"calls": [call("exec_command", cmd=line) for line in lines]}


def test_single_calls_can_be_taken_back(program: Program, model_server: ModelServer) -> None:
    turn(program, model_server, run("echo one > x"), run("echo two > x"))
    listed = [json.loads(line) for line in program.run("checkpoints", "--json").out.splitlines()]
    calls = [one for one in listed if one["phase"] == "before_call"]
    before_second = next(one for one in calls if one["summary"].endswith("echo two > x"))
    ran = program.run("rollback", before_second["id"], "--yes")
    assert ran.code == 0, ran.err
    assert (program.workspace / "x").read_text() == "one\n"


def test_the_conversation_goes_back_with_the_files_and_returns_with_them(
    program: Program, model_server: ModelServer
) -> None:
    turn(program, model_server, run("echo 1 > kept"), argv=("the first question",))
    turn(program, model_server, run("echo 2 > undone"), argv=("--last", "the second question"))
    rolled = program.run("rollback", "--yes")
    assert rolled.code == 0, rolled.err
    assert "items hidden, 1 message back to the editor" in rolled.out
    assert not (program.workspace / "undone").exists()
    turn(program, model_server, argv=("--last", "the third question"))
    said = json.dumps(model_server.requests[-1].json)
    assert [text in said for text in ("first question", "second question", "third question")] == [
        True,
        False,
        True,
    ]


def test_redo_brings_the_conversation_back(program: Program, model_server: ModelServer) -> None:
    turn(program, model_server, run("echo 2 > undone"), argv=("the question",))
    assert program.run("rollback", "--yes").code == 0
    assert program.run("rollback", "--redo", "--yes").code == 0
    turn(program, model_server, argv=("--last", "another"))
    assert "the question" in json.dumps(model_server.requests[-1].json)
    assert (program.workspace / "undone").read_text() == "2\n"


def test_files_only_tells_the_model(program: Program, model_server: ModelServer) -> None:
    turn(program, model_server, run("echo 2 > gone"), argv=("the question",))
    assert program.run("rollback", "--yes", "--files-only").code == 0
    turn(program, model_server, argv=("--last", "another"))
    said = json.dumps(model_server.requests[-1].json)
    assert "the question" in said
    assert "D gone" in said


def test_conversation_only_leaves_the_files(program: Program, model_server: ModelServer) -> None:
    turn(program, model_server, run("echo 2 > stays"), argv=("the question",))
    ran = program.run("rollback", "--yes", "--conversation-only")
    assert ran.code == 0, ran.err
    assert (program.workspace / "stays").exists()
    turn(program, model_server, argv=("--last", "another"))
    assert "the question" not in json.dumps(model_server.requests[-1].json)
    assert program.run("rollback", "--redo", "--yes").code == 2  # a message came after it


def listed(program: Program) -> list[dict[str, Any]]:
    """The checkpoints, oldest first."""
    return [json.loads(line) for line in program.run("checkpoints", "--json").out.splitlines()][::-1]


def said(program: Program, server: ModelServer) -> list[str]:
    """Which of the numbered questions the model gets to see with another one."""
    turn(program, server, argv=("--last", "question last"))
    body = json.dumps(server.requests[-1].json)
    return [word for word in ("one", "two", "three") if f"question {word}" in body]


def test_each_point_of_a_turn_takes_the_conversation_to_it(
    program: Program, model_server: ModelServer
) -> None:
    turn(program, model_server, run("echo 1 > a", "echo 2 > b"), argv=("question one",))
    turn(program, model_server, run("echo 3 > c"), argv=("--last", "question two"))
    points = {one["phase"]: one["id"] for one in listed(program) if one["turn"] == 1}
    goes_back(program, points["turn_end"])
    assert not (program.workspace / "c").exists()
    assert said(program, model_server) == ["one"]
    goes_back(program, points["after_call"])  # the server takes no response without all its results
    assert (program.workspace / "b").exists()
    assert said(program, model_server) == ["one"]
    goes_back(program, points["before_call"])  # between the two calls of one response
    assert [path.name for path in program.workspace.iterdir()] == ["a"]
    assert said(program, model_server) == ["one"]


def test_the_state_before_a_rollback_can_be_had_by_id_after_more_was_said(
    program: Program, model_server: ModelServer
) -> None:
    turn(program, model_server, run("echo 1 > a"), argv=("question one",))
    turn(program, model_server, run("echo 2 > b"), argv=("--last", "question two"))
    goes_back(program)
    turn(program, model_server, run("echo 3 > c"), argv=("--last", "question three"))
    undo = next(one["id"] for one in listed(program) if one["phase"] == "before_rollback")
    goes_back(program, undo)
    assert sorted(path.name for path in program.workspace.iterdir()) == ["a", "b"]
    ran = program.run("rollback", "--redo", "--yes")
    assert ran.code == 0, ran.err
    assert sorted(path.name for path in program.workspace.iterdir()) == ["a", "c"]
    assert said(program, model_server) == ["one", "three"]
    goes_back(program, undo)
    assert said(program, model_server) == ["one", "two"]
