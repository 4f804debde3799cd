"""Blocks to lines, one function for each kind; pure."""

from collections.abc import Callable
from typing import Any

from agent_tui.engine.types import PlanStep
from agent_tui.safe_text import one_line
from agent_tui.tui import words
from agent_tui.tui.glyphs import own_words
from agent_tui.tui.transcript import blocks, card, compaction
from agent_tui.tui.transcript import changes as changed
from agent_tui.tui.transcript.lines import BLANK, Line, Span, line, untrusted, width_of, wrap
from agent_tui.tui.transcript.look import Look

_INDENT: Line = (Span("  "),)
MESSAGE_LINES = 15  # what is longer is a paste (`widgets.pastes`), of which the beginning is enough
EXPANDED_LINES = 1_000
LONG_LINE = 1_000  # characters


def render(block: blocks.Block, look: Look) -> list[Line]:
    """The lines of a block at this look, without the blank line before it."""
    return _RENDERERS[type(block)](block, look)


def _welcome(block: blocks.Welcome, look: Look) -> list[Line]:
    head = [Span("agent-tui", "strong"), Span("  "), *untrusted(block.place, strict=True)]
    if block.branch:
        head += [Span("  branch "), *untrusted(block.branch, strict=True)]
    if block.changed_files:
        head.append(Span(f", {words.count(block.changed_files, 'file')} changed"))
    text = (
        "Say what you want done. It works in this directory, asks before anything risky, "
        "and every change can be taken back."
    )
    hint = "  @ names a file     ! runs a command     / lists commands     ? help"
    return [
        *wrap(head, look.prose, first=_INDENT, rest=_INDENT),
        BLANK,
        *wrap([Span(text)], min(look.prose, 80), first=_INDENT, rest=_INDENT),
        BLANK,
        *wrap([Span(hint, "muted")], look.width, first=_INDENT, rest=line("    ")),
    ]


def _user(block: blocks.UserMessage, look: Look) -> list[Line]:
    lead = (Span(look.glyphs.user + " ", "accent"),)
    told = [words.time_of_day(block.at)] if look.facts and block.at else []
    told += [block.right] if block.right else []
    right = [Span(own_words(" · ", look.glyphs).join(told), "muted")] if told else []
    first_room = look.width - (width_of(right) + 1 if right else 0)
    text, hidden = _part(block.text, expanded=block.expanded)
    rows = wrap(untrusted(text, "strong"), min(first_room, look.prose), first=lead, rest=_INDENT) or [lead]
    if right:
        rows[0] = (*rows[0], Span(" " * (look.width - width_of(rows[0]) - width_of(right))), *right)
    if hidden:
        more = f"{look.glyphs.more} {words.count(hidden, 'more line')}, Enter on the picked message shows"
        rows.append((*_INDENT, Span(more, "muted")))
    for image in block.images:
        text = f"{image.name or 'image'}  {own_words(words.picture(image), look.glyphs)}"
        rows.append((Span("  " + look.glyphs.image + " ", "muted"), *untrusted(text, "muted")))
    return rows


def _part(text: str, *, expanded: bool) -> tuple[str, int]:
    """What is shown of a message, and how many lines of it are not: a paste may have a million."""
    lines = text.split("\n")
    most = EXPANDED_LINES if expanded else MESSAGE_LINES
    if len(lines) <= most and len(text) <= most * LONG_LINE:
        return text, 0
    shown = "\n".join(line[:LONG_LINE] for line in lines[:most])
    return shown, max(len(lines) - most, 1)


def _reasoning(block: blocks.Reasoning, look: Look) -> list[Line]:
    mark = look.glyphs.thought + " "
    if block.live:
        passed = words.clock(look.now - block.at) if block.at else ""
        return [(Span(f"{mark}thinking {look.glyphs.more} {passed}", "muted"),), *_thoughts(block, look)]
    facts = [f"{mark}thought for {block.seconds:.0f} s"]
    if block.tokens:
        facts.append(f"{words.tokens(block.tokens)} tokens")
    if not block.text:
        facts.append("text not given by the provider")
    return [(Span(own_words(" · ", look.glyphs).join(facts), "muted"),), *_thoughts(block, look)]


