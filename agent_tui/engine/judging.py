"""Judges the progress of a step from the calls it made, before their results are stored."""

from collections.abc import Sequence

from agent_tui.engine.events import CallTrace, ProgressJudged
from agent_tui.engine.fold import Call, Fold
from agent_tui.engine.progress import trace_of
from agent_tui.engine.scope import Scope
from tools.types import OutcomeStatus


def judge_step(scope: Scope, step_id: str, calls: Sequence[Call]) -> ProgressJudged:
    """The judgement to store with the results of the step."""
    fold = scope.session.fold
    advanced = fold.fresh_input or any(call.id in fold.moved_checks for call in calls)
    return fold.progress.judge(
        step_id,
        [trace for call in calls if (trace := _trace(fold, call)) is not None],
        advanced=advanced,
        max_idle_steps=scope.config.budgets.max_idle_steps,
    )


def _trace(fold: Fold, call: Call) -> CallTrace | None:
    """None for a call that was skipped for a reason of ours: the model did not choose that."""
    if call.ended is None:
        return None
    outcome = call.ended.outcome
    if outcome.status is OutcomeStatus.SKIPPED and not outcome.data.get("blocked"):
        return None
    wrote = bool(call.ended.changes or outcome.written)
    return trace_of(
        call.id,
        call.proposed.tool,
        call.proposed.arguments,
        outcome,
        changed=wrote and call.id not in fold.old_content,
    )
