"""SIGTERM at any moment is a clean pause: the end is stored, the session says goodbye and goes on later."""

import fcntl
import json
import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tests.e2e import project
from tests.e2e.project import call
from tests.e2e.running import Running, running
from tests.e2e.screen import start
from tests.model_server.fixture import ModelServer
from tests.program import Program, model_flags


def events_of(program: Program) -> list[dict[str, Any]]:
    """The bodies of the stored events of the only session."""
    (store,) = program.state.glob("sessions/*/session.db")
    with closing(sqlite3.connect(store)) as connection:
        rows = connection.execute("SELECT body FROM records WHERE kind = 'event' ORDER BY seq").fetchall()
    return [json.loads(row[0])["body"] for row in rows]


def paused(program: Program) -> list[str]:
    """Check that the process paused and closed the session; the kinds of what it stored."""
    bodies = events_of(program)
    assert [body["type"] for body in bodies].count("TurnEnded") == 1
    (ended,) = (body for body in bodies if body["type"] == "TurnEnded")
    assert (ended["reason"], ended["exit_code"]) == ("interrupted", 130)
    assert bodies[-1]["type"] == "SessionClosed", [body["type"] for body in bodies[-4:]]
    return [body["type"] for body in bodies]


def terminated(run: Running) -> str:
    """Send the signal; what was said on stderr."""
    run.process.send_signal(signal.SIGTERM)
    code, err = run.end()
    assert code == 143, err
    assert "Traceback" not in err and "agent-tui resume" in err
    assert (run.ended["type"], run.ended["reason"]) == ("turn.failed", "interrupted")
    return err


def goes_on(program: Program, server: ModelServer) -> str:
    server.script([{"text": "went on"}])
    ran = program.run("exec", *model_flags("chat", server.base_url()), "--last", "go on")
    assert (ran.code, ran.out) == (0, "went on\n"), ran.err
    return json.dumps(server.requests[-1].json)


def test_in_the_middle_of_an_answer(program: Program, model_server: ModelServer) -> None:
    model_server.script([{"text": "the first half\n\nand more of it", "piece": 8, "text_gate": "rest"}])
    with start(program, model_server, "go") as screen:
        screen.shows("the first half")
        assert screen.terminate() == 143
    model_server.release("rest")
    paused(program)
    assert "the first half" in goes_on(program, model_server)


def test_in_the_countdown_to_another_attempt(program: Program, model_server: ModelServer) -> None:
    model_server.script([{"status": 503, "headers": {"Retry-After": "60"}}])
    with running(program, model_server.base_url(), "go") as run:
        assert "attempt 2 of" in run.until("error")["message"]
        terminated(run)
    paused(program)
    goes_on(program, model_server)


def test_while_a_summary_is_written(
    program: Program, model_server: ModelServer, model_server_process: tuple[int, Path]
) -> None:
    summariser = ModelServer(*model_server_process)
    summariser.script([{"text": "never", "gate": "never"}])
    program.config(
        'summary_model = "sums/short"\n'
        f'[providers.sums]\napi = "chat"\nbase_url = "{summariser.base_url()}"\n'
        "[providers.sums.models]\nshort = { context_window = 8000, max_output = 1000 }\n"
        "[providers.compatible.models]\nscripted = { context_window = 16000, max_output = 2000 }\n"
    )
    for name in "abcd":
        (program.workspace / name).write_text(f"{name} line of some text\n" * 260)
    usage = {"input": 11_000, "output": 10}
    model_server.script([{"calls": [call("read_file", path=name)], "usage": usage} for name in "abcd"])
    model_server.allow_unplayed = True
    with start(program, model_server, "read everything") as screen:
        screen.shows("compacting")
        assert screen.terminate() == 143
    summariser.release("never")
    assert "CompactionEnded" not in paused(program), "the old view stays"


@contextmanager
def held_store(program: Program) -> Iterator[None]:
    """Nobody can record checkpoints of the workspace meanwhile."""
    (lock,) = program.state.glob("checkpoints/*/lock")
    descriptor = os.open(lock, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def test_while_a_call_waits_for_its_checkpoint(program: Program, model_server: ModelServer) -> None:
    model_server.script([{"calls": [call("exec_command", cmd="true")]}, {"text": "ok"}])
    flags = model_flags("chat", model_server.base_url())
    assert program.run("exec", *flags, "make a store").code == 0
    for store in program.state.glob("sessions/*/session.db"):
        store.unlink()
    model_server.script([{"calls": [call("exec_command", cmd="echo > made")]}])
    with held_store(program), start(program, model_server, "go") as screen:
        screen.shows("waiting", "for the first checkpoint")
        assert screen.terminate() == 143
    assert "CallStarted" not in paused(program)
    assert not (program.workspace / "made").exists()


def test_while_an_approval_is_open(program: Program, model_server: ModelServer) -> None:
    model_server.script([{"calls": [call("apply_patch", patch=project.PATCH)]}])
    with start(program, model_server, "-a", "untrusted") as screen:
        screen.shows("ready")
        screen.say("mend it")
        screen.shows("y  once")
        assert screen.terminate() == 143
    kinds = paused(program)
    assert kinds.count("ApprovalDecided") == 1 and "CallStarted" not in kinds
    assert not project.passes(program)
    assert "denied" in goes_on(program, model_server).lower()
