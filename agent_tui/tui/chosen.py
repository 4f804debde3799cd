"""How the interface looks in this terminal, decided once before the first paint."""

from agent_tui.frozen import frozen


@frozen
class Chosen:
    """Theme and glyphs; `typed` is what was typed before the screen was there."""

    theme: str = "dark"
    ascii_only: bool = False
    typed: str = ""
    keys_told: bool | None = None  # whether Shift+Enter and Ctrl+Enter arrive as such; None: not known
