"""What a one-shot run tells on stderr: which call failed, and why."""

import json
from pathlib import Path

from tests.e2e.project import call
from tests.model_server.fixture import ModelServer
from tests.program import Program, Ran, model_flags


def run(program: Program, server: ModelServer, *argv: str) -> Ran:
    return program.run("exec", *model_flags("chat", server.base_url()), *argv, "go")


def test_a_call_that_failed_is_named_with_its_reason(tmp_path: Path, model_server: ModelServer) -> None:
    calls = [call("read_file", path="missing.py"), call("exec_command", cmd="exit 3")]
    model_server.script([{"calls": calls}, {"text": "done"}])
    ran = run(Program.at(tmp_path), model_server)
    failed = [line.partition(" · ")[0] for line in ran.err.splitlines() if line.startswith("  failed")]
    assert failed[0].startswith("  failed: read missing.py: ")
    assert "missing.py" in failed[0].removeprefix("  failed: read missing.py: ")
    assert failed[1] == "  failed (exit 3): run exit 3"


def test_a_contract_that_is_not_met_is_named_by_its_check(tmp_path: Path, model_server: ModelServer) -> None:
    model_server.script([{"text": "done"}] * 3)
    ran = run(Program.at(tmp_path), model_server, "--verify", "false")
    assert ran.code == 6
    assert "agent-tui: not met: false fails (exit 1) after 3 tries · " in ran.err
    told = model_server.requests[1].body.decode()
    assert "`false` does not pass (exit 1): the task is not done" in told
    assert "Its output:" not in told + ran.err


def test_a_check_that_never_ran_has_no_exit_code(tmp_path: Path, model_server: ModelServer) -> None:
    check = call("exec_command", cmd="python3 -m unittest", yield_time_ms=1000)
    model_server.script([{"calls": [check]}, {"text": "done"}])
    ran = run(Program.at(tmp_path), model_server, "-s", "read-only")
    assert "None" not in ran.err


def test_a_refused_key_and_a_silent_address_say_what_to_look_at(
    tmp_path: Path, model_server: ModelServer
) -> None:
    program = Program.at(tmp_path, OPENAI_API_KEY="sk-wrong")
    model_server.script([{"status": 401, "body": {"error": {"message": "bad key"}}}] * 2)
    url = model_server.base_url()
    ran = program.run("exec", "-m", "openai/scripted", "--base-url", url, "go")
    assert ran.code == 1
    assert "openai refused the key in OPENAI_API_KEY (401): bad key · " in ran.err
    shown = program.run("sessions", "show", json.loads(program.run("sessions", "--json").out)[0]["id"])
    assert "openai refused the key in OPENAI_API_KEY (401)" in shown.out
    end = program.run("exec", "--json", "-m", "openai/scripted", "--base-url", url, "go").end
    assert end["sentence"] == "openai refused the key in OPENAI_API_KEY (401)"
    assert end["error"]["message"] == "bad key"
    ran = program.run(
        "exec", "-m", "compatible/x", "--base-url", "http://127.0.0.1:9/v1", "--timeout", "60", "go"
    )
    assert (
        "cannot connect to `http://127.0.0.1:9/v1`: Connection refused; "
        "does the server run, and is the address (`--base-url`) right?"
    ) in ran.err


def test_a_failure_that_repeats_is_told_once(tmp_path: Path, model_server: ModelServer) -> None:
    down = {"status": 503, "headers": {"retry-after": "0"}, "body": {"error": {"message": "too busy"}}}
    model_server.script([down, down, down, {"text": "done"}])
    ran = run(Program.at(tmp_path), model_server)
    told = [line for line in ran.err.splitlines() if "retry" in line]
    assert [("too busy" in line, line.partition("retry ")[2][0]) for line in told] == [
        (True, "2"),
        (False, "3"),
        (False, "4"),
    ]
    assert ran.code == 0
