"""Each call leaves one complete record in the session: what was asked, who allowed it, what came of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.project import call
from tests.e2e.running import running
from tests.model_server.fixture import ModelServer
from tests.program import Program

ADD = "*** Begin Patch\n*** Add File: made.txt\n+x\n*** End Patch"


@pytest.fixture
def program(tmp_path: Path) -> Program:
    program = Program.at(tmp_path)
    (program.workspace / "a.txt").write_text("a\n")
    return program


def records(program: Program) -> dict[str, dict[str, Any]]:
    """The stored events by call, and by their kind."""
    (listed,) = json.loads(program.run("sessions", "list", "--json").out)
    export = program.run("sessions", "export", listed["id"])
    assert export.code == 0, export.err
    found: dict[str, dict[str, Any]] = {}
    for line in export.out.splitlines():
        body = json.loads(line)["body"].get("body", {})
        if "call_id" in body:
            found.setdefault(body["call_id"], {})[body["type"]] = body
    return found


def test_every_call_has_its_record(program: Program, model_server: ModelServer) -> None:
    calls = [
        call("exec_command", cmd="echo out; touch new; exit 3"),
        call("apply_patch", patch=ADD),
        call("read_file", path="a.txt"),
        {"tool": "exec_command", "arguments": '{"cmd": 7}'},
        call("no_such_tool"),
        call("exec_command", cmd="curl https://example.org", needs="network", reason="r"),
    ]
    model_server.script([{"calls": calls}, {"text": "done"}])
    with running(program, model_server.base_url(), "--stdin-commands", "go") as run:
        item = run.until("item.started", "approval")["item"]
        order = {"type": "decide", "id": item["id"], "decision": "deny", "digest": item["digest"]}
        assert run.process.stdin is not None
        run.process.stdin.write(json.dumps(order) + "\n")
        run.process.stdin.close()
        run.process.stdin = None
        code, err = run.end()
    assert code == 0, err
    told = [m["content"] for m in model_server.requests[-1].json["messages"] if m["role"] == "tool"]
    assert told[0].split("\n")[1:] == ["[changed: A new]", "out"], "the model is told, too"
    found = records(program)
    ran, patched, read, bad, unknown, denied = (found[f"c1.{n}"] for n in range(1, 7))
    for one in found.values():
        assert {"CallProposed", "CallEnded"} <= set(one), one.keys()
    started, ended = ran["CallStarted"], ran["CallEnded"]
    assert started["allowed"] == "by policy" and started["checkpoint_id"] and started["arguments_sha256"]
    assert "net off" in started["sandbox"] and ran["CallSpawned"]["process"]["pid"] > 1
    outcome = ended["outcome"]
    assert (outcome["exit_code"], outcome["total_bytes"], outcome["complete"]) == (3, 4, True)
    assert [(change["kind"], change["path"]) for change in ended["changes"]] == [("A", "new")]
    assert [(c["kind"], c["path"]) for c in patched["CallEnded"]["changes"]] == [("A", "made.txt")]
    assert patched["CallEnded"]["outcome"]["written"][0]["added"] == 1
    assert read["CallEnded"]["changes"] == [] and read["CallStarted"]["checkpoint_id"] == ""
    for never in (bad, unknown, denied):
        assert "CallStarted" not in never
    assert [one["CallEnded"]["outcome"]["status"] for one in (bad, unknown)] == ["invalid", "invalid"]
    assert denied["ApprovalDecided"]["decision"] == "deny"
    assert denied["CallEnded"]["outcome"]["status"] == "denied"
