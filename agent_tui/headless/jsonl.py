"""Events as JSON lines, for `exec --json`: a pure mapping, with a table of ids and nothing more.

The shape is a superset of what Codex prints with `codex exec --json` (thread, turn and item events),
so that programs that read that stream work unchanged. Every line also has `seq`, `ts`, `run_id` and
`schema`; readers may ignore fields and types they do not know.
"""

import json
from collections.abc import Iterator
from typing import Any

from agent_tui.engine.events import (
    ApprovalAsked,
    ApprovalDecided,
    CallEnded,
    CallProposed,
    CallStarted,
    CheckpointTaken,
    CompactionEnded,
    Event,
    InputAccepted,
    InputDelivered,
    InputEdited,
    InputReturned,
    LostResultAsked,
    NoticeRaised,
    PlanChanged,
    QuestionAnswered,
    QuestionAsked,
    Refused,
    ResponseEnded,
    RetryScheduled,
    RolledBack,
    SessionStarted,
    TerminalChanged,
    TurnEnded,
    TurnStarted,
)
from agent_tui.engine.types import END_FACTS, SCHEMA, EndReason, InputKind
from checkpoints.types import FileChange
from context.items import Usage
from tools.types import Outcome, OutcomeStatus

Json = dict[str, Any]

_KINDS = {"A": "add", "M": "update", "D": "delete", "R": "update", "X": "update"}
_STATUS = {
    OutcomeStatus.SUCCEEDED: "completed",
    OutcomeStatus.YIELDED: "in_progress",
    OutcomeStatus.DENIED: "declined",
}
_GOOD_ENDS = (EndReason.COMPLETED, EndReason.COMPLETED_UNVERIFIED)
_SILENT_TOOLS = ("update_plan",)  # the plan has its own item


