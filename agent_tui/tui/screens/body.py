"""Lines below the title of a view."""

from collections.abc import Sequence
from dataclasses import dataclass

from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from agent_tui.tui import paint
from agent_tui.tui.transcript.lines import Line, Span


class Body(Widget):
    """Lines that scroll; only the visible ones are painted."""

    DEFAULT_CSS = "Body { height: 1fr; }"

    def __init__(self, theme: str) -> None:
        super().__init__()
        self.lines: Sequence[Line] = ()
        self.top = 0
        self.marked = -1  # a found line
        self._theme = theme

    def show(self, lines: Sequence[Line]) -> None:
        """Other lines; the place is kept as far as it exists."""
        self.lines = lines
        self.scroll(0)

    @property
    def last_top(self) -> int:
        """The furthest it scrolls."""
        return max(len(self.lines) - self.size.height, 0)

    def scroll(self, by: int) -> None:
        """Move by lines."""
        self.top = max(min(self.top + by, self.last_top), 0)
        self.refresh()

    def reveal(self, index: int) -> None:
        """Bring a line into view."""
        height = max(self.size.height, 1)
        if not self.top <= index < self.top + height:
            self.top = max(min(index - height // 3, self.last_top), 0)
        self.refresh()

    @dataclass
    class Clicked(Message):
        """A click on one of the lines."""

        index: int

    def on_click(self, event: events.Click) -> None:
        self.post_message(self.Clicked(self.top + event.y))

    def render_line(self, y: int) -> Strip:
        index = self.top + y
        line = self.lines[index] if index < len(self.lines) else ()
        if index == self.marked:
            line = tuple(Span(text, "selected") for text, _ in line)
        return paint.strip(line, self.size.width, self._theme)
