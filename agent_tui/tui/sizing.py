"""What a new size of the terminal means: too small or not, room for prompts, where the cursor stands."""

from typing import TYPE_CHECKING

from agent_tui.tui import smallest
from agent_tui.tui.widgets.editor import Editor
from agent_tui.tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp

RESIZED_S = 0.15  # after which the toolkit has laid out for a new size


class Sizing:
    """Follows the terminal, which after a stop (Ctrl+Z, SIGTSTP) has nothing of the screen any more."""

    def __init__(self, app: "AgentApp") -> None:
        self._app = app
        app.app_resume_signal.subscribe(app, lambda _: self._came_back(), immediate=True)

    def _came_back(self) -> None:
        """Drawn anew: a key that was typed while the screen was away decides nothing."""
        self._app.acts.do("redraw")
        self._app.prompt.returned()
        self._app.views.returned()
        self._app.notifier.came_back(self._app.session, self._app.clock.wall())

    def changed(self, width: int, height: int) -> None:
        """The terminal has this size."""
        app = self._app
        small = smallest.is_too_small((width, height))
        base = app.screen_stack[0]
        if base.has_class("-small") != small:
            base.set_class(small, "-small")
            app.prompt.hide(small)
        app.small.show(smallest.said((width, height), app.glyphs))
        app.asking.fit(height)
        app.call_later(app.draw_fixed)  # once the toolkit has the new size as well
        app.set_timer(RESIZED_S, self._laid_out)

    def _laid_out(self) -> None:
        """The focus comes back after a size that was too small, the cursor follows."""
        app = self._app
        if len(app.screen_stack) != 1:  # a view has its own keys, and at the end there is no screen
            return
        if app.focused is None:
            app.editor.focus()
            app.asking.armed()
        if isinstance(app.focused, Editor | Prompt):
            app.focused.put_cursor()