def _thoughts(block: blocks.Reasoning, look: Look) -> list[Line]:
    if not block.expanded or not block.text:
        return []
    lead = (Span("  "), Span(look.glyphs.reasoning + " ", "muted"))
    return wrap(untrusted(block.text.strip(), "muted"), look.prose, first=lead, rest=lead)


def _answer(block: blocks.Answer, look: Look) -> list[Line]:
    from agent_tui.tui.transcript import markdown

    rows = markdown.render(block.text, look)
    if block.interrupted:
        rows.append((*_INDENT, Span("cut by the interrupt", "muted")))
    return rows


def _plan(block: blocks.Plan, look: Look) -> list[Line]:
    done = sum(step.status == "completed" for step in block.steps)
    separator = own_words(" · ", look.glyphs)
    rows: list[Line] = [
        (Span(look.glyphs.plan + " ", "accent"), Span(f"plan{separator}{done} of {len(block.steps)} done"))
    ]
    marks = {"completed": "[x] ", "in_progress": "[>] ", "pending": "[ ] ", "dropped": "[-] "}
    steps = [step for step in block.steps if not look.low or step.status == "in_progress"]
    for step in steps:
        role = {"in_progress": "strong", "dropped": "muted"}.get(step.status, "text")
        lead = (Span("  " + marks[step.status], "text"),)
        end = _plan_end(step, look)
        wide = width_of(end)
        beside = end if wide < look.width // 2 else ()  # a long reason stands below
        room = look.width - (width_of(beside) + 1 if beside else 0)
        wrapped = wrap(untrusted(step.text, role), room, first=lead, rest=line("      "))
        if beside and wrapped:
            gap = look.width - width_of(wrapped[0]) - wide
            wrapped[0] = (*wrapped[0], Span(" " * gap), *beside)
        elif end:
            wrapped += wrap(end, look.width, first=line("      "), rest=line("      "))
        rows += wrapped
    return rows


def _plan_end(step: PlanStep, look: Look) -> Line:
    """What stands at the right end of a step."""
    if step.status == "in_progress":
        return (Span("now", "accent"),)
    if step.status == "dropped":
        return tuple(untrusted(f"dropped: {one_line(step.note)}" if step.note else "dropped", "muted"))
    return ()


def _rolled_back(block: blocks.RolledBack, look: Look) -> list[Line]:
    separator = own_words(" · ", look.glyphs)
    if block.is_redo:
        rows = wrap(
            [Span(f"redone{separator}{_back_again(block)}")],
            look.width,
            first=(Span(look.glyphs.redo + " ", "accent"),),
            rest=_INDENT,
        )
    else:
        what = {"both": "files and conversation", "files": "files", "conversation": "conversation"}[
            block.mode
        ]
        rows = wrap(
            [
                Span(f"rolled back{separator}{what}{separator}"),
                Span(f"to before {block.before}{separator}" if block.before else ""),
                *untrusted(f"checkpoint {block.target}"),
            ],
            look.width,
            first=(Span(look.glyphs.rollback + " ", "accent"),),
            rest=_INDENT,
        )
    if block.changed:
        spans = [Span(f"{changed.files(block.changed)}: "), *changed.joined(block.changed, look.glyphs)]
        rows += wrap(spans, look.width, first=_INDENT, rest=_INDENT)
    kept = (
        [
            f"kept yours: {', '.join(block.kept[:4])}"
            + (f" + {len(block.kept) - 4} more" if len(block.kept) > 4 else "")
        ]
        if block.kept
        else []
    )
    if block.returned:
        verb = "is" if block.returned == 1 else "are"
        kept.append(f"{words.count(block.returned, 'message')} of yours {verb} back in the editor")
    if kept:
        rows += wrap(untrusted(separator.join(kept), strict=True), look.width, first=_INDENT, rest=_INDENT)
    if block.mode != "conversation" and not block.is_redo:
        rows += _verified(block, look)
        rows += wrap(
            [Span(f"/redo takes this back until your next message; later: rollback {block.undo}", "muted")],
            look.width,
            first=_INDENT,
            rest=_INDENT,
        )
    return rows


