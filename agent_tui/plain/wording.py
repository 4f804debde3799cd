"""Events in words: one line or paragraph each, beginning with a word and a colon.

No glyphs, no colour, nothing that moves. `Narrator` remembers only what a sentence needs.
"""

from dataclasses import dataclass, field

from agent_tui.engine.events import (
    Body,
    CompactionEnded,
    CompactionStarted,
    InputAccepted,
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
from agent_tui.engine.types import END_FACTS, InputKind
from agent_tui.figures import count
from agent_tui.plain.calls import Calls
from agent_tui.plain.compaction import compacted
from agent_tui.plain.words import changes_text, money, sandbox_words, seconds, undo_words
from agent_tui.safe_text import one_line, visible
from checkpoints.types import Author

_AFTER = "after this answer, without its calls"
_AT_ONCE = "An empty line tries now."


@dataclass(slots=True)
class Narrator:
    """Turns events into lines to print; bounded state, nothing of the transcript is kept."""

    calls: Calls = field(default_factory=Calls)
    status: dict[str, str] = field(default_factory=dict)
    failure: str = ""  # of the last retry, which is said once

    def lines(self, body: Body) -> list[str]:
        """What to print for an event; most have nothing to say."""
        match body:
            case InputAccepted(now=True):
                stopped = f"{count(self.calls.started, 'call')} told to stop"
                return [f"Steer now: {stopped if self.calls.started else _AFTER}."]
            case InputAccepted(kind=InputKind.STEER):
                return [f"Steer: taken after this {'call' if self.calls.started else 'answer'}."]
            case RetryScheduled():
                return self._retry(body)
            case ResponseEnded():
                return self._response(body)
            case TurnEnded():
                self.calls.rest()
                return _turn_ended(body)
            case StatusChanged():
                return self._status(body)
            case _:
                return self.calls.lines(body) or _simple(body)

    def _retry(self, body: RetryScheduled) -> list[str]:
        wait = f"retry {body.attempt} of {body.attempts} in {seconds(body.delay_s)}."
        is_same, self.failure = self.failure == body.error, body.error
        return [wait.capitalize()] if is_same else [f"Provider: {one_line(body.error)}; {wait}", _AT_ONCE]

    def _response(self, body: ResponseEnded) -> list[str]:
        self.failure = ""
        lines = [f"Thinking: {seconds(body.reasoning_s)}."] if body.reasoning_s >= 0.5 else []
        if body.text.strip():
            lines += ["", "Answer:", visible(body.text.strip()), ""]
        return lines

    def _status(self, body: StatusChanged) -> list[str]:
        """Only a change of sandbox, approvals or undo is worth a line."""
        found: dict[str, str] = {}
        if body.sandbox is not None:
            approval = body.approval or self.status.get("Approvals", "")
            found["Sandbox"] = sandbox_words(body.sandbox, approval)
        if body.approval is not None:
            found["Approvals"] = body.approval
        if body.undo is not None and body.undo.state != "importing":
            found["Undo"] = undo_words(body.undo)
        if body.model is not None:
            found["Model"] = body.model
        lines = [
            f"{name}: {one_line(text, strict=True)}."
            for name, text in found.items()
            if self.status.get(name, text) != text
        ]
        self.status.update(found)
        return lines


def _turn_ended(body: TurnEnded) -> list[str]:
    facts = [count(body.steps, "step"), seconds(body.duration_s)]
    if body.cost_usd:
        facts.append(money(body.cost_usd))
    text = f"{_head(body)} {', '.join(facts)}."
    mine = [change for change in body.changes if change.author is Author.AGENT]
    if mine:
        names = ", ".join(one_line(change.path, strict=True) for change in mine)
        text += f" {count(len(mine), 'file')} changed: {names}."
    if body.tells_check:
        text += f" Last check: {one_line(f'{body.last_check} {body.check_result}')}."
    hint = END_FACTS[body.reason].hint
    more = [f"What to do: {hint}."] if hint else []
    return ["", text, *([f"Error: {one_line(body.error)}"] if body.error else []), *more]


def _head(body: TurnEnded) -> str:
    """What the run came to, up to the figures."""
    said = one_line(body.sentence, strict=True)
    sentence = said[:1].upper() + said[1:]
    match body.rejected:
        case "key":
            return f"Refused: {said}. Fix it and press Enter, or /model for another provider."
        case "model":
            return f"{sentence}; the session is kept. /model picks another."
        case _:
            return f"{sentence}." if ":" in said else f"{sentence}:"


def _simple(body: Body) -> list[str]:
    match body:
        case InputAccepted(kind=InputKind.QUEUE):
            return ["Queue: taken in the next turn."]
        case InputReturned():
            return [f"Not delivered, back in your draft: {one_line(body.text)}"]
        case CompactionStarted():
            return ["Compacting: Ctrl+C keeps the view as it is."]
        case CompactionEnded():
            return compacted(body)
        case RolledBack():
            return [_rolled_back(body)]
        case PlanChanged():
            marks = {"pending": "to do", "in_progress": "now", "completed": "done", "dropped": "dropped"}
            why = {s: f": {one_line(s.note)}" if s.note else "" for s in body.steps}
            steps = [
                f"  {n}. {one_line(s.text)} ({marks[s.status]}{why[s]})" for n, s in enumerate(body.steps, 1)
            ]
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
    if clean := [path for path in files.merged if path not in files.merged_with_markers]:
        text += f" Merged with yours: {', '.join(one_line(path, strict=True) for path in clean)}."
    if files.merged_with_markers:
        marked = ", ".join(one_line(path, strict=True) for path in files.merged_with_markers)
        text += f" With conflict marks: {marked}."
    if files.mismatches:
        text += f" Not verified: {', '.join(one_line(path, strict=True) for path in files.mismatches)}."
    return text + (" Type /redo to undo this." if not body.redo_of else "")
