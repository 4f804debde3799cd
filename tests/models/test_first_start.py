"""A first start without a model: servers on this machine are found, one is chosen, and it answers."""

from pathlib import Path

import pytest

from tests.e2e.screen import Screen
from tests.model_server.fixture import ModelServer
from tests.program import Program, local_servers

SHEET_KEYS = "Enter use once"  # shown once it takes keys


@pytest.fixture
def program(tmp_path: Path, model_server: ModelServer) -> Program:
    """One of the local servers answers."""
    program = Program.at(tmp_path)
    program.config(local_servers(llamacpp=model_server.base_url()))
    return program


def test_a_model_of_a_local_server_is_offered_and_answers(
    program: Program, model_server: ModelServer
) -> None:
    model_server.script([{"text": "local indeed"}], models=["tiny-1", "tiny-2"])
    with Screen(program) as screen:
        shown = screen.shows("llamacpp/tiny-1", "llamacpp/tiny-2", SHEET_KEYS)
        assert "ollama/" not in shown and "vllm/" not in shown
        screen.type("2")
        screen.shows("ready", "llamacpp/tiny-2")
        screen.say("who are you")
        screen.shows("local indeed", "● done")
        screen.leave()
    assert model_server.requests[0].json["model"] == "tiny-2"


def test_the_picker_lists_what_the_server_has_by_then(program: Program, model_server: ModelServer) -> None:
    model_server.script([{"text": "changed"}], models=["old", "new"])
    with Screen(program, "-m", "llamacpp/old") as screen:
        screen.shows("ready")
        screen.say("/model")
        screen.shows("llamacpp/old", "llamacpp/new", "another")
        screen.type("\x1b[B\r")
        screen.shows("llamacpp/new", "ready")
        screen.say("go")
        screen.shows("changed", "● done")
        screen.leave()
    assert model_server.requests[0].json["model"] == "new"
