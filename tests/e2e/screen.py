"""The interface in a terminal of 100×30, over the real engine and a scripted model."""

import time
from collections.abc import Sequence

import pyte

from tests.cli.terminal import Terminal
from tests.model_server.fixture import ModelServer
from tests.program import Program, model_flags
from tests.waiting import WAIT_S


class Screen(Terminal):
    """A terminal whose picture can be read."""

    def __init__(self, program: Program, *argv: str, line: Sequence[str] = ()) -> None:
        super().__init__(program, *argv, line=line)
        self._screen = pyte.Screen(100, 30)
        self._stream = pyte.Stream(self._screen)
        self._drawn = 0

    def picture(self) -> str:
        """What is on it now."""
        self._stream.feed(self.seen[self._drawn :])
        self._drawn = len(self.seen)
        return "\n".join(line.rstrip() for line in self._screen.display)

    def shows(self, *texts: str) -> str:
        """Wait until all of it is on the picture at once; what moves meanwhile is no reason to wait on."""
        end = time.monotonic() + WAIT_S
        while not all(text in self.picture() for text in texts):
            came = self._take() and time.monotonic() < end
            assert came, f"{texts} did not come; shown:\n{self.picture()}"
        return self.picture()

    def leave(self) -> None:
        """Ctrl+D on an empty editor, to a clean end."""
        self.type("\x04")
        assert self.end() == 0


def start(program: Program, server: ModelServer, *argv: str) -> Screen:
    """The interface, with the server's model."""
    return Screen(program, *argv, *model_flags("chat", server.base_url()))
