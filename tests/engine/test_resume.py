import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from agent_tui.engine.commands import Continue, Decide, Redo, Settle, Submit
from agent_tui.engine.events import (
    ApprovalAsked,
    CallEnded,
    CallStarted,
    InputAccepted,
    InputReturned,
    LostResultAsked,
    NoticeRaised,
    Refused,
    RolledBack,
    SessionStarted,
    TurnEnded,
)
from agent_tui.engine.types import Decision, EndReason
from tests.engine.fakes import Engine, Step, calls, engine, last_results, text
from tools.types import CallSink, Invocation, Outcome, OutcomeStatus

Behaviour = Callable[[Invocation, CallSink], Awaitable[Outcome]]


async def hang(invocation: Invocation, sink: CallSink) -> Outcome:
    invocation.spool.write_text("half of the output\n")
    await asyncio.Event().wait()
    raise AssertionError


async def crash_in(root: Path, tool: str, arguments: dict[str, Any], **settings: Any) -> Engine:
    """A session killed while its one call runs."""
    async with engine(root, calls((tool, arguments)), **settings) as run:
        run.toolbox.behaviour[tool] = hang
        run.send(Submit(text="go"))
        await run.wait(CallStarted)
        await run.crash()
    return run


async def test_a_lost_command_is_asked_about_and_never_run_again(tmp_path: Path) -> None:
    await crash_in(tmp_path, "exec_command", {"cmd": "make"})
    async with engine(tmp_path, text("done")) as run:
        asked = await run.wait(LostResultAsked)
        assert isinstance(asked, LostResultAsked)
        assert asked.output == "half of the output\n" and asked.ended_at >= asked.started_at > 0
        [told] = [body.text for body in run.bodies(NoticeRaised)]
        assert told.endswith(
            "without a close (killed); 0 calls have their results, 1 has none, and nothing was run again"
        )
        assert [body.reason for body in run.bodies(TurnEnded)] == [EndReason.CRASHED]
        run.send(Settle(question_id=asked.question_id, choice="keep"))
        await run.wait(TurnEnded, count=2)
    assert run.toolbox.ran == []
    (lost,) = last_results(run.model.requests[0])
    assert "Outcome unknown" in lost and lost.count("M x") == 1
    assert [body.outcome.status for body in run.bodies(CallEnded)] == [OutcomeStatus.OUTCOME_UNKNOWN]


async def test_calls_that_ended_before_a_crash_keep_their_results(tmp_path: Path) -> None:
    writes = [("write_file", {"path": name}) for name in "ab"]
    async with engine(tmp_path, calls(*writes, ("exec_command", {"cmd": "make"}))) as run:
        run.toolbox.behaviour["exec_command"] = hang
        run.send(Submit(text="go"))
        await run.wait(CallStarted, count=3)
        await run.crash()
    async with engine(tmp_path, text("done")) as again:
        asked = await again.wait(LostResultAsked)
        assert isinstance(asked, LostResultAsked)
        again.send(Settle(question_id=asked.question_id, choice="keep"))
        await again.wait(TurnEnded, count=2)
    *first, third = last_results(again.model.requests[0])
    assert first == ["ran write_file"] * 2 and third.startswith("Outcome unknown")
    assert again.toolbox.ran == []


async def test_a_result_that_was_stored_is_sent_and_its_call_is_not_run_again(tmp_path: Path) -> None:
    async def never() -> None:
        await asyncio.Event().wait()

    waits: Step = [never]
    async with engine(tmp_path, calls(("exec_command", {"cmd": "make"})), waits) as run:
        run.send(Submit(text="go"))
        await run.wait(CallEnded)
        await run.crash()
    async with engine(tmp_path, text("done")) as again:
        again.send(Continue())
        await again.wait(TurnEnded, count=2)
    assert last_results(again.model.requests[0]) == ["ran exec_command"]
    assert again.toolbox.ran == []


async def test_typing_instead_of_choosing_keeps_a_lost_result(tmp_path: Path) -> None:
    await crash_in(tmp_path, "exec_command", {"cmd": "make"})
    async with engine(tmp_path, text("done")) as run:
        await run.wait(LostResultAsked)
        run.send(Submit(text="look first"))
        await run.wait(TurnEnded, count=2)
    units = run.model.requests[0].view.units
    assert "Outcome unknown" in units[1].results[0].text  # type: ignore[union-attr] # an exchange
    assert units[2].item.text == "look first"  # type: ignore[union-attr] # a message


