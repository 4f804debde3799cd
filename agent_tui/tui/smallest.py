"""The smallest terminal in which anything is shown, or decided by a key."""

from agent_tui.tui.glyphs import Glyphs, own_words
from agent_tui.tui.transcript.lines import Line, Span, wrap

COLUMNS, ROWS = 60, 15


def is_too_small(size: tuple[int, int]) -> bool:
    """Whether columns or rows are too few."""
    return size[0] < COLUMNS or size[1] < ROWS


def said(size: tuple[int, int], glyphs: Glyphs) -> list[Line]:
    """What stands there then, alone."""
    words = f"terminal too small ({size[0]}×{size[1]}); needs {COLUMNS}×{ROWS}, or start with --plain"
    return wrap([Span(own_words(words, glyphs))], size[0])
