"""A fixed part of the screen that is a few lines of roles, as high as they are."""

from collections.abc import Sequence
from dataclasses import dataclass

from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from agent_tui.tui import paint
from agent_tui.tui.transcript.lines import Line


class Pane(Widget):
    """Shows lines; the height follows their number unless CSS fixes it."""

    DEFAULT_CSS = "Pane { height: auto; }"

    def __init__(self, *, theme: str = "dark", id: str | None = None) -> None:
        super().__init__(id=id)
        self.theme = theme
        self.lines: Sequence[Line] = ()

    @dataclass
    class Clicked(Message):
        """A click on one of its rows."""

        pane: "Pane"
        row: int

    def on_click(self, event: events.Click) -> None:
        self.post_message(self.Clicked(self, event.y))

    def show(self, lines: Sequence[Line]) -> None:
        """Show these lines; only a change of their number costs a layout."""
        if lines == self.lines:
            return
        relayout = len(lines) != len(self.lines)
        self.lines = lines
        self.refresh(layout=relayout)

    def set_theme(self, theme: str) -> None:
        """Paint in another theme."""
        self.theme = theme
        self.refresh()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self.lines)

    def render_line(self, y: int) -> Strip:
        line = self.lines[y] if y < len(self.lines) else ()
        return paint.strip(line, self.size.width, self.theme)
