"""The program in a pseudo-terminal: wait for text, type, see how it ended."""

import codecs
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from tests.jobs import be_a_job_of_mine, job_of
from tests.program import Program, command
from tests.waiting import WAIT_S


class Terminal:
    """One start of the program in a terminal of 100×30; output is kept whole."""

    def __init__(
        self, program: Program, *argv: str, line: Sequence[str] = (), shell: bool = False, **environ: str
    ) -> None:
        """`line` starts the program in another way than the usual one; with `shell` it is a job of a shell,
        which can continue it."""
        self.seen = ""
        self._read = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")  # a read may end within a letter
        self._pid, self._fd = pty.fork()
        if self._pid == 0:
            # before the program can ask for it
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
            if shell:
                be_a_job_of_mine()
            os.chdir(program.workspace)
            words = [*(line or command(*program.hidden, first=program.first)), *argv]
            # no such answer comes from here, and the editor of lines would wait for one at each prompt
            silent = {"PROMPT_TOOLKIT_NO_CPR": "1"}
            os.execvpe(words[0], words, program.environ | silent | environ)
        self.pid = job_of(self._pid) if shell else self._pid

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pid:
            for one in {self.pid, self._pid}:
                os.kill(one, 9)
            os.waitpid(self._pid, 0)
        os.close(self._fd)

    def expect(self, text: str) -> None:
        """Read until the text comes, after what was expected before."""
        end = time.monotonic() + WAIT_S
        while text not in self.seen[self._read :]:
            came = self._take() and time.monotonic() < end
            assert came, f"`{text}` did not come; seen:\n{self.seen}"
        self._read = self.seen.index(text, self._read) + len(text)

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._fd, text.encode())

    def end(self) -> int:
        """Read to the end; the exit code."""
        while self._take():
            pass
        end = time.monotonic() + WAIT_S
        while not (ended := os.waitpid(self._pid, os.WNOHANG))[0]:
            assert time.monotonic() < end, f"the program did not end; seen:\n{self.seen}"
            time.sleep(0.01)
        self._pid = 0
        return os.waitstatus_to_exitcode(ended[1])

    def terminate(self, number: int = signal.SIGTERM) -> int:
        """A signal from outside, SIGTERM for one; the exit code."""
        os.kill(self._pid, number)
        return self.end()

    @property
    def line_settings(self) -> list[object]:
        """As the terminal has them now: echo, raw keys and the rest."""
        return termios.tcgetattr(self._fd)

    def hang_up(self) -> int:
        """Close the terminal under the program; the exit code, negative for a signal."""
        os.close(self._fd)
        self._fd = os.open(os.devnull, os.O_RDONLY)
        _, status = os.waitpid(self._pid, 0)
        self._pid = 0
        return os.waitstatus_to_exitcode(status)

    def _take(self) -> bool:
        if not select.select([self._fd], [], [], WAIT_S)[0]:
            return False
        try:
            data = os.read(self._fd, 65536)
        except OSError:  # EIO: the program has ended
            return False
        self.seen += self._decoder.decode(data)
        return bool(data)
