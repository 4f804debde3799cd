"""A paused run in both interfaces: what was not run is said, and it goes on, also after a resume."""

from tests.cli.terminal import Terminal
from tests.e2e.project import call
from tests.e2e.screen import start
from tests.model_server.fixture import ModelServer
from tests.program import Program, model_flags

CALLS = [call("exec_command", cmd="make one"), call("exec_command", cmd="make two")]


def test_a_paused_run_goes_on_after_a_resume(program: Program, model_server: ModelServer) -> None:
    model_server.script([{"calls": CALLS}, {"text": "I see"}])
    with start(program, model_server, "-a", "untrusted") as screen:
        screen.shows("ready")
        screen.say("go")
        screen.shows("waiting for you", "y  once")
        screen.type("\x1b")
        screen.shows("paused · 2 calls not run", "Enter continue")
        screen.leave()
    with start(program, model_server, "resume", "--last", "-a", "untrusted") as screen:
        shown = screen.shows("paused · 2 calls not run", "⊘ denied    make one")
        assert "0%/32k" not in shown, "what the window holds is known"
        screen.type("\r")
        screen.shows("I see", "ready")
        screen.leave()


def test_line_mode_says_that_a_run_is_paused_and_goes_on(program: Program, model_server: ModelServer) -> None:
    model_server.script([{"calls": CALLS}, {"text": "I see"}])
    flags = ("--plain", "-a", "untrusted", *model_flags("chat", model_server.base_url()))
    with Terminal(program, *flags) as terminal:
        terminal.expect("you>")
        terminal.type("go\r")
        terminal.expect("answer 1 to")
        terminal.type("\x03")  # allows nothing
        terminal.expect("Paused: 2 calls not run. An empty line goes on.")
        terminal.type("/quit\r")
        assert terminal.end() == 0
    with Terminal(program, "resume", "--last", *flags) as terminal:
        terminal.expect("Paused: 2 calls not run. An empty line goes on.")
        terminal.expect("you>")
        terminal.type("\r")
        terminal.expect("I see")
        terminal.expect("you>")
        terminal.type("/quit\r")
        assert terminal.end() == 0
