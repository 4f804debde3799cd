"""The twelve colour roles in four themes; no other colours exist in the code.

A role is a word; renderers name roles, and this module alone knows what they look like.
"""

from functools import cache

from rich.style import Style

from agent_tui.frozen import frozen

THEMES = ("dark", "light", "ansi", "mono")
ON_DARK, ON_LIGHT = "ansi-dark", "ansi-light"  # where it is known on what the 16 colours stand


@frozen
class Painted:
    """Colours of a theme that paints its own background."""

    background: str
    panel: str
    colours: dict[str, str]
    on: dict[str, str]  # role → its own background
    syntax: dict[str, str]


DARK = Painted(
    background="#14161a",
    panel="#1d2026",
    colours={
        "text": "#d8dade",
        "strong": "#f2f3f5",
        "muted": "#9aa1ab",
        "rule": "#4a515c",
        "accent": "#7cb7ff",
        "ok": "#7fce7f",
        "attention": "#f0c05a",
        "error": "#ff8a80",
        "external": "#d6a4f0",
        "add": "#8fd98f",
        "remove": "#ff9b92",
        "link": "#6fd0d8",
        "alarm": "#14161a",
        "selected": "#f2f3f5",
    },
    on={"add": "#12301a", "remove": "#3a1717", "alarm": "#ff8a80", "selected": "#274468"},
    syntax={
        "keyword": "#c3a6f2",
        "string": "#e0c285",
        "comment": "#9aa1ab",
        "number": "#7fd1e0",
        "name": "#8fbfff",
    },
)

LIGHT = Painted(
    background="#fbfaf7",
    panel="#f0eee8",
    colours={
        "text": "#1f2328",
        "strong": "#0b0d10",
        "muted": "#5a626c",
        "rule": "#b9b6ac",
        "accent": "#0a58b5",
        "ok": "#1a6b2a",
        "attention": "#7a5200",
        "error": "#b3201a",
        "external": "#7a3aa0",
        "add": "#166529",
        "remove": "#a11d17",
        "link": "#00636b",
        "alarm": "#ffffff",
        "selected": "#0b0d10",
    },
    on={"add": "#e0f3e2", "remove": "#fbe3e0", "alarm": "#b3201a", "selected": "#cfe2fa"},
    syntax={
        "keyword": "#6b2fa0",
        "string": "#7a4a00",
        "comment": "#5a626c",
        "number": "#00606e",
        "name": "#0a4f9e",
    },
)

PAINTED = {"dark": DARK, "light": LIGHT}

# The 16 colours: only glyphs, rules and diff signs are coloured, their contrast is not ours to know.
_ANSI = {
    "strong": Style(bold=True),
    "rule": Style(color="bright_black"),
    "accent": Style(color="blue"),
    "ok": Style(color="green"),
    "attention": Style(color="yellow", bold=True),
    "error": Style(color="red"),
    "external": Style(color="magenta"),
    "add": Style(color="green"),
    "remove": Style(color="red"),
    "link": Style(color="cyan", underline=True),
    "alarm": Style(color="red", reverse=True),
    "selected": Style(reverse=True),
}

_ANSI_ON = {
    ON_DARK: {"accent": Style(color="bright_blue"), "error": Style(color="bright_red")},
    ON_LIGHT: {"attention": Style(bold=True)},
}

_MONO = {
    "strong": Style(bold=True),
    "accent": Style(bold=True),
    "attention": Style(bold=True),
    "error": Style(bold=True),
    "external": Style(underline=True),
    "add": Style(bold=True),
    "link": Style(underline=True),
    "alarm": Style(reverse=True, bold=True),
    "selected": Style(reverse=True),
}

_BOLD = {"strong", "attention", "alarm"}


def on_background(theme: str, is_dark: bool | None) -> str:
    """A theme as it is painted on what the terminal said of its background."""
    if theme != "ansi" or is_dark is None:
        return theme
    return ON_DARK if is_dark else ON_LIGHT


@cache
def style(theme: str, role: str) -> Style:
    """The look of `role` in `theme`; roles may carry `+bold` or `+underline`."""
    name, *marks = role.split("+")
    base = _base(theme, name)
    for mark in marks:
        base += Style(bold=mark == "bold" or None, underline=mark == "underline" or None)
    return base


def _base(theme: str, role: str) -> Style:
    painted = PAINTED.get(theme)
    if painted is None:
        colours = _MONO if theme == "mono" else _ANSI | _ANSI_ON.get(theme, {})
        return colours.get(role, Style())
    if role.startswith("syntax."):
        colour = painted.syntax.get(role[7:], painted.colours["text"])
        return Style(color=colour, bgcolor=painted.background)
    return Style(
        color=painted.colours.get(role, painted.colours["text"]),
        bgcolor=painted.on.get(role, painted.background),
        bold=role in _BOLD or None,
        underline=role == "link" or None,
    )
