"""The calls of line mode: what is said of each, from the proposal to its end."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from agent_tui.call_facts import denied, found, hosts_tried
from agent_tui.engine.events import (
    ApprovalDecided,
    Body,
    CallChanged,
    CallEnded,
    CallOutput,
    CallProposed,
    CallStarted,
    InputAwaited,
)
from agent_tui.figures import count
from agent_tui.plain.words import changes_text, seconds
from agent_tui.safe_text import one_line, visible
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
_NOT_RUN = (OutcomeStatus.DENIED, OutcomeStatus.SKIPPED, OutcomeStatus.INVALID)


@dataclass(slots=True)
class _Call:
    """One that has no outcome yet."""

    tool: str
    shown: str
    waits_for: str = ""
    has_started: bool = False
    output_lines: int = 0
    awaits_input: bool = False
    told: str = ""  # what the model is told with a denial


class Calls:
    """Those without an outcome."""

    def __init__(self) -> None:
        self._calls: dict[str, _Call] = {}

    @property
    def started(self) -> int:
        """How many run."""
        return sum(call.has_started for call in self._calls.values())

    def rest(self) -> None:
        """The turn is over: nothing runs; a call without an outcome gets it in a later one."""
        for call in self._calls.values():
            call.has_started = call.awaits_input = False
            call.waits_for, call.output_lines = "", 0

    def recall(self, stored: Iterable[Body]) -> None:
        """What an earlier process of the session said of calls that it left without an outcome."""
        for body in stored:
            self.lines(body)
        self.rest()

    def under_way(self) -> Mapping[str, tuple[str, str]]:
        """Commands that still run, and what has to wait: call → `running` or `waiting`, and the rest of a
        sentence."""
        found = {}
        for name, call in self._calls.items():
            shown = one_line(call.shown, strict=True)
            if call.has_started and call.tool == "exec_command":
                asks = ", waiting for input" if call.awaits_input else ""
                found[name] = ("running", f"{shown}, {count(call.output_lines, 'line')} so far{asks}")
            elif call.waits_for and not call.has_started:
                found[name] = ("waiting", f"{shown}, {one_line(call.waits_for)}")
        return found

    def lines(self, body: Body) -> list[str]:
        """What to print for an event."""
        if isinstance(body, CallProposed):
            self._calls[body.call_id] = _Call(body.tool, body.shown or body.tool)
            return []
        if isinstance(body, CallEnded):
            return _ended(body, self._calls.pop(body.call_id, _Call(body.tool, body.tool)))
        if isinstance(body, InputAwaited) and body.terminal:  # what it prints shows that it goes on
            return [_answers(body.terminal)] if body.waits else []
        known = self._calls.get(getattr(body, "call_id", ""))
        return [] if known is None else _goes_on(body, known)


def _goes_on(body: Body, call: _Call) -> list[str]:
    match body:
        case CallChanged():
            call.waits_for = body.detail
        case CallStarted():
            call.has_started = True
            return [f"Running: {visible(call.shown, strict=True)}"] if call.tool == "exec_command" else []
        case CallOutput():
            call.output_lines += body.text.count("\n")
        case InputAwaited():
            call.awaits_input = body.waits
            return [f"Waiting for input: {one_line(call.shown, strict=True)}"] if body.waits else []
        case ApprovalDecided(edited=edited) if edited and call.tool == "exec_command":
            asked, call.shown = call.shown, edited_command(edited)
            return [f"Edited by you. The model asked for: {one_line(asked, strict=True)}"]
        case ApprovalDecided(edited=edited) if edited:
            return ["Edited by you. The model asked for another patch."]
        case ApprovalDecided():
            call.told = body.feedback
        case _:
            pass
    return []


def _ended(body: CallEnded, call: _Call) -> list[str]:
    if body.tool == "update_plan" and body.outcome.status is OutcomeStatus.SUCCEEDED:
        return []  # the plan itself was said
    if body.outcome.status is OutcomeStatus.INVALID:
        return [f"Invalid: {one_line(body.tool, strict=True)}, {one_line(body.outcome.text.strip())}"]
    lines = [_headline(body, visible(call.shown, strict=True))]
    if call.told:
        lines[0] += f" The model was told: {one_line(call.told)}"
    if call.awaits_input and body.outcome.terminal:
        lines.append(_answers(body.outcome.terminal))
    if body.outcome.status in (OutcomeStatus.FAILED, OutcomeStatus.TIMED_OUT):
        tail = visible(body.outcome.text).rstrip().splitlines()[-LAST_LINES:]
        lines[0] += " Last lines:"
        lines += [f"  {line}" for line in tail]
    if body.changes and body.tool != "apply_patch":
        lines.append(f"Changed: {changes_text(body.changes)}")
    if body.external:
        lines.append(f"External, meanwhile: {changes_text(body.external)} Not by this call.")
    if why := denied(body.outcome):
        lines.append(f"Sandbox: {one_line(why, strict=True)}.")
    lines += [f"Sandbox: {one_line(said, strict=True)}." for said, _ in hosts_tried(body.outcome)]
    return lines + [f"Not covered by undo: {one_line(path, strict=True)}" for path in body.uncovered]


def _answers(terminal: str) -> str:
    name = one_line(terminal, strict=True)
    return f"Terminal {name}: waiting for input. /type {name} TEXT answers it."


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
    if body.tool == "search_files" and target.endswith(" in ."):
        target = f"{target[:-1]}the directory"
    facts = [target, *filter(None, [" in ".join(found(body.tool, outcome))]), *_ending(outcome)]
    if body.tool in ("exec_command", "write_stdin") and outcome.status not in _NOT_RUN:
        facts += [] if outcome.data.get("lost") else [seconds(body.duration_s)]  # until when nobody knows
    sentence = f"{word}: {', '.join(facts)}"
    return sentence if sentence.endswith(("?", "!", ".")) else sentence + "."


def _ending(outcome: Outcome) -> list[str]:
    if outcome.signal:
        return [f"signal {one_line(outcome.signal)}"]
    if outcome.exit_code is not None:
        return [f"exit code {outcome.exit_code}"]
    if outcome.status is OutcomeStatus.YIELDED:
        return [f"lives on as {one_line(str(outcome.terminal), strict=True)}"]
    return []
