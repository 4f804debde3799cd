"""The report of a compaction as lines."""

from agent_tui.engine.events import CompactionEnded
from agent_tui.kept_whole import kept_whole
from agent_tui.tui import words
from agent_tui.tui.glyphs import own_words
from agent_tui.tui.transcript.blocks import Compaction
from agent_tui.tui.transcript.lines import Line, Span, line, untrusted, wrap
from agent_tui.tui.transcript.look import Look


def render(block: Compaction, look: Look) -> list[Line]:
    """The first line, and below it what was hidden and what is kept."""
    ended = block.ended
    separator = own_words(" · ", look.glyphs)
    head = [Span(own_words(_head(ended), look.glyphs))]
    if ended.no_summary:
        head += untrusted(f"  (summary {ended.no_summary})", strict=True)
    lead = (Span(look.glyphs.compacted + " ", "accent"),)
    rows = wrap(head, look.width, first=lead, rest=line("  "))
    for label, text in _rows(ended, separator):
        rows += _labelled(label, own_words(text, look.glyphs), look)
    for text in ended.detail.splitlines():
        label, found, rest = text.partition(": ")
        rows += _labelled(label, rest, look) if found and len(label) <= 10 else _labelled("", text, look)
    return rows


def _head(ended: CompactionEnded) -> str:
    if not ended.item_id:
        return "compaction stopped by you · the view is as before"
    word = "compaction undone" if ended.undone else "compacted"
    head = f"{word} without a summary" if ended.no_summary else word
    head += f" · view {words.tokens(ended.tokens_before)} → {words.tokens(ended.tokens_after)} tokens"
    head += f" (target {words.tokens(ended.target_tokens)})" if ended.target_tokens else ""
    head += f" · {words.duration(ended.seconds)}" if ended.seconds else ""
    return head + (f" · {words.money(ended.cost_usd)}" if ended.cost_usd else "")


def _rows(ended: CompactionEnded, separator: str) -> list[tuple[str, str]]:
    """What was hidden, shortened and kept, with their labels."""
    if ended.undone or not ended.item_id:
        return []
    rows = []
    if ended.hidden_units:
        told = f", {steps(ended.steps[0], ended.steps[-1])}" if ended.steps else ""
        hidden = words.count(ended.hidden_units, "exchange") + told
        rows.append(("hidden", f"{hidden}; nothing is deleted, Ctrl+T shows all"))
    if ended.shortened_results:
        results = words.count(ended.shortened_results, "result")
        rows.append(("shortened", f"{results} that newer ones replace"))
    whole = kept_whole(ended.kept) if ended.kept is not None else []
    if whole:
        rows.append(("kept whole", separator.join(whole)))
    if named := ended.names + ended.names_lost:
        rows.append(("kept names", f"{ended.names:,} of {named:,} paths, ids and numbers that matter"))
    if ended.summary_tokens:
        rows.append(("summary", f"by the model, {words.tokens(ended.summary_tokens)} tokens"))
    return rows


def steps(first: int, last: int) -> str:
    """`step 7`, `steps 1–41`."""
    return f"step {first}" if first == last else f"steps {first}–{last}"


def _labelled(label: str, text: str, look: Look) -> list[Line]:
    return wrap(untrusted(text), look.width, first=(Span(f"  {label:<10} ", "muted"),), rest=line(" " * 13))
