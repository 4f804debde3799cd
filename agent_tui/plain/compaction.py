"""A compaction in words."""

from agent_tui.engine.events import CompactionEnded
from agent_tui.figures import count
from agent_tui.kept_whole import kept_whole
from agent_tui.safe_text import one_line


def compacted(body: CompactionEnded) -> list[str]:
    """What came of it, and what it left whole."""
    if not body.item_id:
        return ["Compaction stopped by you: the view is as before."]
    sizes = f"about {body.tokens_before:,} tokens before, {body.tokens_after:,} after."
    if body.undone:
        return [f"Compaction undone: {sizes}"]
    without = " without a summary" if body.no_summary else ""
    line = f"Compacted{without}: {count(body.hidden_units, 'exchange')} hidden, {sizes}"
    why = f" Summary {one_line(body.no_summary)}." if body.no_summary else ""
    whole = kept_whole(body.kept) if body.kept is not None else []
    return [line + why, *([f"Kept whole: {', '.join(whole)}."] if whole else [])]
