"""The input inside a prompt: feedback, an edited command, a free answer."""

from dataclasses import dataclass

from textual import events
from textual.message import Message

from agent_tui.tui.widgets.text_area import PlainTextArea


class LineInput(PlainTextArea):
    """Enter sends, Ctrl+J breaks the line, Ctrl+G asks for the external editor, Esc leaves."""

    DEFAULT_CSS = "LineInput { width: 1fr; margin: 0 1 0 0; max-height: 6; }"

    @dataclass
    class Submitted(Message):
        """Enter."""

        text: str

    class Left(Message):
        """Esc."""

    class Outside(Message):
        """Ctrl+G."""

    def load(self, text: str) -> None:
        """Begin with this text, without undo into the one before."""
        self.load_text(text)
        self.move_cursor(self.document.end)

    async def _on_key(self, event: events.Key) -> None:
        if event.key in ("enter", "escape", "ctrl+c"):
            event.stop()
            event.prevent_default()
            self.post_message(self.Submitted(self.text) if event.key == "enter" else self.Left())
        elif event.key == "ctrl+g":
            event.stop()
            event.prevent_default()
            self.post_message(self.Outside())
        elif event.key in ("ctrl+j", "shift+enter", "alt+enter"):
            event.stop()
            event.prevent_default()
            self.insert("\n")
        else:
            await super()._on_key(event)
