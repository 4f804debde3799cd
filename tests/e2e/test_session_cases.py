"""Cases A45 to A47 through the whole program: damaged stores, two processes, Esc with messages waiting."""

import json
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e import project
from tests.e2e.project import call
from tests.e2e.running import Bell, processes_with, running
from tests.e2e.screen import start
from tests.model_server.fixture import ModelServer
from tests.program import Program, Ran, model_flags


@pytest.fixture
def program(tmp_path: Path) -> Program:
    program = Program.at(tmp_path)
    project.make(program)
    return program


def execute(program: Program, server: ModelServer, *argv: str) -> Ran:
    return program.run("exec", *model_flags("chat", server.base_url()), *argv)


def store_of(program: Program) -> Path:
    (store,) = program.state.glob("sessions/*/session.db")
    return store


def rows(store: Path, statement: str) -> None:
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute(statement)


def with_zeros(store: Path) -> None:
    content = bytearray(store.read_bytes())
    middle = len(content) // 2 // 4096 * 4096
    content[middle : middle + 4096] = bytes(4096)
    store.write_bytes(content)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "a row that is no JSON": lambda s: rows(s, "UPDATE records SET body = '{' WHERE seq = 3"),
    "a row of an unknown kind": lambda s: rows(
        s, "INSERT INTO records VALUES (9000, 1.0, 'event', '{\"type\": \"FromTheFuture\"}')"
    ),
    "a row twice": lambda s: rows(
        s, "INSERT INTO records SELECT 9000, at, kind, body FROM records WHERE seq = 5"
    ),
    "a mark before the first byte": lambda s: s.write_bytes(b"\xef\xbb\xbf" + s.read_bytes()),
    "a block of zeros in the middle": with_zeros,
    "nothing in the file": lambda s: s.write_bytes(b""),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_session_is_listed_and_goes_on_or_says_what_is_missing(
    program: Program, model_server: ModelServer, damage: Callable[[Path], object]
) -> None:  # A45
    model_server.script([{"calls": [call("read_file", path="calc.py")]}, {"text": "first answer"}])
    assert execute(program, model_server, "first message").code == 0
    model_server.script([{"text": "second answer"}])
    assert execute(program, model_server, "another session").code == 0
    store = max(program.state.glob("sessions/*/session.db"), key=lambda one: one.stat().st_size)
    damage(store)
    damaged = store.read_bytes()
    listed = program.run("sessions", "--json")
    assert listed.code == 0 and len(json.loads(listed.out)) >= 1, listed.err
    model_server.script([{"text": "went on"}])
    ran = execute(program, model_server, "--resume", store.parent.name, "go on")
    if ran.code == 0:
        assert ran.out == "went on\n"
        kept = b"first message" in model_server.requests[-1].body
        assert kept or "damaged" in ran.err or "cannot be read" in ran.err, ran.err
    else:
        model_server.allow_unplayed = True
        assert ran.code == 5 and "Traceback" not in ran.err and str(store.parent.name) in ran.err, ran.err
    if damaged and any(store.parent.glob("session.db.damaged-*")):
        assert damaged in [path.read_bytes() for path in store.parent.glob("session.db.damaged-*")]


def test_the_second_process_is_refused_and_takes_over_once_the_first_is_dead(
    program: Program, model_server: ModelServer
) -> None:  # A46
    bell = Bell(program.workspace)
    model_server.script(
        [{"calls": [call("exec_command", cmd="echo up > bell; sleep 98765.5", yield_ms=30_000)]}]
    )
    with running(program, model_server.base_url(), "go") as run:
        assert bell.wait() == "up\n"
        session = store_of(program).parent.name
        refused = execute(program, model_server, "--resume", session, "me too")
        assert refused.code not in (0, None)
        assert f"process {run.process.pid}" in refused.err and "--fork" in refused.err
        run.process.send_signal(signal.SIGSTOP)
        assert f"process {run.process.pid}" in execute(program, model_server, "--resume", session, "x").err
        run.process.send_signal(signal.SIGKILL)
        run.process.wait()
    model_server.script([{"text": "took over"}])
    ran = execute(program, model_server, "--resume", session, "go on")
    assert (ran.code, ran.out) == (0, "took over\n"), ran.err
    sent = json.dumps(model_server.requests[-1].json)
    assert "Outcome unknown" in sent and "me too" not in sent
    assert not processes_with("98765.5")


def test_esc_stops_the_program_and_gives_back_what_waited(
    program: Program, model_server: ModelServer
) -> None:  # A47
    bell = Bell(program.workspace)
    serve = "trap '' HUP; (sleep 98765.75 & echo up > bell; sleep 98765.75)"
    model_server.script(
        [{"calls": [call("exec_command", cmd=serve, yield_ms=30_000)]}, {"text": "as you say"}]
    )
    with start(program, model_server, "go") as screen:
        assert bell.wait() == "up\n"
        for word in ("one", "two"):
            screen.type(f"{word}\r")
            screen.shows("running", f"steer    {word}")
        screen.type("\x1b")
        screen.shows("interrupted by you", "one", "two")
        screen.type(" three\r")
        screen.shows("as you say")
        screen.leave()
    assert not processes_with("98765.75")
    messages = [m["content"] for m in model_server.requests[-1].json["messages"] if m["role"] == "user"]
    said = " ".join(str(message) for message in messages)
    assert [said.count(word) for word in ("one", "two", "three")] == [1, 1, 1]
    assert said.index("one") < said.index("two") < said.index("three")
