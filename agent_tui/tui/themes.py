"""The themes as the toolkit needs them."""

from textual.theme import Theme

from agent_tui.tui.palette import ON_DARK, ON_LIGHT, PAINTED

# The toolkit's own style sheets name these in a theme of 16 colours.
_ANSI_VARIABLES = {
    "ansi-background": "ansi_black",
    "ansi-foreground": "ansi_white",
    "border-blurred": "ansi_black",
    "block-cursor-foreground": "ansi_black",
    "block-cursor-background": "ansi_white",
    "input-cursor-background": "ansi_black",
    "input-cursor-foreground": "ansi_bright_white",
    "input-cursor-text-style": "none",
    "input-selection-background": "ansi_bright_blue",
    "input-selection-foreground": "ansi_black",
    "screen-selection-background": "ansi_bright_blue",
    "screen-selection-foreground": "ansi_black",
}


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
    for name in ("ansi", ON_DARK, ON_LIGHT, "mono"):
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
                variables=_ANSI_VARIABLES,
            )
        )
    return themes
