"""How the interface looks in this terminal, decided once before the first paint."""

from agent_tui.frozen import frozen


@frozen
class Chosen:
    """Theme and glyphs; `typed` is what was typed before the screen was there."""

    theme: str = "dark"
    is_dark: bool | None = None  # the background of the terminal; None: not known
    ascii_only: bool = False
    typed: str = ""
    keys_told: bool | None = None  # whether Shift+Enter and Ctrl+Enter arrive as such; None: not known
