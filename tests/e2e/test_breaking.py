"""Hostile models and hostile projects against the whole program: answered, never the end of a run."""

import os
from pathlib import Path

import pytest

from tests.e2e import project
from tests.e2e.project import call
from tests.model_server.fixture import ModelServer
from tests.program import Program, Ran, model_flags

DIALECTS = ("chat", "responses", "messages")
ADD = "*** Begin Patch\n*** Add File: {}\n+x\n*** End Patch"


@pytest.fixture
def program(tmp_path: Path) -> Program:
    program = Program.at(tmp_path, OPENAI_API_KEY="sk-test-openai", ANTHROPIC_API_KEY="sk-test-anthropic")
    project.make(program)
    return program


def execute(program: Program, server: ModelServer, dialect: str = "chat") -> Ran:
    return program.run("exec", "--json", *model_flags(dialect, server.base_url(dialect)), "go")


UNREADABLE = {
    "too deep": '{"cmd": ' * 3_000 + "1" + "}" * 3_000,
    "deep": '{"cmd": ' + "[" * 440 + "]" * 440 + "}",
    "too many digits": '{"cmd": "true", "yield_ms": 1' + "0" * 6_000 + "}",
    "half a character": '{"cmd": "\\ud800"}',
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_arguments_that_cannot_be_read_are_answered(
    program: Program, model_server: ModelServer, dialect: str
) -> None:
    bad = [{"tool": "exec_command", "arguments": arguments} for arguments in UNREADABLE.values()]
    steps = [{"calls": [one, call("exec_command", cmd=f"echo {n}")]} for n, one in enumerate(bad)]
    model_server.script([*steps, {"text": "done"}])
    ran = execute(program, model_server, dialect)
    assert (ran.code, ran.end["reason"]) == (0, "completed"), ran.out[-1_000:]


def test_hostile_names_are_answered(program: Program, model_server: ModelServer) -> None:
    names = ["a\0b", "~nobody-of-this-name", "n" * 300, "d/" * 300 + "f", "\ud800", "..", "/proc/self/mem"]
    calls = [call("read_file", path=name) for name in names]
    calls += [call("list_files", path=name) for name in names]
    calls += [call("exec_command", cmd="true", workdir=name) for name in names]
    calls += [call("search_files", pattern="x", path=name) for name in names]
    calls += [call("apply_patch", patch=ADD.format(name)) for name in names]
    calls += [call("apply_patch", path=name, old="a", new="b") for name in names]
    model_server.script([{"calls": calls}, {"text": "done"}])
    ran = execute(program, model_server)
    assert ran.end["reason"] in ("completed", "approval_unavailable"), ran.out[-1_000:]
    model_server.allow_unplayed = True  # three refusals in a row may end it first


# without its HEAD it is no repository, and nobody looks for its index
@pytest.mark.parametrize("names", [(".gitignore", ".agent-tui/config.toml", ".git/index"), (".git/HEAD",)])
@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_special_files_of_a_project_hold_nothing_up(
    program: Program, model_server: ModelServer, names: tuple[str, ...], kind: str
) -> None:
    for path in map(program.workspace.joinpath, names):
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "device":
            path.symlink_to("/dev/zero")
        else:
            path.mkdir()
    calls = [call("list_files"), call("repo_map")]
    model_server.script([{"calls": calls}, {"text": "done"}])
    ran = execute(program, model_server)
    assert (ran.code, ran.end["reason"]) == (0, "completed"), ran.err + ran.out[-1_000:]


def test_lines_that_are_no_ignore_pattern_hide_nothing(program: Program, model_server: ModelServer) -> None:
    (program.workspace / ".gitignore").write_text("\\\n!\nhidden\n")
    (program.workspace / "hidden").touch()
    model_server.script([{"calls": [call("list_files"), call("list_files", glob="\\")]}, {"text": "done"}])
    ran = execute(program, model_server)
    assert (ran.code, ran.end["reason"]) == (0, "completed"), ran.out[-1_000:]
    listed, refused = (
        m["content"] for m in model_server.requests[-1].json["messages"] if m["role"] == "tool"
    )
    assert "calc.py" in listed and "hidden" not in listed
    assert "is no pattern" in refused
