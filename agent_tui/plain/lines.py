"""Where typed lines come from: prompt-toolkit on a terminal, plain reading elsewhere."""

import asyncio
import sys
import termios
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from agent_tui import external_editor
from agent_tui.history import History
from agent_tui.safe_text import visible

RESET = "\x1b[?2004l\x1b[?25h\x1b[0m"  # what the line editor sets: paste, cursor, colours
MESSAGE = "you> "  # the prompt of what is said to the model, and of commands
MAX_LINES_AHEAD = 1_000  # read before they are wanted
MAX_LINE_BYTES = 8 * 2**20


class Interrupted(Exception):  # noqa: N818 - control flow, not an error
    """Ctrl+C was pressed while a line was awaited."""


class LineSource(Protocol):
    """One line at a time; at most one `read` is open."""

    async def read(self, prompt: str, draft: str = "") -> str | None:
        """The next line; None at the end of input, or after `set_aside`. Raises Interrupted."""

    def set_aside(self) -> str:
        """End the open `read` and return what was typed so far: it must not answer what comes next."""

    async def edit(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Those of the texts, by path, that the person's own editor changed; no `read` is open. Raises
        EditorError."""

    @property
    def ended(self) -> bool:
        """Whether no line can come any more."""


@contextmanager
def keys_kept() -> Iterator[None]:
    """The terminal keeps each key as it comes, also between prompts.

    A terminal that gathers lines turns Ctrl+D into a mark of its own, and a mark set before a prompt
    reads is not a key any more: the prompt would wait on. It also makes Enter the key that begins a new
    line. The mode before is restored at the end.
    """
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    mode = termios.tcgetattr(terminal)
    mode[0] &= ~termios.ICRNL
    mode[3] &= ~(termios.ICANON | termios.ECHO)  # the prompt shows what was typed ahead
    mode[6][termios.VMIN], mode[6][termios.VTIME] = 1, 0
    termios.tcsetattr(terminal, termios.TCSANOW, mode)
    try:
        yield
    finally:
        with suppress(termios.error):  # it went away
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)


class TerminalLines:
    """A prompt-toolkit line editor; output above it leaves the line alone. No file keeps no history.

    To be made while `keys_kept` holds.
    """

    def __init__(self, history: Path | None) -> None:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.utils import is_dumb_terminal

        from agent_tui.plain import keyboard
        from agent_tui.plain.completion import Completing

        self._past = keyboard.Past(History(history))
        self._is_dumb = is_dumb_terminal()
        self.completing = Completing()
        keys = self._keys = keyboard.Keyboard(sys.stdin)
        keys.take_early()
        keyboard.show_what_is_hidden()
        self._session: PromptSession[str] = PromptSession(
            input=keys,
            history=self._past,
            completer=self.completing,
            complete_while_typing=False,
            key_bindings=keyboard.bindings(keys, self.completing, print),
        )
        self.ended = False

    async def read(self, prompt: str, draft: str = "") -> str | None:
        """See LineSource."""
        self._past.takes = prompt == MESSAGE
        try:
            shown = prompt + visible(draft) if self._is_dumb else prompt  # there a draft is not drawn
            return await self._session.prompt_async(shown, default=draft)
        except KeyboardInterrupt as error:
            raise Interrupted from error
        except EOFError:
            self.ended = True
            return None

    def set_aside(self) -> str:
        """See LineSource."""
        from prompt_toolkit.application import get_app_or_none

        own = self._session.app
        app = own if own.is_running else get_app_or_none()  # on a dumb terminal each prompt has its own
        draft = self._session.default_buffer.text
        if app is not None and app.is_running and app.future is not None and not app.future.done():
            app.exit()  # with the result None
        return draft

    async def edit(self, texts: Mapping[str, str]) -> dict[str, str]:
        """See LineSource."""
        return await asyncio.to_thread(external_editor.changed, texts, self._keys.in_front)


class StreamLines:
    """Lines of a pipe, a file or a device; the prompt is printed so that a log reads like a session."""

    def __init__(self) -> None:
        self._lines: asyncio.Queue[bytes] | None = None
        self._room = threading.Semaphore(MAX_LINES_AHEAD)
        self._waiting: asyncio.Task[bytes] | None = None
        self._aside = asyncio.Event()
        self.ended = False

    async def read(self, prompt: str, draft: str = "") -> str | None:
        """See LineSource; a draft cannot be offered here and is printed."""
        if self._lines is None:
            self._lines = asyncio.Queue()
            feeding = (asyncio.get_running_loop(), self._lines, self._room)
            threading.Thread(target=_feed, args=feeding, daemon=True).start()
        sys.stdout.write(f"{prompt}{visible(draft)}\n")
        sys.stdout.flush()
        line = b"" if self.ended else await self._next(self._lines)
        if not line:
            return None
        return line.decode("utf-8", errors="replace").rstrip("\r\n")

    async def _next(self, lines: asyncio.Queue[bytes]) -> bytes:
        """The next line, which stays for the next `read` where this one is set aside."""
        self._aside.clear()
        waiting = self._waiting = self._waiting or asyncio.create_task(lines.get())
        aside = asyncio.create_task(self._aside.wait())
        await asyncio.wait({waiting, aside}, return_when=asyncio.FIRST_COMPLETED)
        aside.cancel()
        if not waiting.done():
            return b""
        self._waiting = None
        self._room.release()
        self.ended = not waiting.result()
        return waiting.result()

    def set_aside(self) -> str:
        """See LineSource: a line of a pipe that has not come yet answers whatever is asked then."""
        self._aside.set()
        return ""

    async def edit(self, texts: Mapping[str, str]) -> dict[str, str]:  # noqa: ARG002 - see LineSource
        """See LineSource."""
        raise external_editor.NoEditorError("no editor: it needs a terminal")


def _feed(loop: asyncio.AbstractEventLoop, lines: "asyncio.Queue[bytes]", room: threading.Semaphore) -> None:
    """In a thread, since not everything that stdin can be can be waited for; an empty line of bytes is
    the end of the input."""
    line = b"begun"
    while line:
        room.acquire()
        try:
            line = sys.stdin.buffer.readline(MAX_LINE_BYTES)
        except (OSError, ValueError):  # a directory, a terminal that went away, a file that was closed
            line = b""
        try:
            loop.call_soon_threadsafe(lines.put_nowait, line)
        except RuntimeError:  # the loop is closed: nobody reads any more
            return
