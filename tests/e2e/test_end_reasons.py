"""The table of run end reasons, each brought about by a real `exec`: one event, one sentence, one code."""

import json
import re
import signal
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from agent_tui.engine.types import END_FACTS, EndReason
from tests.e2e import project
from tests.e2e.project import call
from tests.e2e.running import Bell, held, running
from tests.e2e.small_disk import small_disk
from tests.model_server.fixture import ModelServer
from tests.program import ROOT, Program, model_flags

MODEL = "providers.compatible.models.scripted"
PRICES = ("-c", f"{MODEL}.price_input=1000000", "-c", f"{MODEL}.price_output=1000000")
SMALL = ("-c", f"{MODEL}.context_window=8000")
AWAY = {"status": 503, "headers": {"Retry-After": "600"}, "body": {"error": {"message": "down"}}}
LOOK = {"calls": [call("list_files")]}
CHECK = {"calls": [call("exec_command", cmd=project.CHECK)]}
PATCH = {"calls": [call("apply_patch", patch=project.PATCH)]}
SLEEP = {"calls": [call("exec_command", cmd="echo up > bell; sleep 60", yield_ms=30_000)]}
ASK = {"calls": [call("exec_command", cmd="true", needs="network", reason="r")]}
DONE = {"text": "done"}
BUG = (
    f"import sys; sys.path.insert(0, {str(ROOT)!r}); import agent_tui.engine.loop as loop; loop.guide = None"
)

SCRIPTED: dict[EndReason, tuple[Sequence[str], list[dict[str, Any]]]] = {
    EndReason.COMPLETED: ((), [DONE]),
    EndReason.COMPLETED_UNVERIFIED: ((), [CHECK, PATCH, DONE]),
    EndReason.CONTRACT_UNMET: (("--verify", "false"), [DONE] * 3),
    EndReason.BUDGET_TURNS: (("--max-turns", "1"), [LOOK, DONE]),
    EndReason.BUDGET_TOOLS: (("--max-tool-calls", "1"), [{"calls": LOOK["calls"] * 2}, DONE]),
    EndReason.BUDGET_TIME: (("--timeout", "4"), [SLEEP, DONE]),
    EndReason.BUDGET_TOKENS: (("--max-tokens", "10"), [DONE]),
    EndReason.BUDGET_COST: (("--max-cost", "0.01", *PRICES), []),
    EndReason.COST_UNKNOWN: (("--max-cost", "1"), []),
    EndReason.CONTEXT_EXHAUSTED: (SMALL, []),
    EndReason.LOOP_DETECTED: ((), [{"reasoning": "hm"}, {"text": ""}, DONE]),
    EndReason.MODEL_UNAVAILABLE: ((), [AWAY]),
    EndReason.MODEL_REJECTED: ((), [{"status": 400, "body": {"error": {"message": "no"}}}]),
    EndReason.APPROVAL_UNAVAILABLE: ((), [ASK, ASK, ASK]),
}


STALE = f"{re.escape(project.CHECK)} was not run after the last change"
SENTENCES = {
    EndReason.COMPLETED: "done",
    EndReason.COMPLETED_UNVERIFIED: f"done, not verified: {STALE}",
    EndReason.CONTRACT_UNMET: r"not met: false fails \(exit 1\) after 3 tries",
    EndReason.CANCELLED: "cancelled by you",
    EndReason.INTERRUPTED: "interrupted by you; effects may be partial",
    EndReason.CRASHED: r"crashed \d\d:\d\d; resumed",
    EndReason.BUDGET_TURNS: "limit reached: 1 turn",
    EndReason.BUDGET_TOOLS: "limit reached: 1 tool call",
    EndReason.BUDGET_TIME: "limit reached: 4 s",
    EndReason.BUDGET_TOKENS: "limit reached: 10 tokens",
    EndReason.BUDGET_COST: r"limit reached: \$0.01",
    EndReason.COST_UNKNOWN: "limit reached: cost is limited and the price of this model is not known",
    EndReason.CONTEXT_EXHAUSTED: "the view does not fit the window",
    EndReason.LOOP_DETECTED: "no progress: 2 responses with neither text nor call",
    EndReason.MODEL_UNAVAILABLE: r"compatible did not answer \(1 try, 0:\d\d\)",
    EndReason.MODEL_REJECTED: "compatible refused the request",
    EndReason.APPROVAL_UNAVAILABLE: "approvals were needed and nobody could be asked",
    EndReason.CHECKPOINT_UNAVAILABLE: "no undo, and checkpoints are required",
    EndReason.STATE_UNWRITABLE: "the session cannot be written",
    EndReason.INTERNAL_ERROR: "internal error; the session is safe",
}


def check(events: list[dict[str, Any]], reason: EndReason, code: int) -> None:
    """One end, with the sentence that its facts make and the exit code of the table."""
    ends = [event for event in events if event["type"] in ("turn.completed", "turn.failed")]
    assert [(end["reason"], end["exit_code"]) for end in ends] == [(str(reason), code)], ends
    assert code == END_FACTS[reason].exit_code
    assert says(ends[0], reason), ends


