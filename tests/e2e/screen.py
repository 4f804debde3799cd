"""The interface in a terminal of 100×30, over the real engine and a scripted model."""

import os
import select
import time
from collections.abc import Sequence

import pyte

from tests import picture
from tests.cli.terminal import Terminal
from tests.model_server.fixture import ModelServer
from tests.program import Program, model_flags
from tests.waiting import WAIT_S

FRAMES_ASKED, FRAMES_ANSWER = "\x1b[?2026$p", b"\x1b[?2026;2$y"
FRAME, FRAME_END = "\x1b[?2026h", "\x1b[?2026l"


class Screen(Terminal):
    """A terminal whose picture can be read; as newer ones do, it shows a frame once it is whole."""

    def __init__(self, program: Program, *argv: str, line: Sequence[str] = (), shell: bool = False) -> None:
        super().__init__(program, *argv, line=line, shell=shell)
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
        while (self._is_amid_frame or select.select([self._fd], [], [], 0)[0]) and self._take():
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

    @property
    def _is_amid_frame(self) -> bool:
        return self.seen.rfind(FRAME) > self.seen.rfind(FRAME_END)

    def _take(self) -> bool:
        before = len(self.seen)
        came = super()._take()
        if FRAMES_ASKED in self.seen[max(before - len(FRAMES_ASKED), 0) :]:
            os.write(self._fd, FRAMES_ANSWER)
        return came

    def _draw(self) -> None:
        new = self.seen[self._drawn :]
        begun = new.rfind(FRAME)
        if self._is_amid_frame and begun >= 0:
            new = new[:begun]
        elif (cut := new.rfind("\x1b", 1 - len(FRAME))) >= 0:  # what may become the beginning of a frame
            new = new[:cut]
        self._stream.feed(new)
        self._drawn += len(new)


def start(program: Program, server: ModelServer, *argv: str) -> Screen:
    """The interface, with the server's model."""
    return Screen(program, *argv, *model_flags("chat", server.base_url()))
