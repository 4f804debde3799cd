"""The terminal itself: the one place that sets and restores modes, on every way out."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from agent_tui.engine.types import Config
from agent_tui.tui import themes

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp


def run_app(make: Callable[[str, bool], "AgentApp"], config: Config) -> int:
    """Run the app with the terminal set up for it; returns the exit code."""

    setting = config.interface.get("theme", "auto")
    app = make(themes.chosen(setting, None), config.interface.get("glyphs") == "ascii")
    code = app.run()
    if app.failure is not None:
        raise app.failure
    return code if code is not None else app.return_code or 0