async def test_going_on_is_no_answer_about_a_lost_result_until_it_was_put_off(tmp_path: Path) -> None:
    await crash_in(tmp_path, "exec_command", {"cmd": "make"})
    async with engine(tmp_path, text("done")) as run:
        run.send(Continue())  # as an Enter that comes before the question
        asked = await run.wait(LostResultAsked)
        refused = await run.wait(Refused)
        assert isinstance(asked, LostResultAsked) and isinstance(refused, Refused)
        assert refused.reason == "a result was lost; say first what becomes of it"
        assert not run.bodies(CallEnded)
        run.send(Settle(question_id=asked.question_id, choice="stop"))
        run.send(Continue())
        await run.wait(TurnEnded, count=2)
    assert "Outcome unknown" in last_results(run.model.requests[0])[0]


async def test_going_back_to_before_a_lost_command_heeds_what_was_chosen_of_files_in_conflict(
    tmp_path: Path,
) -> None:
    await crash_in(tmp_path, "exec_command", {"cmd": "make"})
    async with engine(tmp_path, text("done")) as run:
        asked = await run.wait(LostResultAsked)
        assert isinstance(asked, LostResultAsked)
        conflicts = {"a.py": "take", "b.py": "nonsense"}
        run.send(Settle(question_id=asked.question_id, choice="rollback", conflicts=conflicts))
        await run.wait(TurnEnded, count=2)
        run.send(Redo())
        back = await run.wait(RolledBack, count=2)
        assert isinstance(back, RolledBack) and back.redo_of == asked.checkpoint_id
    record, _ = run.bodies(RolledBack)
    assert (record.checkpoint_id, record.mode) == (asked.checkpoint_id, "files") and record.files is not None
    assert run.checkpointer.rolled_back == [asked.checkpoint_id]
    assert run.checkpointer.chosen == {"a.py": "take"}
    assert "rolled back to before it" in last_results(run.model.requests[0])[0]


async def test_a_lost_command_runs_again_only_when_a_person_says_so(tmp_path: Path) -> None:
    await crash_in(tmp_path, "exec_command", {"cmd": "make"})
    async with engine(tmp_path, text("done")) as run:
        asked = await run.wait(LostResultAsked)
        assert isinstance(asked, LostResultAsked)
        run.send(Settle(question_id=asked.question_id, choice="again"))
        await run.wait(TurnEnded, count=2)
    assert [tool for tool, _ in run.toolbox.ran] == ["exec_command"]
    assert [body.attempt for body in run.bodies(CallStarted)] == [2]


@pytest.mark.parametrize(("policy", "rolled_back"), [("report", 0), ("rollback", 1)])
async def test_without_a_person_a_lost_result_follows_the_configuration(
    tmp_path: Path, policy: str, rolled_back: int
) -> None:
    await crash_in(tmp_path, "exec_command", {"cmd": "make"}, interactive=False)
    async with engine(tmp_path, text("done"), interactive=False, on_lost_result=policy) as run:
        run.send(Continue())
        await run.wait(TurnEnded, count=2)
    assert len(run.checkpointer.rolled_back) == rolled_back
    assert ("rolled back" in last_results(run.model.requests[0])[0]) is bool(rolled_back)


async def test_without_a_person_the_run_can_stop_at_a_lost_result(tmp_path: Path) -> None:
    await crash_in(tmp_path, "exec_command", {"cmd": "make"}, interactive=False)
    async with engine(tmp_path, interactive=False, on_lost_result="stop") as run:
        run.send(Continue())
        ended = await run.wait(TurnEnded, count=2)
    assert isinstance(ended, TurnEnded)
    assert ended.exit_code != 0 and "--on-lost-result" in ended.error


