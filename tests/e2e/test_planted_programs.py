"""What a command leaves in the workspace is never run by the program itself, outside the sandbox: neither
tools on the search path nor a package of its own name."""

from pathlib import Path

import pytest

from tests.e2e import project
from tests.e2e.project import call
from tests.e2e.screen import start
from tests.model_server.fixture import ModelServer
from tests.program import Program, model_flags

FULL_SCREEN = "\x1b[?1049h"  # xterm's alternate screen: once for each start
TOOLS = ("git", "rg", "bwrap", "nsenter", "setsid", "unshare", "python3", "sh", "bash", "ldconfig", "xclip")


@pytest.fixture
def pwned(tmp_path: Path) -> Path:
    return tmp_path / "pwned"


@pytest.fixture
def program(tmp_path: Path, pwned: Path) -> Program:
    """An active virtual environment of the project, as most who work on Python have."""
    programs = tmp_path / "work" / ".venv" / "bin"
    (tmp_path / "home").mkdir()
    programs.mkdir(parents=True)
    plant(programs, pwned)
    system = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    extra = {"PATH": f"{programs}:.venv/bin:.:{system}", "VIRTUAL_ENV": str(programs.parent)}
    program = Program(tmp_path / "home", tmp_path / "work", extra)
    hidden = {"PATH": system}
    project.make(Program(tmp_path / "home", tmp_path / "work", hidden))
    return program


def plant(folder: Path, pwned: Path) -> None:
    for name in TOOLS:
        (folder / name).write_text(f'#!/bin/sh\necho {name} >> {pwned}\nexec /usr/bin/{name} "$@"\n')
        (folder / name).chmod(0o755)


def test_a_run_uses_the_systems_tools_and_its_commands_the_projects(
    program: Program, pwned: Path, model_server: ModelServer
) -> None:
    calls = [
        call("search_files", pattern="return"),
        call("exec_command", cmd="command -v rg; echo x > made; git status"),
        call("exec_command", cmd="cat", tty=True, yield_time_ms=300),
    ]
    model_server.script([{"calls": calls}, {"text": "done"}])
    ran = program.run("exec", *model_flags("chat", model_server.base_url()), "go")
    assert (ran.code, ran.out) == (0, "done\n"), ran.err
    assert f"{program.workspace}/.venv/bin/rg" in str(model_server.requests[-1].json["messages"])
    assert not pwned.exists(), pwned.read_text()


def told_path(server: ModelServer) -> str:
    """The search path of the newest command, as the model was told."""
    return server.requests[-1].json["messages"][-1]["content"].partition("\n")[2]


def test_commands_without_the_sandbox_have_the_whole_search_path(
    program: Program, pwned: Path, model_server: ModelServer
) -> None:
    look = {"calls": [call("exec_command", cmd='echo "$PATH"')]}
    model_server.script([look, {"text": "first answer"}])
    ran = program.run("exec", "-s", "off", *model_flags("chat", model_server.base_url()), "go")
    assert (ran.code, ran.out) == (0, "first answer\n"), ran.err
    assert told_path(model_server) == program.extra["PATH"]
    shown = program.run("sandbox", "-s", "off", "--", "/bin/sh", "-c", 'echo "$PATH"')
    assert shown.out == f"{program.extra['PATH']}\n"
    assert not pwned.exists(), pwned.read_text()


@pytest.mark.parametrize(
    "argv", [("doctor",), ("sandbox", "--", "true"), ("checkpoints", "list"), ("config", "show")]
)
def test_no_command_of_ours_runs_the_projects_tools(
    program: Program, pwned: Path, argv: tuple[str, ...]
) -> None:
    program.run(*argv)
    assert not pwned.exists(), pwned.read_text()


def test_a_program_of_the_project_is_never_called_reading(program: Program) -> None:
    """The line is judged by the program that the command finds, not by the one that we would."""
    told = program.run("debug", "classify", "git status")
    assert "`git` is a program of the workspace" in told.out


def test_a_session_of_this_project_is_resumed_from_elsewhere(
    program: Program, pwned: Path, model_server: ModelServer, tmp_path: Path
) -> None:
    model_server.script(
        [{"text": "one"}, {"calls": [call("search_files", pattern="return")]}, {"text": "two"}]
    )
    first = program.run("exec", "--json", *model_flags("chat", model_server.base_url()), "go")
    session = first.out.partition('"thread_id":"')[2].partition('"')[0]
    elsewhere = Program(program.home, tmp_path / "elsewhere", program.extra)
    elsewhere.workspace.mkdir()
    ran = elsewhere.run("exec", "--resume", session, "go on")
    assert (ran.code, ran.out) == (0, "two\n"), ran.err
    assert not pwned.exists(), pwned.read_text()


def test_a_package_of_our_name_in_the_project_is_not_ours(
    program: Program, pwned: Path, model_server: ModelServer
) -> None:
    """`/new` and `/doctor` start the program anew in the workspace."""
    package = program.workspace / "agent_tui"
    package.mkdir()
    for name in ("__init__.py", "__main__.py"):
        (package / name).write_text(f"open({str(pwned)!r}, 'w').write({name!r})\n")
    with start(program, model_server) as screen:
        screen.expect(FULL_SCREEN)
        screen.shows("ready")
        for key in ("\r", "\x1b"):
            screen.say("/doctor")
            screen.expect("Enter returns to the session")
            screen.type(key)
            screen.expect(FULL_SCREEN)
            screen.shows("ready")
        screen.say("/new")
        screen.expect(FULL_SCREEN)
        screen.terminate()
    assert not pwned.exists(), pwned.read_text()
