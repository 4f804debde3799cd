"""A program that answers on stdin and goes away: what is open is answered, and the run ends by itself."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.e2e import project
from tests.e2e.project import call
from tests.e2e.running import Running, held, running
from tests.e2e.small_disk import small_disk
from tests.model_server.fixture import ModelServer
from tests.program import Program, model_flags


def left(run: Running) -> Mapping[str, Any]:
    """Close stdin and read to the end."""
    code, err = run.end()  # closes it
    assert (code, run.ended["reason"]) == (0, "completed"), err
    return run.ended


def test_an_open_approval_is_denied_and_the_run_goes_on(program: Program, model_server: ModelServer) -> None:
    patch = call("apply_patch", patch=project.PATCH)
    model_server.script([{"calls": [patch]}, {"calls": [patch]}, {"text": "I could not."}])
    with running(program, model_server.base_url(), "--stdin-commands", "-a", "untrusted", "mend it") as run:
        run.until("item.started", "approval")
        left(run)
    assert not project.passes(program)
    for request in model_server.requests[1:]:
        assert b"nobody is left to answer" in request.body


def test_an_open_question_is_answered_by_the_model_itself(
    program: Program, model_server: ModelServer
) -> None:
    asks = call("request_user_input", question="Which one?")
    model_server.script([{"calls": [asks]}, {"text": "I took the first."}])
    with running(program, model_server.base_url(), "--stdin-commands", "go") as run:
        run.until("item.started", "question")
        left(run)
    assert b"decide yourself" in model_server.requests[1].body


def test_a_limit_ends_the_run(program: Program, model_server: ModelServer) -> None:
    model_server.script([{"calls": [call("list_files")]}, {"text": "so far"}])
    argv = ("--stdin-commands", "--max-turns", "1", "go")
    with running(program, model_server.base_url(), *argv) as run:
        run.until("item.started", "question")
        code, _ = run.end()
    assert (code, run.ended["reason"]) == (3, "budget_turns")


def test_an_answer_that_was_refused_leaves_the_question_to_nobody(
    program: Program, model_server: ModelServer
) -> None:
    model_server.script([{"calls": [call("apply_patch", patch=project.PATCH)]}, {"text": "I could not."}])
    with running(program, model_server.base_url(), "--stdin-commands", "-a", "untrusted", "mend it") as run:
        asked = run.until("item.started", "approval")["item"]
        run.order(type="decide", id=asked["id"], decision="once", digest="of something else")
        assert "changed" in run.until("error")["message"]
        left(run)
    assert not project.passes(program)


def test_an_answer_for_nobody_that_cannot_be_stored_ends_the_run(
    program: Program, model_server: ModelServer
) -> None:
    program = replace(program, extra={"AGENT_TUI_STATE_DIR": str(program.home / "small")})
    model_server.script([{"calls": [call("apply_patch", patch=project.PATCH)]}])
    flags = model_flags("chat", model_server.base_url())
    argv = ("exec", "--json", "--stdin-commands", "-a", "untrusted", *flags, "go")
    with small_disk(program.home / "small", "3m") as disk, held(disk.start(program, *argv)) as run:
        run.until("item.started", "approval")
        disk.fill()
        code, err = run.end()
    (ended,) = (event for event in run.seen if event["type"] == "turn.failed")
    assert (code, ended["reason"]) == (5, "state_unwritable"), err
    assert not project.passes(program)
