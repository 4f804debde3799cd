import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from agent_tui.models import errors, transport
from agent_tui.models.base import (
    CallProgress,
    Completed,
    ErrorKind,
    Failed,
    ModelError,
    ReasoningDelta,
    TextDelta,
)
from agent_tui.models.errors import from_response
from agent_tui.models.router import open_model
from context.items import CallPart, ReasoningPart, StopReason, TextPart, Usage
from context.view import ExchangeUnit
from tests.model_server.fixture import ModelServer
from tests.models.views import (
    DIALECTS,
    answer_of,
    call,
    exchange,
    model_at,
    notice,
    parts_of,
    request,
    route_to,
    user,
)

pytestmark = pytest.mark.parametrize("dialect", DIALECTS)


async def test_text_reasoning_and_usage_arrive(model_server: ModelServer, dialect: str) -> None:
    usage = {"input": 90, "output": 7, "cache_read": 40}
    model_server.script([{"reasoning": "let me see", "text": "All done, sir.", "piece": 4, "usage": usage}])
    parts = await parts_of(model_at(model_server, dialect), request(user("go")))
    assert "".join(part.text for part in parts if isinstance(part, TextDelta)) == "All done, sir."
    assert "".join(part.text for part in parts if isinstance(part, ReasoningDelta)) == "let me see"
    done = parts[-1]
    assert isinstance(done, Completed)
    assert done.stop is StopReason.END
    assert [type(part) for part in done.parts] == [ReasoningPart, TextPart]
    assert done.usage == Usage(input_tokens=90, output_tokens=7, cache_read_tokens=40)


async def test_offsets_count_the_characters_before(model_server: ModelServer, dialect: str) -> None:
    model_server.script([{"text": "0123456789", "piece": 3}])
    parts = await parts_of(model_at(model_server, dialect), request(user("go")))
    assert [part.offset for part in parts if isinstance(part, TextDelta)] == [0, 3, 6, 9]


async def test_a_tool_loop_is_valid_in_every_request(model_server: ModelServer, dialect: str) -> None:
    calls = [
        {"tool": "exec_command", "arguments": {"cmd": "echo 1"}},
        {"tool": "read_file", "arguments": {"path": "ä.txt"}},
    ]
    model_server.script([{"reasoning": "hm", "text": "Looking.", "calls": calls}, {"text": "done"}])
    model = model_at(model_server, dialect)
    parts = await parts_of(model, request(user("go")))
    assert any(isinstance(part, CallProgress) for part in parts)
    first = parts[-1]
    assert isinstance(first, Completed) and first.stop is StopReason.CALLS
    made = [part for part in first.parts if isinstance(part, CallPart)]
    assert [part.tool for part in made] == ["exec_command", "read_file"]
    unit = exchange(*first.parts, made_by=first.origin, notices=["80 % of the turn limit is used"])
    second = await answer_of(model, request(user("go"), unit))
    assert second.parts[-1] == TextPart(text="done", raw=second.parts[-1].raw)


async def test_reasoning_goes_to_its_own_model_only(model_server: ModelServer, dialect: str) -> None:
    step = {"reasoning": "secret plan", "calls": [{"tool": "exec_command", "arguments": {}}]}
    model_server.script([step, {"text": "b"}, {"text": "c"}])
    first = await answer_of(model_at(model_server, dialect, "x"), request(user("go"), model="x"))
    unit = exchange(*first.parts, made_by=first.origin)
    await answer_of(model_at(model_server, dialect, "y"), request(user("go"), unit, model="y"))
    await answer_of(model_at(model_server, dialect, "x"), request(user("go"), unit, model="x"))
    other, own = (entry.body for entry in model_server.requests[1:])
    assert b"secret plan" not in other
    assert (b"secret plan" in own) == (dialect != "chat")


async def test_tool_choice_none_keeps_the_tools(model_server: ModelServer, dialect: str) -> None:
    model_server.script([{"text": "sum"}])
    asked = request(user("go"), tool_choice="none", max_output_tokens=1000, effort="high", cache_key="s1")
    await answer_of(model_at(model_server, dialect), asked)
    body = model_server.requests[0].json
    assert body["tool_choice"] in ("none", {"type": "none"})
    assert len(body["tools"]) == 2


