"""Every option of every command with a value that is missing or wrong; every `--json` is JSON."""

import gc
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_tui.cli.entry import run
from agent_tui.cli.parser import COMMANDS, build
from agent_tui.config.options import find
from tests.e2e import project
from tests.model_server.fixture import ModelServer
from tests.program import Program, model_flags

REST = {"": ["hi"], "exec": ["hi"], "completions": ["bash"], "debug": ["request"], "sandbox": ["true"]}
WRONG = {"integer": ("x", "-1", "1.5"), "number": ("x", "-1", "nan", "inf"), "choice": ("x", "")}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """In this process, which is what a shell starts without the start: own home and directory."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith(("AGENT_TUI_", "XDG_")) or name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    yield tmp_path
    for number, handler in before.items():
        signal.signal(number, handler)
    gc.enable()  # a start that ends early leaves it off, to the end of its process


def cases() -> Iterator[tuple[str, str, str | None]]:
    """Command, flag, wrong value; None for a missing one."""
    for name in ("", *COMMANDS):
        for action in build(name)._actions:
            if not action.option_strings or action.nargs == 0:
                continue
            flag = action.option_strings[-1]
            yield name, flag, None
            option = find(tuple(action.dest.removeprefix("setting_").split(".")))
            if action.choices:
                yield name, flag, "x"
            elif option is not None:
                wrong = (*WRONG.get(option.kind, ()), *(("0",) if option.positive else ()))
                yield from ((name, flag, each) for each in wrong)


@pytest.mark.parametrize(("name", "flag", "value"), list(cases()))
def test_a_value_that_is_missing_or_wrong_is_one_line_that_names_the_flag(
    name: str, flag: str, value: str | None, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [name] if name else []
    line = (
        [*words, *REST.get(name, []), flag]
        if value is None
        else [*words, f"{flag}={value}", *REST.get(name, [])]
    )
    if flag == "-c" and value is None:
        line[-1] = "-c"
    code = run(line)
    said = capsys.readouterr()
    if name == "doctor" and value is not None:  # a finding like others
        assert (code, f"failed   settings      {flag}: " in said.out) == (2, True)
        return
    assert (code, said.out, said.err.count("\n")) == (2, "", 1)
    assert flag in said.err
    assert not (here / "home").exists()


def test_every_json_is_json(program: Program, model_server: ModelServer) -> None:
    model_server.script(project.mending())
    flags = model_flags("chat", model_server.base_url("chat"))
    found = [json.loads(line) for line in program.run("exec", "--json", *flags, "mend it").out.splitlines()]
    session = found[0]["thread_id"]
    points = [
        event["item"]["checkpoint_id"] for event in found if event.get("item", {}).get("type") == "checkpoint"
    ]
    for line in (
        "sessions list --json",
        "sessions list --all --json",
        "config show --json",
        "config path --json",
        "config init --json",
        "doctor --json -m demo/x",
        "debug request",
        f"debug request {session}",
        "debug classify --json ls",
        "checkpoints prune --json --days 30",
        f"rollback {points[0]} --json --dry-run",
        f"rollback {points[0]} --json --yes",
        "rollback --redo --json --yes",
    ):
        ran = program.run(*line.split())
        assert ran.code == 0, ran.err
        json.loads(ran.out)
    for line in (
        "checkpoints list --json",
        f"checkpoints show {points[0]} --json",
        f"checkpoints diff {points[0]} --json",
        f"checkpoints diff {points[0]} {points[-1]} --json",
        f"sessions show {session} --json",
        f"sessions export {session} --json",
        f"sessions rm {session} --json",
    ):
        ran = program.run(*line.split())
        assert ran.code == 0, ran.err
        assert [json.loads(each) for each in ran.out.splitlines()]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    program = Program.at(tmp_path)
    project.make(program)
    return program
