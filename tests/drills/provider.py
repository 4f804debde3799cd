"""Drills with the model's side: it is slow, refuses, is away, or says the same thing twice."""

import socket

from tests.drills.place import Place, drill, lines
from tests.e2e import project
from tests.e2e.project import call


@drill("timeout", "a command of ten minutes in a run of three seconds")
def timeout(place: Place) -> str:
    place.server.script([{"calls": [call("exec_command", cmd="sleep 600")]}, {"text": "no time left"}])
    ran = place.exec("--timeout", "3", "go")
    assert (ran.code, ran.end["reason"]) == (3, "budget_time"), ran.err
    assert "timed out" in place.results()[0]
    place.goes_on()
    return "the command was ended and answered, exit 3 with `budget_time`; a resume went on"


@drill("rate limit", "429 with `retry-after: 0`, twice, then an answer")
def rate_limit(place: Place) -> str:
    body = {"error": {"message": "slow down", "type": "rate_limit_error"}}
    refusal = {"status": 429, "headers": {"retry-after": "0"}, "body": body}
    place.server.script([refusal, refusal, {"text": "at last"}])
    ran = place.exec("go")
    assert ran.code == 0, ran.err
    again = [event for event in lines(ran) if event.get("will_retry")]
    bodies = {request.body for request in place.server.requests}
    assert (len(again), len(place.server.requests), len(bodies)) == (2, 3, 1)
    return "two retries were told, each with the same bytes; the third was answered, exit 0"


@drill("provider down", "nobody listens; then the server is there and cuts the stream once")
def provider_down(place: Place) -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        flags = ("-m", "compatible/scripted", "--base-url", address, "--timeout", "60")
        ran = place.program.run("exec", "--json", *flags, "go")
    assert ran.code == 1, ran.err
    assert "Traceback" not in ran.err
    kept = len(place.program.run("sessions").out.splitlines())
    place.server.script([{"text": "half of an answer", "cut": "text"}])
    request = place.goes_on()
    said = [message["content"] for message in request["messages"] if message["role"] == "user"]
    assert kept == 1
    assert sum("go on" in text for text in map(str, said)) == 1
    return f"one line, exit {ran.code}; the session was kept and went on; a cut stream was asked again"


@drill("duplicate message", "a response with two calls of one id, and the same response sent twice")
def duplicate_message(place: Place) -> str:
    counted = call("exec_command", cmd="echo once >> effects") | {"id": "call_same"}
    place.server.script([{"calls": [counted, counted]}, {"calls": [counted]}, {"text": "done"}])
    ran = place.exec("go")
    assert ran.code == 0, ran.err
    messages = place.server.requests[-1].json["messages"]
    asked = [one["id"] for message in messages for one in message.get("tool_calls") or ()]
    answered = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    assert asked == answered and len(set(asked)) == len(asked)
    effects = (place.program.workspace / "effects").read_text().count("once")
    assert effects == len(asked)
    return f"{len(asked)} calls got ids of their own and one result each; {effects} effects"


@drill("tool fault", "calls that cannot be read, do not exist, or fail, beside one that works")
def tool_fault(place: Place) -> str:
    broken = {"tool": "read_file", "arguments": '{"path": '}
    calls = [broken, call("no_such_tool"), call("read_file", path="none"), call("exec_command", cmd="exit 7")]
    place.server.script([{"calls": [*calls, call("apply_patch", patch=project.PATCH)]}, {"text": "done"}])
    ran = place.exec("go")
    assert ran.code == 0, ran.err
    assert project.passes(place.program)
    results = place.results()
    assert len(results) == 5 and "7" in results[3]
    return "five calls, five results in their order; the one that could work did, exit 0"
