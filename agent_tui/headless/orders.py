"""Commands for a running one-shot session as JSON lines on stdin (`exec --stdin-commands`).

One object a line: `{"type": "prompt" | "steer" | "queue", "text": …, "now": true}`,
`{"type": "answer", "id": …, "text": …}`, `{"type": "decide", "id": …, "decision": …, "digest": …,
"feedback": …, "edited": …, "grant": …}`, `{"type": "settle", "id": …, "choice": …}`,
`{"type": "interrupt", "force": true}`, `{"type": "cancel"}`, `{"type": "pause"}`, `{"type": "continue"}`.
A line that cannot be read is an error event and nothing else.
"""

import json
from typing import Any, cast

from agent_tui.engine.commands import (
    Answer,
    CommandBody,
    Continue,
    Decide,
    Interrupt,
    Pause,
    Settle,
    Submit,
)
from agent_tui.engine.types import Decision, InputKind

MAX_LINE_BYTES = 1_000_000  # the inbox of a session holds no more
SETTLEMENTS = ("keep", "rollback", "again", "stop")


class OrderError(Exception):
    """A line is no command; the text says why."""


def parse(line: str) -> CommandBody:
    """The command of one line; raises OrderError."""
    try:
        order = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise OrderError(f"not JSON: {error}") from error
    if not isinstance(order, dict):
        raise OrderError("not an object")
    match order.get("type"):
        case "prompt" | "steer" | "queue" as kind:
            return Submit(text=_text(order, "text"), kind=InputKind(kind), now=order.get("now") is True)
        case "answer":
            text = order.get("text")
            return Answer(question_id=_text(order, "id"), text=text if isinstance(text, str) else None)
        case "decide":
            return _decide(order)
        case "settle":
            choice = _one_of(order, "choice", SETTLEMENTS)
            return Settle(question_id=_text(order, "id"), choice=cast(Any, choice))
        case "interrupt":
            return Interrupt(force=order.get("force") is True)
        case "cancel":
            return Interrupt(cancel=True)
        case "pause":
            return Pause()
        case "continue":
            return Continue()
        case other:
            raise OrderError(f"unknown type `{other}`")


def _decide(order: dict[str, Any]) -> Decide:
    return Decide(
        approval_id=_text(order, "id"),
        decision=Decision(_one_of(order, "decision", tuple(str(each) for each in Decision))),
        digest=_text(order, "digest"),
        feedback=str(order.get("feedback", "")),
        edited=str(order.get("edited", "")),
        grant=str(order.get("grant", "")),
    )


def _text(order: dict[str, Any], name: str) -> str:
    value = order.get(name)
    if not isinstance(value, str) or not value.strip():
        raise OrderError(f"`{name}` must be a text that is not empty")
    return value


def _one_of(order: dict[str, Any], name: str, known: tuple[str, ...]) -> str:
    value = order.get(name)
    if value not in known:
        raise OrderError(f"`{name}` must be one of {', '.join(known)}")
    return str(value)
