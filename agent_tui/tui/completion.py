"""The lists above the activity line: slash commands and file mentions."""

from typing import TYPE_CHECKING

from agent_tui.tui import slash
from agent_tui.tui.transcript.lines import Line, Span, clip, width_of, with_right

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp

ROWS = 8
KEYS = frozenset({"up", "down", "tab", "enter", "escape"})


class Completing:
    """Open while the draft asks for it; takes the arrow keys, Tab, Enter and Esc then."""

    def __init__(self, app: "AgentApp") -> None:
        self._app = app
        self._found: list[slash.Slash] = []
        self._at = 0
        self._closed_for = ""
        self.title = ""
        self.hints: tuple[str, ...] = ()

    def update(self) -> None:
        """The draft changed."""
        text = self._app.editor.text
        if text == self._closed_for:
            return
        self._closed_for = ""
        asks = text.startswith("/") and " " not in text and "\n" not in text
        self._found = slash.matching(text[1:]) if asks else []
        self._at = min(self._at, max(len(self._found) - 1, 0))
        self._draw()

    def close(self) -> bool:
        """Close the list; False when none was open."""
        opened = bool(self._found)
        self._closed_for = self._app.editor.text if opened else ""
        self._found, self._at = [], 0
        self._draw()
        return opened

    def key(self, key: str) -> None:
        """A key of the open list."""
        if key == "escape":
            self.close()
        elif key in ("up", "down"):
            self._at = (self._at + (1 if key == "down" else -1)) % len(self._found)
            self._draw()
        else:
            chosen = self._found[self._at]
            self._app.editor.set_text(f"/{chosen.name}" + (" " if chosen.argument and key == "tab" else ""))
            self.close()
            if key == "enter":
                self._app.acts.do("send")
        self._app.draw_fixed()

    def _draw(self) -> None:
        app = self._app
        app.editor.list_keys = KEYS if self._found else frozenset()
        first = max(self._at - ROWS + 1, 0)
        rows = [
            self._row(item, index + first == self._at)
            for index, item in enumerate(self._found[first : first + ROWS])
        ]
        app.list.show(rows)
        self.title = f"{len(self._found)} of {len(slash.TABLE)}" if self._found else ""
        self.hints = ("Tab complete", "Enter run", "Esc close") if self._found else ()

    def _row(self, item: slash.Slash, selected: bool) -> Line:
        width = self._app.size.width
        usage = f"/{item.name} {item.argument}".rstrip()
        right = (Span("now" if item.anytime else "when idle", "muted"),)
        left = (Span("> " if selected else "  ", "accent"), Span(f"{usage:<18} ", "strong"), Span(item.help))
        return with_right(clip(left, width - width_of(right) - 1), right, width)
