import asyncio
from pathlib import Path

import pytest

from agent_tui.engine.commands import Answer, Decide, Interrupt, Submit
from agent_tui.engine.events import ApprovalAsked, CallEnded, QuestionAsked, TurnEnded
from agent_tui.engine.types import Decision, EndReason
from agent_tui.engine.waves import cut_waves
from checkpoints.types import Cause, Checkpoint, CheckpointError, FileChange, Phase, Uncovered
from tests.engine.fakes import FakeCheckpointer, FakeToolbox, calls, engine, last_results, text
from tools.types import READS_NOTHING, CallSink, Effects, Grant, Invocation, Outcome, OutcomeStatus, PathSet


def reads(*paths: str) -> Effects:
    return Effects(reads=PathSet(paths=tuple(map(Path, paths))), writes=PathSet(), network=False)


def writes(*paths: str) -> Effects:
    return Effects(reads=PathSet(), writes=PathSet(paths=tuple(map(Path, paths))), network=False)


def cut(**effects: Effects) -> list[list[str]]:
    return cut_waves(list(effects.items()))


def test_reads_share_a_wave_and_a_write_to_the_same_file_does_not() -> None:
    waves = cut(a=reads("/a"), b=reads("/b"), c=writes("/a"), d=reads("/a"))
    assert waves == [["a", "b"], ["c"], ["d"]]


def test_a_directory_overlaps_with_what_is_below_it() -> None:
    assert cut(a=reads("/d"), b=writes("/d/x/y")) == [["a"], ["b"]]
    assert cut(a=writes("/d/x"), b=writes("/d/xy")) == [["a", "b"]]


def test_undeclared_effects_are_alone() -> None:
    assert cut(a=reads("/a"), b=Effects(), c=Effects(), d=reads("/a")) == [["a"], ["b"], ["c"], ["d"]]


def test_no_call_overtakes_an_earlier_one() -> None:
    assert cut(a=writes("/a"), b=writes("/a"), c=reads("/c")) == [["a"], ["b", "c"]]


def test_the_person_and_a_terminal_are_one_at_a_time() -> None:
    ask = Effects(reads=PathSet(), writes=PathSet(), exclusive=True)
    poll = Effects(reads=PathSet(), writes=PathSet(), terminal="t1")
    assert cut(a=READS_NOTHING, b=ask, c=READS_NOTHING) == [["a"], ["b"], ["c"]]
    assert cut(a=poll, b=READS_NOTHING, c=poll) == [["a", "b"], ["c"]]


async def test_calls_of_a_wave_run_at_the_same_time_and_are_answered_in_order(tmp_path: Path) -> None:
    meeting = asyncio.Barrier(3)

    async def meet(invocation: Invocation, sink: CallSink) -> Outcome:
        await meeting.wait()
        return Outcome(status=OutcomeStatus.SUCCEEDED, text=str(invocation.arguments["path"]))

    paths = ["/a", "/b", "/c"]
    async with engine(tmp_path, calls(*(("read_file", {"path": p}) for p in paths)), text("done")) as run:
        run.toolbox.behaviour["read_file"] = meet
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
    assert last_results(run.model.requests[1]) == paths


async def test_approvals_of_a_wave_are_asked_together_and_what_came_before_has_run(tmp_path: Path) -> None:
    script = calls(("exec_command", {"cmd": "first"}), ("ask_exec", {"cmd": "second"}))
    async with engine(tmp_path, script) as run:
        run.send(Submit(text="go"))
        asked = await run.wait(ApprovalAsked)
        assert isinstance(asked, ApprovalAsked)
        assert [body.call_id for body in run.bodies(CallEnded)] == ["c1.1"]
        run.send(Decide(approval_id=asked.approval_id, decision=Decision.DENY_AND_PAUSE, digest=asked.digest))
        ended = await run.wait(TurnEnded)
    assert isinstance(ended, TurnEnded) and ended.reason is EndReason.INTERRUPTED
    assert ended.sentence == "interrupted by you"  # what was denied had no effects
    assert [tool for tool, _ in run.toolbox.ran] == ["exec_command"]


async def test_nobody_is_asked_about_a_call_that_would_be_refused(tmp_path: Path) -> None:
    script = calls(
        ("ask_exec", {"cmd": "one", "refused": "it does not fit"}), ("exec_command", {"cmd": "two"})
    )
    async with engine(tmp_path, script, text("done")) as run:
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
    assert run.bodies(ApprovalAsked) == []
    assert run.toolbox.ran == [("exec_command", {"cmd": "two"})]
    assert last_results(run.model.requests[1])[0] == "it does not fit"
    assert run.bodies(CallEnded)[0].outcome.status is OutcomeStatus.INVALID


