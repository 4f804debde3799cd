"""Models beside the chosen one through the whole program: the planner, titles, summaries, what they cost."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.model_server.fixture import ModelServer
from tests.models.views import DIALECTS
from tests.program import Program
from tests.waiting import WAIT_S

PLAN = {"tool": "update_plan", "arguments": {"plan": [{"step": "write it", "status": "pending"}]}}
WRITE = {"tool": "exec_command", "arguments": {"cmd": "echo x > made.txt"}}


@pytest.fixture
def other_server(model_server_process: tuple[int, Path]) -> Iterator[ModelServer]:
    server = ModelServer(*model_server_process)
    yield server
    server.check()


def program_with(root: Path, main: ModelServer, other: ModelServer, dialect: str, setting: str) -> Program:
    program = Program.at(root)
    text = f'model = "main/m"\n{setting}\n'
    for name, server, api in (("main", main, "chat"), ("other", other, dialect)):
        text += f'[providers.{name}]\napi = "{api}"\nbase_url = "{server.base_url(api)}"\n'
        text += f"[providers.{name}.models.m]\ncontext_window = 100000\nmax_output = 4000\n"
        text += "price_input = 1.0\nprice_output = 1.0\n"
    program.config(text)
    return program


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_planner_of_any_dialect_hands_its_plan_over(
    model_server: ModelServer, other_server: ModelServer, tmp_path: Path, dialect: str
) -> None:
    other_server.script([{"reasoning": "first the plan", "calls": [PLAN]}])
    model_server.script([{"calls": [WRITE]}, {"text": "made"}])
    program = program_with(tmp_path, model_server, other_server, dialect, 'planner_model = "other/m"')
    ran = program.run("exec", "--json", "go")
    assert ran.code == 0, ran.err
    assert (program.workspace / "made.txt").read_text() == "x\n"
    told = [json.loads(line).get("item", {}).get("text", "") for line in ran.out.splitlines()]
    assert "`other/m` has planned; `main/m` carries it out" in told
    first = model_server.requests[0].body.decode()
    assert "write it" in first and "first the plan" not in first


def test_a_session_is_named_by_the_fast_model_and_the_cost_of_it_is_told(
    model_server: ModelServer, other_server: ModelServer, tmp_path: Path
) -> None:
    usage = {"input": 300, "output": 6, "cache_read": 100}
    other_server.script([{"text": "Greeting in plain mode", "usage": usage}])
    model_server.script([{"text": "hello", "usage": {"input": 1000, "output": 50}}])
    program = program_with(tmp_path, model_server, other_server, "chat", 'fast_model = "other/m"')
    process = program.start("--plain")
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("good day to you\n")
    process.stdin.flush()
    for line in process.stdout:
        if "Done" in line or "done" in line:
            break
    while True:  # the title comes when it comes
        process.stdin.write("/rename\n")
        process.stdin.flush()
        line = next(line for line in process.stdout if "title:" in line)
        if "Greeting" in line:
            break
    out, _ = process.communicate("/cost\n/quit\n", timeout=WAIT_S)
    assert "session: 2 requests, 1,300 tokens in (100 read from a cache, 0 written to one), 56 out" in out
    assert "model other/m: 1 request, 300 tokens in (100 read" in out and "0.0003 dollars" in out
    [listed] = json.loads(program.run("sessions", "list", "--json").out)
    assert listed["title"] == "Greeting in plain mode"


def test_a_model_that_cannot_be_had_is_told_and_done_without(
    model_server: ModelServer, other_server: ModelServer, tmp_path: Path
) -> None:
    model_server.script([{"text": "fine"}])
    wrong = 'fast_model = "openai/gpt-5.4-nano"\nplanner_model = "nowhere/m"'
    program = program_with(tmp_path, model_server, other_server, "chat", wrong)
    ran = program.run("exec", "--json", "go")
    assert ran.code == 0
    assert "`fast_model` is not used" in ran.out and "OPENAI_API_KEY" in ran.out
    assert "`planner_model` is not used" in ran.out and "nowhere" in ran.out
