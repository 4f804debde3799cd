"""A stored session as spans of OpenTelemetry: what happened when and how it ended, and nothing that was said.

Each line is one export request in the JSON of OTLP and holds one run; runs of one task share a trace.
Attributes have the names of the GenAI conventions where there are such.
"""

import json
import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

from agent_tui import __version__
from agent_tui.engine.events import (
    CallEnded,
    CallProposed,
    CallStarted,
    CompactionEnded,
    Event,
    ResponseEnded,
    SessionStarted,
    StepStarted,
    TurnEnded,
    TurnStarted,
)
from context.items import Usage

Json = dict[str, Any]
_INTERNAL, _CLIENT = 1, 3  # kinds of a span
_OK, _ERROR = 1, 2  # codes of its status
_GOOD = ("succeeded", "yielded")
_TOOL = r"[a-z_]{1,32}"  # what else a model names is something said


class Spans:
    """Takes the events of a session in order."""

    def __init__(self) -> None:
        self._session = self._task = self._model = self._run = ""
        self._open: dict[str, Json] = {}  # by id of run, step or call
        self._done: list[Json] = []

    def lines(self, event: Event) -> Iterator[str]:
        """The request of a run, once the event ends it."""
        match event.body:
            case SessionStarted() as body:
                self._session, self._model = body.session_id, _without_place(body.model)
            case TurnStarted() as body:
                self._task, self._run = body.task_id, body.run_id
                told = {"agent_tui.task": body.task_id, "agent_tui.attempt": body.attempt}
                self._begin(body.run_id, "invoke_agent", "", event.at, told)
            case StepStarted() as body if self._run:
                told = {"agent_tui.step": body.number}
                self._begin(body.step_id, "chat", self._model, event.at, told, kind=_CLIENT)
            case ResponseEnded() as body:
                self._model = _without_place(body.model) or self._model
                told = {"gen_ai.request.model": self._model, **_usage(body.usage, body.cost_usd)}
                self._end(body.step_id, event.at, told, _ERROR if body.interrupted else _OK, self._model)
            case CallProposed() as body if self._run:
                tool = body.tool if re.fullmatch(_TOOL, body.tool) else "unknown"
                told = {"gen_ai.tool.name": tool, "gen_ai.tool.call.id": body.call_id}
                self._begin(body.call_id, "execute_tool", tool, event.at, told, above=body.step_id)
            case CallStarted() as body if body.call_id in self._open:
                self._open[body.call_id]["startTimeUnixNano"] = _nanoseconds(event.at)
            case CallEnded() as body:
                code = _OK if body.outcome.status in _GOOD else _ERROR
                self._end(body.call_id, event.at, _outcome(body), code)
            case CompactionEnded() as body if self._run:
                told = {
                    "agent_tui.tokens_before": body.tokens_before,
                    "agent_tui.tokens_after": body.tokens_after,
                }
                name = f"{self._run}.{event.seq}"
                self._begin(name, "compact", "", event.at - body.seconds, told)
                self._end(name, event.at, {}, _OK)
            case TurnEnded() as body if self._run:
                yield self._close(body, event.at)
            case _:
                return

    def _begin(
        self,
        key: str,
        operation: str,
        of: str,
        at: float,
        told: Mapping[str, Any],
        *,
        kind: int = _INTERNAL,
        above: str = "",
    ) -> None:
        parent = "" if key == self._run else above or self._run
        self._open[key] = {
            "traceId": self._id(self._task, 32),
            "spanId": self._id(key, 16),
            "parentSpanId": self._id(parent, 16) if parent else "",
            "name": f"{operation} {of}".rstrip(),
            "kind": kind,
            "startTimeUnixNano": _nanoseconds(at),
            "attributes": _attributes({"gen_ai.operation.name": operation, **told}),
        }

    def _end(self, key: str, at: float, told: Mapping[str, Any], code: int, of: str = "") -> None:
        span = self._open.pop(key, None)
        if span is None:
            return
        if of:  # another model may have taken over
            span["name"] = f"{span['name'].partition(' ')[0]} {of}"
        span["attributes"] += _attributes(told)
        span |= {"endTimeUnixNano": _nanoseconds(at), "status": {"code": code}}
        self._done.append(span)

    def _close(self, body: TurnEnded, at: float) -> str:
        for key in [key for key in self._open if key != self._run]:  # what the end cut short
            self._end(key, at, {}, _ERROR)
        told = {
            "agent_tui.reason": str(body.reason),
            "agent_tui.exit_code": body.exit_code,
            "agent_tui.steps": body.steps,
            "agent_tui.changed_files": len(body.changes),
            **_usage(body.usage, body.cost_usd),
        }
        self._end(self._run, at, told, _ERROR if body.exit_code else _OK)
        spans, self._done, self._run = self._done, [], ""
        resource = {"service.name": "agent-tui", "service.version": __version__, "session.id": self._session}
        scope = {"name": "agent-tui", "version": __version__}
        scoped = [{"scope": scope, "spans": spans}]
        return json.dumps(
            {"resourceSpans": [{"resource": {"attributes": _attributes(resource)}, "scopeSpans": scoped}]}
        )

    def _id(self, key: str, digits: int) -> str:
        """The same for the same part of a session at each export, and of no other."""
        return sha256(f"{self._session}/{key}".encode()).hexdigest()[:digits]


def _without_place(model: str) -> str:
    """The name of a model that is a file, without where that lies."""
    provider, _, rest = model.partition("/")
    is_file = provider == "replay" or rest.startswith(("/", "~", "."))
    return f"{provider}/{rest.rpartition('/')[2]}" if is_file else model


def _nanoseconds(at: float) -> str:
    return str(round(at * 1_000_000) * 1_000)


def _usage(usage: Usage, cost_usd: float | None) -> Json:
    cost = {} if cost_usd is None else {"agent_tui.cost_usd": cost_usd}
    tokens = {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
    }
    return tokens | cost


def _outcome(body: CallEnded) -> Json:
    outcome = body.outcome
    code = {} if outcome.exit_code is None else {"agent_tui.exit_code": outcome.exit_code}
    return {
        "agent_tui.outcome": str(outcome.status),
        "agent_tui.output_bytes": outcome.total_bytes,
        "agent_tui.changed_files": len(body.changes),
        **code,
    }


def _attributes(told: Mapping[str, Any]) -> list[Json]:
    return [{"key": key, "value": _value(value)} for key, value in told.items()]


def _value(value: Any) -> Json:
    if isinstance(value, float):
        return {"doubleValue": value}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": str(value)}
