"""A limit that is reached while a person is there, in both interfaces."""

from tests.cli.terminal import Terminal
from tests.e2e.project import call
from tests.e2e.screen import start
from tests.model_server.fixture import ModelServer
from tests.program import Program, model_flags


def test_the_interface_asks_and_goes_on(program: Program, model_server: ModelServer) -> None:
    model_server.script([{"calls": [call("list_files")]}, {"text": "all there"}])
    with start(program, model_server, "--max-turns", "1") as screen:
        screen.shows("ready")
        screen.say("look")
        screen.shows("limit reached", "1 of 1, after step 1", "r  raise to 2 turns")
        screen.type("r")
        screen.shows("all there", "● done")
        screen.leave()
    assert len(model_server.requests) == 2


def test_the_interface_stops_where_the_person_says_so(program: Program, model_server: ModelServer) -> None:
    model_server.script([{"calls": [call("list_files")]}, {"text": "so far so good"}])
    with start(program, model_server, "--max-turns", "1") as screen:
        screen.shows("ready")
        screen.say("look")
        screen.shows("limit reached", "x  stop here")
        screen.type("x")
        screen.shows("so far so good", "limit reached: 1 turn")
        screen.leave()
    assert model_server.requests[-1].json["tool_choice"] == "none"


def test_line_mode_asks_and_goes_on(program: Program, model_server: ModelServer) -> None:
    model_server.script([{"calls": [call("list_files")]}, {"text": "all there"}])
    flags = model_flags("chat", model_server.base_url())
    with Terminal(program, "--plain", *flags, "--max-turns", "1", "look") as terminal:
        terminal.expect("Limit reached: 1 of 1 turns, after step 1")
        terminal.expect("raise to 2 turns")
        terminal.type("1\r")
        terminal.expect("all there")
        terminal.expect("you>")
        terminal.type("/quit\r")
        assert terminal.end() == 0