async def test_a_request_is_sent_as_body_says(model_server: ModelServer, dialect: str) -> None:
    model_server.script([{"text": "a"}, {"text": "b"}])
    model = model_at(model_server, dialect)
    asked = request(user("go"), project="Use tabs.")
    await answer_of(model, asked)
    await answer_of(model, asked)
    assert [entry.body for entry in model_server.requests] == [model.body(asked)] * 2


@pytest.mark.parametrize("cut", ["connect", "first", "text", "arguments", "call"])
@pytest.mark.parametrize("cleanly", [False, True])
async def test_a_cut_response_fails_as_cut(
    model_server: ModelServer, dialect: str, cut: str, cleanly: bool
) -> None:
    step = {
        "text": "some text",
        "calls": [{"tool": "exec_command", "arguments": {"cmd": "x" * 60}}],
        "piece": 8,
    }
    model_server.script([{**step, "cut": cut, "cut_cleanly": cleanly}])
    last = (await parts_of(model_at(model_server, dialect), request(user("go"))))[-1]
    assert isinstance(last, Failed)
    assert last.error.kind is (ErrorKind.CONNECTION if cut == "connect" else ErrorKind.CUT)


async def test_a_response_cut_after_its_finish_counts(model_server: ModelServer, dialect: str) -> None:
    model_server.script([{"text": "some text", "cut": "finish"}])
    done = await answer_of(model_at(model_server, dialect), request(user("go")))
    assert done.stop is StopReason.END


async def test_silence_fails_as_stalled(model_server: ModelServer, dialect: str) -> None:
    model_server.script([{"text": "some text", "cut": "text", "stall": True}])
    last = (await parts_of(model_at(model_server, dialect), request(user("go"), idle_timeout_s=0.2)))[-1]
    assert isinstance(last, Failed)
    assert last.error.kind is ErrorKind.STALLED


async def test_an_error_status_is_classed(model_server: ModelServer, dialect: str) -> None:
    body = {"error": {"type": "rate_limit_error", "message": "slow down, key sk-very-secret"}}
    model_server.script([{"status": 429, "headers": {"retry-after": "3"}, "body": body}])
    last = (await parts_of(model_at(model_server, dialect), request(user("go"))))[-1]
    assert isinstance(last, Failed)
    assert (last.error.kind, last.error.retry_after_s) == (ErrorKind.RATE_LIMIT, 3.0)


