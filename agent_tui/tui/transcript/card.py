"""Tool cards: the line that always names the object, live output, changed files."""

import json
from collections.abc import Sequence

from agent_tui.call_facts import denied, found, hosts_tried
from agent_tui.granted import BARE
from agent_tui.tui import words
from agent_tui.tui.glyphs import own_words
from agent_tui.tui.transcript import changes as changed
from agent_tui.tui.transcript.blocks import Call, Card
from agent_tui.tui.transcript.lines import Line, Span, clip, untrusted, width_of, wrap
from agent_tui.tui.transcript.look import Look
from checkpoints.types import FileChange

OBJECT_COLUMN = 12  # glyph, blank, word padded to ten
OBJECT_ROWS = 3  # rows of a long command before `… n more lines`
RUNNING_ROWS = 5
FAILED_ROWS = 5
DONE_ROWS = 2
OWN_ROWS = 15  # of a command that the person ran to see what it says
PAGER_ROWS = 5
TOLD_ROWS = 5  # of why a call came to nothing, in our words
EXPANDED_ROWS = 400
IDS_FROM = 70  # columns from which an unfolded card names its checkpoints
SILENT_S = 30.0  # after this a running card says how long nothing came

FOLDABLE = {"read_file": "file", "list_files": "listing", "search_files": "search", "view_image": "image"}
VERBS = {
    "exec_command": "ran",
    "write_stdin": "wrote",
    "apply_patch": "patched",
    "read_file": "read",
    "list_files": "listed",
    "search_files": "searched",
    "view_image": "viewed",
    "update_plan": "planned",
    "request_user_input": "asked",
}
_QUIET = frozenset(FOLDABLE) | {"update_plan", "request_user_input", "apply_patch"}

_STATES: dict[str, tuple[str, str, str]] = {  # state → glyph field, word, role
    "drafting": ("waiting", "drafting", "muted"),
    "waiting": ("waiting", "waiting", "attention"),
    "running": ("running", "running", "accent"),
    "failed": ("failed", "failed", "error"),
    "timed_out": ("timed_out", "timed out", "attention"),
    "interrupted": ("interrupted", "interrupted", "error"),
    "yielded": ("terminal", "terminal", "accent"),
    "ended": ("terminal", "ended", "muted"),
    "denied": ("denied", "denied", "error"),
    "invalid": ("skipped", "invalid", "muted"),
    "skipped": ("skipped", "skipped", "muted"),
    "not_run": ("skipped", "not run", "muted"),
    "outcome_unknown": ("unknown", "unknown", "attention"),
}


def state_words(call: Call) -> tuple[str, str, str]:
    """Glyph field, outcome word and role of a call."""
    if call.state == "succeeded":
        return "ok", "you ran" if call.by_person else VERBS.get(call.tool, "called"), "ok"
    return _STATES[call.state]


def render(card: Card, look: Look) -> list[Line]:
    """All lines of a card."""
    if len(card.calls) > 1 and all(call.state == "succeeded" for call in card.calls) and not card.expanded:
        return _folded(card.calls, look)
    return [row for call in card.calls for row in _call(call, card.expanded, look)]


def _folded(calls: Sequence[Call], look: Look) -> list[Line]:
    glyph, word, role = state_words(calls[0])
    noun = FOLDABLE.get(calls[0].tool, "call")
    lead = _lead(glyph, f"{word} ", role, look, padded=False)
    spans = [Span(f"{words.count(len(calls), noun)}: ", "text")]
    room = look.width - width_of(lead) - 12
    for index, call in enumerate(calls):
        name = untrusted(call.shown, "strong", strict=True)
        if index and width_of(spans) + width_of(name) > room:
            spans.append(Span(f" + {len(calls) - index} more", "muted"))
            break
        spans += [Span(", "), *name] if index else name
    return wrap(spans, look.width, first=lead, rest=(Span(" " * width_of(lead)),))


def _lead(glyph: str, word: str, role: str, look: Look, *, padded: bool = True) -> Line:
    text = word.ljust(OBJECT_COLUMN - 2) if padded else word
    if padded and len(word) >= OBJECT_COLUMN - 2:
        text = word + "  "
    return (Span(getattr(look.glyphs, glyph) + " ", role), Span(text, role))


