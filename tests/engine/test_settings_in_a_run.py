"""Approvals and sandbox changed by a person, in a run or between two: what they hold for, who is told."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from agent_tui.engine.approvals import SessionGate
from agent_tui.engine.commands import Decide, Rollback, RunShell, Set, Submit
from agent_tui.engine.events import (
    ApprovalAsked,
    CallEnded,
    CallStarted,
    NoticeRaised,
    Refused,
    RolledBack,
    SettingChanged,
    TurnEnded,
)
from agent_tui.engine.judgement import SessionGrant
from agent_tui.engine.types import ApprovalPolicy, Decision
from agent_tui.engine.waves import MAX_COMMANDS
from checkpoints.types import Cause, Checkpoint, Phase
from context.view import NoticeUnit
from sandbox.policy import Policy
from tests.engine.fakes import Engine, FakeCheckpointer, FakeToolbox, calls, engine, text
from tests.engine.test_drift import model_told, with_real_gate
from tests.engine.test_unwritable import Disk
from tools.types import (
    READS_NOTHING,
    Arguments,
    Assessment,
    CallClass,
    CallSink,
    Grant,
    Invocation,
    Outcome,
    OutcomeStatus,
)

TOLD = "Changed by the user, whatever was said before: "
WRITES = ("write_file", {"path": "/w/a"}), ("write_file", {"path": "/w/a"})


class Toolbox(FakeToolbox):
    """Its edits are not provably read-only."""

    def assess(self, tool: str, arguments: Arguments, policy: Policy) -> Assessment:
        found = super().assess(tool, arguments, policy)
        return replace(found, call_class=CallClass.ASK) if found.action == "edit" else found


class ReadingToolbox(FakeToolbox):
    """Its commands share a wave."""

    def assess(self, tool: str, arguments: Arguments, policy: Policy) -> Assessment:
        return replace(super().assess(tool, arguments, policy), effects=READS_NOTHING)


async def change(run: Engine, key: str, value: str) -> None:
    run.send(Set(key=key, value=value))
    await run.wait(SettingChanged, Refused, count=len(run.bodies(SettingChanged, Refused)) + 1)


def changing(run: Engine, tool: str, key: str, value: str) -> None:
    """Have the first call of a tool see the setting changed while it runs."""

    async def behave(invocation: Invocation, sink: CallSink) -> Outcome:
        del run.toolbox.behaviour[tool]
        await change(run, key, value)
        return Outcome(status=OutcomeStatus.SUCCEEDED, text="ran")

    run.toolbox.behaviour[tool] = behave


async def asked_of(run: Engine, count: int) -> ApprovalAsked:
    asked = await run.wait(ApprovalAsked, count=count)
    assert isinstance(asked, ApprovalAsked)
    return asked


@asynccontextmanager
async def asking(root: Path, *paths: str) -> AsyncIterator[tuple[Engine, ApprovalAsked]]:
    """A run that would write the files, and the question about the first, which is open."""
    script = calls(*(("write_file", {"path": path}) for path in paths))
    untrusted = ApprovalPolicy.UNTRUSTED
    async with engine(root, script, text("done"), approval=untrusted, toolbox=Toolbox()) as run:
        with_real_gate(run)
        run.send(Submit(text="go"))
        yield run, await asked_of(run, 1)


def allow(run: Engine, asked: ApprovalAsked) -> None:
    run.send(Decide(approval_id=asked.approval_id, decision=Decision.ONCE, digest=asked.digest))


def sandboxes(run: Engine) -> list[str]:
    return [body.sandbox for body in run.bodies(CallStarted)]


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [("approval", "untrusted", "edits ask first"), ("sandbox", "read-only", "the workspace is read-only")],
)
async def test_what_is_tightened_in_a_run_holds_for_the_next_call_of_the_same_response(
    tmp_path: Path, key: str, value: str, why: str
) -> None:
    async with engine(tmp_path, calls(*WRITES), text("done"), toolbox=Toolbox()) as run:
        with_real_gate(run)
        changing(run, "write_file", key, value)
        run.send(Submit(text="go"))
        asked = await asked_of(run, 1)
        assert (asked.call_id, len(run.toolbox.ran)) == ("c1.2", 1) and why in asked.why
        allow(run, asked)
        await run.wait(TurnEnded)
    order = [type(e.body).__name__ for e in run.seen if isinstance(e.body, SettingChanged | ApprovalAsked)]
    assert order == ["SettingChanged", "ApprovalAsked"]
    assert not run.bodies(Refused)
    assert model_told(run) == [f"{TOLD}{key} is `{value}`"]
    newest = run.model.requests[1].view.units[-1]
    assert isinstance(newest, NoticeUnit) and newest.notice.text == model_told(run)[0]


async def test_what_is_tightened_holds_for_a_call_that_waits_until_others_of_its_wave_are_done(
    tmp_path: Path,
) -> None:
    reads = [("exec_command", {"cmd": f"cat {number}"}) for number in range(MAX_COMMANDS + 1)]
    async with engine(tmp_path, calls(*reads), text("done"), toolbox=ReadingToolbox()) as run:
        with_real_gate(run)
        changing(run, "exec_command", "sandbox", "read-only")
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
    assert [mode.split(",")[0] for mode in sandboxes(run)] == [
        *["workspace"] * MAX_COMMANDS,
        "read-only",
    ]


async def test_a_looser_sandbox_holds_from_the_next_call_with_the_checkpoint_that_it_needs(
    tmp_path: Path,
) -> None:
    script = calls(("exec_command", {"cmd": "one"}), ("exec_command", {"cmd": "two"}))
    async with engine(tmp_path, script, text("done"), approval=ApprovalPolicy.NEVER) as run:
        with_real_gate(run)
        changing(run, "exec_command", "sandbox", "off")
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
    assert sandboxes(run) == ["workspace, net off", "no sandbox"]
    assert len({body.checkpoint_id for body in run.bodies(CallStarted)}) == 2


@pytest.mark.parametrize(
    ("key", "value"), [("approval", "never"), ("approval", "on-request"), ("sandbox", "off")]
)
async def test_what_is_asked_stays_so_when_the_mode_is_loosened(tmp_path: Path, key: str, value: str) -> None:
    async with asking(tmp_path, "/w/a") as (run, asked):
        await change(run, key, value)
        await run.wait(SettingChanged)
        assert not run.bodies(CallStarted) and asked.approval_id in run.session.fold.approvals
        run.send(Decide(approval_id=asked.approval_id, decision=Decision.DENY, digest=asked.digest))
        ended = await run.wait(CallEnded)
        await run.wait(TurnEnded)
    assert isinstance(ended, CallEnded) and ended.outcome.status is OutcomeStatus.DENIED
    assert run.toolbox.ran == []


async def test_a_yes_to_what_was_asked_before_the_change_is_asked_again_with_the_reason(
    tmp_path: Path,
) -> None:
    async with asking(tmp_path, "/w/a") as (run, first):
        await change(run, "approval", "never")
        allow(run, first)
        again = await asked_of(run, 2)
        assert again.why.startswith("the approval policy changed after you were asked")
        assert run.toolbox.ran == []
        allow(run, again)
        await run.wait(TurnEnded)
    assert len(run.toolbox.ran) == 1


def denying_once(run: Engine) -> None:
    """Have the sandbox keep the first command from the network."""

    async def denied(invocation: Invocation, sink: CallSink) -> Outcome:
        del run.toolbox.behaviour["exec_command"]
        return Outcome(
            status=OutcomeStatus.FAILED, text="no", denial="no network", denied_grant=Grant.NETWORK
        )

    run.toolbox.behaviour["exec_command"] = denied


async def test_a_grant_that_was_asked_for_before_the_change_is_asked_for_again(tmp_path: Path) -> None:
    async with engine(tmp_path, calls(("exec_command", {"cmd": "fetch"})), text("done")) as run:
        with_real_gate(run)
        denying_once(run)
        run.send(Submit(text="go"))
        first = await asked_of(run, 1)
        await change(run, "sandbox", "read-only")
        allow(run, first)
        again = await asked_of(run, 2)
        assert again.why.startswith("the sandbox changed after you were asked")
        allow(run, again)
        await run.wait(TurnEnded)
    assert sandboxes(run) == ["workspace, net off", "read-only, net on"]


async def test_an_edit_by_the_person_outlives_a_change_of_the_sandbox(tmp_path: Path) -> None:
    async with asking(tmp_path, "/w/a", "/w/b") as (run, first):
        second = await asked_of(run, 2)
        edited = '{"path": "/w/c"}'
        run.send(
            Decide(approval_id=first.approval_id, decision=Decision.EDIT, digest=first.digest, edited=edited)
        )
        await change(run, "sandbox", "read-only")
        allow(run, second)
        for count in (3, 4):
            allow(run, await asked_of(run, count))
        await run.wait(TurnEnded)
    assert [arguments["path"] for _, arguments in run.toolbox.ran] == ["/w/c", "/w/b"]
    assert sandboxes(run) == ["workspace, net off"] * 2  # what a person allows to write, writes


class ChangesWhileTaking(FakeCheckpointer):
    """Has the sandbox changed while one of the checkpoints before a call is taken."""

    run: Engine

    def __init__(self, left: int = 1) -> None:
        super().__init__()
        self.left = left

    async def take(self, cause: Cause) -> Checkpoint:
        self.left -= cause.phase is Phase.BEFORE_CALL
        if cause.phase is Phase.BEFORE_CALL and self.left == 0:
            await change(self.run, "sandbox", "read-only")
        return await super().take(cause)


@pytest.mark.parametrize("by_person", [False, True])
async def test_a_change_while_the_checkpoint_is_taken_holds_for_the_call_behind_it(
    tmp_path: Path, by_person: bool
) -> None:
    checkpointer = ChangesWhileTaking()
    script = calls(("exec_command", {"cmd": "make"})), text("done")
    async with engine(tmp_path, *script, checkpointer=checkpointer) as run:
        checkpointer.run = run
        with_real_gate(run)
        run.send(RunShell(command="make") if by_person else Submit(text="go"))
        await run.wait(CallEnded)
        await run.idle()
    assert (sandboxes(run), len(run.toolbox.ran)) == (["read-only, net off"], 1)


@pytest.mark.parametrize(
    ("decision", "attempts", "result"),
    [
        (Decision.ONCE, ["workspace, net off", "read-only, net on"], "ran exec_command"),
        (Decision.DENY, ["workspace, net off"], "no"),
    ],
)
async def test_a_grant_is_asked_for_again_where_a_setting_changes_before_the_second_attempt_starts(
    tmp_path: Path, decision: Decision, attempts: list[str], result: str
) -> None:
    """A denial then leaves the first result."""
    checkpointer = ChangesWhileTaking(2)
    script = calls(("exec_command", {"cmd": "fetch"})), text("done")
    async with engine(tmp_path, *script, checkpointer=checkpointer) as run:
        checkpointer.run = run
        with_real_gate(run)
        denying_once(run)
        run.send(Submit(text="go"))
        allow(run, await asked_of(run, 1))
        again = await asked_of(run, 2)
        assert again.why.startswith("the sandbox changed after you were asked")
        assert len(run.toolbox.ran) == 1
        run.send(Decide(approval_id=again.approval_id, decision=decision, digest=again.digest))
        await run.wait(TurnEnded)
    assert sandboxes(run) == attempts and len(run.toolbox.ran) == len(attempts)
    assert [body.outcome.text for body in run.bodies(CallEnded)] == [result]


class Reads(FakeToolbox):
    """Its commands are understood to read only; a session may have granted one more than that."""

    def assess(self, tool: str, arguments: Arguments, policy: Policy) -> Assessment:
        found = super().assess(tool, arguments, policy)
        return replace(found, effects=READS_NOTHING, read_only=True, keys=("run ls",))


@pytest.mark.parametrize(
    ("sandbox", "step", "ran_in"),
    [
        ("workspace-write", "", "read-only, net off"),
        ("workspace-write", "read_path /x", "read-only, net off"),
        ("workspace-write", "network", "read-only, net on"),
        ("workspace-write", "write_path /x", "read-only + /x, net off"),
        ("workspace-write", "no_sandbox", "no sandbox"),
        ("workspace-write", "by person", "workspace, net off"),
        ("off", "", "no sandbox"),
    ],
)
async def test_a_command_that_reads_has_a_checkpoint_where_its_sandbox_would_let_it_write(
    tmp_path: Path, sandbox: str, step: str, ran_in: str
) -> None:
    script = calls(("exec_command", {"cmd": "ls"})), text("done")
    async with engine(tmp_path, *script, toolbox=Reads()) as run:
        with_real_gate(run)
        await change(run, "sandbox", sandbox)
        if step == "by person":
            run.send(RunShell(command="ls"))
        else:
            gate = run.ports.gate
            assert isinstance(gate, SessionGate)
            if step:
                version = gate._facts.version
                gate._grants["a1"] = SessionGrant(
                    id="a1", keys=("run ls",), cwd=str(tmp_path), step=step, version=version
                )
            run.send(Submit(text="go"))
        started = await run.wait(CallStarted)
        await run.idle()
    assert isinstance(started, CallStarted) and started.sandbox == ran_in
    before = [
        one.cause.only_touched for one in run.checkpointer.taken if one.cause.phase is Phase.BEFORE_CALL
    ]
    is_held = ran_in in ("read-only, net off", "read-only, net on")
    assert (bool(started.checkpoint_id), before) == ((False, []) if is_held else (True, [False]))


async def test_what_could_not_be_stored_is_not_in_force(tmp_path: Path) -> None:
    disk = Disk()
    async with engine(tmp_path, wrap=disk.wrap) as run:
        with_real_gate(run)
        await change(run, "sandbox", "read-only")
        disk.records.full = True
        await change(run, "approval", "never")
        assert [body.reason for body in run.bodies(Refused)] == ["the disk is full"]
        assert run.ports.gate.approval() is ApprovalPolicy.ON_REQUEST
        disk.records.full = False


async def test_the_model_is_told_with_the_next_message_of_the_newest_values_once(tmp_path: Path) -> None:
    async with engine(tmp_path, text("one"), text("two")) as run:
        with_real_gate(run)
        for key, value in (("approval", "never"), ("sandbox", "off"), ("approval", "untrusted")):
            await change(run, key, value)
        for path in ("/usr/share", "/usr/lib"):
            await change(run, "add_dir", path)
        for count in (1, 2):
            run.send(Submit(text="go"))
            await run.wait(TurnEnded, count=count)
    line = "sandbox is `off`; approval is `untrusted`; add_dir is `/usr/share`; add_dir is `/usr/lib`"
    assert model_told(run) == [TOLD + line]
    assert run.checkpointer.added == [Path("/usr/share"), Path("/usr/lib")]


async def test_what_a_rollback_of_the_conversation_hides_is_told_again(tmp_path: Path) -> None:
    script = calls(("exec_command", {"cmd": "make"})), text("one"), text("two")
    async with engine(tmp_path, *script) as run:
        with_real_gate(run)
        changing(run, "exec_command", "sandbox", "read-only")
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
        await run.idle()
        start = run.checkpointer.taken[0].id
        run.send(Rollback(checkpoint_id=start, mode="conversation"))
        await run.wait(RolledBack)
        run.send(Submit(text="again"))
        await run.wait(TurnEnded, count=2)
    units = run.model.requests[-1].view.units
    assert [unit.notice.text for unit in units if isinstance(unit, NoticeUnit)] == [
        f"{TOLD}sandbox is `read-only`"
    ]


async def test_live_terminals_keep_their_sandbox_and_both_sides_are_told(tmp_path: Path) -> None:
    async def stay(invocation: Invocation, sink: CallSink) -> Outcome:
        run.toolbox.live = [{"id": "t1", "state": "live", "command": "serve"}]
        return Outcome(status=OutcomeStatus.YIELDED, text="live", terminal="t1")

    script = calls(("exec_command", {"cmd": "serve"})), text("one"), text("two")
    async with engine(tmp_path, *script) as run:
        with_real_gate(run)
        run.toolbox.behaviour["exec_command"] = stay
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
        await change(run, "approval", "never")
        await change(run, "sandbox", "read-only")
        run.send(Submit(text="on"))
        await run.wait(TurnEnded, count=2)
    words = "live terminals keep the sandbox that they were started in: t1"
    assert [body.text for body in run.bodies(NoticeRaised)] == [words]
    assert model_told(run)[0] == f"{TOLD}approval is `never`; sandbox is `read-only`; {words}"