def _back_again(block: blocks.RolledBack) -> str:
    """`5 files and 14 items are back as they were at 14:31`."""
    count = len(block.changed)
    parts = [changed.files(block.changed)] if count else []
    items = words.count(block.items, "item") if block.items else "the conversation"
    parts += [items] if block.mode != "files" else []
    is_one = len(parts) == 1 and max(count, block.items) <= 1
    then = "before the rollback"
    if block.back_to:
        then = f"{'it was' if is_one else 'they were'} at {words.time_of_day(block.back_to)}"
    return f"{' and '.join(parts)} {'is' if is_one else 'are'} back as {then}"


def _verified(block: blocks.RolledBack, look: Look) -> list[Line]:
    total = len(block.changed)
    rows: list[Line] = []
    if block.mismatches:
        differ = "differs" if len(block.mismatches) == 1 else "differ"
        text = f"{len(block.mismatches)} of {total} paths {differ}: {', '.join(block.mismatches[:4])}"
        rows += wrap(
            untrusted(text, "attention", strict=True),
            look.width,
            first=(Span("  ! ", "attention"),),
            rest=line("    "),
        )
    elif equal := total - sum(change.path in block.merged for change in block.changed):
        rows.append((*_INDENT, Span(f"verified: {equal} of {equal} paths equal the checkpoint", "muted")))
    if clean := [path for path in block.merged if path not in block.markers]:
        text = f"merged with yours: {', '.join(clean)}"
        rows += wrap(untrusted(text, "muted", strict=True), look.width, first=_INDENT, rest=_INDENT)
    if block.markers:
        rows += wrap(
            untrusted(f"merged with conflict markers: {', '.join(block.markers)}", "attention", strict=True),
            look.width,
            first=(Span("  ! ", "attention"),),
            rest=line("    "),
        )
    return rows


def _turn_end(block: blocks.TurnEnd, look: Look) -> list[Line]:
    separator = own_words(" · ", look.glyphs)
    role = {"end": "ok", "failed": "error", "interrupted": "error"}[block.glyph]
    head = untrusted(own_words(block.words, look.glyphs), "strong")
    facts = [words.count(block.steps, "step"), words.clock(block.duration_s)]
    if block.cost_usd is not None:
        facts.append(words.money(block.cost_usd))
    spans = [Span(separator.join(facts))]
    if block.changes:
        named = changed.joined(block.changes, look.glyphs, between=", ")
        spans += [Span(f"{separator}{changed.files(block.changes)}: "), *named]
    if block.last_check:
        spans += untrusted(f"{separator}last check {block.last_check}")
    below = [[Span(own_words(block.hint, look.glyphs), "muted")]] if block.hint else []
    if block.said:  # the words are a whole sentence, and end by what to do
        below = [untrusted(block.said, "muted"), *([spans] if block.steps else [])]
    else:
        head += [Span(separator), *spans]
    lead = (Span(getattr(look.glyphs, block.glyph) + " ", role),)
    rows = wrap(head, look.width, first=lead, rest=_INDENT)
    return rows + [row for part in below for row in wrap(part, look.width, first=_INDENT, rest=_INDENT)]


def _notice(block: blocks.Notice, look: Look) -> list[Line]:
    role = "muted" if block.information else "error" if block.ended else "attention"
    lead = (Span((look.glyphs.failed if block.ended else look.glyphs.notice) + " ", role),)
    return wrap(untrusted(block.text), look.prose, first=lead, rest=_INDENT) or [lead]


def _muted(block: blocks.Muted, look: Look) -> list[Line]:
    return wrap(
        [Span(own_words(block.text, look.glyphs), "muted")],
        look.width,
        first=(Span(look.glyphs.hidden + " ", "muted"),),
        rest=_INDENT,
    )


def _mark(block: blocks.Mark, look: Look) -> list[Line]:
    edge, text = look.glyphs.hidden, own_words(block.text, look.glyphs)
    return wrap([Span(f"{edge} {text} {edge}", "muted")], look.width, first=_INDENT, rest=_INDENT)


_RENDERERS: dict[type[blocks.Block], Callable[[Any, Look], list[Line]]] = {
    blocks.Welcome: _welcome,
    blocks.UserMessage: _user,
    blocks.Reasoning: _reasoning,
    blocks.Answer: _answer,
    blocks.Card: card.render,
    blocks.Plan: _plan,
    blocks.Compaction: compaction.render,
    blocks.RolledBack: _rolled_back,
    blocks.TurnEnd: _turn_end,
    blocks.Notice: _notice,
    blocks.Muted: _muted,
    blocks.Mark: _mark,
}
