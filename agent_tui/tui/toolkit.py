"""What has to be settled before the toolkit is imported, and how the interface is to look here.

The toolkit reads its environment once, at its first import: every way into the interface comes by here.
"""

import os
import sys
from collections.abc import Mapping

from agent_tui.tui import no_palette
from agent_tui.tui.chosen import Chosen
from agent_tui.tui.palette import THEMES, on_background
from agent_tui.tui.probe import Answers, wants_ascii

# Of its own variables, which are for whoever writes an interface, those that a person may need.
_TOOLKIT = frozenset({"TEXTUAL_FPS", "TEXTUAL_DISABLE_KITTY_KEY"})


def prepare() -> None:
    """Call before the first import of a module that imports the toolkit; harmless when done twice."""
    # An exported size would be believed more than the terminal, and resizes would never come.
    os.environ.pop("COLUMNS", None)
    os.environ.pop("LINES", None)
    for name in [each for each in os.environ if each.startswith("TEXTUAL") and each not in _TOOLKIT]:
        del os.environ[name]
    os.environ.setdefault("ESCDELAY", "100")
    # The toolkit paints at most this often, so a key waits for the next frame; what we send it is
    # slowed down before (10 Hz), so more frames cost nothing.
    os.environ.setdefault("TEXTUAL_FPS", "240")
    sys.modules.setdefault("textual.command", no_palette)


def look_for(settings: Mapping[str, str], answers: Answers) -> Chosen:
    """Theme and glyphs from settings, environment and what the terminal said."""
    locale = os.environ.get("LC_ALL") or os.environ.get("LC_CTYPE") or os.environ.get("LANG") or ""
    return Chosen(
        theme=theme_for(settings.get("theme", "auto"), answers.background_is_dark),
        is_dark=answers.background_is_dark,
        ascii_only=wants_ascii(
            settings.get("glyphs", "auto"), os.environ.get("TERM", ""), locale, answers.glyphs_fit
        ),
        typed=answers.typed,
        keys_told=keys_told(answers.has_kitty_keys),
    )


def keys_told(has_kitty_keys: bool | None) -> bool | None:
    """Whether Enter with Shift or Ctrl arrives as a key of its own; None where only a try tells: in terminals
    with another protocol, for which there is no safe question, and where a multiplexer decides."""
    if has_kitty_keys is not False:
        return has_kitty_keys
    by_setting = any(os.environ.get(name) for name in ("XTERM_VERSION", "TMUX", "STY"))
    return None if by_setting or os.environ.get("TERM_PROGRAM") in ("WezTerm", "mintty") else False


def theme_for(setting: str, background_is_dark: bool | None) -> str:
    """The theme for a setting; `auto` follows the terminal's background, `ansi` when it is unknown."""
    if os.environ.get("NO_COLOR"):
        return "mono"
    if setting in THEMES:
        return on_background(setting, background_is_dark)
    if background_is_dark is None:
        return "ansi"
    return "dark" if background_is_dark else "light"