def says(end: dict[str, Any], reason: EndReason) -> bool:
    """Whether an end has the sentence of that reason."""
    return re.fullmatch(SENTENCES[reason], end["sentence"]) is not None


@pytest.mark.parametrize("reason", SCRIPTED)
def test_a_script_ends_for_its_reason(program: Program, model_server: ModelServer, reason: EndReason) -> None:
    options, steps = SCRIPTED[reason]
    model_server.script(steps)
    prompt = "go " + "on and on " * (10_000 if reason is EndReason.CONTEXT_EXHAUSTED else 1)
    flags = model_flags("chat", model_server.base_url())
    ran = program.run("exec", "--json", *flags, *options, prompt)
    check([json.loads(line) for line in ran.out.splitlines()], reason, ran.code)


@pytest.mark.parametrize(
    ("order", "reason"), [("interrupt", EndReason.INTERRUPTED), ("cancel", EndReason.CANCELLED)]
)
def test_an_interrupted_task_can_be_continued_and_a_cancelled_one_cannot(
    program: Program, model_server: ModelServer, order: str, reason: EndReason
) -> None:
    bell = Bell(program.workspace)
    goes_on = reason is EndReason.INTERRUPTED
    model_server.script([SLEEP, DONE])
    with running(program, model_server.base_url(), "--stdin-commands", "go") as run:
        bell.wait()
        run.order(type=order)
        run.until("turn.failed")
        check(run.seen, reason, run.ended["exit_code"])
        run.order(type="continue")
        if goes_on:
            run.until("turn.completed")
        else:
            assert run.until("error")["message"] == "there is no paused task"
            run.order(type="prompt", text="something else")
            run.until("turn.completed")
        assert run.end()[0] == 0
    sent = json.dumps(model_server.requests[-1].json)
    assert "interrupted" in sent and ("given up" in sent) is not goes_on


def test_a_killed_run_is_given_its_end_by_the_resume(program: Program, model_server: ModelServer) -> None:
    bell = Bell(program.workspace)
    model_server.script([SLEEP, DONE])
    with running(program, model_server.base_url(), "go") as run:
        bell.wait()
        run.process.send_signal(signal.SIGKILL)
        run.process.wait()
    flags = model_flags("chat", model_server.base_url())
    ran = program.run("exec", "--json", *flags, "--last", "go on")
    assert ran.code == 0, ran.err
    crashed, done = stored_ends(program)
    assert (crashed["reason"], crashed["exit_code"]) == ("crashed", END_FACTS[EndReason.CRASHED].exit_code)
    assert says(crashed, EndReason.CRASHED)
    assert done["reason"] == "completed"


def stored_ends(program: Program) -> list[dict[str, Any]]:
    """The bodies of every stored end."""
    (store,) = program.state.glob("sessions/*/session.db")
    with closing(sqlite3.connect(store)) as connection:
        rows = connection.execute("SELECT body FROM records WHERE kind = 'event' ORDER BY seq").fetchall()
    bodies = [json.loads(row[0])["body"] for row in rows]
    return [body for body in bodies if body["type"] == "TurnEnded"]


def test_checkpoints_that_are_required_and_fail_end_the_run(
    program: Program, model_server: ModelServer
) -> None:
    model_server.script([PATCH | {"gate": "broken"}])
    with running(program, model_server.base_url(), "--require-checkpoints", "go") as run:
        run.until("item.completed", "checkpoint")
        places = program.state / "checkpoints"
        places.rename(places.with_name("away"))
        places.write_text("no folder")
        model_server.release("broken")
        code, _ = run.end()
    check(run.seen, EndReason.CHECKPOINT_UNAVAILABLE, code)
    assert not project.passes(program)


def test_a_store_that_is_full_ends_the_run(program: Program, model_server: ModelServer) -> None:
    program = replace(program, extra={"AGENT_TUI_STATE_DIR": str(program.home / "small")})
    model_server.script([PATCH | {"gate": "full"}])
    argv = ("exec", "--json", *model_flags("chat", model_server.base_url()), "go")
    with small_disk(program.home / "small", "3m") as disk, held(disk.start(program, *argv)) as run:
        run.until("item.completed", "checkpoint")
        disk.fill()
        model_server.release("full")
        code, _ = run.end()
    check(run.seen, EndReason.STATE_UNWRITABLE, code)
    assert not project.passes(program)


def test_a_fault_of_the_program_ends_the_run(program: Program, model_server: ModelServer) -> None:
    program = replace(program, first=BUG)
    model_server.script([LOOK])
    ran = program.run("exec", "--json", *model_flags("chat", model_server.base_url()), "go")
    check([json.loads(line) for line in ran.out.splitlines()], EndReason.INTERNAL_ERROR, ran.code)
    (kept,) = program.state.rglob("internal-error.txt")
    assert "Traceback" in kept.read_text() and "Traceback" not in ran.err


def test_the_table_is_walked_whole() -> None:
    elsewhere = {
        EndReason.INTERRUPTED,
        EndReason.CANCELLED,
        EndReason.CRASHED,
        EndReason.CHECKPOINT_UNAVAILABLE,
        EndReason.STATE_UNWRITABLE,
        EndReason.INTERNAL_ERROR,
    }
    assert {*SCRIPTED, *elsewhere} == set(EndReason)
