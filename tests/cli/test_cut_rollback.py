"""A rollback that was killed: a person is asked what to do with it, a script gets it taken back."""

import json
import signal
from pathlib import Path

import pytest

from checkpoints.gitprocess import find_git
from tests.checkpoints.sessions import Session
from tests.checkpoints.test_crash import killed_at
from tests.checkpoints.trees import manifest
from tests.cli.terminal import Terminal
from tests.model_server.fixture import ModelServer
from tests.program import Program, model_flags

NAMES = ("a", "b", "c", "d")
ASKED = "a rollback to 7f3a0001/1 was cut after 1 of 4 steps"


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """A workspace of four files that a turn changed, with a rollback of it killed after one step."""
    program = Program.at(tmp_path)
    program.state.mkdir(parents=True)
    for name in NAMES:
        (program.workspace / name).write_text("old\n")
    session = Session(program.workspace, program.state, "7f3a0001", git=find_git())
    session.take(turn=1)
    session.before()
    for name in NAMES:
        (program.workspace / name).write_text("new\n")
    session.after()
    session.close()
    done = killed_at(0, "steps", program.workspace, program.state, "7f3a0001/1")
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert sorted(contents(program)) == ["new\n"] * 3 + ["old\n"]
    return program


def contents(program: Program) -> list[str]:
    return [(program.workspace / name).read_text() for name in NAMES]


@pytest.mark.parametrize(
    ("answer", "said", "content"),
    [
        ("y", "it was finished", "old\n"),
        ("n", "it was taken back", "new\n"),
        ("", "it was taken back", "new\n"),
    ],
)
def test_a_person_is_asked_whether_to_finish_it(
    program: Program, answer: str, said: str, content: str
) -> None:
    with Terminal(program, "rollback") as terminal:
        terminal.expect(f"{ASKED}; finish it? [y/N, N takes it back] ")
        terminal.type(f"{answer}\r")
        terminal.expect(said)
        if content == "new\n":
            terminal.expect("roll back? [y/N] ")
            assert contents(program) == ["new\n"] * 4
            terminal.type("n\r")
            terminal.expect("nothing was done")
            assert terminal.end() == 1
        else:
            terminal.expect("nothing to change")
            assert terminal.end() == 0
    assert contents(program) == [content] * 4


def test_one_whose_journal_is_damaged_is_set_aside_and_said(program: Program) -> None:
    (journal,) = program.state.glob("checkpoints/*/*.journal")
    journal.write_text("{")
    ran = program.run("rollback", "--yes")
    (aside,) = journal.parent.glob("*.damaged-*")
    assert ran.err == (
        f"agent-tui: the journal of a cut rollback was damaged and lies in `{aside}` now; "
        "checkpoint 7f3a0001/4 is the state before it\n"
    )
    assert (ran.code, contents(program)) == (0, ["old\n"] * 4)


def test_without_a_terminal_it_is_taken_back_and_said(program: Program) -> None:
    ran = program.run("rollback")
    assert ran.code == 2
    assert ran.err.splitlines()[0] == f"agent-tui: {ASKED}; it was taken back"
    assert contents(program) == ["new\n"] * 4
    assert program.run("rollback", "--yes").err == ""
    assert contents(program) == ["old\n"] * 4


def test_a_dry_run_changes_nothing_of_it(program: Program) -> None:
    before = manifest(program.workspace)
    ran = program.run("rollback", "--dry-run", "--json")
    assert (ran.code, len(json.loads(ran.out)["plan"]["operations"])) == (0, 3)
    assert ran.err == f"agent-tui: {ASKED}; `agent-tui rollback` finishes it or takes it back first\n"
    assert manifest(program.workspace) == before
    assert program.run("rollback", "--yes").err == f"agent-tui: {ASKED}; it was taken back\n"


@pytest.mark.parametrize("plain", [True, False], ids=["lines", "screen"])
@pytest.mark.parametrize(("key", "content"), [("f", "old\n"), ("u", "new\n"), ("q", None)])
def test_the_interface_asks_before_it_starts(
    program: Program, model_server: ModelServer, plain: bool, key: str, content: str | None
) -> None:
    flags = ["--plain"] if plain else []
    with Terminal(program, *model_flags("chat", model_server.base_url()), *flags) as terminal:
        terminal.expect("A rollback was cut: 1 of 4 steps done.")
        terminal.expect("f, u, q>" if plain else "f · u · q, or ↑ ↓ and Enter")  # once it takes keys
        terminal.type(f"{key}\r" if plain else key)
        if content is None:
            assert terminal.end() == 0
            assert sorted(contents(program)) == ["new\n"] * 3 + ["old\n"]
            return
        terminal.expect("compatible/scripted" if plain else "undo")
        assert contents(program) == [content] * 4


def test_exec_takes_it_back_and_says_so(program: Program, model_server: ModelServer) -> None:
    model_server.script([{"text": "done"}])
    ran = program.run("exec", *model_flags("chat", model_server.base_url()), "go")
    assert ran.code == 0
    assert f"{ASKED} and was taken back" in ran.err
    assert contents(program) == ["new\n"] * 4