def _call(call: Call, expanded: bool, look: Look) -> list[Line]:
    rows = _head(call, expanded, look)
    rows += _output(call, expanded, look)
    rows += _after(call, expanded, look)
    return rows


def _head(call: Call, expanded: bool, look: Look) -> list[Line]:
    glyph, word, role = state_words(call)
    lead = _lead(glyph, word, role, look)
    indent = width_of(lead)
    told = [f"call {call.call_id}"] if look.facts and not call.by_person else []
    told += [right_end(call, look)]
    right = tuple(untrusted(own_words(" · ".join(filter(None, told)), look.glyphs), "muted"))
    room = look.width - (width_of(right) + 1 if right else 0)
    rows = wrap(
        untrusted(_object(call), "strong", strict=True),
        room,
        first=lead,
        rest=(Span(" " * indent),),
    )
    rows = rows or [lead]
    if right and look.width - width_of(right) < indent + 8:
        rows = [*rows, clip(right, look.width, look.glyphs.more)]
    elif right:
        gap = look.width - width_of(rows[0]) - width_of(right)
        rows[0] = (*rows[0], Span(" " * gap), *right)
    if len(rows) > OBJECT_ROWS and not expanded:
        hidden = len(rows) - OBJECT_ROWS
        more = f"{look.glyphs.more} {words.count(hidden, 'more line')}, Ctrl+O show"
        rows = [*rows[:OBJECT_ROWS], (Span(" " * indent), Span(more, "muted"))]
    return rows


def _object(call: Call) -> str:
    """What the first line names. A patch that is done has `patched` before it and its files below; one that
    came to nothing has neither."""
    if call.tool != "apply_patch" or not call.shown:
        return call.shown or call.tool
    number, several, _ = call.shown.partition(" files: ")
    is_short = several and number.isdigit() and call.state in ("waiting", "running", "succeeded")
    shown = f"{number} files" if is_short else call.shown
    return shown if call.state == "succeeded" else f"patch {shown}"


def right_end(call: Call, look: Look) -> str:
    """What is known at the right of the first line."""
    if call.state in ("drafting", "waiting"):
        return call.detail
    if call.state == "running":
        return words.clock(look.now - call.started_at) if call.started_at else ""
    if call.state == "denied":
        return call.denied_by or "by you"
    if call.state in ("invalid", "skipped", "not_run"):
        return call.detail
    if call.state == "outcome_unknown":
        at = f" {words.time_of_day(call.started_at)}" if call.started_at else ""
        return f"result lost{at}"
    if call.state == "timed_out":
        return f"after {call.duration_s:.0f} s"
    if call.state == "ended":
        lasted = [] if call.detail == "lost" else [words.clock(call.duration_s)]  # until when nobody knows
        return " · ".join([call.terminal, call.detail, *lasted])
    open_question = call.outcome is not None and call.outcome.data.get("answer", "") is None
    parts = ["no answer"] if open_question else []
    parts += [*_facts(call, look), words.duration(call.duration_s)]
    if call.state == "yielded":
        live = max(look.now - call.started_at, 0) if look.now else call.duration_s
        parts = [call.terminal, "live", words.clock(live)]
    if call.by_person and not call.to_model:
        parts = ["not shown to the model", *_facts(call, look)]
    return " · ".join(part for part in parts if part)


def _facts(call: Call, look: Look) -> list[str]:
    outcome = call.outcome
    if outcome is None:
        return []
    if outcome.signal and call.state != "interrupted":
        return [f"signal {outcome.signal}"]
    if outcome.exit_code is not None and call.state != "interrupted":
        return [f"exit {outcome.exit_code}"]
    return [] if look.narrow or call.state != "succeeded" else [", ".join(found(call.tool, outcome))]