async def test_edited_arguments_run_in_place_of_the_models_and_the_model_is_told(tmp_path: Path) -> None:
    async with engine(tmp_path, calls(("ask_exec", {"cmd": "rm -r /"})), text("done")) as run:
        run.send(Submit(text="go"))
        asked = await run.wait(ApprovalAsked)
        assert isinstance(asked, ApprovalAsked)
        edited = Decide(
            approval_id=asked.approval_id, decision=Decision.EDIT, digest=asked.digest, edited="rm -r build"
        )
        run.send(edited)
        await run.wait(TurnEnded)
    assert run.toolbox.ran == [("ask_exec", {"cmd": "rm -r build"})]
    assert "changed the arguments" in last_results(run.model.requests[1])[0]


async def test_an_edit_that_cannot_be_read_runs_nothing(tmp_path: Path) -> None:
    async with engine(tmp_path, calls(("ask_exec", {"cmd": "rm -r /"})), text("done")) as run:
        run.send(Submit(text="go"))
        asked = await run.wait(ApprovalAsked)
        assert isinstance(asked, ApprovalAsked)
        broken = Decide(
            approval_id=asked.approval_id, decision=Decision.EDIT, digest=asked.digest, edited='{"cmd": '
        )
        run.send(broken)
        await run.wait(TurnEnded)
    assert run.toolbox.ran == []


async def test_a_call_the_sandbox_denied_runs_again_with_the_grant_a_person_gives(tmp_path: Path) -> None:
    async def work(invocation: Invocation, sink: CallSink) -> Outcome:
        if len(run.toolbox.ran) == 1:
            return Outcome(
                status=OutcomeStatus.FAILED,
                text="network is off",
                exit_code=6,
                denied_grant=Grant.NETWORK,
            )
        return Outcome(status=OutcomeStatus.SUCCEEDED, text="fetched", exit_code=0)

    async with engine(tmp_path, calls(("exec_command", {"cmd": "curl"})), text("done")) as run:
        run.toolbox.behaviour["exec_command"] = work
        run.send(Submit(text="go"))
        asked = await run.wait(ApprovalAsked)
        assert isinstance(asked, ApprovalAsked)
        run.send(Decide(approval_id=asked.approval_id, decision=Decision.ONCE, digest=asked.digest))
        await run.wait(TurnEnded)
    assert last_results(run.model.requests[1]) == ["fetched"]
    assert len(run.bodies(CallEnded)) == 1


async def test_a_denied_grant_leaves_the_first_result(tmp_path: Path) -> None:
    async def work(invocation: Invocation, sink: CallSink) -> Outcome:
        return Outcome(status=OutcomeStatus.FAILED, text="network is off", denied_grant=Grant.NETWORK)

    async with engine(tmp_path, calls(("exec_command", {"cmd": "curl"})), text("done")) as run:
        run.toolbox.behaviour["exec_command"] = work
        run.send(Submit(text="go"))
        asked = await run.wait(ApprovalAsked)
        assert isinstance(asked, ApprovalAsked)
        run.send(Decide(approval_id=asked.approval_id, decision=Decision.DENY, digest=asked.digest))
        await run.wait(TurnEnded)
    assert last_results(run.model.requests[1]) == ["network is off"]
    assert len(run.toolbox.ran) == 1


class SecondSlow(FakeCheckpointer):
    """The second checkpoint before a call never comes."""

    def __init__(self) -> None:
        super().__init__()
        self.before = 0
        self.asked = asyncio.Event()

    async def take(self, cause: Cause) -> Checkpoint:
        self.before += cause.phase is Phase.BEFORE_CALL
        if cause.phase is Phase.BEFORE_CALL and self.before == 2:
            self.asked.set()
            await asyncio.Event().wait()
        return await super().take(cause)


async def test_a_stop_before_the_second_attempt_leaves_the_first_result(tmp_path: Path) -> None:
    async def work(invocation: Invocation, sink: CallSink) -> Outcome:
        return Outcome(status=OutcomeStatus.FAILED, text="network is off", denied_grant=Grant.NETWORK)

    slow = SecondSlow()
    async with engine(tmp_path, calls(("exec_command", {"cmd": "curl"})), checkpointer=slow) as run:
        run.toolbox.behaviour["exec_command"] = work
        run.send(Submit(text="go"))
        asked = await run.wait(ApprovalAsked)
        assert isinstance(asked, ApprovalAsked)
        run.send(Decide(approval_id=asked.approval_id, decision=Decision.ONCE, digest=asked.digest))
        await slow.asked.wait()
        run.send(Interrupt())
        ended = await run.wait(TurnEnded)
    assert isinstance(ended, TurnEnded) and ended.reason is EndReason.INTERRUPTED
    assert [(one.call_id, one.outcome.text) for one in run.bodies(CallEnded)] == [("c1.1", "network is off")]
    assert len(run.toolbox.ran) == 1


