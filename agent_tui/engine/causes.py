"""What an event follows from where nobody named it: its parent in session, task, run, step and call (b.1)."""

from agent_tui.engine.events import (
    Body,
    CallProposed,
    SessionStarted,
    StepStarted,
    TaskChanged,
    TurnEnded,
    TurnStarted,
)
from agent_tui.engine.fold import Fold

_OWNERS = ("call_id", "input_id", "step_id")  # the first that a body has is what it is about


def parent_of(body: Body, fold: Fold) -> str:
    """The id of what the event belongs to; never empty once the session has one."""
    match body:
        case SessionStarted():
            return body.forked_from or body.session_id
        case TurnStarted():
            return body.task_id
        case TurnEnded():
            return body.run_id
        case TaskChanged() | StepStarted():
            return _run(fold)
        case CallProposed():
            return body.step_id or _run(fold)
        case _:
            owners = (str(getattr(body, name, "")) for name in _OWNERS)
            return next(filter(None, owners), "") or _step(fold)


def _step(fold: Fold) -> str:
    is_in_step = fold.is_running and fold.run is not None and fold.run.steps
    return f"s{fold.steps}" if is_in_step else _run(fold)


def _run(fold: Fold) -> str:
    return fold.run.id if fold.is_running and fold.run is not None else fold.session_id