async def test_of_a_huge_error_only_the_start_is_read(
    model_server: ModelServer, dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []

    def counting(status: int, body: str, headers: Mapping[str, str], **kwargs: Any) -> ModelError:
        read.append(len(body))
        return from_response(status, body, headers, **kwargs)

    monkeypatch.setattr(errors, "from_response", counting)
    body = {"error": {"message": "no " + "E" * 20_000_000, "type": "invalid_request_error"}}
    model_server.script([{"status": 400, "body": body}])
    last = (await parts_of(model_at(model_server, dialect), request(user("go"))))[-1]
    assert isinstance(last, Failed)
    assert last.error.kind is ErrorKind.BAD_REQUEST and "EEEE" in last.error.message
    assert read == [transport.MAX_REFUSAL_BYTES]


async def test_a_document_in_place_of_a_stream_is_read(model_server: ModelServer, dialect: str) -> None:
    calls = [{"tool": "exec_command", "arguments": {"cmd": "ls"}}]
    model_server.script([{"text": "hello", "calls": calls, "whole": True}])
    done = await answer_of(model_at(model_server, dialect), request(user("go")))
    assert done.stop is StopReason.CALLS
    assert [part.text for part in done.parts if isinstance(part, TextPart)] == ["hello"]


async def test_a_server_that_cannot_stream_is_asked_for_a_document(
    model_server: ModelServer, dialect: str
) -> None:
    model_server.script([{"text": "hello", "whole": True}])
    done = await answer_of(model_at(model_server, dialect, quirks={"stream": False}), request(user("go")))
    assert [part.text for part in done.parts if isinstance(part, TextPart)] == ["hello"]
    assert model_server.requests[0].json["stream"] is False


async def test_a_unit_without_all_results_is_left_out(model_server: ModelServer, dialect: str) -> None:
    model_server.script([{"text": "fine"}])
    whole = exchange(call("a"), call("b"))
    broken = ExchangeUnit(response=whole.response, results=whole.results[:1], notices=(notice("n"),))
    asked = request(user("go"), broken)
    done = await answer_of(open_model(route_to(model_server, dialect)), asked)
    assert len(done.left_out) == 1
    strict = (await parts_of(model_at(model_server, dialect), asked))[-1]
    assert isinstance(strict, Failed)
    assert strict.error.kind is ErrorKind.BAD_REQUEST


async def test_a_redirect_is_not_followed(model_server: ModelServer, dialect: str) -> None:
    model_server.script(
        [{"status": 307, "headers": {"location": "http://127.0.0.1:9/elsewhere"}, "body": ""}]
    )
    last = (await parts_of(model_at(model_server, dialect), request(user("go"))))[-1]
    assert isinstance(last, Failed)
    assert last.error.kind is ErrorKind.BAD_REQUEST and "elsewhere" in last.error.message


@pytest.mark.parametrize("page", [{"detail": "Not Found"}, "Not Found " + "of a whole web site " * 200])
async def test_a_page_that_is_missing_asks_for_the_address(
    model_server: ModelServer, dialect: str, page: object
) -> None:
    model_server.script([{"status": 404, "body": page}])
    last = (await parts_of(model_at(model_server, dialect), request(user("go"))))[-1]
    assert isinstance(last, Failed)
    url = model_server.base_url(dialect)
    assert last.error.message.endswith(f"; are the address `{url}` and the name of the model right?")
    assert last.error.message.startswith("Not Found") and last.error.kind is ErrorKind.BAD_REQUEST


async def test_a_key_reaches_the_server_and_no_error(model_server: ModelServer, dialect: str) -> None:
    model_server.script([{"text": "in"}], key="sk-right-key")
    route = route_to(model_server, dialect)
    good, bad = (open_model(route, api_key=key) for key in ("sk-right-key", "sk-wrong-key"))
    assert (await parts_of(good, request(user("go"))))[-1].__class__ is Completed
    last = (await parts_of(bad, request(user("go"))))[-1]
    assert isinstance(last, Failed)
    assert last.error.kind is ErrorKind.AUTH and "wrong" not in last.error.message
    assert "sk-right-key" not in repr(vars(good))


async def test_a_key_that_a_stream_repeats_is_not_repeated(model_server: ModelServer, dialect: str) -> None:
    error = {"type": "error", "error": {"message": "bad key sk-of-mine-0123", "code": 400}}
    model_server.script(
        [{"raw": [f"data: {text}\n\n"]} for text in (json.dumps(error), "no JSON but sk-of-mine-0123")]
    )
    model = open_model(route_to(model_server, dialect), api_key="sk-of-mine-0123")
    for _ in range(2):
        last = (await parts_of(model, request(user("go"))))[-1]
        assert isinstance(last, Failed)
        assert "…" in last.error.message and "sk-of-mine" not in last.error.message


@pytest.mark.parametrize("key", ["sk-ключ", "sk-two\nlines"])
async def test_a_key_that_cannot_be_sent_is_a_failure_and_no_exception(
    model_server: ModelServer, dialect: str, key: str
) -> None:
    model = open_model(route_to(model_server, dialect), api_key=key)
    last = (await parts_of(model, request(user("go"))))[-1]
    assert isinstance(last, Failed)
    assert last.error.kind is ErrorKind.BAD_REQUEST and "header" in last.error.message
    assert not any(part in last.error.message for part in ("ключ", "lines"))


async def test_the_next_request_goes_over_the_same_connection(
    model_server: ModelServer, dialect: str
) -> None:
    model_server.script([{"text": "one"}, {"text": "two"}])
    model = model_at(model_server, dialect)
    for _ in range(2):
        assert isinstance([part async for part in model.stream(request(user("go")))][-1], Completed)
    await model.aclose()
    first, second = model_server.requests
    assert second.connection == first.connection


async def test_a_server_that_keeps_a_whole_response_open_is_not_waited_for(
    model_server: ModelServer, dialect: str
) -> None:
    model_server.script([{"text": "one", "stall": True}, {"text": "two"}])
    model = model_at(model_server, dialect)
    for _ in range(2):
        assert isinstance([part async for part in model.stream(request(user("go")))][-1], Completed)
    await model.aclose()


async def test_cancelling_closes_the_connection(model_server: ModelServer, dialect: str) -> None:
    model_server.script([{"text": "some text", "piece": 2, "cut": "text", "stall": True}])
    model = model_at(model_server, dialect)
    started = asyncio.Event()

    async def listen() -> None:
        async for part in model.stream(request(user("go"))):
            if isinstance(part, TextDelta):
                started.set()

    task = asyncio.create_task(listen())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await model.aclose()
