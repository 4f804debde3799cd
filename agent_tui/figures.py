"""Spans, moments and amounts in figures, as every part of the program writes them."""

import time


def clock(seconds: float) -> str:
    """A span in whole seconds: `0:07`, `1:00:00`."""
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
    if count < 9_950:
        return f"{count / 1_000:.1f}k"
    return f"{count / 1_000:.0f}k" if count < 999_500 else f"{count / 1_000_000:.1f}M"


def money(usd: float) -> str:
    """`$0.42`; four digits below a cent."""
    return f"${usd:,.2f}" if usd >= 0.01 or usd == 0 else f"${usd:.4f}"


def count(number: int, noun: str) -> str:
    """`1 file`, `2 files`, `1,842 bytes`, `6 tries`."""
    if number == 1:
        return f"1 {noun}"
    if noun.endswith("y"):
        return f"{number:,} {noun[:-1]}ies"
    return f"{number:,} {noun}{'es' if noun.endswith(('s', 'ch')) else 's'}"
