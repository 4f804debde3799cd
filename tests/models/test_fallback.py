"""Another model takes over, over real HTTP through the real program: two stages of the model server."""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.model_server.fixture import ModelServer
from tests.models.views import DIALECTS
from tests.program import Program, Ran, ended

DOWN = {"status": 503, "headers": {"retry-after": "0"}, "body": {"error": {"message": "we are down"}}}
QUOTA = {"status": 402, "body": {"error": {"message": "insufficient balance", "code": "insufficient_quota"}}}
WRONG = {"status": 400, "body": {"error": {"message": "no such field", "type": "invalid_request_error"}}}
NO_KEY = {"status": 401, "body": {"error": {"message": "invalid api key"}}}


def append(word: str, **fields: Any) -> dict[str, Any]:
    return {"calls": [{"tool": "exec_command", "arguments": {"cmd": f"echo {word} >> log.txt"}}], **fields}


@pytest.fixture
def other_server(model_server_process: tuple[int, Path]) -> Iterator[ModelServer]:
    server = ModelServer(*model_server_process)
    yield server
    server.check()


def program_with(
    root: Path, main: tuple[ModelServer, str], *others: tuple[ModelServer, str], extra: str = ""
) -> Program:
    """`one/m` at the first server, `two/m`, `three/m` … at the others, to take over in this order."""
    program = Program.at(root)
    names = ["one", "two", "three"]
    listed = [f"{name}/m" for name in names[1 : len(others) + 1]]
    text = f'model = "one/m"\nfallback = {json.dumps(listed)}\n{extra}\n'
    for name, (server, dialect) in zip(names, (main, *others), strict=False):
        text += f'[providers.{name}]\napi = "{dialect}"\nbase_url = "{server.base_url(dialect)}"\n'
        text += f"[providers.{name}.models.m]\ncontext_window = 100000\n"
        price = 1.0 if name == "one" else 10.0
        text += f"price_input = {price}\nprice_output = {price}\n"
    program.config(text)
    return program


def events(ran: Ran) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ran.out.splitlines()]


def notices(found: Sequence[Mapping[str, Any]]) -> list[str]:
    items = [event["item"] for event in found if event.get("item", {}).get("type") == "notice"]
    return [item["text"] for item in items if "failed" in item["text"] or "take over" in item["text"]]


@pytest.mark.parametrize(("first", "second"), zip(DIALECTS, (*DIALECTS[1:], DIALECTS[0]), strict=True))
def test_a_model_that_is_down_hands_over_in_the_middle_of_a_run(
    model_server: ModelServer, other_server: ModelServer, tmp_path: Path, first: str, second: str
) -> None:
    """From each dialect to another; `test_switching` has every pair. Foreign reasoning stays behind, calls
    and results go along, and what the first model finds when it is back is as valid."""
    model_server.script([append("1", reasoning="secret plan"), *[DOWN] * 5, {"text": "Back."}])
    other_server.script([append("2", reasoning="other plan"), {"text": "Done."}])
    program = program_with(tmp_path, (model_server, first), (other_server, second))
    found = events(program.run("exec", "--json", "go"))
    assert (program.workspace / "log.txt").read_text() == "1\n2\n"
    assert notices(found) == ["`one/m` failed: we are down; `two/m` answers for the rest of this run"]
    assert ended(found)["type"] == "turn.completed", found[-3:]
    asked = model_server.requests
    assert len(asked) == 6 and len({request.body for request in asked[1:]}) == 1
    taken = other_server.requests
    assert len(taken) == 2 and b"echo 1" in taken[0].body and b"secret plan" not in taken[0].body
    again = program.run("exec", "--json", "--last", "and now")
    assert again.code == 0 and notices(events(again)) == []
    last = model_server.requests[-1]
    assert b"echo 2" in last.body and b"other plan" not in last.body


@pytest.mark.parametrize("failure", [WRONG, NO_KEY])
def test_our_own_mistakes_stay_with_the_model_that_names_them(
    model_server: ModelServer, other_server: ModelServer, tmp_path: Path, failure: Mapping[str, Any]
) -> None:
    model_server.script([failure])
    program = program_with(tmp_path, (model_server, "chat"), (other_server, "chat"))
    ran = program.run("exec", "--json", "go")
    assert ran.code == 1 and notices(events(ran)) == [] and other_server.requests == []
    assert len(model_server.requests) == 1


def test_each_model_is_tried_once_and_the_last_failure_is_the_one_that_ends_the_run(
    model_server: ModelServer, other_server: ModelServer, tmp_path: Path
) -> None:
    model_server.script([QUOTA])
    other_server.script([{**QUOTA, "body": {"error": {"message": "balance gone too"}}}])
    program = program_with(tmp_path, (model_server, "chat"), (other_server, "responses"))
    ran = program.run("exec", "--json", "go")
    assert ran.code == 1 and len(notices(events(ran))) == 1
    assert "balance gone too" in ran.end["error"]["message"]
    assert len(model_server.requests) == len(other_server.requests) == 1


def test_a_response_costs_what_the_model_that_gave_it_costs(
    model_server: ModelServer, other_server: ModelServer, tmp_path: Path
) -> None:
    usage = {"input": 1000, "output": 500}
    model_server.script([append("1", usage=usage), QUOTA])
    other_server.script([{"text": "Done.", "usage": usage}])
    program = program_with(tmp_path, (model_server, "chat"), (other_server, "messages"))
    assert program.run("exec", "go").code == 0
    [store] = (program.state / "sessions").glob("*/*.db")
    rows = sqlite3.connect(store).execute("SELECT body FROM records ORDER BY seq").fetchall()
    bodies = [json.loads(row[0]).get("body", {}) for row in rows]
    costs = [body["cost_usd"] for body in bodies if "cost_usd" in body and "reserved_calls" in body]
    assert costs == [pytest.approx(0.0015), pytest.approx(0.015)]


def test_a_model_without_a_key_is_named_at_the_start_and_left_out(
    model_server: ModelServer, tmp_path: Path
) -> None:
    model_server.script([QUOTA])
    program = program_with(tmp_path, (model_server, "chat"))
    ran = program.run("exec", "--json", "-c", 'fallback=["openai/gpt-6.2-sol"]', "go")
    assert ran.code == 1
    assert any(
        "`fallback` leaves a model out" in line and "OPENAI_API_KEY" in line for line in ran.out.splitlines()
    )