def _output(call: Call, expanded: bool, look: Look) -> list[Line]:
    shown = _shown_rows(call, expanded, look)
    lines, total = _lines(call)
    if not shown or not lines:
        return []
    if not expanded and _is_told(call):
        return _told(lines, look)
    if look.facts and not expanded and total == len(lines):
        return _beginning(call, lines, look)
    if expanded and not call.output.total:
        total = len(lines)  # what is left out of a result is marked where it was
    tells = expanded or call.state != "succeeded" or call.by_person
    tail = lines[-shown - 1 :] if tells and total == len(lines) == shown + 1 else lines[-shown:]
    hidden = total - len(tail)
    if not expanded:
        tail = [text for text in tail if text.strip()]
    rows: list[Line] = []
    if hidden and tells:
        text = f"{look.glyphs.earlier} {words.count(hidden, 'earlier line')}"
        rows.append((Span("  "), Span(text, "muted")))
    bar = _bar(look)
    for text in tail:
        spans = untrusted(text)
        if expanded:
            rows += wrap(spans, look.width, first=bar, rest=bar) or [bar]
        else:
            rows.append((*bar, *clip(spans, look.width - width_of(bar), look.glyphs.more)))
    return rows


def _is_told(call: Call) -> bool:
    """Whether what a call came to is said in our words: why it failed without a command's output."""
    told = call.outcome is not None and call.outcome.output is None and not call.output.total
    return told and call.state in ("failed", "invalid")


def _told(lines: Sequence[str], look: Look) -> list[Line]:
    """Never cut at the edge, since what to do stands last: whole rows, as many as there is room for."""
    bar = _bar(look)
    rows = [row for text in lines for row in wrap(untrusted(text), look.width, first=bar, rest=bar)]
    if len(rows) <= TOLD_ROWS + 1:
        return rows
    how = "Enter shows them" if look.facts else "Ctrl+O show"
    more = f"{look.glyphs.more} {words.count(len(rows) - TOLD_ROWS, 'more line')}, {how}"
    return [*rows[:TOLD_ROWS], (*bar, Span(more, "muted"))]


def _bar(look: Look) -> Line:
    return (Span("  "), Span(look.glyphs.output + " ", "rule"))


def _beginning(call: Call, lines: Sequence[str], look: Look) -> list[Line]:
    """The first lines, as the pager has them, and what is kept of all; one more takes no more room."""
    bar = _bar(look)
    most = len(lines) if len(lines) == PAGER_ROWS + 1 else PAGER_ROWS
    shown = [untrusted(text) for text in lines[:most]]
    rows: list[Line] = [(*bar, *clip(text, look.width - width_of(bar), look.glyphs.more)) for text in shown]
    if len(lines) == len(shown):
        return rows
    artifact = call.outcome.artifact if call.outcome is not None else None
    kept = ""
    if artifact is not None:
        size = words.size(artifact.size_bytes)
        kept = f" ({size} kept, without the middle)" if artifact.truncated else f" ({size} kept of {size})"
    more = words.count(len(lines) - PAGER_ROWS, "line")
    return [*rows, (*bar, Span(f"{look.glyphs.more} {more}, Enter shows them{kept}", "muted"))]


def _shown_rows(call: Call, expanded: bool, look: Look) -> int:
    if expanded:
        return len(call.output.lines) if look.whole and call.output.lines else EXPANDED_ROWS
    if call.state == "running":
        return 3 if look.low else RUNNING_ROWS
    failed = call.state in ("failed", "timed_out", "interrupted", "invalid", "outcome_unknown")
    if look.output == "never" or (look.output == "failed" and not failed):
        return 0
    if call.state in ("denied", "skipped", "not_run"):
        return 0
    if failed:
        return FAILED_ROWS
    if call.by_person:
        return 3 if look.low else OWN_ROWS
    return 0 if call.tool in _QUIET and look.output != "always" else DONE_ROWS


def _lines(call: Call) -> tuple[list[str], int]:
    if call.output.total:
        return list(call.output.lines), call.output.total
    if call.outcome is None or not call.is_over or call.state in ("yielded", "ended"):
        return [], 0  # what a terminal's call comes to is its live output alone
    text = call.outcome.output
    if text is None:
        text = "" if call.tool == "exec_command" and call.state == "succeeded" else call.outcome.text
    lines = text.rstrip("\n").split("\n") if text.strip() else []
    total = call.outcome.data.get("total_lines")
    return lines, max(len(lines), total if isinstance(total, int) else 0)