async def test_a_lost_read_is_run_again_without_a_question_as_was_said(tmp_path: Path) -> None:
    await crash_in(tmp_path, "read_file", {"path": "/a"})
    async with engine(tmp_path, text("done")) as run:
        told = await run.wait(NoticeRaised)
        assert isinstance(told, NoticeRaised)
        assert told.text.endswith("nothing was run again; what only reads is run again when it goes on")
        run.send(Continue())
        await run.wait(TurnEnded, count=2)
    assert run.bodies(LostResultAsked) == []
    assert last_results(run.model.requests[0]) == ["ran read_file"]
    assert [body.attempt for body in run.bodies(CallStarted)] == [2]


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize(
    ("content", "status"), [(b"new", OutcomeStatus.SUCCEEDED), (b"old", OutcomeStatus.FAILED)]
)
async def test_a_lost_write_is_reconciled_by_hash(
    tmp_path: Path, content: bytes, status: OutcomeStatus
) -> None:
    arguments = {"path": "f", "before": sha(b"old"), "after": sha(b"new")}
    await crash_in(tmp_path, "write_file", arguments)
    (tmp_path / "f").write_bytes(content)
    async with engine(tmp_path, text("done")) as run:
        run.send(Continue())
        await run.wait(TurnEnded, count=2)
    assert [body.outcome.status for body in run.bodies(CallEnded)] == [status]
    assert run.toolbox.ran == []


async def test_a_half_done_write_is_unknown(tmp_path: Path) -> None:
    await crash_in(tmp_path, "write_file", {"path": "f", "before": sha(b"old"), "after": sha(b"new")})
    (tmp_path / "f").write_bytes(b"neither")
    async with engine(tmp_path, text("done")) as run:
        asked = await run.wait(LostResultAsked)
        assert isinstance(asked, LostResultAsked)


async def test_an_approval_survives_a_crash_and_is_answered_once(tmp_path: Path) -> None:
    script = calls(("write_file", {"path": "a"}), ("ask_exec", {"cmd": "rm"}))
    async with engine(tmp_path, script) as run:
        run.send(Submit(text="go"))
        first = await run.wait(ApprovalAsked)
        assert isinstance(first, ApprovalAsked)
        await run.crash()
    assert [tool for tool, _ in run.toolbox.ran] == ["write_file"]
    async with engine(tmp_path, text("done")) as again:
        await again.wait(SessionStarted)
        again.send(Decide(approval_id=first.approval_id, decision=Decision.ONCE, digest=first.digest))
        again.send(Decide(approval_id=first.approval_id, decision=Decision.ONCE, digest=first.digest))
        await again.wait(TurnEnded, count=2)
    assert [tool for tool, _ in again.toolbox.ran] == ["ask_exec"]
    assert last_results(again.model.requests[0]) == ["ran write_file", "ran ask_exec"]


async def test_an_approval_is_asked_again_when_the_action_changed_meanwhile(tmp_path: Path) -> None:
    async with engine(tmp_path, calls(("ask_exec", {"cmd": "rm"}))) as run:
        run.send(Submit(text="go"))
        first = await run.wait(ApprovalAsked)
        assert isinstance(first, ApprovalAsked)
        await run.crash()
    async with engine(tmp_path, text("done")) as again:
        again.gate.salt = "the file changed"
        await again.wait(SessionStarted)
        again.send(Decide(approval_id=first.approval_id, decision=Decision.ONCE, digest=first.digest))
        second = await again.wait(ApprovalAsked)
        assert isinstance(second, ApprovalAsked) and second.approval_id != first.approval_id
        assert again.toolbox.ran == []
        again.send(Decide(approval_id=second.approval_id, decision=Decision.ONCE, digest=second.digest))
        await again.wait(TurnEnded, count=2)
    assert [tool for tool, _ in again.toolbox.ran] == ["ask_exec"]


async def test_pending_messages_come_back_after_a_crash_and_are_not_sent(tmp_path: Path) -> None:
    async with engine(tmp_path, calls(("exec_command", {"cmd": "make"}))) as run:
        run.toolbox.behaviour["exec_command"] = hang
        run.send(Submit(text="go"))
        await run.wait(CallStarted)
        for message in ("one", "two", "three"):
            run.send(Submit(text=message))
        await run.wait(InputAccepted, count=4)
        await run.crash()
    async with engine(tmp_path, text("done")) as again:
        await again.wait(InputReturned, count=3)
        assert [body.text for body in again.bodies(InputReturned)] == ["one", "two", "three"]
        assert again.session.fold.inbox == {}
