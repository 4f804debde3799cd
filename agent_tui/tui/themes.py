"""The themes as the toolkit needs them, and the choice of one at start."""

import os

from textual.theme import Theme

from agent_tui.tui.palette import PAINTED, THEMES

CHOICES = ("auto", *THEMES)


def toolkit_themes() -> list[Theme]:
    """One toolkit theme for each of ours; only backgrounds and the caret come from it."""
    themes = [
        Theme(
            name=f"agent-{name}",
            primary=painted.colours["accent"],
            foreground=painted.colours["text"],
            background=painted.background,
            surface=painted.background,
            panel=painted.panel,
            dark=name == "dark",
        )
        for name, painted in PAINTED.items()
    ]
    for name in ("ansi", "mono"):
        themes.append(
            Theme(
                name=f"agent-{name}",
                ansi=True,
                primary="ansi_blue",
                foreground="ansi_default",
                background="ansi_default",
                surface="ansi_default",
                panel="ansi_default",
                boost="ansi_default",
            )
        )
    return themes


def chosen(setting: str, background_is_dark: bool | None) -> str:
    """The theme for a setting; `auto` follows the terminal's background, `ansi` when it is unknown."""
    if os.environ.get("NO_COLOR"):
        return "mono"
    if setting in THEMES:
        return setting
    if background_is_dark is None:
        return "ansi"
    return "dark" if background_is_dark else "light"
