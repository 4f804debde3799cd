import http.client
import json
from typing import Any
from urllib.parse import urlsplit

from tests.model_server.fixture import ModelServer
from tests.waiting import WAIT_S

USER = {"role": "user", "content": "hi"}


def post(server: ModelServer, body: dict[str, Any], dialect: str = "chat") -> tuple[int, str]:
    url = urlsplit(server.base_url(dialect))
    connection = http.client.HTTPConnection(url.netloc, timeout=WAIT_S)
    path = {"chat": "/chat/completions", "responses": "/responses", "messages": "/v1/messages"}[dialect]
    connection.request("POST", url.path + path, json.dumps(body))
    response = connection.getresponse()
    answer = response.status, response.read().decode()
    connection.close()
    return answer


def test_plays_a_step_and_records_the_request(model_server: ModelServer) -> None:
    model_server.script([{"text": "hello there", "piece": 4}])
    status, text = post(model_server, {"model": "m", "stream": True, "messages": [USER]})
    assert status == 200
    assert text.endswith("data: [DONE]\n\n")
    assert [request.json["messages"] for request in model_server.requests] == [[USER]]


def test_a_breach_is_answered_400_and_fails_the_test(model_server: ModelServer) -> None:
    model_server.allow_violations = True
    calls = [{"id": "a", "type": "function", "function": {"name": "t", "arguments": "{"}}]
    messages = [USER, {"role": "assistant", "content": None, "tool_calls": calls}, USER]
    status, text = post(model_server, {"model": "m", "stream": True, "messages": messages})
    assert status == 400
    assert "arguments are not a JSON object" in text
    assert any("before the results" in line for line in model_server.state()["violations"])


def test_a_used_up_script_is_a_breach(model_server: ModelServer) -> None:
    model_server.allow_violations = True
    status, text = post(model_server, {"model": "m", "messages": [USER]})
    assert (status, "used up" in text) == (400, True)


def test_the_same_step_plays_in_every_dialect(model_server: ModelServer) -> None:
    step = {"reasoning": "hm", "text": "ok", "calls": [{"tool": "t", "arguments": {"a": 1}}]}
    model_server.script([step] * 3)
    chat = {"model": "m", "stream": True, "messages": [USER]}
    responses = {"model": "m", "stream": True, "store": False, "input": [{"type": "message", **USER}]}
    blocks = [{"type": "text", "text": "hi"}]
    messages = {"model": "m", "stream": True, "max_tokens": 9, "messages": [{**USER, "content": blocks}]}
    for dialect, body in (("chat", chat), ("responses", responses), ("messages", messages)):
        status, text = post(model_server, body, dialect)
        assert (status, '"t"' in text) == (200, True), text
