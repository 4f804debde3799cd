"""The input editor: many lines, history, pastes; it posts what a key means and calls nobody."""

from collections.abc import Callable
from typing import ClassVar, Protocol

from textual import events
from textual.binding import Binding, BindingType

from agent_tui.history import History
from agent_tui.tui.keymap import DEFAULT, Keymap
from agent_tui.tui.keys import NOTHING
from agent_tui.tui.widgets.pastes import Pastes
from agent_tui.tui.widgets.text_area import PlainTextArea


class Captor(Protocol):
    """What takes keys before the editor does: a picked block, the pending list, the history search."""

    def key(self, key: str, character: str | None) -> bool:
        """Whether it took the key; else it left, where the key is none that works anywhere."""

    def leave(self) -> None:
        """Take no keys any more."""


MOST_PERCENT = 33  # of the rows of the screen


class Editor(PlainTextArea):
    """Grows to a third of the screen."""

    DEFAULT_CSS = f"Editor {{ width: 1fr; max-height: {MOST_PERCENT}vh; min-height: 1; }}"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+w,alt+backspace", "kill_word", show=False),
        Binding("ctrl+u", "kill_to_start", show=False),
        Binding("ctrl+k", "kill_to_end", show=False),
        Binding("ctrl+y", "yank", show=False),
    ]

    def __init__(self, history: History, act: Callable[[str], None], keymap: Keymap = DEFAULT) -> None:
        super().__init__()
        self._keys = keymap
        self.past = history
        self._act = act  # called, not posted: what a key does depends on what was typed before it
        self.pastes = Pastes()
        self.list_keys: frozenset[str] = frozenset()  # keys that an open list takes
        self.captor: Captor | None = None  # called, as `act` is
        self.onward: Callable[[events.Key], bool] = lambda _: False  # takes what is no longer for the draft
        self._chord = False  # Ctrl+X was pressed, which begins one
        self._killed = ""

    def lend_keys(self, captor: Captor) -> None:
        """All keys go there first, and to nobody else."""
        if self.captor is not None and self.captor is not captor:
            self.captor.leave()
        self.captor = captor

    def rows_of(self, height: int) -> int:
        """Rows that it takes of so many on the screen."""
        return max(min(self.wrapped_document.height, height * MOST_PERCENT // 100), 1)

    @property
    def draft(self) -> str:
        """The text as it would be sent."""
        return self.pastes.expanded(self.text)

    def clear_draft(self) -> None:
        """Empty, with its pastes."""
        self.set_text("")
        self.pastes.clear()
        self.past.stop()

    def put_before_caret(self, text: str) -> None:
        """Replace what stands before the caret."""
        self.replace(text, (0, 0), self.cursor_location)

    def add_paragraph(self, text: str) -> None:
        """Text that comes back, as a paragraph before what is being written."""
        self.set_text(f"{text}\n\n{self.text}" if self.text.strip() else text)

    async def _on_key(self, event: events.Key) -> None:
        key = event.key
        if self.onward(event) or (self.captor is not None and self.captor.key(key, event.character)):
            event.stop()
            event.prevent_default()
            return
        chord, self._chord = self._chord, key == "ctrl+x"
        act = "external_editor" if chord and key == "ctrl+e" else self._act_of(key)
        if act:
            event.stop()
            event.prevent_default()
            self._act(act)
            return
        if key in self._keys.new_line or (key == "enter" and self._continues()):
            event.stop()
            event.prevent_default()
            self._break_line()
        elif key in ("up", "down", "ctrl+p", "ctrl+n") and self._step(key):
            event.stop()
            event.prevent_default()
        else:
            await super()._on_key(event)
        self._act("typed")

    def _act_of(self, key: str) -> str:
        if key in self.list_keys:
            return f"list_{key}"
        if key in NOTHING:
            return "nothing"
        if key in self._keys.editor and not (key == "enter" and self._continues()):
            return self._keys.editor[key]
        return self._keys.empty_editor.get(key, "") if not self.text else ""

    def _continues(self) -> bool:
        """A backslash before the caret makes Enter a line break, where Shift+Enter does not arrive."""
        row, column = self.cursor_location
        return self.document.get_line(row)[:column].endswith("\\")

    def _break_line(self) -> None:
        row, column = self.cursor_location
        start = (row, column - 1) if self._continues() else (row, column)
        self._replace_via_keyboard("\n", start, (row, column))

    def _step(self, key: str) -> bool:
        older = key in ("up", "ctrl+p")
        if (key == "up" and not self.cursor_at_first_line) or (
            key == "down" and not self.cursor_at_last_line
        ):
            return False
        text = self.past.older(self.text) if older else self.past.newer()
        if text is None:
            return key.startswith("ctrl")
        self.set_text(text)
        return True

    def history_older(self) -> None:
        """Up in an empty editor with nothing pending."""
        self._step("up")

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.insert_paste(event.text)

    def insert_paste(self, text: str) -> None:
        """One insertion, whatever its length; never a key."""
        if self.captor is not None:
            self.captor.leave()
        self._replace_via_keyboard(self.pastes.take(text), *self.selection)
        self._act("typed")

    # --- kill and yank -------------------------------------------------------------------------

    def _kill(self, start: tuple[int, int], end: tuple[int, int]) -> None:
        self._killed = self.get_text_range(*sorted((start, end))) or self._killed
        self._delete_via_keyboard(start, end)

    def action_kill_word(self) -> None:
        """Ctrl+W."""
        self._kill(self.get_cursor_word_left_location(), self.cursor_location)

    def action_kill_to_start(self) -> None:
        """Ctrl+U."""
        self._kill((self.cursor_location[0], 0), self.cursor_location)

    def action_kill_to_end(self) -> None:
        """Ctrl+K; at the end of a line it takes the break."""
        row, column = self.cursor_location
        length = len(self.document.get_line(row))
        last = row + 1 >= self.document.line_count
        self._kill((row, column), (row, length) if column < length or last else (row + 1, 0))

    def action_yank(self) -> None:
        """Ctrl+Y."""
        self._replace_via_keyboard(self._killed, *self.selection)
