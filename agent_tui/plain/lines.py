"""Where typed lines come from: prompt-toolkit on a terminal, plain reading elsewhere."""

import asyncio
import sys
from pathlib import Path
from typing import Protocol


class Interrupted(Exception):  # noqa: N818 - control flow, not an error
    """Ctrl+C was pressed while a line was awaited."""


class LineSource(Protocol):
    """One line at a time; at most one `read` is open."""

    async def read(self, prompt: str, draft: str = "") -> str | None:
        """The next line; None at the end of input, or after `set_aside`. Raises Interrupted."""

    def set_aside(self) -> str:
        """End the open `read` and return what was typed so far: it must not answer what comes next."""

    @property
    def ended(self) -> bool:
        """Whether no line can come any more."""


class TerminalLines:
    """A prompt-toolkit line editor with history; output above it leaves the line alone."""

    def __init__(self, history: Path) -> None:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.history import FileHistory

        self._session: PromptSession[str] = PromptSession(history=FileHistory(str(history)))
        self.ended = False

    async def read(self, prompt: str, draft: str = "") -> str | None:
        """See LineSource."""
        try:
            return await self._session.prompt_async(prompt, default=draft)
        except KeyboardInterrupt as error:
            raise Interrupted from error
        except EOFError:
            self.ended = True
            return None

    def set_aside(self) -> str:
        """See LineSource."""
        app = self._session.app
        draft = self._session.default_buffer.text
        if app.is_running:
            app.exit()  # with the result None
        return draft


class StreamLines:
    """Lines of a pipe or file; the prompt is printed so that a log reads like a session."""

    def __init__(self) -> None:
        self._reader: asyncio.StreamReader | None = None
        self._waiting: asyncio.Task[bytes] | None = None
        self.ended = False

    async def read(self, prompt: str, draft: str = "") -> str | None:
        """See LineSource; a draft cannot be offered here and is printed."""
        if self._reader is None:
            self._reader = asyncio.StreamReader(limit=8 * 2**20)
            protocol = asyncio.StreamReaderProtocol(self._reader)
            await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
        sys.stdout.write(f"{prompt}{draft}\n")
        if self._waiting is None:
            self._waiting = asyncio.create_task(self._reader.readline())
        waiting = self._waiting
        try:
            line = await asyncio.shield(waiting)
        except asyncio.CancelledError:
            return None
        self._waiting = None
        if not line:
            self.ended = True
            return None
        return line.decode("utf-8", errors="replace").rstrip("\r\n")

    def set_aside(self) -> str:
        """See LineSource: a line of a pipe that has not come yet answers whatever is asked then."""
        return ""
