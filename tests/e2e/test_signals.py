"""Signals to a run in the middle of a command: it ends in time, leaves nothing, and can be resumed."""

import json
import signal

import pytest

from tests.e2e.project import call
from tests.e2e.running import Bell, running
from tests.model_server.fixture import ModelServer
from tests.processes import processes_with, seconds
from tests.program import Program, model_flags

MARK = seconds()
PLAIN = f"echo begun > made; echo $$ > bell; sleep {MARK}"
STUBBORN = (
    f"trap 'echo told > bell' INT TERM; echo begun > made; echo $$ > bell; while :; do sleep {MARK}; done"
)


def goes_on(program: Program, server: ModelServer) -> str:
    """Resume with a word; what the model was sent."""
    assert not processes_with(MARK)
    server.script([{"text": "went on"}])
    ran = program.run("exec", *model_flags("chat", server.base_url()), "--last", "go on")
    assert (ran.code, ran.out) == (0, "went on\n"), ran.err
    return json.dumps(server.requests[-1].json)


@pytest.mark.parametrize("command", [PLAIN, STUBBORN], ids=["plain", "stubborn"])
def test_sigterm_in_a_command_is_a_pause_that_can_be_resumed(
    program: Program, model_server: ModelServer, command: str
) -> None:
    bell = Bell(program.workspace)
    model_server.script([{"calls": [call("exec_command", cmd=command)]}])
    with running(program, model_server.base_url(), "go") as run:
        bell.wait()
        assert processes_with(MARK)
        run.process.send_signal(signal.SIGTERM)
        code, err = run.end()
    assert code == 143, err
    assert "Traceback" not in err and "agent-tui resume" in err
    assert (run.ended["type"], run.ended["reason"]) == ("turn.failed", "interrupted")
    assert [change["path"] for change in run.ended["changes"]] == ["made"]
    sent = goes_on(program, model_server)
    assert "effects may be partial" in sent and "Outcome unknown" not in sent


def test_an_ephemeral_run_that_is_interrupted_promises_no_session(
    program: Program, model_server: ModelServer
) -> None:
    bell = Bell(program.workspace)
    model_server.script([{"calls": [call("exec_command", cmd=PLAIN)]}])
    with running(program, model_server.base_url(), "--ephemeral", "go") as run:
        bell.wait()
        run.process.send_signal(signal.SIGINT)
        code, err = run.end()
    assert code == 130, err
    assert "resume" not in err and "is kept" not in err
    assert not program.state.exists()


def test_a_second_ctrl_c_kills_what_does_not_listen(program: Program, model_server: ModelServer) -> None:
    bell = Bell(program.workspace)
    model_server.script([{"calls": [call("exec_command", cmd=STUBBORN)]}])
    with running(program, model_server.base_url(), "go") as run:
        bell.wait()
        assert processes_with(MARK)
        run.process.send_signal(signal.SIGINT)
        assert bell.wait() == "told\n", "the command was asked first"
        run.process.send_signal(signal.SIGINT)
        code, err = run.end()
    assert code == 130, err
    assert run.ended["reason"] == "interrupted"
    goes_on(program, model_server)
