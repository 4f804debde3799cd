"""A session as spans of OpenTelemetry, posted to a collector: a tree a run, and nothing that was said."""

import json
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.project import call
from tests.model_server.fixture import ModelServer
from tests.program import Program, model_flags

Span = dict[str, Any]
USAGE = {"input": 120, "output": 7}


@contextmanager
def collector() -> Iterator[tuple[str, list[bytes]]]:
    """Where it takes traces, and what was posted."""
    posted: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            posted.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1/traces", posted
        server.shutdown()


def attributes(of: dict[str, Any]) -> dict[str, Any]:
    return {one["key"]: next(iter(one["value"].values())) for one in of["attributes"]}


def spans(request: dict[str, Any]) -> list[Span]:
    (resource,) = request["resourceSpans"]
    assert attributes(resource["resource"])["service.name"] == "agent-tui"
    (scope,) = resource["scopeSpans"]
    found: list[Span] = scope["spans"]
    return found


def tree(found: list[Span]) -> dict[str, list[str]]:
    """The name of each span with those of its children; all of one trace, below one root."""
    assert len({span["traceId"] for span in found}) == 1
    by_id = {span["spanId"]: span for span in found}
    assert len(by_id) == len(found)
    (root,) = (span for span in found if not span["parentSpanId"])
    children: dict[str, list[str]] = {}
    for span in found:
        assert int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"])
        if span is not root:
            children.setdefault(by_id[span["parentSpanId"]]["name"], []).append(span["name"])
    return children


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program.at(tmp_path)


def test_each_run_is_a_tree_of_spans_without_a_word_of_content(
    program: Program, model_server: ModelServer
) -> None:
    failing = call("exec_command", cmd="echo PLANTED; exit 3")
    model_server.script(
        [
            {"calls": [failing, call("exec_command", cmd="curl x", needs="network", reason="PLANTED")]},
            {"text": "the answer is PLANTED", "usage": USAGE},
            {"text": "again"},
        ]
    )
    flags = model_flags("chat", model_server.base_url())
    assert program.run("exec", *flags, "say PLANTED").code == 0
    assert program.run("exec", *flags, "--last", "and again").code == 0
    (entry,) = json.loads(program.run("sessions", "--json").out)
    exported = program.run("sessions", "export", entry["id"], "--format", "otlp")
    assert exported.code == 0, exported.err
    assert "PLANTED" not in exported.out and str(program.workspace) not in exported.out
    with collector() as (url, posted):
        for line in exported.out.splitlines():
            head = {"Content-Type": "application/json"}
            with urllib.request.urlopen(urllib.request.Request(url, line.encode(), head)) as answer:
                assert answer.status == 200
    first, second = (spans(json.loads(body)) for body in posted)
    model = "chat compatible/scripted"
    assert tree(first) == {
        "invoke_agent": [model, model],
        model: ["execute_tool exec_command", "execute_tool exec_command"],
    }
    assert tree(second) == {"invoke_agent": [model]}
    told = [attributes(span) for span in first]
    (run,) = (one for one in told if one["gen_ai.operation.name"] == "invoke_agent")
    assert (run["agent_tui.reason"], run["agent_tui.steps"], run["agent_tui.task"]) == (
        "completed",
        "2",
        "t1",
    )
    calls = [one for one in told if one["gen_ai.operation.name"] == "execute_tool"]
    assert [(one["agent_tui.outcome"], one.get("agent_tui.exit_code")) for one in calls] == [
        ("failed", "3"),
        ("denied", None),
    ]
    asked = [one for one in told if one["gen_ai.operation.name"] == "chat"]
    assert (asked[1]["gen_ai.usage.input_tokens"], asked[1]["gen_ai.usage.output_tokens"]) == ("120", "7")
    codes = {span["name"]: span["status"]["code"] for span in first}
    assert (codes["invoke_agent"], codes["execute_tool exec_command"]) == (1, 2)