class JsonLines:
    """Maps each event to the lines it stands for; remembers calls and messages by id."""

    def __init__(self) -> None:
        self._seq = 0
        self._run = ""
        self._calls: dict[str, CallProposed] = {}
        self._inputs: dict[str, InputAccepted] = {}
        self._approvals: dict[str, ApprovalAsked] = {}
        self._plan: Json | None = None

    def lines(self, event: Event) -> Iterator[str]:
        """The lines of one event, without their newline; none for what is only for display."""
        for body in self._map(event):
            self._run = event.run_id or self._run  # between runs: the newest one
            yield self._line(body, event.at)

    def error(self, message: str, at: float) -> str:
        """A line for a failure outside the engine, such as a command that cannot be read."""
        return self._line({"type": "error", "message": message}, at)

    def _line(self, body: Json, at: float) -> str:
        self._seq += 1
        body |= {"seq": self._seq, "ts": at, "run_id": self._run, "schema": SCHEMA}
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", errors="backslashreplace").decode("utf-8")

    def _map(self, event: Event) -> Iterator[Json]:
        match event.body:
            case SessionStarted() | TurnStarted() | TurnEnded() as body:
                yield from self._frame(body)
            case ResponseEnded() as body:
                yield from _response(body)
            case CallProposed() | CallStarted() | CallEnded() as body:
                yield from self._call(body)
            case InputAccepted() | InputEdited() | InputDelivered() | InputReturned() as body:
                yield from self._input(body)
            case (
                ApprovalAsked()
                | ApprovalDecided()
                | QuestionAsked()
                | QuestionAnswered()
                | LostResultAsked() as body
            ):
                yield from self._question(body)
            case PlanChanged() as body:
                yield self._planned(body)
            case (
                CheckpointTaken()
                | CompactionEnded()
                | RolledBack()
                | NoticeRaised()
                | TerminalChanged() as body
            ):
                yield _completed(_runtime_item(body, event.seq))
            case RetryScheduled() as body:
                text = f"{body.error}; attempt {body.attempt} of {body.attempts} in {body.delay_s:.1f} s"
                yield {"type": "error", "message": text, "will_retry": True}
            case Refused() as body:
                yield {"type": "error", "message": body.reason, "command_id": body.command_id}
            case _:
                return

    def _frame(self, body: SessionStarted | TurnStarted | TurnEnded) -> Iterator[Json]:
        match body:
            case SessionStarted():
                yield {
                    "type": "thread.started",
                    "thread_id": body.session_id,
                    "workspace": body.workspace,
                    "model": body.model,
                    "resumed": body.resumed,
                }
            case TurnStarted():
                yield {"type": "turn.started", "task_id": body.task_id, "attempt": body.attempt}
            case TurnEnded():
                if self._plan is not None:
                    yield _completed(self._plan)
                    self._plan = None
                yield _turn_ended(body)

    def _call(self, body: CallProposed | CallStarted | CallEnded) -> Iterator[Json]:
        if isinstance(body, CallProposed):
            self._calls[body.call_id] = body
            return
        proposed = self._calls.get(body.call_id)
        tool = body.tool if isinstance(body, CallEnded) else proposed.tool if proposed else ""
        if tool in _SILENT_TOOLS:
            return
        item = _call_item(body.call_id, tool, proposed)
        if isinstance(body, CallStarted):
            yield {"type": "item.started", "item": item | {"status": "in_progress"}}
        else:
            self._calls.pop(body.call_id, None)
            yield _completed(item | _ended(tool, body))

    def _input(self, body: InputAccepted | InputEdited | InputDelivered | InputReturned) -> Iterator[Json]:
        if isinstance(body, InputAccepted):
            self._inputs[body.input_id] = body
        known = self._inputs.get(body.input_id)
        kind = known.kind if known else InputKind.STEER
        if kind is InputKind.PROMPT:  # `turn.started` says it
            return
        item = {"id": body.input_id, "type": "steer", "kind": str(kind), "text": known.text if known else ""}
        match body:
            case InputAccepted():
                yield {"type": "item.started", "item": item | {"status": "accepted"}}
            case InputEdited():
                edited = {"text": body.text, "kind": str(body.kind), "status": "accepted"}
                yield {"type": "item.updated", "item": item | edited}
            case InputDelivered():
                delivered = {"status": "delivered", "position": body.item_id, "step": body.step}
                yield _completed(item | delivered)
            case InputReturned():
                yield _completed(item | {"text": body.text, "status": "returned", "reason": body.reason})

    def _question(
        self, body: ApprovalAsked | ApprovalDecided | QuestionAsked | QuestionAnswered | LostResultAsked
    ) -> Iterator[Json]:
        match body:
            case ApprovalAsked():
                self._approvals[body.approval_id] = body
                yield {"type": "item.started", "item": _approval(body) | {"status": "in_progress"}}
            case ApprovalDecided():
                asked = self._approvals.pop(body.approval_id, None)
                item = (
                    _approval(asked)
                    if asked
                    else {"id": body.approval_id, "type": "approval", "call_id": body.call_id}
                )
                decided = {"decision": str(body.decision), "by": body.by, "feedback": body.feedback}
                yield _completed(item | decided | {"status": "completed"})
            case QuestionAsked():
                item = {
                    "id": body.question_id,
                    "type": "question",
                    "call_id": body.call_id,
                    "text": body.text,
                }
                yield {"type": "item.started", "item": item | {"options": list(body.options)}}
            case QuestionAnswered():
                yield _completed({"id": body.question_id, "type": "question", "answer": body.text})
            case LostResultAsked():
                item = {
                    "id": body.question_id,
                    "type": "lost_result",
                    "call_id": body.call_id,
                    "tool": body.tool,
                }
                yield {
                    "type": "item.started",
                    "item": item | {"shown": body.shown, "facts": body.facts, "output": body.output},
                }

    def _planned(self, body: PlanChanged) -> Json:
        first = self._plan is None
        self._plan = {
            "id": self._plan["id"] if self._plan else f"plan{self._seq}",
            "type": "todo_list",
            "items": [
                {"text": step.text, "completed": step.status == "completed", "status": step.status}
                for step in body.steps
            ],
        }
        return {"type": "item.started" if first else "item.updated", "item": dict(self._plan)}


def _completed(item: Json) -> Json:
    return {"type": "item.completed", "item": item}


def _response(body: ResponseEnded) -> Iterator[Json]:
    if body.reasoning:
        yield _completed({"id": f"{body.item_id}.reasoning", "type": "reasoning", "text": body.reasoning})
    if body.text:
        item = {"id": body.item_id, "type": "agent_message", "text": body.text}
        yield _completed(item | ({"interrupted": True} if body.interrupted else {}))


def _turn_ended(body: TurnEnded) -> Json:
    good = body.reason in _GOOD_ENDS
    hint = END_FACTS[body.reason].hint
    failure = {"message": body.error or (f"{body.sentence}; {hint}" if hint else body.sentence)}
    return {
        "type": "turn.completed" if good else "turn.failed",
        **({} if good else {"error": failure}),
        "usage": _usage(body.usage),
        "reason": str(body.reason),
        "sentence": body.sentence,
        "exit_code": body.exit_code,
        "changes": changes(body.changes),
        "cost_usd": body.cost_usd,
        "steps": body.steps,
        "duration_s": body.duration_s,
        "last_check": f"{body.last_check} {body.check_result}".strip(),
        "report": body.report,
    }


