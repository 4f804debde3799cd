"""Puts a question to the person and waits: approvals, the model's questions, missing checkpoints.

Stored before it is shown, and the task says that it waits, so that no budget runs meanwhile.
"""

import asyncio
from functools import partial

from agent_tui.engine.events import (
    ApprovalAsked,
    ApprovalDecided,
    Body,
    CallChanged,
    QuestionAnswered,
    QuestionAsked,
    TaskChanged,
)
from agent_tui.engine.scope import Scope
from agent_tui.engine.stop import StoppedError
from agent_tui.engine.types import CallState, Decision, TaskStatus


async def ask_approvals(
    scope: Scope, asked: list[ApprovalAsked], over: asyncio.Event | None = None
) -> dict[str, ApprovalDecided]:
    """Ask all of a wave together; decisions by approval id. An interrupt denies what is still open, and so
    does `over`: nobody needs the answer any more. Raises StoppedError then.

    One that was asked by an earlier process and is still open is the same question, shown again.
    """
    fold = scope.session.fold
    new = [one for one in asked if one.approval_id not in fold.approvals]
    parts: list[Body] = [*asked]
    parts += [
        CallChanged(call_id=one.call_id, state=CallState.AWAITING_APPROVAL, detail="for your approval")
        for one in new
    ]
    await scope.session.commit(*parts, *_waits(scope, TaskStatus.WAITING_APPROVAL))
    decided: dict[str, ApprovalDecided] = {}
    try:
        for one in asked:
            decided[one.approval_id] = await scope.stop.guard(scope.waits.answer(one.approval_id), over)
    except StoppedError:
        by_person = scope.stop.now.is_set()
        for one in asked:
            closed = ApprovalDecided(
                approval_id=one.approval_id,
                call_id=one.call_id,
                decision=Decision.DENY_AND_PAUSE if by_person else Decision.DENY,
                by="person" if by_person else "policy",
            )
            await scope.session.settle(closed, when=partial(_is_open, scope, one))
        await scope.session.settle(*_goes_on(scope))
        raise
    await scope.session.commit(*_goes_on(scope))
    return decided


async def ask_meanwhile(scope: Scope, asked: ApprovalAsked, over: asyncio.Event) -> ApprovalDecided:
    """Ask what a running call waits for; it runs on when this returns. Raises StoppedError, also when it is
    over with whoever asked. Not to be cancelled: each of its records follows from the one before."""
    try:
        return (await ask_approvals(scope, [asked], over))[asked.approval_id]
    finally:
        if scope.session.fold.states.of("call", asked.call_id) is CallState.AWAITING_APPROVAL:
            await scope.session.settle(CallChanged(call_id=asked.call_id, state=CallState.STARTED))


def _is_open(scope: Scope, asked: ApprovalAsked) -> bool:
    return asked.approval_id in scope.session.fold.approvals


async def ask_question(scope: Scope, question: QuestionAsked) -> str | None:
    """Ask one question; None for no answer. An interrupt leaves it without one."""
    fold = scope.session.fold
    if question.question_id not in fold.questions:
        await scope.session.commit(question, *_waits(scope, TaskStatus.WAITING_INPUT))
    try:
        answer: str | None = await scope.stop.guard(scope.waits.answer(question.question_id))
    except StoppedError:
        if question.question_id in fold.questions:
            await scope.session.settle(QuestionAnswered(question_id=question.question_id, text=None))
        await scope.session.settle(*_goes_on(scope))
        raise
    await scope.session.commit(*_goes_on(scope))
    return answer


def _waits(scope: Scope, status: TaskStatus) -> tuple[Body, ...]:
    fold = scope.session.fold
    if fold.task_status is not TaskStatus.RUNNING:
        return ()
    return (TaskChanged(task_id=fold.task_id, status=status),)


def _goes_on(scope: Scope) -> tuple[Body, ...]:
    fold = scope.session.fold
    if fold.task_status is TaskStatus.RUNNING:
        return ()
    return (TaskChanged(task_id=fold.task_id, status=TaskStatus.RUNNING),)
