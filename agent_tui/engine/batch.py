"""All calls of one response: waves in order, then exactly one result for each, in call order."""

from collections.abc import Iterable, Sequence

from agent_tui.engine.authorise import ChangedError
from agent_tui.engine.changes import with_changes
from agent_tui.engine.events import CallEnded
from agent_tui.engine.fitting import fitted
from agent_tui.engine.fold import Call
from agent_tui.engine.judging import judge_step
from agent_tui.engine.prepare import Prepared, assessed, ended
from agent_tui.engine.scope import Scope
from agent_tui.engine.session import Part
from agent_tui.engine.snapshots import Snapshots
from agent_tui.engine.stop import StoppedError
from agent_tui.engine.types import EndReason
from agent_tui.engine.wave import Wave
from agent_tui.engine.waves import cut_waves, startable
from context.items import Image, Item, ResultItem
from tools.types import Outcome, OutcomeStatus

MAX_UNAVAILABLE = 3  # approvals in a row that nobody could give
ERRORS = frozenset(OutcomeStatus) - {OutcomeStatus.SUCCEEDED, OutcomeStatus.YIELDED}


async def run_batch(
    scope: Scope, snapshots: Snapshots, step: int, calls: Sequence[Prepared]
) -> EndReason | None:
    """Run a batch and answer all of it; a reason ends the run. Raises StoppedError when it was
    stopped, after everything has been answered."""
    fold = scope.session.fold
    waiting = [call for call in calls if call.call_id in fold.owed and fold.owed[call.call_id].ended is None]
    end: EndReason | None = None
    wave = Wave(scope, snapshots, step)
    stopped: StoppedError | None = None
    while waiting:
        why = _why_skipped(scope, end, stopped)
        if why:
            await _skip(scope, waiting, why)
            break
        waiting = [assessed(scope.ports.toolbox, scope.ports.gate.policy(), call) for call in waiting]
        together = cut_waves([(call, call.effects) for call in waiting])[0]
        starting = startable(together, lambda call: call.is_command)
        waiting = waiting[len(starting) :]
        try:
            end = await wave.run(starting)
        except ChangedError as error:
            waiting = [*error.calls, *waiting]
            continue
        except StoppedError as error:
            stopped = error
        await _skip(scope, starting, _why_skipped(scope, end, stopped) or "not run")
    await answer_all(scope, judge=f"s{step}")
    if stopped is not None:
        raise stopped
    scope.stop.check()
    if end is None and fold.unavailable >= MAX_UNAVAILABLE:
        return EndReason.APPROVAL_UNAVAILABLE
    return end


def _why_skipped(scope: Scope, end: EndReason | None, stopped: StoppedError | None) -> str:
    """Why no further wave starts; empty: it may."""
    if stopped is not None or scope.stop.now.is_set():
        return "not run: interrupted by the user"
    if scope.stop.pausing:
        return "not run: the user paused the run"
    if scope.stop.skipping.is_set():
        return "skipped: the user sent a message"
    return f"not run: the run ends ({end})" if end is not None else ""


async def _skip(scope: Scope, calls: Sequence[Prepared], why: str) -> None:
    """End those of a wave that never started."""
    owed = scope.session.fold.owed
    left = [call for call in calls if call.call_id in owed and owed[call.call_id].ended is None]
    if left:
        await scope.session.settle(*skipped(left, why))


def skipped(calls: Iterable[Prepared], why: str) -> list[CallEnded]:
    """The ends of calls that are not run."""
    outcome = Outcome(status=OutcomeStatus.SKIPPED, text=why[0].upper() + why[1:], data={"why": why})
    return [ended(call, outcome) for call in calls]


async def answer_all(scope: Scope, judge: str = "") -> None:
    """Store the results of all calls that have ended, in call order, as one transaction; with the
    judgement of the step `judge` where one is named."""
    owed = list(scope.session.fold.owed.values())
    parts: list[Part] = [judge_step(scope, judge, owed)] if judge else []
    await scope.session.commit(*parts, *results(scope, owed))


def results(scope: Scope, calls: Iterable[Call]) -> list[Item]:
    """The result items of calls that have ended."""
    fold = scope.session.fold
    ended = [call for call in calls if call.ended is not None]
    texts = fitted(scope, {call.id: _text(call.ended) for call in ended if call.ended is not None})
    return [
        ResultItem(
            id=f"{call.id}.r",
            response_item_id=fold.responses[call.proposed.step_id],
            call_id=call.id,
            text=texts[call.id],
            is_error=call.ended.outcome.status in ERRORS,
            images=tuple(
                Image(media_type=one.media_type, data=one.data, name=one.name)
                for one in call.ended.outcome.pictures
            ),
            artifact=call.ended.outcome.artifact.ref if call.ended.outcome.artifact else None,
        )
        for call in ended
        if call.ended is not None
    ]


def _text(ended: CallEnded) -> str:
    """What the model sees; what it changed and an edit by the person are said in it."""
    text = ended.outcome.text
    is_told = ended.outcome.written or ended.outcome.status is OutcomeStatus.OUTCOME_UNKNOWN
    if not is_told:  # a tool that names what it wrote has said it, and so has who tells of a lost result
        text = with_changes(text, ended.changes, ended.external)
    if not ended.edited:
        return text
    return f"The user changed the arguments of this call to: {ended.edited}\n{text}"
