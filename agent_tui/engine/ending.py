"""The end of a run: every call answered, one reason, one sentence, exactly one `TurnEnded`."""

from agent_tui.engine.batch import answer_all
from agent_tui.engine.events import TaskChanged, TurnEnded
from agent_tui.engine.fold import Run
from agent_tui.engine.inbox import steers
from agent_tui.engine.prepare import Prepared, ended
from agent_tui.engine.report import check_of_turn, last_check, names, summary
from agent_tui.engine.scope import Scope
from agent_tui.engine.sentence import Facts, Trouble, facts_of, sentence
from agent_tui.engine.session import Part
from agent_tui.engine.snapshots import Snapshots
from agent_tui.engine.states import StateError, task_after
from agent_tui.engine.types import END_FACTS, EndReason
from agent_tui.models.base import ModelInfo, cost_usd
from checkpoints.records import RecordsError
from context.items import NoticeItem
from tools.types import Outcome, OutcomeStatus


def cost_of(run: Run, info: ModelInfo) -> float | None:
    """What a run cost in dollars; None where that is unknown, also where nothing was answered by a model
    without a price."""
    return run.cost_usd or (None if run.cost_usd is None else cost_usd(run.usage, info))


async def end_run(
    scope: Scope,
    snapshots: Snapshots,
    reason: EndReason,
    *,
    text: str,
    error: str,
    finding: str = "",
    trouble: Trouble | None = None,
) -> EndReason | None:
    """Store the end; the reason that was stored, or None when a message came first and the turn
    goes on: "no more input" and "ended" are one transaction. `finding`: what is not met, or repeats itself;
    `trouble`: how the last request failed."""
    session = scope.session
    completed = reason is EndReason.COMPLETED
    try:
        if reason is not EndReason.STATE_UNWRITABLE:
            await _close_calls(scope, reason)
            await snapshots.end()
        reason = _verified(scope, reason)
        parts = _last_parts(scope, reason, text, error, facts_of(scope, finding, trouble))
        done = await session.commit(*parts, when=lambda: not (completed and steers(session)))
    except RecordsError as failure:
        reason = EndReason.STATE_UNWRITABLE
        await session.settle(*_last_parts(scope, reason, text, error or str(failure), facts_of(scope)))
        return reason
    except StateError as failure:
        # Our own bug; the run ends all the same, or a front end would wait for ever.
        reason = EndReason.INTERNAL_ERROR
        *_, end = _last_parts(scope, reason, text, error or str(failure), facts_of(scope))
        await session.settle(end)
        return reason
    return reason if done else None


def _verified(scope: Scope, reason: EndReason) -> EndReason:
    """Done, but the last check does not cover the last change: say so."""
    fold = scope.session.fold
    if reason is not EndReason.COMPLETED or scope.config.verify or not (fold.run and fold.run.changes):
        return reason
    check = last_check(fold.facts.values())
    return reason if check is None or check.is_good else EndReason.COMPLETED_UNVERIFIED


async def _close_calls(scope: Scope, reason: EndReason) -> None:
    """Answer what is left after an error, so that no request ever holds an open call."""
    fold = scope.session.fold
    if not scope.config.interactive and scope.config.on_lost_result == "stop":
        lost = [call for call in fold.owed.values() if call.started and not call.ended]
        if lost and reason is EndReason.INTERRUPTED:
            return  # the person wants to settle them by hand
    for call in [call for call in fold.owed.values() if call.ended is None]:
        status, said = OutcomeStatus.SKIPPED, f"Not run: the run ended ({reason})"
        if call.started is not None:
            status = OutcomeStatus.OUTCOME_UNKNOWN
            said = "The run ended before the result was known; inspect before repeating"
        ready = Prepared(call_id=call.id, tool=call.proposed.tool, arguments={}, assessment=None)
        await scope.session.commit(ended(ready, Outcome(status=status, text=said)))
    if fold.owed:
        await answer_all(scope)


def _last_parts(scope: Scope, reason: EndReason, text: str, error: str, facts: Facts) -> list[Part]:
    fold = scope.session.fold
    run = fold.run
    assert run is not None
    told = sentence(reason, facts)
    rejected = facts.trouble.rejection if reason is EndReason.MODEL_REJECTED else None
    parts: list[Part] = []
    if reason in (EndReason.INTERRUPTED, EndReason.CANCELLED) and scope.stop.now.is_set():
        changed = f" Files changed in this turn: {names(run.changes)}" if run.changes else ""
        over = "" if reason is EndReason.INTERRUPTED else " This task is given up: do not go on with it."
        said = f"Interrupted by the user: effects may be partial.{changed}{over}"
        parts.append(NoticeItem(id=scope.session.item_id("n"), text=said))
    check = check_of_turn(fold)
    cause = scope.stop.why or str(reason)
    return [
        *parts,
        TaskChanged(task_id=fold.task_id, status=task_after(reason), cause=cause),
        TurnEnded(
            run_id=run.id,
            reason=reason,
            sentence=told,
            exit_code=END_FACTS[reason].exit_code,
            usage=run.usage,
            cost_usd=cost_of(run, scope.ports.model.info),
            steps=run.steps,
            duration_s=fold.active_s(scope.session.clock.now()),
            changes=run.changes,
            text=text,
            error=error,
            last_check=check.command if check else "",
            check_result=check.result if check else "",
            report=summary(fold, told),
            rejected=rejected.what if rejected else "",
        ),
    ]
