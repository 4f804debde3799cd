"""The input inside a prompt: feedback, an edited command, a free answer."""

from collections.abc import Callable

from textual import events

from agent_tui.tui.widgets.text_area import PlainTextArea


class LineInput(PlainTextArea):
    """Enter sends, Ctrl+J breaks the line, Ctrl+G asks for the external editor, Esc leaves."""

    DEFAULT_CSS = "LineInput { width: 1fr; margin: 0 1 0 0; }"

    def __init__(
        self, submit: Callable[[str], None], leave: Callable[[], None], outside: Callable[[], None]
    ) -> None:
        super().__init__()
        self._submit, self._leave, self._outside = submit, leave, outside  # called, as by the editor
        self._is_open = False  # what is typed behind Enter and Esc is not for it

    def load(self, text: str) -> None:
        """Begin with this text, without undo into the one before."""
        self._is_open = True
        self.load_text(text)
        self.move_cursor(self.document.end)

    async def _on_key(self, event: events.Key) -> None:
        if not self._is_open:
            event.prevent_default()  # it goes on to the prompt
        elif event.key in ("enter", "escape", "ctrl+c"):
            event.stop()
            event.prevent_default()
            self._is_open = False
            self._submit(self.text) if event.key == "enter" else self._leave()
        elif event.key == "ctrl+g":
            event.stop()
            event.prevent_default()
            self._outside()
        elif event.key in ("ctrl+j", "shift+enter", "alt+enter"):
            event.stop()
            event.prevent_default()
            self.insert("\n")
        else:
            await super()._on_key(event)

    async def _on_paste(self, event: events.Paste) -> None:
        if not self._is_open:
            event.prevent_default()
        else:
            await super()._on_paste(event)
