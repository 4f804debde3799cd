"""The interface in a terminal of 100×30, over the real engine and a scripted model."""

import select
import time
from collections.abc import Sequence

import pyte

from tests import picture
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
        self._draw()
        return "\n".join(picture.rows(self._screen))

    def shows(self, *texts: str) -> str:
        """Wait until all of it is on the picture at once and at least a part was drawn since the last keys;
        what moves meanwhile is no reason to wait on."""
        end = time.monotonic() + WAIT_S
        self._draw()
        while not picture.answers(self._screen, *texts):
            came = self._take() and time.monotonic() < end
            assert came, f"{texts} did not come after the last keys; shown:\n{self.picture()}"
            self._draw()
        return self.picture()

    def type(self, text: str) -> None:
        """Press keys; what is drawn from now on can be an answer to them."""
        while select.select([self._fd], [], [], 0)[0] and self._take():
            pass
        self._draw()
        self._screen.dirty.clear()
        super().type(text)

    def say(self, line: str) -> None:
        """Type a line into the empty editor and send it once it stands there, so that nothing that is shown
        while it is typed, as the list of commands is, can be taken for what it leads to."""
        self.type(line)
        self.shows(f"› {line}")
        self.type("\r")

    def leave(self) -> None:
        """Ctrl+D on an empty editor, to a clean end."""
        self.type("\x04")
        assert self.end() == 0

    def _draw(self) -> None:
        self._stream.feed(self.seen[self._drawn :])
        self._drawn = len(self.seen)


def start(program: Program, server: ModelServer, *argv: str) -> Screen:
    """The interface, with the server's model."""
    return Screen(program, *argv, *model_flags("chat", server.base_url()))
