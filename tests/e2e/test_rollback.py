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
    assert "items hidden; your message comes back" in rolled.out
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
