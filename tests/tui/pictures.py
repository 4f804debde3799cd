"""The screen as text with the colour roles beside it, so that one stored picture holds for every theme.

A cell whose colours are those of no role is named by its colours: no screen may hold one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from rich.style import Style
from textual.app import App
from textual.strip import Strip

from agent_tui.tui.palette import PAINTED

CARET = "caret"
MARKS = ("bold", "italic", "underline", "reverse", "dim", "blink")


@dataclass(frozen=True)
class Picture:
    """Rows of text, and for each row its runs of one role: `4-9 strong`."""

    rows: tuple[str, ...]
    roles: tuple[str, ...]

    @property
    def text(self) -> str:
        """The rows, blanks at the right cut off."""
        return "\n".join(self.rows)

    @property
    def coloured(self) -> str:
        """The text, then the runs that are not plain text."""
        runs = [f"{number:>3}  {row}" for number, row in enumerate(self.roles, 1) if row]
        return "\n".join([self.text, "--- roles", *runs])


def rows(app: App[Any]) -> tuple[str, ...]:
    """What is on the screen, blanks at the right cut off."""
    return tuple("".join(part.text for part in strip).rstrip() for strip in _strips(app))


def has_colour(app: App[Any]) -> bool:
    """Whether any cell has one of its own."""
    styles = [part.style for strip in _strips(app) for part in strip if part.style is not None]
    return any(_hex(style, which) != "default" for style in styles for which in ("color", "bgcolor"))


def take(app: App[Any], theme: str) -> Picture:
    """The screen of an app that is painted in `theme`."""
    strips = _strips(app)
    return Picture(rows=rows(app), roles=tuple(", ".join(_runs(strip, theme)) for strip in strips))


def _strips(app: App[Any]) -> list[Strip]:
    return app.screen._compositor.render_strips()


def _runs(strip: Strip, theme: str) -> Iterator[str]:
    at, runs = 0, list[tuple[int, int, str]]()
    for segment in strip:
        style, width = segment.style or Style(), segment.cell_length
        name = _role(style, theme) if segment.text.strip() else _behind(style, theme)
        if name:
            joins = bool(runs) and runs[-1][1:] == (at, name)
            first = runs.pop()[0] if joins else at
            runs.append((first, at + width, name))
        at += width
    for first, end, name in runs:
        yield f"{first}-{end - 1} {name}"


def _role(style: Style, theme: str) -> str:
    """The role of visible text; empty for plain text."""
    pair = (_hex(style, "color"), _hex(style, "bgcolor"))
    name = _names(theme).get(pair, f"{pair[0]} on {pair[1]}")
    marks = "".join(f"+{mark}" for mark in MARKS if getattr(style, mark))
    return "" if name + marks == "text" else name + marks


def _behind(style: Style, theme: str) -> str:
    """Blanks have a background only."""
    return "" if _hex(style, "bgcolor") == PAINTED[theme].background else _role(style, theme)


@cache
def _names(theme: str) -> dict[tuple[str, str], str]:
    painted = PAINTED[theme]
    pairs = {(painted.background, painted.colours["text"]): CARET}
    for role, colour in [*painted.colours.items(), *((f"syntax.{k}", v) for k, v in painted.syntax.items())]:
        pairs.setdefault((colour, painted.on.get(role, painted.background)), role)
    return pairs


def pairs_of(theme: str) -> dict[tuple[str, str], str]:
    """Every pair of text and background colour that may be on a screen, with its role."""
    return _names(theme)


def _hex(style: Style, which: str) -> str:
    colour = getattr(style, which)
    return "default" if colour is None or colour.is_default else colour.get_truecolor().hex.lower()
