"""What a start makes for itself is gone after it, however it ends; what a kill leaves, the next one takes."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_tui import scratch as module
from agent_tui.scratch import scratch, sweep
from tests.e2e.screen import Screen
from tests.program import Program
from tests.waiting import WAIT_S, until


@pytest.fixture
def program(tmp_path: Path) -> Program:
    (tmp_path / "tmp").mkdir()
    return Program.at(tmp_path, TMPDIR=str(tmp_path / "tmp"))


def left(program: Program) -> list[str]:
    return sorted(path.name for path in Path(program.extra["TMPDIR"]).iterdir())


@pytest.fixture
def demo(program: Program) -> Iterator["subprocess.Popen[str]"]:
    """A demo that has begun: its directory is there."""
    process = program.start("demo", "--yes")
    assert process.stdout is not None
    while "ok · " not in (line := process.stdout.readline()):
        assert line, "the demo ended early"
    assert any(name.startswith("agent-tui-demo-") for name in left(program))
    yield process
    process.kill()
    process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_demo_that_is_ended_leaves_nothing(
    program: Program, demo: "subprocess.Popen[str]", number: signal.Signals
) -> None:
    demo.send_signal(number)
    _, err = demo.communicate(timeout=WAIT_S)
    assert (demo.returncode, err) == (128 + number, "")
    assert left(program) == []


def test_what_a_killed_demo_leaves_goes_with_the_next_start(
    program: Program, demo: "subprocess.Popen[str]"
) -> None:
    demo.kill()
    demo.wait()
    assert left(program) != []
    assert program.run("exec", "--ephemeral", "-m", "demo/scripted", "hi").code == 0
    assert left(program) == []


def test_a_closed_terminal_leaves_nothing(program: Program) -> None:
    screen = Screen(program, "demo")
    screen.shows("press Enter to begin", "ready")
    screen.type("\r")
    screen.shows("y  once")
    assert left(program) != []
    screen.hang_up()
    assert left(program) == []


def test_a_look_at_a_request_leaves_nothing(program: Program) -> None:
    assert program.run("exec", "-m", "demo/scripted", "hi").code == 0
    assert program.run("debug", "request").code == 0
    assert left(program) == []


def test_what_a_killed_doctor_leaves_goes_with_the_next_start(program: Program, tmp_path: Path) -> None:
    """It makes a directory only where the sandbox has no other place for its own files."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "bwrap").write_text("#!/bin/sh\nwhile kill -0 $PPID; do sleep 0.1; done\n")
    (folder / "bwrap").chmod(0o755)
    nowhere = {"AGENT_TUI_STATE_DIR": "/dev/null/state"}
    process = program.start("doctor", env={**nowhere, "PATH": f"{folder}:{os.environ['PATH']}"})
    until(lambda: any(name.startswith("agent-tui-doctor-") for name in left(program)))
    process.kill()
    process.communicate()
    assert left(program) != []
    ran = program.run("doctor", env=nowhere)
    assert ran.code == 5 and "cannot be written" in ran.out
    assert left(program) == []


def test_only_what_is_ours_and_free_is_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.tempfile, "tempdir", str(tmp_path))
    (tmp_path / "agent-tui-demo-foreign").mkdir()  # without our mark
    (tmp_path / "agent-tui-new-now").mkdir()  # being made
    (tmp_path / "agent-tui-new-old").mkdir()
    os.utime(tmp_path / "agent-tui-new-old", (1, 1))
    (tmp_path / "agent-tui-demo-link").symlink_to(tmp_path / "agent-tui-demo-foreign")
    dead = tmp_path / "agent-tui-demo-dead"
    (dead / "closed" / "inside").mkdir(parents=True)
    (dead / ".in-use").touch()
    (dead / "closed").chmod(0)
    with scratch("ephemeral") as held:
        sweep()
        assert held.is_dir()
        assert held.stat().st_mode & 0o777 == 0o700
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "agent-tui-demo-foreign",
        "agent-tui-demo-link",
        "agent-tui-new-now",
    ]
