"""Numbers, times and paths in words, the same everywhere on the screen."""

import time

from agent_tui.attachment import facts_of
from agent_tui.short_path import short_path
from context.items import Image


def duration(seconds: float) -> str:
    """A span that is over: `9.2 s`, or `2:10` from a minute on."""
    return f"{seconds:.1f} s" if seconds < 60 else clock(seconds)


def clock(seconds: float) -> str:
    """A span that is counting: `0:07`, `1:00:00`."""
    whole = max(int(seconds), 0)
    hours, rest = divmod(whole, 3600)
    minutes, rest = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def time_of_day(at: float) -> str:
    """The moment `at`, seconds since 1970, on the clocks here: `14:31`."""
    return time.strftime("%H:%M", time.localtime(at))


def tokens(count: int) -> str:
    """`412`, `1.9k`, `272k`, `2.0M`."""
    if count < 1_000:
        return str(count)
    if count < 10_000:
        return f"{count / 1_000:.1f}k"
    return f"{round(count / 1_000)}k" if count < 1_000_000 else f"{count / 1_000_000:.1f}M"


def size(count: int) -> str:
    """`0 bytes`, `14 KB`, `3.2 MB`."""
    if count < 1_000:
        return f"{count} byte{'' if count == 1 else 's'}"
    if count < 1_000_000:
        return f"{round(count / 1_000)} KB"
    return f"{count / 1_000_000:.1f} MB" if count < 10_000_000 else f"{round(count / 1_000_000)} MB"


def picture(image: Image) -> str:
    """`1,280×720, 212 KB, about 1,600 tokens`."""
    facts = facts_of(image)
    across, down = facts.pixels
    pixels = f"{across:,}×{down:,}, " if across else ""
    return f"{pixels}{size(facts.size_bytes)}, about {facts.tokens:,} tokens"


def money(usd: float) -> str:
    """`$0.42`; four digits below a cent."""
    return f"${usd:.2f}" if usd >= 0.01 or usd == 0 else f"${usd:.4f}"


def count(number: int, noun: str) -> str:
    """`1 file`, `2 files`, `1,842 bytes`."""
    plural = noun + ("es" if noun.endswith(("s", "ch")) else "s")
    return f"{number:,} {noun if number == 1 else plural}"


home = short_path
