"""Runs one wave: gate, checkpoint, `started` on disk, run, outcomes."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

from agent_tui.engine.asking import ask_approvals, ask_question
from agent_tui.engine.authorise import Authorised, ChangedError, authorise, authorised, gated, in_force
from agent_tui.engine.changes import merge_changes
from agent_tui.engine.events import (
    ApprovalDecided,
    Body,
    CallChanged,
    CallEnded,
    CallStarted,
    NoticeRaised,
    QuestionAsked,
    TaskChanged,
    TerminalChanged,
)
from agent_tui.engine.execution import arguments_sha256, execute, invocation_of, profile
from agent_tui.engine.framing import budget_of
from agent_tui.engine.prepare import Prepared, ended
from agent_tui.engine.scope import Scope
from agent_tui.engine.snapshots import Snapshots, Taken, is_writer, share_out
from agent_tui.engine.stop import StoppedError
from agent_tui.engine.types import CallState, Decision, EndReason, TaskStatus
from agent_tui.frozen import frozen
from checkpoints.types import Author, FileChange, Uncovered
from tools.types import Grant, Outcome, OutcomeStatus

WAIT, GO_ON, DENY = "wait 30 s more", "run without undo", "deny"


@frozen
class Ran:
    """A call that has run, before its end is stored."""

    call: Prepared
    outcome: Outcome
    duration_s: float
    changes: tuple[FileChange, ...] = ()
    external: tuple[FileChange, ...] = ()
    checkpoint_id: str = ""
    uncovered: tuple[str, ...] = ()
    taken: tuple[Body, ...] = ()  # the checkpoint after it, stored with its end


class Wave:
    """Runs waves of one step; what the calls came to is in the records when `run` returns."""

    def __init__(self, scope: Scope, snapshots: Snapshots, step: int) -> None:
        self._scope = scope
        self._snapshots = snapshots
        self._step = step

    async def run(self, calls: Sequence[Prepared]) -> EndReason | None:
        """Run those that are allowed; a reason ends the run after the batch was answered.

        Raises StoppedError and ChangedError before anything of the wave has started, never after.
        """
        allowed = await authorise(self._scope, calls)
        self._scope.stop.check()
        return await self.run_allowed(allowed)

    async def run_allowed(self, allowed: list[Authorised]) -> EndReason | None:
        """Run calls that need no gate any more. Raises StoppedError and ChangedError before any of them has
        started."""
        await self._snapshots.first([one.call for one in allowed])
        async with self._ready(allowed):
            return await self._run_allowed(allowed)

    @asynccontextmanager
    async def _ready(self, allowed: Sequence[Authorised]) -> AsyncIterator[None]:
        """Have the sandbox of a call built while a checkpoint is taken and its start is stored; of calls
        that share a wave, and so wait for each other, none."""
        try:
            if len(allowed) == 1:
                call = invocation_of(self._scope, allowed[0].call, allowed[0].policy)
                await self._scope.ports.toolbox.make_ready(call)
            yield
        finally:
            await self._drop(allowed)

    async def _drop(self, allowed: Sequence[Authorised]) -> None:
        for one in allowed:
            await self._scope.ports.toolbox.drop(one.call.call_id)

    async def _run_allowed(self, allowed: list[Authorised]) -> EndReason | None:
        fold = self._scope.session.fold
        taken = await self._checkpoint(allowed)
        if taken.error:
            allowed = await self._deny_writers(allowed, taken.error)
        if taken.error and self._scope.config.require_checkpoints:
            return EndReason.CHECKPOINT_UNAVAILABLE
        if not allowed or not await self._start(allowed, taken):
            self._scope.stop.check()
            if allowed:
                raise ChangedError([one.call for one in allowed])
            return None
        ran = await self._run_all(allowed)
        if fold.task_status is TaskStatus.WAITING_TOOL:
            await self._settle(TaskChanged(task_id=fold.task_id, status=TaskStatus.RUNNING))
        writers = [one for one in ran if is_writer(one.call)]
        if writers and taken.checkpoint is not None:
            writers = await self._attribute(writers, taken)
        for one in writers:
            await self._end(await self._escalate(one))
        if not self._stored:
            return EndReason.STATE_UNWRITABLE
        return EndReason.CHECKPOINT_UNAVAILABLE if self._lacks_checkpoint else None

    _stored = True  # False once the store refused the end of a call
    _lacks_checkpoint = False  # True once a call was not run again for the want of a required one

    async def _checkpoint(self, allowed: Sequence[Authorised]) -> Taken:
        """The checkpoint; one without an error where the calls may run with or without it."""
        while True:
            taken = await self._snapshots.before([one.call for one in allowed], self._step)
            if not taken.error:
                return taken
            await self._drop(allowed)  # nobody knows how long an answer takes
            writer = next(one for one in allowed if is_writer(one.call))
            choice = await self._ask_without(writer.call, taken.error)
            if choice == GO_ON:
                return Taken()
            if choice != WAIT:
                return taken

    async def _deny_writers(self, allowed: Sequence[Authorised], error: str) -> list[Authorised]:
        """Answer those that needed the checkpoint; gives back the others."""
        text = f"Not run: no checkpoint could be taken before it ({error})"
        outcome = Outcome(status=OutcomeStatus.DENIED, text=text)
        writers = [one for one in allowed if is_writer(one.call)]
        await self._scope.session.commit(*(ended(one.call, outcome) for one in writers))
        return [one for one in allowed if one not in writers]

    async def _ask_without(self, call: Prepared, error: str) -> str:
        """Whether to run without undo: a person says, or the configuration."""
        session = self._scope.session
        if self._scope.config.require_checkpoints:
            return DENY
        if not self._scope.config.interactive:
            if "undo.failed" not in session.fold.notices:
                await session.commit(
                    NoticeRaised(text=f"no undo: {error}", level="warning", key="undo.failed")
                )
            return GO_ON
        question = QuestionAsked(
            question_id=f"q{session.fold.asked + 1}",
            call_id=call.call_id,
            text=f"No checkpoint before this call: {error}",
            options=(WAIT, GO_ON, DENY),
            free_text=False,
            kind="no_checkpoint",
        )
        answer = await ask_question(self._scope, question)
        if answer is None:
            self._scope.stop.pause("you left the question open")
        return answer or DENY

    async def _start(self, allowed: Sequence[Authorised], taken: Taken) -> bool:
        """Store checkpoint and starts in one transaction, unless a stop or another setting came before it."""
        bodies: list[Body] = [*taken.bodies]
        checkpoint_id = taken.checkpoint.id if taken.checkpoint else ""
        for one in allowed:
            bodies.append(CallChanged(call_id=one.call.call_id, state=CallState.AUTHORISED))
            bodies.append(await self._started(one, checkpoint_id if is_writer(one.call) else "", 1))
        bodies += self._waits_for_terminals(allowed)
        return await self._scope.session.commit(
            *bodies, cause=f"s{self._step}", when=lambda: self._may_start(*allowed)
        )

    def _may_start(self, *allowed: Authorised) -> bool:
        """Whether nobody stopped it, and what allowed it is still in force."""
        now = in_force(self._scope)
        return not self._scope.stop.now.is_set() and all(one.under == now for one in allowed)

    def _waits_for_terminals(self, allowed: Sequence[Authorised]) -> list[Body]:
        """The task waits for a tool when all that runs is a look at live terminals."""
        fold = self._scope.session.fold
        polls = all(
            one.call.assessment is not None and one.call.assessment.read_only and one.call.effects.terminal
            for one in allowed
        )
        if not polls or fold.task_status is not TaskStatus.RUNNING:
            return []
        return [TaskChanged(task_id=fold.task_id, status=TaskStatus.WAITING_TOOL)]

    async def _started(self, one: Authorised, checkpoint_id: str, attempt: int) -> CallStarted:
        call, scope = one.call, self._scope
        look = scope.ports.toolbox.predict(call.tool, call.arguments, one.policy)
        predicted = await scope.stop.guard(look)
        earlier = scope.session.fold.calls[call.call_id].started
        return CallStarted(
            call_id=call.call_id,
            attempt=max(attempt, earlier.attempt + 1 if earlier else 1),
            arguments_sha256=arguments_sha256(call.arguments),
            cwd=str(call.arguments.get("workdir") or scope.config.workspace),
            sandbox=profile(one.policy),
            spool=str(scope.artifacts / f"{call.call_id}.out"),
            boot_id=scope.boot_id,
            checkpoint_id=checkpoint_id,
            allowed=one.why,
            written_before={path: hashes[0] for path, hashes in predicted.items()} or None,
            written_after={path: hashes[1] for path, hashes in predicted.items()} or None,
        )

    async def _run_all(self, allowed: Sequence[Authorised]) -> list[Ran]:
        """All at once; readers are ended as they finish."""
        results = await asyncio.gather(*(self._run(one) for one in allowed), return_exceptions=True)
        failed = [result for result in results if isinstance(result, BaseException)]
        if failed:
            raise failed[0]
        return [result for result in results if isinstance(result, Ran)]

    async def _run(self, one: Authorised) -> Ran:
        clock = self._scope.session.clock
        begun = clock.monotonic()
        outcome = await execute(self._scope, one.call, one.policy, self._timeout_s())
        ran = Ran(call=one.call, outcome=outcome, duration_s=clock.monotonic() - begun - _asked_s(outcome))
        if not is_writer(one.call):
            await self._end(ran)
        return ran

    def _timeout_s(self) -> float | None:
        """A command ends with the time limit of the run."""
        left = budget_of(self._scope).time_left_s()
        return None if left is None else max(1.0, left)

    async def _attribute(self, writers: list[Ran], before: Taken) -> list[Ran]:
        """Give each writer what it changed, by the checkpoint after them."""
        assert before.checkpoint is not None
        calls = [one.call for one in writers]
        after = await self._snapshots.after(calls, self._step)
        if after.checkpoint is None:
            return [replace(one, checkpoint_id=before.checkpoint.id) for one in writers]
        written = {one.call.call_id: {path.path for path in one.outcome.written} for one in writers}
        shares, external = share_out(calls, written, after.checkpoint.changes)
        meanwhile = [c for c in before.checkpoint.changes if c.author is Author.EXTERNAL]
        return [
            replace(
                one,
                changes=shares[one.call.call_id],
                external=merge_changes((*meanwhile, *external)) if index == 0 else (),
                checkpoint_id=before.checkpoint.id,
                taken=after.bodies if index == 0 else (),
                uncovered=_uncovered_of(shares[one.call.call_id], after.checkpoint.uncovered),
            )
            for index, one in enumerate(writers)
        ]

    async def _escalate(self, ran: Ran) -> Ran:
        """After a denial by the sandbox: ask for the grant, and run again where it is given. Asked again
        where what it is about has changed meanwhile, up to the moment at which it would start."""
        scope, gate = self._scope, self._scope.ports.gate
        if ran.outcome.denied_grant is Grant.NONE or scope.stop.now.is_set():
            return ran
        try:
            call = await gated(scope, ran.call)
            asked = gate.escalate(call, ran.outcome, ran.changes, f"a{scope.session.fold.asked + 1}")
            decided: ApprovalDecided | None = None
            while asked is not None:
                decided = decided or (await ask_approvals(scope, [asked]))[asked.approval_id]
                under, verdict = in_force(scope), gate.settle(call, asked, decided)
                if verdict.asked is not None:
                    asked, decided = verdict.asked, None
                    continue
                if decided.decision is Decision.DENY_AND_PAUSE:
                    scope.stop.pause("you denied a call and paused")
                if verdict.kind != "allow" or verdict.policy is None:
                    text = f"{ran.outcome.text}\n{verdict.text}" if decided.feedback else ran.outcome.text
                    return replace(ran, outcome=replace(ran.outcome, text=text))
                again = authorised(ran.call, verdict.policy, under, "by person")
                with suppress(ChangedError):
                    return await self._run_again(ran, again)
        except StoppedError:
            pass  # what it came to is not stored yet
        return ran

    async def _run_again(self, first: Ran, again: Authorised) -> Ran:
        """Raises StoppedError and ChangedError before it has started."""
        before = await self._checkpoint([again])
        started = await self._started(again, first.checkpoint_id, 2)
        if before.error:
            self._lacks_checkpoint = self._scope.config.require_checkpoints
            text = (
                f"{first.outcome.text}\nIt was not run again: no checkpoint could be taken ({before.error})"
            )
            return replace(first, outcome=replace(first.outcome, text=text))
        authorised = CallChanged(call_id=again.call.call_id, state=CallState.AUTHORISED)
        parts = (*before.bodies, authorised, started)
        if not await self._scope.session.commit(*parts, when=lambda: self._may_start(again)):
            if self._scope.stop.now.is_set():
                raise StoppedError(self._scope.stop.why)
            raise ChangedError([again.call])
        begun = self._scope.session.clock.monotonic()
        outcome = await execute(self._scope, again.call, again.policy, self._timeout_s())
        duration_s = first.duration_s + self._scope.session.clock.monotonic() - begun - _asked_s(outcome)
        ran = Ran(call=again.call, outcome=outcome, duration_s=duration_s)
        if before.checkpoint is not None:
            ran = (await self._attribute([ran], before))[0]
        return replace(
            ran,
            taken=(*first.taken, *ran.taken),
            changes=merge_changes((*first.changes, *ran.changes)),
            external=merge_changes((*first.external, *ran.external)),
            checkpoint_id=first.checkpoint_id,
        )

    async def _end(self, ran: Ran) -> None:
        bodies: list[Body] = [
            *ran.taken,
            CallEnded(
                call_id=ran.call.call_id,
                tool=ran.call.tool,
                outcome=ran.outcome,
                changes=ran.changes,
                external=ran.external,
                duration_s=ran.duration_s,
                checkpoint_id=ran.checkpoint_id,
                uncovered=ran.uncovered,
                edited=ran.call.edited,
            ),
        ]
        if ran.call.tool == "exec_command" and ran.outcome.terminal:  # it, or what it left behind, lives on
            bodies.append(
                TerminalChanged(
                    terminal=ran.outcome.terminal,
                    call_id=ran.call.call_id,
                    command=str(ran.call.arguments.get("cmd", "")),
                    state="live",
                )
            )
        await self._settle(*bodies)

    async def _settle(self, *bodies: Body) -> None:
        self._stored = await self._scope.session.settle(*bodies, cause=f"s{self._step}") and self._stored


def _asked_s(outcome: Outcome) -> float:
    """For how long the call waited for answers about hosts."""
    return float(outcome.data.get("asked_s", 0.0))


def _uncovered_of(changes: Sequence[FileChange], uncovered: Sequence[Uncovered]) -> tuple[str, ...]:
    """What of a call's changes cannot be taken back, and why."""
    changed = {change.path for change in changes}
    return tuple(f"{gap.path} ({gap.reason})" for gap in uncovered if gap.path in changed)