def _usage(usage: Usage) -> Json:
    return {
        "input_tokens": usage.input_tokens,
        "cached_input_tokens": usage.cache_read_tokens,
        "output_tokens": usage.output_tokens,
        "reasoning_output_tokens": usage.reasoning_tokens,
        "estimated": usage.estimated,
    }


def changes(found: tuple[FileChange, ...]) -> list[Json]:
    """The changed-files list, each with `path`, `kind` (add, update, delete) and who changed it."""
    return [
        {
            "path": change.path,
            "kind": _KINDS[change.kind],
            "author": str(change.author),
            **({"old_path": change.old_path} if change.old_path else {}),
            **({"added": change.added, "removed": change.removed} if change.added is not None else {}),
            **({"detail": change.detail} if change.detail else {}),
        }
        for change in found
    ]


def _call_item(call_id: str, tool: str, proposed: CallProposed | None) -> Json:
    shown = proposed.shown if proposed else ""
    if tool == "exec_command":
        command = {"command": shown, "aggregated_output": "", "exit_code": None}
        return {"id": call_id, "type": "command_execution", **command}
    if tool == "apply_patch":
        return {"id": call_id, "type": "file_change", "changes": []}
    arguments = proposed.arguments if proposed else ""
    return {"id": call_id, "type": "tool_call", "tool": tool, "arguments": arguments, "shown": shown}


def _ended(tool: str, body: CallEnded) -> Json:
    outcome = body.outcome
    facts: Json = {
        "status": _status(outcome),
        "outcome": str(outcome.status),
        "duration_s": body.duration_s,
        "checkpoint_id": body.checkpoint_id,
        "changes": changes(body.changes),
    }
    if body.external:
        facts["external_changes"] = changes(body.external)
    if tool == "exec_command":
        return facts | {
            "aggregated_output": outcome.text if outcome.output is None else outcome.output,
            "exit_code": outcome.exit_code,
            "total_bytes": outcome.total_bytes,
            "omitted_bytes": outcome.omitted_bytes,
        }
    return facts | ({"text": outcome.text} if tool != "apply_patch" or facts["status"] != "completed" else {})


def _status(outcome: Outcome) -> str:
    if outcome.exit_code not in (None, 0):
        return "failed"
    return _STATUS.get(outcome.status, "failed")


# What else a person is shown of a question, where there is something to show.
_DECIDED_BY = (
    "cwd",
    "sandbox",
    "grants",
    "diff",
    "first_attempt",
    "during",
    "session_key",
    "rule",
    "rule_allows",
    "deny_rule",
)


def _approval(body: ApprovalAsked) -> Json:
    return {
        "id": body.approval_id,
        "type": "approval",
        "call_id": body.call_id,
        "tool": body.tool,
        "shown": body.assessment.shown,
        "why": body.why,
        "digest": body.digest,
        "choices": [str(choice) for choice in body.choices],
        **{name: told for name in _DECIDED_BY if (told := getattr(body, name))},
    }


def _runtime_item(
    body: CheckpointTaken | CompactionEnded | RolledBack | NoticeRaised | TerminalChanged, seq: int
) -> Json:
    match body:
        case CheckpointTaken():
            taken = body.checkpoint
            return {
                "id": f"checkpoint.{taken.id}",
                "type": "checkpoint",
                "checkpoint_id": taken.id,
                "phase": str(taken.cause.phase),
                "call_id": taken.cause.call_id,
                "uncovered": [lost.path for lost in taken.uncovered],
            }
        case CompactionEnded():
            no_summary = f"the model's summary was {body.no_summary}" if body.no_summary else ""
            return {
                "id": body.item_id or f"compaction{seq}",
                "type": "compaction",
                "cause": body.cause,
                "tokens_before": body.tokens_before,
                "tokens_after": body.tokens_after,
                "hidden_units": body.hidden_units,
                "shortened_results": body.shortened_results,
                "detail": "\n".join(filter(None, (no_summary, body.detail))),
                "status": "completed" if body.item_id else "interrupted",
            }
        case RolledBack():
            return {
                "id": f"rollback{seq}",
                "type": "rollback",
                "checkpoint_id": body.checkpoint_id,
                "mode": body.mode,
                "changes": changes(body.files.changed) if body.files else [],
                "kept": list(body.files.kept) if body.files else [],
            }
        case NoticeRaised():
            return {"id": f"notice{seq}", "type": "notice", "text": body.text, "level": body.level}
        case TerminalChanged():
            return {
                "id": f"terminal.{body.terminal}.{seq}",
                "type": "terminal",
                "terminal": body.terminal,
                "call_id": body.call_id,
                "command": body.command,
                "state": body.state,
                "exit_code": body.exit_code,
            }
