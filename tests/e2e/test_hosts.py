"""A command that may reach one host wants another one: who is asked, and what the command gets meanwhile."""

import json
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import project
from tests.e2e.project import call
from tests.e2e.test_approvals import answer
from tests.model_server.fixture import ModelServer
from tests.program import Program, model_flags
from tests.waiting import WAIT_S

GET = "curl -sS -o /dev/null -w '%{{http_code}} ' --noproxy '' http://{host}:{port}/"


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Said nowhere."""


@pytest.fixture
def port() -> Iterator[int]:
    """Of a server on the host's loopback."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.fixture
def program(tmp_path: Path) -> Program:
    program = Program.at(tmp_path)
    project.make(program)
    return program


def get(port: int, *hosts: str) -> str:
    return "; ".join(GET.format(host=host, port=port) for host in hosts)


def asks(cmd: str, port: int, host: str = "127.0.0.1", **more: object) -> dict[str, Any]:
    """A call with a grant of one host alone: by its address, since names lead to no private one."""
    return call("exec_command", cmd=cmd, needs="host", needs_host=f"{host}:{port}", reason="r", **more)


def results(server: ModelServer) -> list[str]:
    """What the model was told of each call."""
    messages = server.requests[-1].json["messages"]
    return [str(message["content"]) for message in messages if message["role"] == "tool"]


def codes(result: str) -> str:
    return result.rpartition("\n")[2].strip()


def test_a_person_decides_while_the_command_waits(
    program: Program, model_server: ModelServer, port: int
) -> None:
    both = asks(get(port, "127.0.0.1", "localhost", "LOCALHOST"), port)
    limited = asks(get(port, "localhost", "localhost"), port, timeout_s=1)
    granted = asks(get(port, "localhost"), port, "localhost")
    alone = call("exec_command", cmd=f"env | grep -i _proxy; {get(port, '127.0.0.1')}")
    model_server.script(
        [*({"calls": [one]} for one in (both, limited, both, both, granted, alone)), {"text": "end"}]
    )
    wanted = iter(("deny", "once", "session"))

    def decide(item: Mapping[str, Any]) -> str:
        if item["shown"] != f"localhost  port {port}":
            return "once"
        assert item["during"].startswith("curl")
        decision = next(wanted)
        if decision == "once":
            time.sleep(1.2)  # longer than the command may take: none of it counts
        return decision

    flags = model_flags("chat", model_server.base_url())
    asked = answer(program.start("exec", "--json", "--stdin-commands", *flags, "go"), decide)
    denied, once, session, again, by_grant, without = results(model_server)
    assert [what for what, _ in asked].count(f"localhost  port {port}") == 3, "once for each command"
    assert (codes(denied), codes(once)) == ("200 403 403", "200 200")
    assert f"host localhost:{port} refused: by the user" in denied
    assert "1.2 s" not in once and "[exit 0 · 0." in once, "the time of the answer is not the command's"
    assert codes(session) == codes(again) == "200 200 200"
    assert "403" in by_grant and "not public" in by_grant, "a name that leads to the machine itself"
    assert granted["arguments"]["cmd"] not in [what for what, _ in asked], "the host was allowed before"
    assert "[exit 7" in without and codes(without) == "000" and "proxy" not in without


def test_a_host_denied_for_good_is_never_asked_about_again(
    program: Program, model_server: ModelServer, port: int
) -> None:
    both = asks(get(port, "127.0.0.1", "localhost"), port)
    model_server.script(
        [{"calls": [both]}, {"calls": [both]}, {"calls": [asks("true", port, "localhost")]}, {"text": "end"}]
    )
    flags = model_flags("chat", model_server.base_url())
    asked = answer(
        program.start("exec", "--json", "--stdin-commands", *flags, "go"),
        lambda item: "deny_rule" if "deny_rule" in item["choices"] else "once",
    )
    first, second, third = results(model_server)
    assert [decision for _, decision in asked] == ["once", "deny_rule", "once"]
    assert codes(first) == codes(second) == "200 403"
    assert "by a rule of the user" in second
    assert f"a rule of the user denies `localhost:{port}`" in third


