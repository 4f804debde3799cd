"""The toolkit's text area with what every input of ours shares: clusters, safe display, no extras."""

from typing import ClassVar

from rich.cells import split_graphemes
from rich.text import Text
from textual import actions, events
from textual.binding import Binding, BindingType
from textual.document._document import Location
from textual.document._wrapped_document import WrappedDocument
from textual.widgets import TextArea

_JOINERS = frozenset("\u200c\u200d\ufe0e\ufe0f")
_SHOWN = {code: 0x2400 + code for code in range(0x20) if code != 0x09} | {0x7F: 0x2421}
_HOSTILE = (
    *range(0x80, 0xA0), 0x61C, 0x200E, 0x200F, 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A),
    *range(0xD800, 0xE000), *range(0xE0000, 0xE0080),
)  # fmt: skip
_SHOWN |= dict.fromkeys(_HOSTILE, 0xFFFD)


class PlainTextArea(TextArea):
    """No border, no syntax, no blinking; one key removes one visible character."""

    DEFAULT_CSS = """
    PlainTextArea, PlainTextArea:focus {
        border: none; padding: 0; background: $background; color: $foreground; height: auto;
        scrollbar-size: 0 0;
        & .text-area--cursor { color: $background; background: $foreground; text-style: none; }
    }
    PlainTextArea:ansi .text-area--cursor {
        color: ansi_default; background: ansi_default; text-style: reverse;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+underscore", "undo", show=False),
        Binding("alt+z,ctrl+shift+z", "redo", show=False),
        Binding("alt+d", "delete_word_right", show=False),
        Binding("alt+backspace", "delete_word_left", show=False),
        Binding("alt+b", "cursor_word_left", show=False),
        Binding("alt+f", "cursor_word_right", show=False),
    ]

    def __init__(self) -> None:
        super().__init__(
            soft_wrap=True,
            show_line_numbers=False,
            tab_behavior="focus",
            compact=True,
            highlight_cursor_line=False,
        )
        self.cursor_blink = False
        self.match_cursor_bracket = False

    def rows_at(self, width: int) -> int:
        """Rows of the text at a width that it need not be laid out for."""
        return WrappedDocument(self.document, width, tab_width=self.indent_width).height

    def get_line(self, line_index: int) -> Text:
        """The line as it may be shown: control characters as pictures of the same width."""
        return Text(self.document.get_line(line_index).translate(_SHOWN), end="", no_wrap=True)

    def get_cursor_left_location(self) -> Location:
        row, column = super().get_cursor_left_location()
        if row != self.cursor_location[0]:
            return row, column
        return row, max((start for start, _ in self._clusters(row) if start <= column), default=column)

    def get_cursor_right_location(self) -> Location:
        row, column = super().get_cursor_right_location()
        if row != self.cursor_location[0]:
            return row, column
        return row, min((end for _, end in self._clusters(row) if end >= column), default=column)

    def action_delete_left(self) -> None:
        """Remove the cluster before the caret, or the selection."""
        if self.selection.is_empty:
            self._delete_via_keyboard(self.get_cursor_left_location(), self.cursor_location)
        else:
            super().action_delete_left()

    def action_delete_right(self) -> None:
        """Remove the cluster after the caret, or the selection."""
        if self.selection.is_empty:
            self._delete_via_keyboard(self.cursor_location, self.get_cursor_right_location())
        else:
            super().action_delete_right()

    def _clusters(self, row: int) -> list[tuple[int, int]]:
        return [(start, end) for start, end, _ in split_graphemes(self.document.get_line(row))[0]]

    async def _on_key(self, event: events.Key) -> None:
        """Joiners and variation selectors are not printable for Python, and part of what is typed."""
        if event.character and event.character in _JOINERS:
            event.stop()
            event.prevent_default()
            self._replace_via_keyboard(event.character, *self.selection)
            return
        for binding in self._bindings.key_to_bindings.get(event.key, ()):
            event.stop()
            event.prevent_default()
            self._act_at_once(binding.action)
            return
        await super()._on_key(event)

    def _act_at_once(self, action: str) -> None:
        """An editing action here and now: by way of the app, letters typed after it would be first."""
        _, name, parameters = actions.parse(action)
        getattr(self, f"action_{name}")(*parameters)

    def on_resize(self) -> None:
        """The first layout, and each later one: the terminal's cursor follows the caret."""
        self.call_after_refresh(self.put_cursor)

    def put_cursor(self) -> None:
        """The terminal's cursor to the caret, for input methods and magnifiers."""
        if self.has_focus and self.app.cursor_position != self.cursor_screen_offset:
            self.app.cursor_position = self.cursor_screen_offset
            self.refresh()  # it is written with the next frame

    def set_text(self, text: str) -> None:
        """Replace everything, undoably, caret at the end."""
        self.replace(text, self.document.start, self.document.end)
        self.move_cursor(self.document.end)
