"""The keys of line mode: what the line editor of prompt-toolkit lacks, and how it shows what is hidden."""

import os
import select
import signal
import subprocess
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext

from prompt_toolkit import history
from prompt_toolkit.application import get_app, run_in_terminal
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.input.typeahead import store_typeahead
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding import KeyBindings, KeyPress, KeyPressEvent
from prompt_toolkit.key_binding.bindings.completion import display_completions_like_readline
from prompt_toolkit.layout.screen import Char

from agent_tui import external_editor
from agent_tui.history import History
from agent_tui.plain.completion import Completing
from agent_tui.safe_text import visible

MAX_EARLY_BYTES = 65_536  # typed before the terminal gave each key as it came


class Keyboard(Vt100Input):
    """A terminal that the line editor keeps while others print: given back, it would gather lines again,
    and Ctrl+D would be lost as `keys_kept` says."""

    def cooked_mode(self) -> AbstractContextManager[None]:
        """What is entered to print; the terminal stays as the editor has it."""
        return nullcontext()

    def lent(self) -> AbstractContextManager[None]:
        """The terminal for another program, as that one expects it."""
        return super().cooked_mode()

    def in_front(self, argv: Sequence[str]) -> int:
        """The exit code of a program that has the terminal. Raises OSError."""
        with self.lent():
            return subprocess.run(argv).returncode

    def take_early(self) -> None:
        """Keys that were typed while the terminal gathered lines: a line feed among them was an Enter."""
        if select.select([self.fileno()], [], [], 0)[0]:
            keys: list[KeyPress] = []
            early = os.read(self.fileno(), MAX_EARLY_BYTES).decode("utf-8", errors="replace")
            Vt100Parser(keys.append).feed(early.replace("\n", "\r"))
            store_typeahead(self, keys)


class Past(history.History):
    """What was said before in this workspace; answers to questions are no part of it."""

    def __init__(self, kept: History) -> None:
        super().__init__()
        self._kept = kept
        self.takes = False  # whether the line that is typed belongs in it

    def load_history_strings(self) -> Iterable[str]:
        """Newest first."""
        return reversed(self._kept.entries)

    def append_string(self, string: str) -> None:
        """One line that was typed."""
        if self.takes:
            super().append_string(string)

    def store_string(self, string: str) -> None:
        """For later sessions, and for the interface."""
        self._kept.add(string)


class _Visible(dict[str, str]):
    """What the editor shows in place of a character that must not reach the terminal as it is."""

    def __contains__(self, char: object) -> bool:
        return isinstance(char, str) and visible(char) != char

    def __missing__(self, char: str) -> str:
        return visible(char)


def show_what_is_hidden() -> None:
    """Have the editor show control and bidirectional characters as the rest of line mode does."""
    Char.display_mappings = _Visible()


def bindings(keyboard: Keyboard, completing: Completing, say: Callable[[str], None]) -> KeyBindings:
    """New lines, completion, redo, an external editor, and suspending; `say` prints above the line."""
    keys = KeyBindings()

    @keys.add("tab")
    async def complete(event: KeyPressEvent) -> None:
        text = event.current_buffer.document.text_before_cursor
        await completing.prepare(text)
        if event.current_buffer.document.text_before_cursor == text:  # nothing was typed meanwhile
            display_completions_like_readline(event)
            if nothing := completing.nothing(text):
                say(nothing)

    @keys.add("c-j")
    @keys.add("escape", "enter")
    def new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add("enter", filter=Condition(_behind_backslash))
    def new_line_for_backslash(event: KeyPressEvent) -> None:
        event.current_buffer.delete_before_cursor()
        event.current_buffer.insert_text("\n")

    @keys.add("escape", "z")
    def redo(event: KeyPressEvent) -> None:
        event.current_buffer.redo()

    @keys.add("c-g")
    @keys.add("c-x", "c-e")
    async def edit(event: KeyPressEvent) -> None:
        draft = event.current_buffer.text
        try:
            text = await run_in_terminal(
                lambda: external_editor.edited(draft, keyboard.in_front), in_executor=True
            )
        except external_editor.EditorError as error:
            say(visible(str(error)))
        else:
            if text is not None:
                event.current_buffer.document = Document(text)

    @keys.add("c-z")
    def suspend(event: KeyPressEvent) -> None:  # noqa: ARG001 - the shape of the library
        def stop() -> None:
            with keyboard.lent():
                os.kill(0, signal.SIGTSTP)  # with what it is piped to

        run_in_terminal(stop)

    return keys


def _behind_backslash() -> bool:
    return get_app().current_buffer.document.text_before_cursor.endswith("\\")
