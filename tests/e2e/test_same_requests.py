"""One script through the interface, line mode and `exec`: the same bytes go out, the same files are left.

Only what a clock, a path or a random number makes may differ; it is put out of both before they are compared.
"""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e import project
from tests.e2e.screen import Screen
from tests.model_server.fixture import ModelServer
from tests.program import Program, model_flags

TASK = "mend the test"
Drive = Callable[[Program, list[str]], None]
CHANCE = (
    (re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}"), b"<id>"),
    (re.compile(rb'"prompt_cache_key":"[^"]*"'), b'"prompt_cache_key":"<session>"'),
    (re.compile(rb"\d+\.\d+ ?s\b|\d+\.\d+ seconds"), b"<time>"),
    (re.compile(rb"in \d+\.\d+s"), b"in <time>"),
)


def through_exec(program: Program, flags: list[str]) -> None:
    ran = program.run("exec", *flags, TASK)
    assert ran.code == 0, ran.err


def through_exec_with_nothing_stored(program: Program, flags: list[str]) -> None:
    through_exec(program, [*flags, "--ephemeral"])


def through_plain(program: Program, flags: list[str]) -> None:
    ran = program.run("--plain", *flags, TASK, stdin="")
    assert ran.code == 0, ran.err


def through_the_interface(program: Program, flags: list[str]) -> None:
    with Screen(program, *flags) as screen:
        screen.shows("ready")
        screen.say(TASK)
        screen.shows("● done", "ready")
        shown = screen.shows("read      calc.py", "2 lines · ", 'searched  "add" in .')
        assert "matches, 2 files · " in shown
        screen.leave()


def sent(server: ModelServer, program: Program) -> list[bytes]:
    """The bodies that went out, without what chance put into them."""
    bodies = []
    for request in server.requests:
        body = request.body.replace(str(program.workspace.parent).encode(), b"<root>")
        for pattern, word in CHANCE:
            body = pattern.sub(word, body)
        bodies.append(body)
    return bodies


def found_after(
    drive: Drive, root: Path, server: ModelServer, dialect: str
) -> "tuple[list[bytes], dict[str, bytes]]":
    """What went out and what is left when the task was driven in a project of its own."""
    root.mkdir()
    program = Program.at(root)
    project.make(program)
    server.script(project.mending())
    drive(program, [*model_flags(dialect, server.base_url(dialect)), "-a", "never"])
    server.check()
    assert project.passes(program)
    return sent(server, program), _files(program)


@pytest.mark.parametrize(
    ("drive", "dialect"),
    [
        (through_the_interface, "chat"),
        (through_the_interface, "responses"),
        (through_the_interface, "messages"),
        (through_plain, "chat"),
        (through_exec_with_nothing_stored, "chat"),
    ],
)
def test_every_front_end_sends_what_exec_sends_and_leaves_what_it_leaves(
    tmp_path: Path, model_server_process: tuple[int, Path], drive: Drive, dialect: str
) -> None:
    # The two roots are of one length: a command's output is counted in bytes.
    by_exec = found_after(through_exec, tmp_path / "one", ModelServer(*model_server_process), dialect)
    found = found_after(drive, tmp_path / "two", ModelServer(*model_server_process), dialect)
    assert len(by_exec[0]) == len(project.mending())
    assert found == by_exec


def _files(program: Program) -> dict[str, bytes]:
    """The workspace, but for what the person's own git keeps with times in it."""
    return {
        name: data for name, data in project.tree(program.workspace).items() if not name.startswith(".git/")
    }
