"""The pending list: steers and queued messages, between transcript and prompt."""

from agent_tui.engine.types import InputKind
from agent_tui.safe_text import one_line
from agent_tui.tui import words
from agent_tui.tui.glyphs import Glyphs, own_words
from agent_tui.tui.state import Pending, State
from agent_tui.tui.transcript.lines import Line, Span, clip, width_of, with_right

ROWS = 4


def lines(
    state: State, width: int, glyphs: Glyphs, *, low: bool = False, selected: int | None = None
) -> list[Line]:
    """At most four rows, then `+ n more`; one row on a low screen."""
    entries = state.pending
    if not entries:
        return []
    if low and len(entries) > 1:
        return [(Span(own_words(f"  {len(entries)} pending · Alt+Up", glyphs), "muted"),)]
    first = max((selected or 0) - ROWS + 1, 0)
    shown = entries[first : first + ROWS]
    rows = [_row(entry, state, width, glyphs, index + first == selected) for index, entry in enumerate(shown)]
    if len(entries) > len(shown):
        rows.append((Span(f"  + {len(entries) - len(shown)} more", "muted"),))
    return rows


def _row(entry: Pending, state: State, width: int, glyphs: Glyphs, selected: bool) -> Line:
    steer = entry.kind is not InputKind.QUEUE
    glyph, word = (glyphs.steer, "steer") if steer else (glyphs.queue, "queue")
    right = (Span(_when(entry, state), "muted"),)
    lead = (
        Span("> " if selected else "  ", "accent"),
        Span(f"{glyph} ", "accent"),
        Span(f"{word:<8} ", "muted"),
    )
    text = clip(
        [Span(_short(entry.text), "strong")], width - width_of(lead) - width_of(right) - 1, glyphs.more
    )
    return with_right((*lead, *text), right, width)


def _short(text: str) -> str:
    count = text.count("\n") + 1
    if count > 15 or len(text) > 1_000:
        return f"[pasted {words.count(count, 'line')}] {one_line(text[:200])}"
    return one_line(text)


def _when(entry: Pending, state: State) -> str:
    if entry.now:
        return f"now: {entry.now}"
    if entry.kind is not InputKind.QUEUE:
        return "after this call" if state.running else "after this answer"
    queued = [each for each in state.pending if each.kind is InputKind.QUEUE]
    return "next turn" if queued and queued[0] is entry else "turn after"
