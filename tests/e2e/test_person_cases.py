"""Cases A12, A32 and A40 in a real terminal: a command that asks for a password, calls cut short by Esc, and
an interface that is suspended while a command runs."""

import json
import os
import pty
import signal
import termios
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.project import call
from tests.e2e.running import Bell
from tests.e2e.screen import Screen
from tests.jobs import is_stopped
from tests.model_server.fixture import ModelServer
from tests.processes import processes_with, seconds
from tests.program import Program, model_flags
from tests.waiting import until

ASK = "import getpass; print(len(getpass.getpass('PW? ')))"
MARK = seconds()
PATCH = "*** Begin Patch\n*** Add File: {}\n+x\n*** End Patch"
DIALECTS = ("chat", "messages")


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program.at(tmp_path, OPENAI_API_KEY="sk-test-openai", ANTHROPIC_API_KEY="sk-test-anthropic")


def start(
    program: Program, server: ModelServer, *argv: str, dialect: str = "chat", shell: bool = False
) -> Screen:
    return Screen(program, *argv, *model_flags(dialect, server.base_url(dialect)), shell=shell)


def fresh_settings() -> list[Any]:
    """How the line discipline of a new terminal is set (termios(3))."""
    first, second = pty.openpty()
    try:
        return termios.tcgetattr(first)
    finally:
        os.close(first)
        os.close(second)


def test_a_password_prompt_is_output_and_never_the_persons_keyboard(
    program: Program, model_server: ModelServer
) -> None:  # A12
    direct = "exec 3<>/dev/tty; printf 'TTY? ' >&3; read -r word <&3; echo got $word"
    steps = [
        {"calls": [call("exec_command", cmd=f'python3 -c "{ASK}"', tty=True, yield_ms=250)]},
        {"calls": [call("write_stdin", session="t1", chars="secret\n", yield_ms=60_000)], "gate": "PW"},
        {"calls": [call("exec_command", cmd=direct, tty=True, yield_ms=250)]},
        {"calls": [call("write_stdin", session="t2", chars="word\n", yield_ms=60_000)], "gate": "TTY"},
        {"calls": [call("exec_command", cmd="head -c1 /dev/tty; echo $?")]},
        {"text": "all told", "gate": "end"},
    ]
    model_server.script(steps)
    with start(program, model_server) as screen:
        screen.shows("ready")
        screen.say("ask me")
        screen.shows("│ PW?")
        for letter in "my own draft":
            screen.type(letter)
        screen.shows("my own draft")
        model_server.release("PW")
        screen.shows("│ TTY?", "my own draft")
        model_server.release("TTY")
        screen.shows("✓ ran       head -c1 /dev/tty", "my own draft")
        model_server.release("end")
        screen.shows("all told", "● done", "my own draft")
        screen.type("\x03")  # empties the editor
        screen.leave()
        assert termios.tcgetattr(screen._fd) == fresh_settings()
    sent = [m["content"] for m in model_server.requests[-1].json["messages"] if m["role"] == "tool"]
    assert "PW?" in sent[0] + sent[1] and "secret" not in "".join(sent)
    assert sent[1].endswith("6")
    assert "TTY?" in sent[2] + sent[3] and "got word" in sent[3]
    assert "[exit 0" in sent[4] and sent[4].endswith("1"), "without a terminal there is none to open"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_calls_cut_short_are_answered_whatever_moment_it_was(
    program: Program, model_server: ModelServer, dialect: str
) -> None:  # A32
    bell = Bell(program.workspace)
    three = [
        call("exec_command", cmd=f"echo run > bell; sleep {MARK}"),
        call("exec_command", cmd="echo b >> ran"),
        call("apply_patch", patch=PATCH.format("three.txt")),
    ]
    asking = [call("exec_command", cmd=f"touch {name}", needs="network", reason="r") for name in "mn"]
    model_server.script(
        [
            {"calls": three},
            {
                "calls": [call("exec_command", cmd="echo never >> ran")],
                "cut": "arguments",
                "stall": True,
                "piece": 4,
            },
            {"calls": asking},
            {"calls": asking},
            {"text": "went on"},
        ]
    )
    with start(program, model_server, dialect=dialect) as screen:
        screen.shows("ready")
        screen.say("first")
        bell.wait()
        screen.type("\x1b")
        screen.shows("■ interrupted by you", "paused")
        assert processes_with(MARK) == []
        screen.say("second")  # its arguments never come to an end
        screen.shows("writing a call of exec_command")
        screen.type("\x1b")
        screen.shows("› second", "paused")
        screen.say("third")
        screen.shows("y  once")
        screen.type("\x1b")  # denies, and pauses
        screen.shows("› third", "paused")
        screen.say("fourth")
        for name in "mn":
            screen.shows(f"    touch {name}", "y  once")
            screen.type("n")
        screen.shows("went on", "● done")
        screen.leave()
    assert not [name for name in ("ran", "three.txt", "m", "n") if (program.workspace / name).exists()]
    text = json.dumps(model_server.requests[-1].json)
    assert "interrupted by the user" in text and "effects may be partial" in text


def test_a_command_goes_on_behind_a_suspended_interface(
    program: Program, model_server: ModelServer
) -> None:  # A40
    bell = Bell(program.workspace)
    gate = program.workspace / "gate"
    os.mkfifo(gate)
    with (program.workspace / ".gitignore").open("a") as ignored:
        ignored.write("/gate\n")
    waits = "echo up > bell; cat gate; echo down > bell"
    model_server.script([{"calls": [call("exec_command", cmd=waits)]}, {"text": "came back"}])
    with start(program, model_server, "go", shell=True) as screen:
        assert bell.wait() == "up\n"
        screen.type("a draft")
        screen.shows("running 1 call", "a draft")
        screen.type("\x1a")
        until(lambda: is_stopped(screen.pid))
        gate.write_text("over\n")
        assert bell.wait() == "down\n", "the command is not stopped with it"
        os.kill(screen.pid, signal.SIGCONT)
        screen.shows("│ over", "came back", "● done", "a draft")
        screen.type("\x03")
        screen.leave()
