"""A program on a real pseudo-terminal, its screen read through a terminal emulator."""

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pyte

from tests import picture
from tests.jobs import be_a_job_of_mine, is_stopped, job_of
from tests.waiting import WAIT_S, until

ALTERNATE_SCREEN = 1049


class _Screen(pyte.HistoryScreen):
    """The emulator, deaf to what it does not know; the alternate screen begins empty."""

    def set_mode(self, *modes: int, **kwargs: bool) -> None:
        super().set_mode(*modes, **kwargs)
        if kwargs.get("private") and ALTERNATE_SCREEN in modes:
            self.erase_in_display(2)

    def report_device_status(self, mode: int = 0, **kwargs: object) -> None:
        """Answers come from `Tty`, which decides what this terminal can do."""

    def report_device_attributes(self, mode: int = 0, **kwargs: object) -> None:
        """As above."""


class Tty:
    """One program; `data` is every byte it wrote."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        columns: int = 80,
        rows: int = 24,
        cwd: str = "/",
        answers: bool = True,
        shell: bool = False,
    ) -> None:
        """With `shell` it is a job of a shell, which can continue it; else nobody could."""
        self.data = b""
        self.code: int | None = None
        self.settings_before: list[object] = []
        self._screen = _Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self._answers = answers
        self._leader, self._fd = pty.fork()
        if self._leader == 0:  # the child: nothing but exec
            if shell:
                be_a_job_of_mine()
            os.chdir(cwd)
            os.execvpe(argv[0], list(argv), dict(env))
        self.pid = job_of(self._leader) if shell else self._leader
        self.resize(columns, rows)

    # --- the screen ----------------------------------------------------------------------------

    @property
    def lines(self) -> list[str]:
        """The rows of the screen, blanks at the right cut off."""
        return picture.rows(self._screen)

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def cursor(self) -> tuple[int, int]:
        """Column and row, from 0."""
        return self._screen.cursor.x, self._screen.cursor.y

    def pump(self, seconds: float = 0.02) -> bool:
        """Take in what the program wrote; False at its end."""
        ready, _, _ = select.select([self._fd], [], [], seconds)
        if not ready:
            return True
        try:
            piece = os.read(self._fd, 65_536)
        except OSError:
            return False
        self.data += piece
        *asked, rest = piece.split(b"\x1b[6n")
        for part in asked:
            self._feed(part)
            if self._answers:
                column, row = self.cursor
                os.write(self._fd, f"\x1b[{row + 1};{column + 1}R".encode())
        self._feed(rest)
        if self._answers:
            self._answer(piece)
        return bool(piece)

    def _feed(self, piece: bytes) -> None:
        self._stream.feed(piece.replace(b"\x1b[>4;1m", b"").replace(b"\x1b[>4m", b""))

    def _answer(self, piece: bytes) -> None:
        if b"\x1b]11;?" in piece:
            os.write(self._fd, b"\x1b]11;rgb:1414/1616/1a1a\x07")
        if b"\x1b[c" in piece:
            os.write(self._fd, b"\x1b[?62;22c")

    def until(self, wanted: str | Callable[["Tty"], bool], seconds: float = WAIT_S) -> None:
        """Wait until a text is on the screen in a row that was drawn since the last keys or the last change
        of size, or until a condition holds."""
        if isinstance(wanted, str):
            holds = partial(picture.answers, self._screen, wanted)
        else:
            holds = partial(wanted, self)
        end = time.monotonic() + seconds
        looked = -1
        while looked == len(self.data) or not holds():  # a look at a large screen costs more than a wait
            looked = len(self.data)
            over = not self.pump() or time.monotonic() > end
            if over and not holds():
                raise AssertionError(f"{wanted!r} did not come; the screen is:\n{self.text}")

    def settle(self, quiet_s: float = 0.15) -> None:
        """Wait until nothing is written for a while."""
        last, since = len(self.data), time.monotonic()
        while time.monotonic() - since < quiet_s:
            if not self.pump(0.03):
                return
            if len(self.data) != last:
                last, since = len(self.data), time.monotonic()

    # --- the person ----------------------------------------------------------------------------

    def send(self, text: str | bytes) -> None:
        """Press keys; what is drawn from now on can be an answer to them."""
        self._take_in()
        os.write(self._fd, text.encode() if isinstance(text, str) else text)

    def paste(self, text: str) -> None:
        self._take_in()
        data = b"\x1b[200~" + text.encode() + b"\x1b[201~"
        while data:
            _, ready, _ = select.select([], [self._fd], [], 0.05)
            if ready:
                data = data[os.write(self._fd, data[:4_096]) :]
            self.pump(0)

    def _take_in(self) -> None:
        """Read what was drawn so far, and remember that it was."""
        while select.select([self._fd], [], [], 0)[0] and self.pump(0):
            pass
        self._screen.dirty.clear()

    def resize(self, columns: int, rows: int) -> None:
        self._take_in()
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._screen.resize(rows, columns)
        self._screen.dirty.clear()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGWINCH)

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    # --- the end -------------------------------------------------------------------------------

    def wait(self, seconds: float = WAIT_S) -> int:
        """Wait for the end; the exit code, negative for a signal."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.pump()
            pid, status = os.waitpid(self._leader, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
                self.settle(0.1)
                return self.code
        raise AssertionError(f"it did not end; the screen is:\n{self.text}")

    def hang_up(self, seconds: float = WAIT_S) -> int:
        """Close the terminal under the program; how it ended."""
        os.close(self._fd)
        self._fd = -1
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
                return self.code
            time.sleep(0.02)
        raise AssertionError("it goes on without a terminal")

    def await_stop(self) -> None:
        """Wait until a signal has stopped the program."""
        until(lambda: self.pump() and is_stopped(self.pid))

    def line_settings(self) -> list[object]:
        return termios.tcgetattr(self._fd)

    def close(self) -> None:
        if self.code is None:
            for pid in {self.pid, self._leader}:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._leader, 0)
        if self._fd >= 0:
            os.close(self._fd)


Starts = Callable[..., Tty]
