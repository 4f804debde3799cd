"""Lines of roles to strips of the toolkit; the only meeting point of the two."""

from collections.abc import Sequence

from rich.segment import Segment
from textual.strip import Strip

from agent_tui.safe_text import one_line
from agent_tui.tui import palette
from agent_tui.tui.transcript.lines import Line


def strip(line: Line, width: int, theme: str, fill: str = "text") -> Strip:
    """One line as a strip of exactly `width` cells; whatever its maker missed, no control gets through."""
    segments = [
        Segment(text if text.isprintable() else one_line(text), palette.style(theme, role))
        for text, role in line
        if text
    ]
    return Strip(segments).adjust_cell_length(width, palette.style(theme, fill))


def strips(lines: Sequence[Line], width: int, theme: str) -> list[Strip]:
    """Every line as a strip."""
    return [strip(line, width, theme) for line in lines]
