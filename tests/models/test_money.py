"""Money and windows through the whole program: what is unknown stops a limited run and is said."""

from pathlib import Path

import pytest

from tests.model_server.fixture import ModelServer
from tests.models.views import DIALECTS
from tests.program import Program

PRICES = "price_input = 2.0\nprice_output = 10.0\nprice_cache_read = 0.5\nprice_cache_write = 3.0\n"
USAGE = {"input": 1_000_000, "output": 100_000, "cache_read": 600_000}


def program_with(root: Path, server: ModelServer, dialect: str, facts: str) -> Program:
    program = Program.at(root)
    program.config(
        f'model = "own/m"\n[providers.own]\napi = "{dialect}"\nbase_url = "{server.base_url(dialect)}"\n'
        f"[providers.own.models.m]\n{facts}"
    )
    return program


@pytest.mark.parametrize("dialect", DIALECTS)
def test_usage_and_cost_are_the_numbers_of_the_server(
    model_server: ModelServer, tmp_path: Path, dialect: str
) -> None:
    model_server.script([{"text": "done", "usage": USAGE}])
    facts = f"context_window = 2000000\nmax_output = 1000\n{PRICES}"
    ran = program_with(tmp_path, model_server, dialect, facts).run("exec", "--json", "go")
    ended = ran.end
    assert ended["usage"]["input_tokens"] == 1_000_000
    assert ended["usage"]["cached_input_tokens"] == 600_000
    assert ended["usage"]["output_tokens"] == 100_000
    assert ended["cost_usd"] == pytest.approx(0.4 * 2.0 + 0.6 * 0.5 + 0.1 * 10.0)


def test_a_limit_of_money_and_an_unknown_price_send_nothing(
    model_server: ModelServer, tmp_path: Path
) -> None:
    program = program_with(tmp_path, model_server, "chat", "context_window = 50000\n")
    ran = program.run("exec", "--json", "--max-cost", "5", "go")
    assert (ran.code, ran.end["reason"]) == (3, "cost_unknown")
    assert model_server.requests == []


def test_a_request_that_could_pass_the_limit_is_not_sent(model_server: ModelServer, tmp_path: Path) -> None:
    call = {"tool": "exec_command", "arguments": {"cmd": "echo x"}}
    model_server.script(
        [{"calls": [call], "usage": {"input": 1000, "output": 95_000}}, {"text": "summed up"}]
    )
    facts = f"context_window = 100000\nmax_output = 8000\n{PRICES}"
    ran = program_with(tmp_path, model_server, "chat", facts).run("exec", "--json", "--max-cost", "1", "go")
    assert (ran.code, ran.end["reason"]) == (3, "budget_cost")
    model_server.allow_unplayed = True  # the last words, where they are worth their price
    assert 1 <= len(model_server.requests) <= 2


def test_what_is_assumed_of_an_unknown_model_is_said_once(model_server: ModelServer, tmp_path: Path) -> None:
    model_server.script([{"text": "one"}, {"text": "two"}, {"text": "three"}])
    program = program_with(tmp_path, model_server, "chat", "max_output = 1000\n")
    first = program.run("exec", "--json", "go")
    again = program.run("exec", "--json", "--last", "go")
    another = program.run("exec", "--json", "go")
    told = "a context window of 32,000 tokens is assumed"
    assert told in first.out and told not in again.out and told not in another.out
    assert another.code == 0
    assert 'providers.own.models.\\"m\\".context_window' in first.out
