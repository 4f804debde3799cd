"""Stored output of commands: a hash says whether it still is what the command wrote."""

from pathlib import Path

import pytest

from tests.e2e.project import call
from tests.model_server.fixture import ModelServer
from tests.program import Program, model_flags

DAMAGED = "not what the command wrote"


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program.at(tmp_path)


def read(program: Program, server: ModelServer) -> str:
    """What the model is told when it reads the output of the first call, in a process of its own."""
    server.script([{"calls": [call("read_file", path="out/c1.1", start_line=2)]}, {"text": "done"}])
    ran = program.run("exec", *model_flags("chat", server.base_url()), "--last", "read it")
    assert ran.code == 0, ran.err
    return [m["content"] for m in server.requests[-1].json["messages"] if m["role"] == "tool"][-1]


def test_output_that_was_changed_since_is_told_to_be_so(program: Program, model_server: ModelServer) -> None:
    model_server.script([{"calls": [call("exec_command", cmd="seq 3")]}, {"text": "done"}])
    ran = program.run("exec", *model_flags("chat", model_server.base_url()), "go")
    assert ran.code == 0, ran.err
    whole = read(program, model_server)
    assert whole.endswith("2\t2\n3\t3") and DAMAGED not in whole
    (stored,) = program.state.glob("sessions/*/*/c1.1.out")
    stored.write_bytes(b"1\n2\n4\n")
    changed = read(program, model_server)
    assert changed.endswith("2\t2\n3\t4") and DAMAGED in changed.partition("\n")[0]
    stored.write_bytes(b"1\n2\n")
    assert DAMAGED in read(program, model_server)
