"""The wait before another attempt, as a program on stdin sees it: shown, cut short, used for a word."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.e2e.running import Running, running
from tests.model_server.fixture import ModelServer
from tests.program import Program

BUSY = {"status": 429, "headers": {"Retry-After": "60"}}


@pytest.fixture
def waiting(program: Program, model_server: ModelServer) -> Iterator[Running]:
    """A run in the middle of its countdown."""
    model_server.script([BUSY])
    with running(program, model_server.base_url(), "--stdin-commands", "go") as run:
        told = run.until("error")
        assert told["will_retry"] and "attempt 2 of 7 in 6" in told["message"], "a stated delay is kept to"
        yield run


def end(run: Running) -> Mapping[str, Any]:
    code, err = run.end()
    assert code == run.ended["exit_code"], err
    return run.ended


def test_an_interrupt_ends_the_wait_and_the_run(waiting: Running, model_server: ModelServer) -> None:
    waiting.order(type="interrupt")
    ended = end(waiting)
    assert (ended["type"], ended["reason"], ended["exit_code"]) == ("turn.failed", "interrupted", 130)
    assert len(model_server.requests) == 1


def test_a_pause_does_not_wait_for_the_next_attempt(waiting: Running, model_server: ModelServer) -> None:
    waiting.order(type="pause")
    assert end(waiting)["reason"] == "interrupted"
    assert len(model_server.requests) == 1


def test_go_on_sends_the_same_bytes_at_once(waiting: Running, model_server: ModelServer) -> None:
    model_server.script([{"text": "done"}])
    waiting.order(type="continue")
    assert end(waiting)["reason"] == "completed"
    first, second = model_server.requests
    assert first.body == second.body


def test_a_word_goes_out_with_the_next_attempt(waiting: Running, model_server: ModelServer) -> None:
    model_server.script([{"text": "done"}])
    waiting.order(type="steer", text="in French, please")
    assert end(waiting)["reason"] == "completed"
    first, second = model_server.requests
    assert b"French" not in first.body and b"in French, please" in second.body
