"""`/model` in the middle of a session: from every dialect to every dialect and back, in one process."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.model_server.fixture import ModelServer, RecordedRequest
from tests.models.views import DIALECTS
from tests.program import Program
from tests.waiting import WAIT_S


class Talk:
    """A session in line mode."""

    def __init__(self, program: Program, *argv: str) -> None:
        self._process = program.start("--plain", *argv)

    def say(self, line: str, until: str) -> None:
        """Send a line and read until a line that holds `until`."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        read = []
        for shown in self._process.stdout:
            read.append(shown)
            if until in shown:
                return
        raise AssertionError("".join(read))

    def end(self) -> None:
        out, err = self._process.communicate("/quit\n", timeout=WAIT_S)
        assert self._process.returncode == 0, out + err


def said(request: RecordedRequest) -> list[Any]:
    """The messages without the marks for the cache, which move."""
    messages: list[Any] = request.json.get("input") or request.json["messages"]
    for message in messages:
        for block in message["content"] if isinstance(message.get("content"), list) else ():
            block.pop("cache_control", None)
    return messages


@pytest.mark.parametrize(("first", "second"), product(DIALECTS, DIALECTS))
def test_every_dialect_goes_on_where_every_other_was(
    model_server: ModelServer, tmp_path: Path, first: str, second: str
) -> None:
    def work(word: str) -> dict[str, Any]:
        call = {"tool": "exec_command", "arguments": {"cmd": f"echo {word} >> log"}, "id": "call:0"}
        return {"reasoning": f"plan of {word}", "text": f"Doing {word}.", "calls": [call]}

    model_server.script([work("one"), {"text": "ok 1"}, work("two"), {"text": "ok 2"}, {"text": "ok 3"}])
    program = Program.at(tmp_path)
    program.config(
        "".join(
            f'[providers.{name}]\napi = "{dialect}"\nbase_url = "{model_server.base_url(dialect)}"\n'
            for name, dialect in (("a", first), ("b", second))
        )
    )
    talk = Talk(program, "-m", "a/m")
    talk.say("do one", until="Done")
    talk.say("/model b/n", until="b/n")
    talk.say("do two", until="Done")
    talk.say("/model a/m", until="a/m")
    talk.say("and now?", until="Done")
    talk.end()
    assert (program.workspace / "log").read_text() == "one\ntwo\n"
    requests = model_server.requests
    assert [request.dialect for request in requests] == [first, first, second, second, first]
    assert [request.json["model"] for request in requests] == ["m", "m", "n", "n", "m"]
    assert b"plan of one" in requests[1].body or first == "chat"  # goes back to its own model
    assert not any(b"plan of one" in request.body for request in requests[2:4])
    assert b"plan of two" not in requests[4].body
    third, fourth = said(requests[2]), said(requests[3])
    assert fourth[: len(third)] == third  # what was left out is left out once
    assert all(word in json.dumps(said(requests[4])) for word in ("Doing one.", "Doing two.", "ok 2"))