def test_with_nobody_there_rules_decide(program: Program, model_server: ModelServer, port: int) -> None:
    rules = "".join(
        f'[[rule]]\naction = "allow"\nhost = "{name}:{port}"\n' for name in ("127.0.0.1", "localhost")
    )
    program.config("").with_name("rules.toml").write_text(rules)
    line = get(port, "127.0.0.1", "localhost", "elsewhere.test")
    model_server.script(
        [{"calls": [asks(line, port)]}, {"calls": [asks(f"git push; {line}", port)]}, {"text": "end"}]
    )
    flags = model_flags("chat", model_server.base_url())
    done = program.run("exec", *flags, "go")
    assert done.code == 0, done.err
    ran, pushed = results(model_server)
    assert codes(ran) == "200 200 403"
    assert f"host elsewhere.test:{port} refused: it was not granted, and nobody is asked" in ran
    assert "approval unavailable" in pushed, "a rule for a host lets nothing else through"


def allowing(process: "subprocess.Popen[str]") -> Iterator[dict[str, Any]]:
    """The questions of a run, begun and settled; those about hosts are left open."""
    assert process.stdin is not None and process.stdout is not None
    for line in process.stdout:
        event = json.loads(line)
        item = event.get("item", {})
        if item.get("type") == "approval" and event["type"] == "item.started" and "during" not in item:
            order = {"type": "decide", "id": item["id"], "digest": item["digest"], "decision": "once"}
            print(json.dumps(order), file=process.stdin, flush=True)
        elif item.get("type") == "approval":
            yield {"event": event["type"], **item}
        elif event["type"] in ("turn.completed", "turn.failed"):
            process.stdin.close()


def closed(process: "subprocess.Popen[str]") -> int:
    code = process.wait(timeout=WAIT_S)
    for stream in (process.stdin, process.stdout, process.stderr):
        assert stream is not None
        stream.close()
    return code


def test_a_command_that_gives_up_waiting_takes_its_question_back(
    program: Program, model_server: ModelServer, port: int
) -> None:
    impatient = asks(get(port, "localhost").replace("curl", "curl -m 1"), port)
    model_server.script([{"calls": [impatient]}, {"text": "end"}])
    flags = model_flags("chat", model_server.base_url())
    process = program.start("exec", "--json", "--stdin-commands", *flags, "go")
    seen = list(allowing(process))
    assert closed(process) == 0
    told = [(item["event"], item.get("decision"), item.get("by")) for item in seen if "during" in item]
    assert told == [("item.started", None, None), ("item.completed", "deny", "policy")]
    assert "[exit 28" in results(model_server)[0]


def test_what_a_command_leaves_behind_asks_only_until_its_result(
    program: Program, model_server: ModelServer, port: int
) -> None:
    line = f"({get(port, 'localhost')} > /dev/null 2>&1 &); sleep 2; echo done"
    model_server.script([{"calls": [asks(line, port)]}, {"text": "end"}])
    flags = model_flags("chat", model_server.base_url())
    process = program.start("exec", "--json", "--stdin-commands", *flags, "go")
    seen = list(allowing(process))
    assert closed(process) == 0
    assert [item.get("by") for item in seen if "during" in item] == [None, "policy"]
    assert codes(results(model_server)[0]) == "done"


@pytest.mark.parametrize("signals", [1, 2])
def test_an_interrupt_while_a_host_is_asked_about_is_a_pause(
    program: Program, model_server: ModelServer, port: int, signals: int
) -> None:
    model_server.script([{"calls": [asks(get(port, "localhost", "elsewhere.test"), port)]}, {"text": "end"}])
    flags = model_flags("chat", model_server.base_url())
    process = program.start("exec", "--json", "--stdin-commands", *flags, "go")
    events = allowing(process)
    assert next(item for item in events if "during" in item)
    for _ in range(signals):
        process.send_signal(signal.SIGINT)
    told = [(item["event"], item.get("decision")) for item in events if "during" in item]
    assert told == [("item.completed", "deny_and_pause")]
    assert process.stderr is not None and "Traceback" not in process.stderr.read()
    assert closed(process) == 130
    again = program.run("exec", *flags, "--last", "go on")
    assert (again.code, again.out) == (0, "end\n"), again


def test_after_a_kill_nothing_is_left_to_be_answered(
    program: Program, model_server: ModelServer, port: int
) -> None:
    model_server.script([{"calls": [asks(get(port, "localhost"), port)]}, {"text": "end"}])
    flags = model_flags("chat", model_server.base_url())
    process = program.start("exec", "--json", "--stdin-commands", *flags, "go")
    assert next(item for item in allowing(process) if "during" in item)
    process.kill()
    closed(process)
    again = program.run("exec", *flags, "--last", "go on")
    assert (again.code, again.out) == (0, "end\n"), again
    assert "Outcome unknown" in results(model_server)[0]
