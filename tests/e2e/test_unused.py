"""A start that is left without a message leaves nothing behind and is nothing to come back to."""

import json
from pathlib import Path

import pytest

from tests.e2e.screen import Screen, start
from tests.model_server.fixture import ModelServer
from tests.program import Program, model_flags


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program.at(tmp_path)


def kept(program: Program) -> list[Path]:
    folder = program.state / "sessions"
    return list(folder.iterdir()) if folder.exists() else []


def test_the_interface_left_without_a_word_keeps_no_session(program: Program) -> None:
    with Screen(program, "-m", "demo/scripted") as screen:
        screen.shows("ready")
        screen.leave()
        assert "agent-tui resume" not in screen.seen
    assert kept(program) == []


def test_line_mode_left_without_a_word_keeps_no_session(program: Program) -> None:
    ran = program.run("--plain", "-m", "demo/scripted", stdin="")
    assert (ran.code, "resume" in ran.out) == (0, False)
    assert kept(program) == []


def test_the_newest_session_is_the_newest_in_which_something_was_said(
    program: Program, model_server: ModelServer
) -> None:
    flags = model_flags("chat", model_server.base_url("chat"))
    model_server.script([{"text": "Hello."}, {"text": "Hello again."}])
    first = program.run("exec", "--json", *flags, "hi")
    session = json.loads(first.out.splitlines()[0])["thread_id"]
    with start(program, model_server) as screen:
        screen.shows("ready")  # and killed, so that its files stay
    assert len(kept(program)) == 2
    assert [each["id"] for each in json.loads(program.run("sessions", "--json").out)] == [session]
    again = program.run("exec", "--json", "--last", "again")
    assert again.code == 0, again.err
    assert json.loads(again.out.splitlines()[0])["thread_id"] == session
    assert {json.loads(line)["run_id"] for line in again.out.splitlines()} == {f"{session}.2"}
