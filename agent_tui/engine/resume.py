"""Opens a session that an earlier process left: a table says what becomes of each call.

A side effect is attempted at most once without the person's knowledge; a call is answered once.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from agent_tui.engine import inbox
from agent_tui.engine.changes import named
from agent_tui.engine.ending import cost_of
from agent_tui.engine.events import (
    ApprovalDecided,
    CallEnded,
    LostResultAsked,
    NoticeRaised,
    QuestionAnswered,
    QuestionAsked,
    RolledBack,
    TaskChanged,
    TurnEnded,
)
from agent_tui.engine.execution import ASK_TOOL, PLAN_TOOL
from agent_tui.engine.fold import Call
from agent_tui.engine.lost import Written, evidence_of, kill_if_ours, reconcile
from agent_tui.engine.prepare import prepare
from agent_tui.engine.scope import Scope
from agent_tui.engine.sentence import Facts, sentence
from agent_tui.engine.session import Part, Session
from agent_tui.engine.types import END_FACTS, Decision, EndReason, TaskStatus
from checkpoints.types import CheckpointError, FileChange
from context.items import NoticeItem
from tools.types import Outcome, OutcomeStatus

Choice = Literal["keep", "rollback", "again", "stop"]
CRASH = "the session ended before it was delivered"
MAX_NAMED = 40  # changed files in a lost result, of which nothing else is known


def crash_parts(scope: Scope, *, reads_again: bool = False) -> list[Part]:
    """What is to be stored of the end that the earlier process could not store itself; `reads_again`: of the
    calls without a result some only read and are run again when it goes on."""
    session, fold = scope.session, scope.session.fold
    parts: list[Part] = [*inbox.returns(session, CRASH)]
    parts += [
        QuestionAnswered(question_id=one.question_id, text=None)  # the run asks again where it has to
        for one in fold.questions.values()
        if isinstance(one, QuestionAsked) and not one.call_id
    ]
    parts += [  # the command that waited is gone
        ApprovalDecided(approval_id=one.approval_id, call_id=one.call_id, decision=Decision.DENY, by="policy")
        for one in fold.approvals.values()
        if one.during
    ]
    live = [terminal for terminal in fold.terminals.values() if terminal.state == "live"]
    parts += [replace(terminal, state="lost") for terminal in live]
    if live:
        names = ", ".join(f"{one.terminal} ({one.command})" for one in live)
        text = f"The session was resumed by a new process; these terminals are lost: {names}"
        parts.append(NoticeItem(id=session.item_id("n"), text=text))
    if fold.is_running and fold.run is not None:
        text = _crash_words(session, reads_again=reads_again)
        parts.append(NoticeRaised(text=text, level="warning", about="records"))
        reason = EndReason.CRASHED
        if fold.task_status is not TaskStatus.PAUSED:
            parts.append(TaskChanged(task_id=fold.task_id, status=TaskStatus.PAUSED, cause=str(reason)))
        parts.append(
            TurnEnded(
                run_id=fold.run.id,
                reason=reason,
                sentence=sentence(reason, Facts(crashed_at=fold.newest_at)),
                exit_code=END_FACTS[reason].exit_code,
                usage=fold.run.usage,
                cost_usd=cost_of(fold.run, scope.ports.model.info),
                steps=fold.run.steps,
                duration_s=fold.run.active_s,
                changes=fold.run.changes,
            )
        )
    return parts


def _crash_words(session: Session, *, reads_again: bool) -> str:
    """What the earlier process left."""
    fold = session.fold
    at = time.strftime("%H:%M:%S", time.localtime(fold.newest_at))
    text = f"session {session.id[:4]} ended at {at} without a close (killed)"
    lost = sum(call.started is not None and call.ended is None for call in fold.owed.values())
    if lost:
        known = len(fold.calls) - sum(call.ended is None for call in fold.owed.values())
        text += (
            f"; {known} {'call has its result' if known == 1 else 'calls have their results'}, "
            f"{lost} {'has' if lost == 1 else 'have'} none, and nothing was run again"
        )
        text += "; what only reads is run again when it goes on" if reads_again else ""
    return text


def kill_lost_terminals(session: Session, boot_id: str) -> None:
    """Kill what survived of lost terminals, where it is provably ours."""
    for terminal in session.fold.terminals.values():
        call = session.fold.calls.get(terminal.call_id)
        if terminal.state == "live" and call is not None:
            for process in call.processes:
                kill_if_ours(process, boot_id)


class Recovery:
    """The calls of an earlier process that started and have no outcome."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._session = scope.session
        self.again: set[str] = set()  # call ids that a person wants run again
        self._asked: set[str] = set()  # call ids that a person was asked about and said nothing of yet

    @property
    def open_calls(self) -> list[Call]:
        """Started, not ended, and not to be run again by themselves."""
        owed = self._session.fold.owed.values()
        return [
            call
            for call in owed
            if call.started is not None
            and call.ended is None
            and call.id not in self.again
            and not self._may_run_again(call)
        ]

    @property
    def reads_again(self) -> bool:
        """Whether a call that only reads has lost its result: it is run again without a question."""
        owed = self._session.fold.owed.values()
        lost = [call for call in owed if call.started is not None and call.ended is None]
        own = (ASK_TOOL, PLAN_TOOL)
        return any(call.proposed.tool not in own and self._may_run_again(call) for call in lost)

    @property
    def undecided(self) -> str:
        """Why nothing goes on by itself; empty: it may."""
        waits = any(call.id in self._asked for call in self.open_calls)
        return "a result was lost; say first what becomes of it" if waits else ""

    async def begin(self) -> None:
        """Settle what the files tell; ask, or follow the configuration, for the rest."""
        for call in self.open_calls:
            written = reconcile(call, self._scope.config.workspace)
            if written in (Written.APPLIED, Written.NOT_APPLIED):
                await self._session.commit(await self._reconciled(call, written))
            elif self._scope.config.interactive:
                self._asked.add(call.id)
                await self._session.commit(await self._question(call))
            elif self._scope.config.on_lost_result != "stop":
                choice: Choice = "rollback" if self._scope.config.on_lost_result == "rollback" else "keep"
                await self.settle(call.id, choice)

    async def settle(self, call_id: str, choice: Choice, conflicts: Mapping[str, str] | None = None) -> str:
        """Do what was chosen for a lost result, and for each file in conflict where that is a rollback;
        returns a refusal or ''."""
        call = next((one for one in self.open_calls if one.id == call_id), None)
        if call is None:
            return "this result is settled already"
        if choice == "again":
            self.again.add(call_id)
            return ""
        if choice == "stop":
            self._asked.discard(call_id)  # by a later word of the person it goes on as after `keep`
            return ""
        if choice == "rollback":
            return await self._roll_back(call, conflicts or {})
        return await self._keep(call, "")

    async def keep_all(self) -> None:
        """What was not chosen is kept: the model is told and has to look before it repeats."""
        for call in self.open_calls:
            await self._keep(call, "")

    async def _keep(self, call: Call, said: str, *before: Part) -> str:
        changes = await self._changes(call)
        facts = evidence_of(call, self._scope.boot_id).text
        paths = named(changes, MAX_NAMED)
        text = (
            f"Outcome unknown: the host stopped while `{call.proposed.shown or call.proposed.tool}` ran, "
            f"and it was not run again. Facts: {facts}\n"
            f"{f'Files that differ from before it: {paths}' if paths else 'No file is known to differ'}\n"
            f"{said or 'Inspect the state before you repeat it'}"
        )
        outcome = Outcome(status=OutcomeStatus.OUTCOME_UNKNOWN, text=text, data={"lost": True})
        await self._session.commit(*before, self._ended(call, outcome, changes))
        return ""

    async def _roll_back(self, call: Call, conflicts: Mapping[str, str]) -> str:
        from agent_tui.engine.undo import known

        checkpoint_id = call.started.checkpoint_id if call.started else ""
        if not checkpoint_id:
            return "there is no checkpoint before this call"
        try:
            files = await self._scope.ports.checkpointer.rollback(
                checkpoint_id, choices=known(conflicts), session=self._session.id
            )
        except CheckpointError as error:
            return str(error)
        said = f"The workspace was rolled back to before it (checkpoint {checkpoint_id})"
        return await self._keep(
            call, said, RolledBack(checkpoint_id=checkpoint_id, mode="files", files=files)
        )

    async def _question(self, call: Call) -> LostResultAsked:
        assert call.started is not None
        evidence = evidence_of(call, self._scope.boot_id)
        return LostResultAsked(
            question_id=f"l{self._session.fold.asked + 1}",
            call_id=call.id,
            tool=call.proposed.tool,
            shown=call.proposed.shown,
            started_at=call.started_at,
            cwd=call.started.cwd,
            facts=evidence.process,
            output=evidence.output,
            ended_at=self._session.fold.left_at,
            changes=await self._changes(call),
            checkpoint_id=call.started.checkpoint_id,
        )

    async def _reconciled(self, call: Call, written: Written) -> CallEnded:
        if written is Written.APPLIED:
            text = "Applied: the host stopped right after; the files hold what was intended"
            outcome = Outcome(status=OutcomeStatus.SUCCEEDED, text=text, data={"reconciled": True})
            return self._ended(call, outcome, await self._changes(call))
        text = "Not applied: the host stopped before; the files are unchanged and nothing was repeated"
        return self._ended(
            call, Outcome(status=OutcomeStatus.FAILED, text=text, data={"reconciled": True}), ()
        )

    def _ended(self, call: Call, outcome: Outcome, changes: Sequence[FileChange]) -> CallEnded:
        return CallEnded(
            call_id=call.id,
            tool=call.proposed.tool,
            outcome=outcome,
            changes=tuple(changes),
            external=(),
            duration_s=0.0,
            checkpoint_id=call.started.checkpoint_id if call.started else "",
        )

    async def _changes(self, call: Call) -> tuple[FileChange, ...]:
        """What differs from the checkpoint before the call; nothing where none can be had."""
        if call.started is None or not call.started.checkpoint_id:
            return ()
        try:
            return await self._scope.ports.checkpointer.changes_since(call.started.checkpoint_id)
        except CheckpointError:
            return ()

    def _may_run_again(self, call: Call) -> bool:
        """Reads and what touches only the session may be run a second time without a question; not what had a
        checkpoint, since it could write."""
        if call.started is not None and call.started.checkpoint_id:
            return False
        if call.proposed.tool in (ASK_TOOL, PLAN_TOOL):
            return True
        toolbox, policy = self._scope.ports.toolbox, self._scope.ports.gate.policy()
        ready = prepare(toolbox, policy, call.id, call.proposed.tool, call.proposed.arguments)
        return ready.assessment is not None and ready.assessment.effects.idempotent
