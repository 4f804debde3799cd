"""Numbers, times and paths in words, the same everywhere on the screen."""

from agent_tui import figures
from agent_tui.attachment import facts_of
from agent_tui.short_path import short_path
from checkpoints.sizes import size_text
from context.items import Image


def duration(seconds: float) -> str:
    """A span that is over: `9.2 s`, or `2:10` from a minute on."""
    return f"{seconds:.1f} s" if seconds < 59.95 else clock(round(seconds, 1))


def picture(image: Image) -> str:
    """`1,280×720, 212 KB, about 1,600 tokens`."""
    facts = facts_of(image)
    across, down = facts.pixels
    pixels = f"{across:,}×{down:,}, " if across else ""
    return f"{pixels}{size(facts.size_bytes)}, about {facts.tokens:,} tokens"


home = short_path
size = size_text
clock, time_of_day = figures.clock, figures.time_of_day
tokens, money, count = figures.tokens, figures.money, figures.count
