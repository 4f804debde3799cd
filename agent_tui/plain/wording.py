"""Events in words: one line or paragraph each, beginning with a word and a colon.

No glyphs, no colour, nothing that moves. `Narrator` remembers only what a sentence needs.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from agent_tui.engine.events import (
    ApprovalDecided,
    Body,
    CallEnded,
    CallOutput,
    CallProposed,
    CallStarted,
    CompactionEnded,
    InputAccepted,
    InputAwaited,
    InputDelivered,
    InputReturned,
    NoticeRaised,
    PlanChanged,
    Refused,
    ResponseEnded,
    RetryScheduled,
    RolledBack,
    SettingChanged,
    StatusChanged,
    TerminalChanged,
    TurnEnded,
)
from agent_tui.engine.types import Decision, EndReason, InputKind
from agent_tui.safe_text import one_line, visible
from checkpoints.types import Author, FileChange
from tools.types import Outcome, OutcomeStatus

LAST_LINES = 5

_VERBS = {
    "exec_command": "Ran",
    "write_stdin": "Wrote",
    "apply_patch": "Patched",
    "read_file": "Read",
    "list_files": "Listed",
    "search_files": "Searched",
    "view_image": "Viewed",
    "update_plan": "Planned",
    "request_user_input": "Asked",
}
_OUTCOMES = {
    OutcomeStatus.FAILED: "Failed",
    OutcomeStatus.TIMED_OUT: "Timed out",
    OutcomeStatus.INTERRUPTED: "Interrupted",
    OutcomeStatus.DENIED: "Denied",
    OutcomeStatus.INVALID: "Invalid",
    OutcomeStatus.SKIPPED: "Skipped",
    OutcomeStatus.OUTCOME_UNKNOWN: "Unknown",
    OutcomeStatus.YIELDED: "Terminal",
}
_KINDS = {"A": "Added", "M": "Modified", "D": "Deleted", "R": "Renamed", "X": "Changed the mode of"}
_ENDS = {
    EndReason.COMPLETED: "Done",
    EndReason.COMPLETED_UNVERIFIED: "Done, not verified",
    EndReason.CANCELLED: "Cancelled by you",
    EndReason.INTERRUPTED: "Interrupted by you; effects may be partial",
}


def seconds(value: float) -> str:
    """A duration in words."""
    if value < 60:
        whole = round(value)
        text = f"{value:.1f}" if value < 9.95 else str(whole)
        return f"{text} second" + ("" if text in ("1", "1.0") else "s")
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} minute{'s' if minutes != 1 else ''} {rest} seconds"


def money(usd: float) -> str:
    """An amount in words; cents below one dollar."""
    return f"{usd * 100:.0f} cents" if usd < 1 else f"{usd:.2f} dollars"


def count(number: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def changes_text(changes: Iterable[FileChange]) -> str:
    """A sentence for each changed file."""
    return " ".join(_change(change) for change in changes)


def _change(change: FileChange) -> str:
    name = one_line(change.path, strict=True)
    if change.kind == "R" and change.old_path:
        return f"Renamed {one_line(change.old_path, strict=True)} to {name}."
    parts = [f"{_KINDS[change.kind]} {name}"]
    if change.added and change.kind == "A":
        parts.append(count(change.added, "line"))
    elif change.added or change.removed:
        parts.append(f"{count(change.added or 0, 'line')} added, {change.removed or 0:,} removed")
    if change.detail:
        parts.append(change.detail)
    return ", ".join(parts) + "."


@dataclass(slots=True)
class Narrator:
    """Turns events into lines to print; bounded state, nothing of the transcript is kept."""

    shown: dict[str, tuple[str, str]] = field(default_factory=dict)  # running call → tool, object
    started: set[str] = field(default_factory=set)  # calls that run
    output_lines: dict[str, int] = field(default_factory=dict)
    awaiting: set[str] = field(default_factory=set)  # calls that wait for input
    status: dict[str, str] = field(default_factory=dict)
    failure: str = ""  # of the last retry, which is said once

    def lines(self, body: Body) -> list[str]:
        """What to print for an event; most have nothing to say."""
        match body:
            case CallProposed():
                self.shown[body.call_id] = (body.tool, body.shown or body.tool)
            case CallStarted():
                self.started.add(body.call_id)
                tool, target = self.shown.get(body.call_id, ("", ""))
                return [f"Running: {visible(target, strict=True)}"] if tool == "exec_command" else []
            case ApprovalDecided(edited=edited) if edited and body.call_id in self.shown:
                tool, target = self.shown[body.call_id]
                if tool == "exec_command":
                    self.shown[body.call_id] = (tool, edited_command(edited))
                    return [f"Edited by you. The model asked for: {one_line(target, strict=True)}"]
            case CallOutput():
                lines = self.output_lines.get(body.call_id, 0)
                self.output_lines[body.call_id] = lines + body.text.count("\n")
            case InputAwaited():
                return self._awaited(body)
            case CallEnded():
                self.started.discard(body.call_id)
                return self._call_ended(body)
            case InputAccepted(now=True):
                stopped = count(len(self.started), "call")
                when = f"{stopped} told to stop" if self.started else "after this answer, without its calls"
                return [f"Steer now: {when}."]
            case InputAccepted(kind=InputKind.STEER):
                return [f"Steer: taken after this {'call' if self.started else 'answer'}."]
            case RetryScheduled():
                return self._retry(body)
            case ResponseEnded():
                return self._response(body)
            case TurnEnded():
                return self._turn_ended(body)
            case StatusChanged():
                return self._status(body)
            case _:
                return _simple(body)
        return []

    def running(self) -> list[str]:
        """One line for each command that still runs."""
        return [
            f"{one_line(target)}, {count(self.output_lines.get(call, 0), 'line')} so far"
            f"{', waiting for input' if call in self.awaiting else ''}"
            for call, (tool, target) in self.shown.items()
            if tool == "exec_command"
        ]

    def _awaited(self, body: InputAwaited) -> list[str]:
        """Said once it waits; that it no longer does shows by what it prints."""
        if not body.waits:
            self.awaiting.discard(body.call_id)
            return []
        if body.terminal:
            return [_answers(body.terminal)]
        self.awaiting.add(body.call_id)
        _, target = self.shown.get(body.call_id, ("", ""))
        return [f"Waiting for input: {one_line(target, strict=True)}"]

    def _retry(self, body: RetryScheduled) -> list[str]:
        wait = f"retry {body.attempt} of {body.attempts} in {seconds(body.delay_s)}."
        is_same, self.failure = self.failure == body.error, body.error
        return [wait.capitalize()] if is_same else [f"Provider: {one_line(body.error)}; {wait}"]

    def _response(self, body: ResponseEnded) -> list[str]:
        self.failure = ""
        lines = [f"Thinking: {seconds(body.reasoning_s)}."] if body.reasoning_s >= 0.5 else []
        if body.text.strip():
            lines += ["", "Answer:", visible(body.text.strip()), ""]
        return lines

    def _call_ended(self, body: CallEnded) -> list[str]:
        _, target = self.shown.pop(body.call_id, ("", body.tool))
        self.output_lines.pop(body.call_id, None)
        is_asking = body.call_id in self.awaiting
        self.awaiting.discard(body.call_id)
        if body.tool == "update_plan" and body.outcome.status is OutcomeStatus.SUCCEEDED:
            return []  # the plan itself was said
        if body.outcome.status is OutcomeStatus.INVALID:
            return [f"Invalid: {one_line(body.tool, strict=True)}, {one_line(body.outcome.text.strip())}"]
        lines = [_headline(body, visible(target, strict=True))]
        if is_asking and body.outcome.terminal:
            lines.append(_answers(body.outcome.terminal))
        if body.outcome.status in (OutcomeStatus.FAILED, OutcomeStatus.TIMED_OUT):
            tail = visible(body.outcome.text).rstrip().splitlines()[-LAST_LINES:]
            lines[0] += " Last lines:"
            lines += [f"  {line}" for line in tail]
        if body.changes and body.tool != "apply_patch":
            lines.append(f"Changed: {changes_text(body.changes)}")
        if body.external:
            lines.append(f"External, meanwhile: {changes_text(body.external)} Not by this call.")
        if body.outcome.denial:
            lines.append(f"Sandbox: {one_line(body.outcome.denial, strict=True)}")
        lines += [f"Not covered by undo: {one_line(path, strict=True)}" for path in body.uncovered]
        return lines

    def _turn_ended(self, body: TurnEnded) -> list[str]:
        self.shown.clear()
        self.output_lines.clear()
        head = _ENDS.get(body.reason) or body.sentence[:1].upper() + body.sentence[1:]
        facts = [count(body.steps, "step"), seconds(body.duration_s)]
        if body.cost_usd:
            facts.append(money(body.cost_usd))
        text = f"{head}: {', '.join(facts)}."
        mine = [change for change in body.changes if change.author is Author.AGENT]
        if mine:
            names = ", ".join(one_line(change.path, strict=True) for change in mine)
            text += f" {count(len(mine), 'file')} changed: {names}."
        if body.last_check:
            text += f" Last check: {one_line(body.last_check)}."
        return ["", text, *([f"Error: {one_line(body.error)}"] if body.error else [])]

    def _status(self, body: StatusChanged) -> list[str]:
        """Only a change of sandbox, approvals or undo is worth a line."""
        found: dict[str, str] = {}
        if body.sandbox is not None:
            state = f"{body.sandbox.mode}, network {'on' if body.sandbox.network else 'off'}"
            found["Sandbox"] = state if body.sandbox.available else f"not available: {body.sandbox.detail}"
        if body.approval is not None:
            found["Approvals"] = body.approval
        if body.undo is not None and body.undo.state != "importing":
            found["Undo"] = body.undo.state.replace("_", " ") + (
                f", {body.undo.detail}" if body.undo.detail else ""
            )
        if body.model is not None:
            found["Model"] = body.model
        lines = [f"{name}: {text}." for name, text in found.items() if self.status.get(name, text) != text]
        self.status.update(found)
        return lines


def _answers(terminal: str) -> str:
    return f"Terminal {terminal}: waiting for input. /type {terminal} TEXT answers it."


def edited_command(edited: str) -> str:
    """The command of edited arguments, which may be the command itself."""
    try:
        data = json.loads(edited)
    except (ValueError, RecursionError):
        return edited
    return str(data["cmd"]) if isinstance(data, dict) and "cmd" in data else edited


def _headline(body: CallEnded, target: str) -> str:
    outcome = body.outcome
    if body.tool == "apply_patch" and outcome.status is OutcomeStatus.SUCCEEDED:
        files = f"{count(len(body.changes), 'file')}. {changes_text(body.changes)}"
        return f"Patched: {files} Type /diff to read it."
    word = _OUTCOMES.get(outcome.status) or _VERBS.get(body.tool, "Called")
    if outcome.status is OutcomeStatus.SUCCEEDED and outcome.exit_code not in (None, 0):
        word = "Failed"
    facts = [target, *_ending(outcome)]
    if body.tool in ("exec_command", "write_stdin"):
        facts.append(seconds(body.duration_s))
    sentence = f"{word}: {', '.join(facts)}"
    return sentence if sentence.endswith(("?", "!", ".")) else sentence + "."


def _ending(outcome: Outcome) -> list[str]:
    if outcome.signal:
        return [f"signal {outcome.signal}"]
    if outcome.exit_code is not None:
        return [f"exit code {outcome.exit_code}"]
    return [f"lives on as {outcome.terminal}"] if outcome.status is OutcomeStatus.YIELDED else []


def _compacted(body: CompactionEnded) -> str:
    sizes = f"about {body.tokens_before:,} tokens before, {body.tokens_after:,} after."
    if body.undone:
        return f"Compaction undone: {sizes}"
    if not body.item_id:
        return f"Compaction: the view stays as it was. {one_line(body.detail)}"
    return f"Compacted: {count(body.hidden_units, 'unit')} hidden, {sizes}"


def _simple(body: Body) -> list[str]:
    match body:
        case InputAccepted(kind=InputKind.QUEUE):
            return ["Queue: taken in the next turn."]
        case InputReturned():
            return [f"Not delivered, back in your draft: {one_line(body.text)}"]
        case InputDelivered():
            return []
        case ApprovalDecided(
            by="person", decision=Decision.DENY | Decision.DENY_RULE | Decision.DENY_AND_PAUSE
        ):
            return [f"The model was told: {one_line(body.feedback)}"] if body.feedback else []
        case CompactionEnded():
            return [_compacted(body)]
        case RolledBack():
            return [_rolled_back(body)]
        case PlanChanged():
            marks = {"pending": "to do", "in_progress": "now", "completed": "done"}
            steps = [f"  {n}. {one_line(s.text)} ({marks[s.status]})" for n, s in enumerate(body.steps, 1)]
            return ["Plan:", *steps]
        case TerminalChanged(state="live"):
            return []  # its call said so
        case TerminalChanged():
            end = "" if body.exit_code is None else f", exit code {body.exit_code}"
            return [f"Terminal {body.terminal}: {body.state}{end}. {one_line(body.command, strict=True)}"]
        case NoticeRaised():
            word = {"info": "Notice", "warning": "Warning", "error": "Error"}[body.level]
            return [f"{word}: {one_line(body.text)}"]
        case SettingChanged(key="effort" | "title" as key):
            return [f"{key.capitalize()}: {one_line(body.value)}."]
        case Refused():
            return [f"Refused: {one_line(body.reason)}"]
        case _:
            return []


def _rolled_back(body: RolledBack) -> str:
    word = "Redone" if body.redo_of else "Rolled back"
    files = body.files
    if files is None:
        return f"{word}: the conversation. Type /redo to undo this."
    text = f"{word}: {count(len(files.changed), 'file')}."
    if files.changed:
        text += f" {changes_text(files.changed)}"
    if files.kept:
        text += f" Kept as yours: {', '.join(one_line(path, strict=True) for path in files.kept)}."
    if files.mismatches:
        text += f" Not verified: {', '.join(one_line(path, strict=True) for path in files.mismatches)}."
    return text + (" Type /redo to undo this." if not body.redo_of else "")
