"""Cases A33 and A35 through the whole program: calls in odd pieces, and arguments that are no call."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.project import call
from tests.model_server.fixture import ModelServer
from tests.models.test_collect import STREAMS
from tests.program import Program, Ran, model_flags


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program.at(tmp_path)


def turn(program: Program, server: ModelServer, *steps: dict[str, Any]) -> Ran:
    server.script(steps)
    return program.run("exec", "--json", *model_flags("chat", server.base_url()), "go")


def results(server: ModelServer) -> list[str]:
    return [m["content"] for m in server.requests[-1].json["messages"] if m["role"] == "tool"]


def streamed(number: int, pieces: list[dict[str, Any]]) -> dict[str, Any]:
    """A step of these pieces, whose commands write their word to a file of the step's number."""
    text = json.dumps(pieces)
    for word in "12":
        text = text.replace(f"echo {word}", f"echo {word} >> log{number}")
    deltas: list[dict[str, Any]] = [{"tool_calls": [piece]} for piece in json.loads(text)]
    deltas[1:1] = [{}, {"reasoning_content": "hm"}]
    chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    return {"raw": [*(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks), "data: [DONE]\n\n"]}


def test_calls_in_odd_pieces_run_exactly_once_each(
    program: Program, model_server: ModelServer
) -> None:  # A33
    steps = [streamed(number, pieces) for number, pieces in enumerate(STREAMS.values())]
    ran = turn(program, model_server, *steps, {"text": "done"})
    assert ran.code == 0, ran.err
    logs = {
        name: (program.workspace / f"log{number}").read_text().split() for number, name in enumerate(STREAMS)
    }
    assert logs == {name: ["1", "2"] for name in STREAMS}


def test_arguments_that_are_no_object_run_nothing_and_those_that_hold_one_run(
    program: Program, model_server: ModelServer
) -> None:  # A35
    def raw(tool: str, arguments: str) -> dict[str, Any]:
        return {"calls": [{"tool": tool, "arguments": arguments}]}

    (program.workspace / "seen.txt").touch()
    steps = [
        raw("list_files", ""),
        raw("exec_command", json.dumps(json.dumps({"cmd": "echo inside"}))),
        raw("exec_command", "7"),
        raw("exec_command", '{"cmd": echo no"}'),
        raw("apply_patch", '{"patch": "*** Begin Patch\\n*** Add File: no.txt'),
        {"calls": [call("exec_command", cmd="echo good")]},
        {"text": "done"},
    ]
    ran = turn(program, model_server, *steps)
    assert ran.code == 0, ran.err
    listed, inside, number, bad, cut, good = results(model_server)
    assert "seen.txt" in listed
    assert inside.endswith("\ninside") and good.endswith("\ngood")
    assert "must be an object, not an integer" in number
    assert "no valid JSON" in bad and "length" not in bad
    assert "cut at the output limit; send it again in smaller parts" in cut
    assert not (program.workspace / "no.txt").exists()


def test_arguments_cut_again_and_again_end_the_run(
    program: Program, model_server: ModelServer
) -> None:  # A35
    cut = {"tool": "apply_patch", "arguments": '{"patch": "*** Begin Patch\\n*** Add File: no.txt'}
    model_server.allow_unplayed = True
    ran = turn(program, model_server, *[{"calls": [cut], "stop": "length"}] * 12)
    assert (ran.code, ran.end["reason"]) == (3, "loop_detected")
    assert len(model_server.requests) <= 6, "told three times, then blocked, then ended"
    assert not (program.workspace / "no.txt").exists()


@pytest.mark.parametrize(
    ("dialect", "stop"), [("chat", "length"), ("responses", "max_output_tokens"), ("messages", "max_tokens")]
)
def test_a_call_cut_at_the_output_limit_is_answered_and_told_and_does_not_run(
    program: Program, model_server: ModelServer, dialect: str, stop: str
) -> None:
    whole = call("exec_command", cmd="echo ran >> log")
    midway = whole | {"arguments": '{"cmd": "echo ran >> l'}
    model_server.script([{"calls": [one], "stop": stop} for one in (whole, midway)] + [{"text": "done"}])
    ran = program.run("exec", *model_flags(dialect, model_server.base_url(dialect)), "go")
    assert ran.code == 0, ran.err
    told = [line for line in ran.err.splitlines() if line.startswith("! this answer")]
    assert told == ["! this answer was cut at the output limit; the call in it did not run"] * 2
    assert model_server.requests[-1].body.decode().count("send it again in smaller parts") == 2
    assert not (program.workspace / "log").exists()
