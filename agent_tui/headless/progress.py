"""Events as short lines on stderr, for a person who watches a one-shot run."""

from typing import TextIO

from agent_tui.engine.events import (
    ApprovalDecided,
    CallEnded,
    CallProposed,
    CallStarted,
    CompactionEnded,
    Event,
    InputReturned,
    LostResultAsked,
    NoticeRaised,
    Refused,
    ResponseEnded,
    RetryScheduled,
    RolledBack,
    SessionStarted,
    TurnEnded,
)
from agent_tui.engine.types import END_FACTS, EndReason
from agent_tui.figures import count, money
from agent_tui.safe_text import one_line, visible
from checkpoints.types import FileChange
from tools.types import OutcomeStatus

_SHOWN_FILES = 5
_HINTS = {EndReason.INTERRUPTED: "the session can be resumed"}
_VERBS = {
    "exec_command": "run",
    "apply_patch": "patch",
    "read_file": "read",
    "list_files": "list",
    "search_files": "search",
    "write_stdin": "type",
    "view_image": "view",
}


class Progress:
    """Writes one line an event to `stream`, nothing for what only a screen can show."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._proposed: dict[str, CallProposed] = {}
        self._failure = ""  # of the last retry, which is said once

    def show(self, event: Event) -> None:
        """Write what a person should see of this event."""
        line = self._line(event)
        if line:
            self.say(line)

    def say(self, line: str) -> None:
        """Write one line; a reader that went away, or a full disk, is not an error of the run."""
        try:
            self._stream.write(line.encode("utf-8", "replace").decode() + "\n")
            self._stream.flush()
        except (OSError, ValueError):
            return

    def named(self, call_id: str) -> str:
        """A proposed call: `run make test`, `patch slugs.py`."""
        proposed = self._proposed.get(call_id)
        if proposed is None:
            return call_id
        return f"{_VERBS.get(proposed.tool, proposed.tool)} {one_line(proposed.shown)}"

    def _line(self, event: Event) -> str:
        match event.body:
            case SessionStarted() as body:
                how = "resumed" if body.resumed else "session"
                place = one_line(body.workspace)
                return f"agent-tui: {how} {body.session_id} · {one_line(body.model)} · {place}"
            case CallProposed() as body:
                self._proposed[body.call_id] = body
                return ""
            case CallStarted() | CallEnded() as body:
                return self._call(body)
            case ResponseEnded() as body:
                self._failure = ""
                return visible(body.text).strip() if body.text and body.reserved_calls else ""
            case NoticeRaised() as body:
                return ("✗ " if body.level == "error" else "! ") + one_line(body.text)
            case RetryScheduled() as body:
                again = f"retry {body.attempt} of {body.attempts} in {body.delay_s:.1f} s"
                is_same, self._failure = self._failure == body.error, body.error
                return f"! {again}" if is_same else f"! {one_line(body.error)} · {again}"
            case ApprovalDecided() as body:
                return f"  {body.decision.replace('_', ' ')} by {body.by}"
            case LostResultAsked() as body:
                return f"! the result of `{one_line(body.shown)}` was lost: {one_line(body.facts)}"
            case CompactionEnded() as body:
                return _compacted(body)
            case RolledBack() as body:
                return f"  rolled back to {body.checkpoint_id}"
            case InputReturned() as body:
                return f"! not delivered: {one_line(body.text)}"
            case Refused() as body:
                return f"! refused: {one_line(body.reason)}"
            case TurnEnded() as body:
                return _ended(body)
            case _:
                return ""

    def _call(self, body: CallStarted | CallEnded) -> str:
        if isinstance(body, CallStarted):
            return f"> {self.named(body.call_id)}"
        named = self.named(body.call_id)
        self._proposed.pop(body.call_id, None)
        outcome = body.outcome
        if outcome.status is OutcomeStatus.SUCCEEDED and outcome.exit_code in (None, 0):
            facts = ["ok"]
        elif outcome.exit_code is not None:
            facts = [f"failed (exit {outcome.exit_code}): {named}"]
        else:
            first = next(iter(visible(outcome.text).splitlines()), "")
            status = str(outcome.status).replace("_", " ")
            is_told = first.lower().startswith(status)  # with the call in it
            facts = [first if is_told else f"{status}: {named}" + (f": {first}" if first else "")]
        facts.append(f"{body.duration_s:.1f} s")
        if body.changes:
            facts.append(_files(body.changes))
        if body.external:
            facts.append(f"external: {_files(body.external)}")
        return "  " + " · ".join(facts)


def _files(found: tuple[FileChange, ...]) -> str:
    names = ", ".join(one_line(change.path) for change in found[:_SHOWN_FILES])
    more = f" and {len(found) - _SHOWN_FILES} more" if len(found) > _SHOWN_FILES else ""
    return f"{count(len(found), 'file')} changed: {names}{more}"


def _ended(body: TurnEnded) -> str:
    facts = [one_line(body.sentence), count(body.steps, "step"), f"{body.duration_s:.1f} s"]
    if body.cost_usd is not None:
        facts.append(money(body.cost_usd))
    if body.changes:
        facts.append(_files(body.changes))
    if body.tells_check:
        facts.append(one_line(f"{body.last_check} {body.check_result}"))
    error = f": {one_line(body.error)}" if body.error and body.exit_code else ""
    hint = _HINTS.get(body.reason) or END_FACTS[body.reason].hint
    return f"agent-tui: {facts[0]}{error}{f'; {hint}' if hint else ''} · {' · '.join(facts[1:])}"


def _compacted(body: CompactionEnded) -> str:
    if not body.item_id:
        return "  compaction stopped by you · the view is as before"
    words = "compacted without a summary" if body.no_summary else "compacted"
    why = f" (summary {one_line(body.no_summary)})" if body.no_summary else ""
    return f"  {words}: {body.tokens_before:,} → {body.tokens_after:,} tokens{why}"
