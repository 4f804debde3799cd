"""Results that a kill -9 in mid-command lost, in the whole program: what a person or an option chooses."""

import json
import signal
import sqlite3
import subprocess
from contextlib import closing

import pytest

from tests.e2e.project import call
from tests.e2e.running import Bell, running
from tests.e2e.screen import Screen
from tests.model_server.fixture import ModelServer
from tests.processes import processes_with, seconds
from tests.program import Program, Ran, model_flags
from tests.waiting import until

MARK = seconds()
COMMAND = f"echo half of it; echo ran >> effects; echo up > bell; sleep {MARK}"


def kill_in(program: Program, server: ModelServer, *, yield_ms: int, is_live: bool = False) -> None:
    """A run whose process dies while its command runs, or is live behind its call; it dies with it."""
    bell = Bell(program.workspace)
    server.script([{"calls": [call("exec_command", cmd=COMMAND, yield_ms=yield_ms)]}])
    with running(program, server.base_url(), "go") as run:
        assert bell.wait() == "up\n"
        if is_live:
            run.until("item.completed", "command_execution")
        run.process.send_signal(signal.SIGKILL)
        run.process.wait()
    wait_until_gone(MARK)
    (program.workspace / "bell").unlink()


def wait_until_gone(word: str) -> None:
    """The kernel ends what was in the sandbox; that takes a moment."""
    until(lambda: not processes_with(word), lambda: f"still there: {processes_with(word)}")


def lose(program: Program, server: ModelServer) -> None:
    """Lose the result of one command."""
    kill_in(program, server, yield_ms=30_000)
    assert (program.workspace / "effects").read_text() == "ran\n"


def resume(program: Program, server: ModelServer, *argv: str) -> Ran:
    return program.run("exec", *model_flags("chat", server.base_url()), "--last", *argv, "go on")


def told(server: ModelServer) -> list[str]:
    """What the model was last told of its calls."""
    return [m["content"] for m in server.requests[-1].json["messages"] if m["role"] == "tool"]


@pytest.mark.parametrize("policy", ["report", "rollback"])
def test_exec_reports_a_lost_result_or_rolls_it_back(
    program: Program, model_server: ModelServer, policy: str
) -> None:
    lose(program, model_server)
    model_server.script([{"text": "I looked"}])
    argv = () if policy == "report" else ("--on-lost-result", policy)
    ran = resume(program, model_server, *argv)
    assert (ran.code, ran.out) == (0, "I looked\n"), ran.err
    (result,) = told(model_server)
    assert result.startswith("Outcome unknown") and "half of it" in result
    effects = program.workspace / "effects"
    if policy == "report":
        assert effects.read_text() == "ran\n" and "A effects" in result
    else:
        assert not effects.exists() and "rolled back to before it" in result
    assert not processes_with(MARK)


def test_exec_stops_at_a_lost_result_until_somebody_chooses(
    program: Program, model_server: ModelServer
) -> None:
    lose(program, model_server)
    before = len(model_server.requests)
    for _ in range(2):
        ran = resume(program, model_server, "--on-lost-result", "stop")
        assert ran.code == 130 and "lost in a crash" in ran.err, ran
        assert "Traceback" not in ran.err and len(model_server.requests) == before
    model_server.script([{"text": "I looked"}])
    assert resume(program, model_server).code == 0
    (result,) = told(model_server)
    assert result.startswith("Outcome unknown")
    assert (program.workspace / "effects").read_text() == "ran\n"


@pytest.mark.parametrize("keys", ["k", "b", "aa"])
def test_a_person_chooses_on_the_card(program: Program, model_server: ModelServer, keys: str) -> None:
    lose(program, model_server)
    effects = program.workspace / "effects"
    model_server.script([{"text": "I looked"}])
    flags = model_flags("chat", model_server.base_url())
    bell = Bell(program.workspace)
    with Screen(program, "resume", "--last", *flags) as screen:
        screen.shows("result lost", "half of it", "k  keep what it did", "b  back to before it")
        assert effects.read_text() == "ran\n"
        screen.type("x")  # decide later
        screen.shows("── paused", "result lost")
        screen.leave()
    with Screen(program, "resume", "--last", *flags) as screen:
        screen.shows("result lost", "k  keep what it did")
        screen.type(keys[0])
        if len(keys) > 1:
            screen.shows("it may act twice", "a  yes, run it again")
            screen.type(keys[1])
            assert bell.wait() == "up\n"
            assert effects.read_text() == "ran\nran\n"
            screen.type("\x1b")
            screen.shows("interrupted by you")
            screen.say("and now")
        if keys == "b":  # what it changes is seen first
            screen.shows("rollback · files · to", "D effects", "Enter roll back")
            assert effects.read_text() == "ran\n"
            screen.type("\r")
        screen.shows("I looked", "● done")
        screen.leave()
    (result,) = told(model_server)
    assert ("Outcome unknown" in result) is (keys != "aa")
    assert effects.exists() is (keys != "b")
    assert not processes_with(MARK)


def test_a_terminal_of_a_dead_process_is_lost_and_no_other_process_is_signalled(
    program: Program, model_server: ModelServer
) -> None:
    model_server.allow_violations = True  # the request that nobody answers any more
    kill_in(program, model_server, yield_ms=250, is_live=True)
    with subprocess.Popen(["sleep", seconds()], start_new_session=True) as bystander:
        try:
            name_as_spawned(program, bystander.pid)
            again = call("write_stdin", session="t1", chars="\x03")
            model_server.script([{"calls": [again]}, {"text": "I saw"}])
            ran = resume(program, model_server)
            assert (ran.code, bystander.poll()) == (0, None), ran.err
        finally:
            bystander.kill()
    text = json.dumps(model_server.requests[-1].json)
    assert "these terminals are lost: t1" in text
    assert "t1" in told(model_server)[-1] and "lost" in told(model_server)[-1]


def test_a_terminal_that_the_end_of_a_session_ended_is_not_lost(
    program: Program, model_server: ModelServer
) -> None:
    listen = call("exec_command", cmd="cat", tty=True, yield_ms=250)
    model_server.script([{"calls": [listen]}, {"text": "It waits."}, {"text": "I see."}])
    ran = program.run("exec", *model_flags("chat", model_server.base_url()), "listen")
    assert (ran.code, ran.out) == (0, "It waits.\n"), ran.err
    ran = resume(program, model_server)
    assert (ran.code, ran.out) == (0, "I see.\n"), ran.err
    text = json.dumps(model_server.requests[-1].json)
    assert "these terminals were ended with it: t1 (cat)" in text
    assert "lost" not in ran.err and "lost" not in text


def name_as_spawned(program: Program, pid: int) -> None:
    """As if the number of the command's process had gone to another one since."""
    (store,) = program.state.glob("sessions/*/session.db")
    with closing(sqlite3.connect(store)) as connection, connection:
        rows = connection.execute("SELECT seq, body FROM records WHERE body LIKE '%CallSpawned%'").fetchall()
        assert rows
        for seq, body in rows:
            event = json.loads(body)
            event["body"]["process"] |= {"pid": pid, "process_group": pid}
            connection.execute("UPDATE records SET body = ? WHERE seq = ?", (json.dumps(event), seq))
