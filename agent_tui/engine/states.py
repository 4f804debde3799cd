"""The state machines of task, run, step and call as tables of legal edges.

Checked before anything is stored: an illegal edge is a broken invariant, never a record.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from agent_tui.engine.events import (
    Body,
    CallChanged,
    CallEnded,
    CallProposed,
    CallStarted,
    ResponseEnded,
    StepStarted,
    TaskChanged,
    TurnEnded,
    TurnStarted,
)
from agent_tui.engine.types import CallState, EndReason, TaskStatus
from context.items import Item, ResultItem
from tools.types import OutcomeStatus


class RunState(StrEnum):
    """A run is open from `TurnStarted` to the one `TurnEnded`."""

    OPEN = "open"
    ENDED = "ended"


class StepState(StrEnum):
    """A step waits for its response or has it; one cut short stays requested for good."""

    REQUESTED = "requested"
    ANSWERED = "answered"


class StateError(Exception):
    """An edge that the tables do not hold; always a bug of the engine."""


_T, _C, _O = TaskStatus, CallState, OutcomeStatus

_WAITS = (_T.WAITING_APPROVAL, _T.WAITING_INPUT, _T.WAITING_TOOL)
_FROM_WAIT = frozenset({_T.RUNNING, _T.PAUSED, _T.FAILED, _T.CANCELLED})

TASK_EDGES: Mapping[TaskStatus | None, frozenset[TaskStatus]] = {
    None: frozenset({_T.CREATED, _T.PENDING}),
    _T.CREATED: frozenset({_T.PENDING, _T.CANCELLED}),
    _T.PENDING: frozenset({_T.RUNNING, _T.CANCELLED}),
    _T.RUNNING: frozenset({*_WAITS, _T.PAUSED, _T.COMPLETED, _T.FAILED, _T.CANCELLED}),
    **dict.fromkeys(_WAITS, _FROM_WAIT),
    _T.PAUSED: frozenset({_T.RUNNING, _T.CANCELLED}),
    _T.COMPLETED: frozenset(),
    _T.FAILED: frozenset(),
    _T.CANCELLED: frozenset(),
}

RUN_EDGES: Mapping[RunState | None, frozenset[RunState]] = {
    None: frozenset({RunState.OPEN}),
    RunState.OPEN: frozenset({RunState.ENDED}),
    RunState.ENDED: frozenset(),
}

STEP_EDGES: Mapping[StepState | None, frozenset[StepState]] = {
    None: frozenset({StepState.REQUESTED}),
    StepState.REQUESTED: frozenset({StepState.ANSWERED}),
    StepState.ANSWERED: frozenset(),
}

# A resume judges a call that never started afresh, so `validated` can be reached again; STARTED
# follows itself for attempt 2, and AWAITING_APPROVAL follows it for leaving the sandbox, or for a host
# that the command waits for and then runs on.
CALL_EDGES: Mapping[CallState | None, frozenset[CallState]] = {
    None: frozenset({_C.PROPOSED}),
    _C.PROPOSED: frozenset({_C.VALIDATED, _C.ENDED}),
    _C.VALIDATED: frozenset({_C.VALIDATED, _C.AWAITING_APPROVAL, _C.AUTHORISED, _C.ENDED}),
    _C.AWAITING_APPROVAL: frozenset(
        {_C.VALIDATED, _C.AWAITING_APPROVAL, _C.AUTHORISED, _C.STARTED, _C.ENDED}
    ),
    _C.AUTHORISED: frozenset({_C.VALIDATED, _C.AWAITING_APPROVAL, _C.STARTED, _C.ENDED}),
    _C.STARTED: frozenset({_C.VALIDATED, _C.STARTED, _C.AWAITING_APPROVAL, _C.ENDED}),
    _C.ENDED: frozenset({_C.ANSWERED}),
    _C.ANSWERED: frozenset(),
}

MACHINES: Mapping[str, Mapping[Any, frozenset[Any]]] = {
    "task": TASK_EDGES,
    "run": RUN_EDGES,
    "step": STEP_EDGES,
    "call": CALL_EDGES,
}

RAN = frozenset(
    {_O.SUCCEEDED, _O.FAILED, _O.TIMED_OUT, _O.INTERRUPTED, _O.YIELDED, _O.OUTCOME_UNKNOWN}
)  # end states that only a started call can have
CUT = frozenset({_O.INTERRUPTED, _O.OUTCOME_UNKNOWN})  # what these did may be partial
NOT_RUN = frozenset({_O.DENIED, _O.INVALID, _O.SKIPPED})  # these give their reservation back

_PAUSES = frozenset(
    {
        EndReason.INTERRUPTED,
        EndReason.CRASHED,
        EndReason.MODEL_UNAVAILABLE,
        EndReason.MODEL_REJECTED,
        EndReason.BUDGET_TURNS,
        EndReason.BUDGET_TOOLS,
        EndReason.BUDGET_TIME,
        EndReason.BUDGET_TOKENS,
        EndReason.BUDGET_COST,
        EndReason.STATE_UNWRITABLE,
    }
)


def move_of(entry: Item | Body) -> tuple[str, str, StrEnum] | None:
    """The machine, the key in it and the new state that an entry stands for; None for the others."""
    match entry:
        case TaskChanged():
            return "task", entry.task_id, entry.status
        case TurnStarted():
            return "run", entry.run_id, RunState.OPEN
        case TurnEnded():
            return "run", entry.run_id, RunState.ENDED
        case StepStarted():
            return "step", entry.step_id, StepState.REQUESTED
        case ResponseEnded():
            return "step", entry.step_id, StepState.ANSWERED
        case CallProposed():
            return "call", entry.call_id, CallState.PROPOSED
        case CallChanged():
            return "call", entry.call_id, entry.state
        case CallStarted():
            return "call", entry.call_id, CallState.STARTED
        case CallEnded():
            return "call", entry.call_id, CallState.ENDED
        case ResultItem():
            return "call", entry.call_id, CallState.ANSWERED
        case _:
            return None


class States:
    """The state of every task, run, step and call of a session."""

    def __init__(self) -> None:
        self._now: dict[tuple[str, str], StrEnum] = {}
        self._started: set[str] = set()

    def of(self, machine: str, key: str) -> StrEnum | None:
        """The present state, None before the first."""
        return self._now.get((machine, key))

    def check(self, entries: Iterable[Item | Body]) -> None:
        """Raise StateError when the entries, in order, take an edge that is not in the tables."""
        ahead: dict[tuple[str, str], StrEnum] = {}
        started: set[str] = set()
        for entry in entries:
            move = move_of(entry)
            if move is None:
                continue
            machine, key, new = move
            old = ahead.get((machine, key), self._now.get((machine, key)))
            if new not in MACHINES[machine][old]:
                raise StateError(f"{machine} `{key}`: no edge from `{old or 'nothing'}` to `{new}`")
            if isinstance(entry, CallStarted):
                started.add(key)
            ran = isinstance(entry, CallEnded) and entry.outcome.status in RAN
            if ran and key not in started and key not in self._started:
                raise StateError(f"call `{key}`: an outcome of a run without a start")
            ahead[machine, key] = new

    def apply(self, entry: Item | Body) -> None:
        """Move without a check: what is stored is stored."""
        move = move_of(entry)
        if move is not None:
            self._now[move[0], move[1]] = move[2]
            if isinstance(entry, CallStarted):
                self._started.add(entry.call_id)


def task_after(reason: EndReason) -> TaskStatus:
    """The state a run leaves its task in; a paused one can be continued."""
    if reason in (EndReason.COMPLETED, EndReason.COMPLETED_UNVERIFIED):
        return TaskStatus.COMPLETED
    if reason is EndReason.CANCELLED:
        return TaskStatus.CANCELLED
    return TaskStatus.PAUSED if reason in _PAUSES else TaskStatus.FAILED