def _after(call: Call, expanded: bool, look: Look) -> list[Line]:
    glyphs = look.glyphs
    rows: list[Line] = []
    if call.awaits_input and call.state in ("running", "yielded"):
        rows.append((Span("  "), Span("waiting for input", "attention")))
    elif call.state == "running" and call.last_output_at and look.now - call.last_output_at > SILENT_S:
        rows.append(
            (Span("  "), Span(f"no output for {words.clock(look.now - call.last_output_at)}", "muted"))
        )
    told = "" if call.by_person else "the model was told"
    if call.outcome is not None and (why := denied(call.outcome, told)):
        rows += _noted(glyphs.sandbox, f"sandbox: {why}", "attention", look)
    if call.outcome is not None and call.is_over:
        for said, failed in hosts_tried(call.outcome):
            rows += _noted(glyphs.sandbox, said, "attention" if failed else "muted", look)
    if ", git lane" in call.sandbox and call.is_over and not call.by_person:
        rows += _noted(glyphs.sandbox, "git lane: .git was writable for this command", "muted", look)
    if call.sandbox == BARE and call.tool == "exec_command" and call.is_over and not call.by_person:
        rows += _noted(glyphs.sandbox, "no sandbox: this command ran as you", "attention", look)
    if call.feedback:
        rows += _noted(glyphs.steer, f"you said: {call.feedback}", "text", look)
    if call.edited:
        rows += _noted(glyphs.steer, f"edited by you; the model asked for: {call.edited}", "text", look)
    rows += changes_lines(call.changes, look, partial=call.state == "interrupted")
    if call.external:
        spans = [
            Span("external, meanwhile: ", "external"),
            *changed.joined(call.external, glyphs, "external"),
        ]
        rows += wrap(
            [*spans, Span(" (not by this call)", "muted")],
            look.width,
            first=_mark(glyphs.changes, "external"),
            rest=(Span("  "),),
        )
    if call.uncovered:
        rows += _noted(
            glyphs.notice, f"not covered by undo: {', '.join(call.uncovered[:4])}", "attention", look
        )
    if expanded or (look.facts and call.is_over):
        rows += _stored(call, look)
    return rows


def _stored(call: Call, look: Look) -> list[Line]:
    """Its checkpoints; in the pager also that nothing changed, and the sandbox it ran in."""
    facts = []
    if call.checkpoint_id and look.width >= IDS_FROM:
        after = f", {call.after_id} after" if call.after_id else ""
        facts.append(f"checkpoint {call.checkpoint_id} before{after}")
    if look.facts and call.checkpoint_id and not call.changes:
        facts.append("no files changed")
    if look.facts and call.sandbox and (call.checkpoint_id or call.tool == "exec_command"):
        facts.append(call.sandbox if call.sandbox == BARE else f"sandbox {call.sandbox}")
    text = untrusted(own_words(" · ", look.glyphs).join(facts), "muted")
    return wrap(text, look.width, first=(Span("  "),), rest=(Span("  "),)) if facts else []


def changes_lines(changes: Sequence[FileChange], look: Look, *, partial: bool = False) -> list[Line]:
    """The changed-files line under a card."""
    if not changes:
        return []
    spans = [Span(f"{changed.files(changes)}: "), *changed.joined(changes, look.glyphs)]
    if partial:
        spans.append(Span(" (may be partial)", "muted"))
    return wrap(spans, look.width, first=_mark(look.glyphs.changes, "text"), rest=(Span("  "),))


def _mark(glyph: str, role: str) -> Line:
    return (Span("  "), Span(glyph + " ", role))


def _noted(glyph: str, text: str, role: str, look: Look) -> list[Line]:
    first = _mark(glyph, role)
    return wrap(untrusted(text, role), look.width, first=first, rest=(Span(" " * width_of(first)),))


def shown_arguments(tool: str, arguments: str) -> str:
    """What to name when the engine gave no object: the command or path inside the arguments."""
    try:
        data = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments[:200]
    if not isinstance(data, dict):
        return arguments[:200]
    for key in ("cmd", "path", "pattern", "question", "chars"):
        if isinstance(data.get(key), str):
            return str(data[key])
    return tool