class SecondFails(FakeCheckpointer):
    """The second checkpoint before a call cannot be taken."""

    def __init__(self) -> None:
        super().__init__()
        self.before = 0

    async def take(self, cause: Cause) -> Checkpoint:
        self.before += cause.phase is Phase.BEFORE_CALL
        if cause.phase is Phase.BEFORE_CALL and self.before == 2:
            raise CheckpointError("disk busy")
        return await super().take(cause)


@pytest.mark.parametrize("required", [False, True])
async def test_a_second_attempt_without_its_checkpoint_needs_a_yes_too(
    tmp_path: Path, required: bool
) -> None:
    async def work(invocation: Invocation, sink: CallSink) -> Outcome:
        return Outcome(status=OutcomeStatus.FAILED, text="network is off", denied_grant=Grant.NETWORK)

    script = calls(("exec_command", {"cmd": "curl"})), text("done")
    async with engine(tmp_path, *script, checkpointer=SecondFails(), require_checkpoints=required) as run:
        run.toolbox.behaviour["exec_command"] = work
        run.send(Submit(text="go"))
        asked = await run.wait(ApprovalAsked)
        assert isinstance(asked, ApprovalAsked)
        run.send(Decide(approval_id=asked.approval_id, decision=Decision.ONCE, digest=asked.digest))
        if not required:
            question = await run.wait(QuestionAsked)
            assert isinstance(question, QuestionAsked) and question.kind == "no_checkpoint"
            run.send(Answer(question_id=question.question_id, text="deny"))
        ended = await run.wait(TurnEnded)
    assert isinstance(ended, TurnEnded)
    assert ended.reason is (EndReason.CHECKPOINT_UNAVAILABLE if required else EndReason.COMPLETED)
    assert len(run.toolbox.ran) == 1
    told = run.bodies(CallEnded)[0].outcome.text
    assert told == "network is off\nIt was not run again: no checkpoint could be taken (disk busy)"


class Watching(FakeCheckpointer):
    """Looks, before each call, at what was made ready."""

    def __init__(self) -> None:
        super().__init__()
        self.toolbox: FakeToolbox | None = None
        self.seen: list[set[str]] = []

    async def take(self, cause: Cause) -> Checkpoint:
        if cause.phase is Phase.BEFORE_CALL and self.toolbox is not None:
            self.seen.append(set(self.toolbox.ready))
        return await super().take(cause)


async def test_a_call_that_is_alone_in_its_wave_is_made_ready_ahead_of_its_checkpoint(tmp_path: Path) -> None:
    alone, both = [("exec_command", {"cmd": "x"})], [("write_file", {"path": f"/{name}"}) for name in "ab"]
    watching = Watching()
    async with engine(tmp_path, calls(*alone), calls(*both), text("done"), checkpointer=watching) as run:
        watching.toolbox = run.toolbox
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
    assert watching.seen == [{"c1.1"}, set()]
    assert len(run.toolbox.ran) == 3
    assert not run.toolbox.ready


@pytest.mark.parametrize("answer", ["deny", ""])
async def test_nothing_is_kept_ready_while_a_person_is_asked_or_after_a_stop(
    tmp_path: Path, answer: str
) -> None:
    async with engine(tmp_path, calls(("exec_command", {"cmd": "x"})), text("done")) as run:
        run.checkpointer.error = CheckpointError("disk busy")
        run.send(Submit(text="go"))
        question = await run.wait(QuestionAsked)
        assert isinstance(question, QuestionAsked)
        assert not run.toolbox.ready
        run.send(Answer(question_id=question.question_id, text=answer) if answer else Interrupt())
        await run.wait(TurnEnded)
    assert not run.toolbox.ran and not run.toolbox.ready


async def test_a_stop_while_a_checkpoint_is_taken_drops_what_was_made_ready(tmp_path: Path) -> None:
    slow = SecondSlow()
    slow.before = 1
    async with engine(tmp_path, calls(("exec_command", {"cmd": "x"})), checkpointer=slow) as run:
        run.send(Submit(text="go"))
        await slow.asked.wait()
        assert run.toolbox.ready == {"c1.1"}
        run.send(Interrupt())
        await run.wait(TurnEnded)
    assert not run.toolbox.ran and not run.toolbox.ready


async def test_a_call_names_what_it_changed_and_undo_does_not_cover(tmp_path: Path) -> None:
    one, two = ("exec_command", {"cmd": "one"}), ("exec_command", {"cmd": "two"})
    async with engine(tmp_path, calls(one), calls(two), text("done")) as run:
        run.checkpointer.uncovered = (Uncovered(path="big", reason="large"), Uncovered(path=".", reason="x"))
        run.checkpointer.changes = [(FileChange(path="a", kind="M"),), (FileChange(path="big", kind="M"),)]
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
        assert [ended.uncovered for ended in run.bodies(CallEnded)] == [(), ("big (large)",)]
