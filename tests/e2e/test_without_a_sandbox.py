"""The whole program where the sandbox cannot be had, or not all of it: one clear line, the right exit code,
and never a command without it. Each machine is a real process that lacks one thing (see `crippled.py`)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e import project
from tests.e2e.project import call
from tests.e2e.screen import Screen
from tests.model_server.fixture import ModelServer
from tests.program import Program, Ran, model_flags

CRIPPLED = Path(__file__).with_name("crippled.py")
LACKING = {  # what is taken away: what is said of it, and what to do
    "userns": ("No permissions to create new namespace", ""),
    "bwrap": ("`bwrap` is not installed", "bubblewrap"),
    "libseccomp": ("libseccomp cannot be loaded", "libseccomp"),
    "pyseccomp": ("the package `pyseccomp` is missing", "reinstall agent-tui"),
    "kernel": ("the kernel is older than 5.3", "update the kernel"),
    "pidfd": ("`pidfd_open` is refused here", "update the kernel, or allow the call"),
}


@pytest.fixture
def program(tmp_path: Path) -> Program:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("git", "rg", "sh", "bash", "env", "touch"):
        for folder in os.environ["PATH"].split(":"):
            if Path(folder, name).exists() and not (tools / name).exists():
                (tools / name).symlink_to(Path(folder, name))
    return Program.at(tmp_path, WITHOUT_BWRAP=str(tools))


def run(program: Program, lacking: str, *argv: str) -> Ran:
    line = [sys.executable, "-I", str(CRIPPLED), lacking, "--", *argv]
    done = subprocess.run(
        line,
        cwd=program.workspace,
        env=program.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("lacking", LACKING)
def test_a_run_does_not_begin_and_says_why(program: Program, model_server: ModelServer, lacking: str) -> None:
    detail, fix = LACKING[lacking]
    ran = run(program, lacking, "exec", *model_flags("chat", model_server.base_url()), "go")
    assert (ran.code, ran.out, ran.err.count("\n")) == (5, "", 1), ran.err
    assert ran.err.startswith("agent-tui: sandbox: ")
    assert detail in ran.err and fix in ran.err
    assert model_server.requests == []
    assert run(program, lacking, "sessions", "list").out.count("\n") <= 1, "no session is kept of it"


@pytest.mark.parametrize("lacking", LACKING)
def test_a_single_command_is_refused_and_doctor_says_the_same(program: Program, lacking: str) -> None:
    detail, fix = LACKING[lacking]
    ran = run(program, lacking, "sandbox", "--", "touch", "ran")
    assert (ran.code, ran.out, ran.err.count("\n")) == (5, "", 1), ran.err
    assert detail in ran.err
    told = run(program, lacking, "doctor", "-m", "demo/scripted")
    (line,) = [line for line in told.out.splitlines() if line.startswith("failed")]
    assert detail in line and fix in line
    assert told.code == 5
    assert list(program.workspace.iterdir()) == []


@pytest.mark.parametrize("lacking", LACKING)
def test_looking_is_allowed_by_policy_and_runs_no_command(
    program: Program, model_server: ModelServer, lacking: str
) -> None:
    (program.workspace / "a.txt").write_text("to be read\n")
    calls = [call("read_file", path="a.txt"), call("exec_command", cmd="touch ran")]
    model_server.script([{"calls": calls}, {"text": "read it"}])
    ran = run(
        program, lacking, "exec", "-s", "read-only", *model_flags("chat", model_server.base_url()), "go"
    )
    assert (ran.code, ran.out) == (0, "read it\n"), ran.err
    answers = str(model_server.requests[-1].json["messages"])
    assert "to be read" in answers
    assert "no sandbox on this machine" in answers
    assert not (program.workspace / "ran").exists()


def test_what_worked_once_is_tried_again_when_the_machine_has_changed(program: Program) -> None:
    """The kept result of the first run does not hide what has gone since."""
    assert program.run("sandbox", "--", "true").code == 0
    for lacking in ("kernel", "pidfd", "bwrap"):
        assert run(program, lacking, "sandbox", "--", "touch", "ran").code == 5, lacking
    # a filter on the program cannot be looked up, so the start itself fails, and no command runs
    ran = run(program, "userns", "sandbox", "--", "touch", "ran")
    assert (ran.code, ran.err.splitlines()[-1].startswith("agent-tui: sandbox: ")) == (5, True), ran.err
    assert list(program.workspace.iterdir()) == []


def test_a_promise_that_an_older_kernel_cannot_keep_is_told(
    program: Program, model_server: ModelServer
) -> None:
    """Without Landlock the rest holds, so the work goes on."""
    model_server.script([{"calls": [call("exec_command", cmd="touch ran")]}, {"text": "done"}] * 2)
    lost = "abstract sockets of the host can be reached (needs Linux 6.12)"
    flags = model_flags("chat", model_server.base_url())
    ran = run(program, "landlock", "exec", *flags, "go")
    assert (ran.code, ran.out) == (0, "done\n"), ran.err
    assert ran.err.count(lost) == 1
    assert (program.workspace / "ran").exists()
    again = run(program, "landlock", "exec", *flags, "go")
    assert (again.code, again.err.count(lost)) == (0, 0), "it is said once"
    told = run(program, "landlock", "doctor", "-m", "demo/scripted")
    assert [line for line in told.out.splitlines() if line.startswith("warning") and lost in line]
    with screen(program, "landlock", *flags) as shown:
        shown.shows("workspace, net off, partly", "ready")


@pytest.mark.parametrize(
    ("lacking", "flags", "shown"),
    [
        ("userns", ("-s", "off", "-a", "untrusted"), "SANDBOX OFF"),
        ("libseccomp", ("-s", "off"), "SANDBOX OFF"),
    ],
)
def test_the_status_line_says_what_was_chosen(
    program: Program, model_server: ModelServer, lacking: str, flags: tuple[str, ...], shown: str
) -> None:
    with screen(program, lacking, *flags, *model_flags("chat", model_server.base_url())) as it:
        it.shows(shown, "ready")


def test_a_person_is_asked_for_every_command_where_there_is_none(
    program: Program, model_server: ModelServer
) -> None:
    project.make(program)
    model_server.script([{"calls": [call("exec_command", cmd="touch ran")]}, {"text": "done"}])
    with screen(program, "userns", *model_flags("chat", model_server.base_url())) as it:
        it.shows("The sandbox cannot start on this machine", "1–3 or ↑ ↓ and Enter")
        it.type("1")
        it.shows("NO SANDBOX, asks", "ready")
        it.say("go")
        it.shows("touch ran", "no sandbox on this machine", "n  deny")
        it.type("n")
        it.shows("done", "ready")
        it.leave()
    assert not (program.workspace / "ran").exists()


def test_whoever_only_looks_has_no_command_run_and_no_file_changed(
    program: Program, model_server: ModelServer
) -> None:
    project.make(program)
    before = (program.workspace / "calc.py").read_bytes()
    model_server.script(
        [
            {"calls": [call("exec_command", cmd="touch ran"), call("apply_patch", patch=project.PATCH)]},
            {"calls": [call("read_file", path="calc.py")]},
            {"text": "looked"},
        ]
    )
    with screen(program, "userns", *model_flags("chat", model_server.base_url())) as it:
        it.shows("The sandbox cannot start on this machine", "1–3 or ↑ ↓ and Enter")
        it.type("2")
        it.shows("NO SANDBOX, no commands", "ready")
        it.say("go")
        it.shows("looked", "ready")
        it.leave()
    assert not (program.workspace / "ran").exists()
    assert (program.workspace / "calc.py").read_bytes() == before
    said = [str(message["content"]) for message in model_server.requests[-1].json["messages"]]
    assert sum("It was not run: approvals are off in this session" in text for text in said) == 2


def screen(program: Program, lacking: str, *argv: str) -> Screen:
    """The interface in a process that lacks something."""
    return Screen(program, *argv, line=(sys.executable, "-I", str(CRIPPLED), lacking, "--"))
