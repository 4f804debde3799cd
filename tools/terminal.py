"""One live command of `exec_command`: its process, its streams, its input, its end."""

import asyncio
import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from itertools import groupby
from operator import itemgetter

from sandbox.running import Exit, Running
from tools.output.collector import Collector, Taken

READ_BYTES = 65_536  # at a time; less while a program moves its cursor to and fro
MIN_READ_BYTES = 4_096
GATHER_S = 0.005  # small reads are cleaned together: a terminal gives at most 4 KiB at once
DRAIN_S = 0.1  # for output after the end of the command
SILENCE_S = 0.25  # after new output: a prompt, or a pause worth reporting
TAIL_CHARS = 2_000
MIN_WAIT_S = 0.05  # while no time counts the rest may be next to nothing
LOOK_S = 0.5  # between looks whether it waits for input
LIVE_INTERVAL_S = 0.05  # at most 20 displays a second
WORK_S = 0.002  # on a flood at a stretch: a key press takes many turns of the event loop until it shows
_FULL = {errno.EAGAIN, errno.EWOULDBLOCK}


class Ending(StrEnum):
    """Why a command is over."""

    BY_ITSELF = "by itself"
    TIMED_OUT = "timed out"
    STOPPED = "stopped"


class Terminal:
    """Reads a running command into its collector and knows when it is over.

    All methods belong to the event loop of the command. `over` means the command itself ended and
    its output was drained; `gone` that nothing it started is left.
    """

    def __init__(
        self, running: Running, collector: Collector, show: Callable[[str], None], *, tty: bool
    ) -> None:
        self.running = running
        self.collector = collector
        self.show = show  # live output for a person
        self.on_gone: Callable[[], None] = lambda: None
        self.on_waiting: Callable[[bool], None] = lambda _: None  # whether it waits for input, as it changes
        self.awaits_input = False
        self._shown = ""  # the end of what was shown
        self.ending = Ending.BY_ITSELF
        self.over = asyncio.Event()
        self.gone = asyncio.Event()
        self.tty = tty
        self._loop = asyncio.get_running_loop()
        self._open = set(running.outputs)
        self._drained = asyncio.Event()
        self._stir = asyncio.Event()
        self._last_output_at = self._loop.time()
        self._taken_bytes = 0
        self._gathered: list[tuple[int, bytes]] = []
        self._gathered_bytes = 0
        self._worked_s = 0.0
        self._read_bytes = READ_BYTES
        self._feeding: asyncio.TimerHandle | None = None
        self._tick: asyncio.TimerHandle | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._left_s: float | None = None  # of the time limit, while it does not count
        self._holds = 0
        self._held_at = 0.0
        self._held_s = 0.0
        self._looking: asyncio.TimerHandle | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._typed = "\n"  # the end of what was written to it
        self._listen()
        self._look()
        self._watch = self._loop.create_task(self._until_gone())

    @property
    def exit(self) -> Exit | None:
        """How the command ended; None while it runs."""
        return self.running.exit

    @property
    def tail(self) -> str:
        """What stands on its screen; without a terminal the end of what was shown."""
        return self.collector.standing() if self.tty else self._shown

    @property
    def has_news(self) -> bool:
        """Whether there is output that no result has told of."""
        return bool(self._gathered) or self.collector.total_bytes > self._taken_bytes

    def take(self, budget_bytes: int) -> Taken:
        """The output since the last time."""
        self._feed()
        self._taken_bytes = self.collector.total_bytes
        return self.collector.take(budget_bytes)

    def limit(self, timeout_s: float) -> None:
        """End it by the ladder when it still runs after `timeout_s`, counted from now."""
        if self._holds:
            self._left_s = timeout_s
        else:
            self._deadline = self._loop.call_later(timeout_s, self._time_out)

    @contextmanager
    def held(self) -> Iterator[None]:
        """The command waits for a person: no time of it counts."""
        self._holds += 1
        if self._holds == 1:
            self._held_at = self._loop.time()
            if self._deadline is not None:
                self._left_s = self._deadline.when() - self._held_at
                self._deadline.cancel()
        try:
            yield
        finally:
            self._holds -= 1
            if not self._holds:
                self._held_s += self._loop.time() - self._held_at
                left_s, self._left_s = self._left_s, None
                if left_s is not None and not self.gone.is_set():
                    self.limit(left_s)

    @property
    def held_s(self) -> float:
        """For how long it has waited so."""
        return self._held_s + (self._loop.time() - self._held_at if self._holds else 0.0)

    def _time_out(self) -> None:
        self._deadline = None  # it is over once, whoever is asked while the command ends
        if not self.gone.is_set():
            self.ending = Ending.TIMED_OUT
            self._stopping = self._loop.create_task(self._stop())

    # --- waiting ---------------------------------------------------------------------------------

    async def settled(self, timeout_s: float) -> None:
        """Until the command is over and, for a moment, until what it started is gone too."""
        end = self._loop.time() + timeout_s
        while (left_s := end + self.held_s - self._loop.time()) > 0 and not self.over.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self.over.wait(), max(left_s, MIN_WAIT_S))
        if self.ending is Ending.TIMED_OUT:
            await self.gone.wait()
        elif self.over.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self.gone.wait(), DRAIN_S)

    async def news(self, timeout_s: float) -> None:
        """Until it is over, or silent for 250 ms after new output; at most `timeout_s`. When it was over
        before, until what it left behind is gone."""
        deadline = self._loop.time() + timeout_s
        was_over = self.over.is_set()
        while not self.gone.is_set() and self.over.is_set() == was_over:
            now = self._loop.time()
            wait_s = deadline - now
            if self.has_news:
                wait_s = min(wait_s, self._last_output_at + SILENCE_S - now)
            if wait_s <= 0:
                return
            self._stir.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stir.wait(), wait_s)
        if not was_over:
            await self.settled(0)

    async def _until_gone(self) -> None:
        await self.running.wait()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._drained.wait(), DRAIN_S)
        self.over.set()
        self._stir.set()
        await self.running.ended()
        for number, fd in enumerate(self.running.outputs):
            while fd in self._open and self._read(number, fd):  # the rest is there, then the end
                pass
        self._close()

    def _close(self) -> None:
        self._feed()
        for timer in (self._deadline, self._tick, self._looking):
            if timer is not None:
                timer.cancel()
        self._display()
        self.awaits_input = False
        self.running.close()
        self.collector.spool.close()
        self.gone.set()
        self._stir.set()
        self.on_gone()

    # --- output ----------------------------------------------------------------------------------

    def _listen(self) -> None:
        for number, fd in enumerate(self.running.outputs):
            if fd in self._open and not self.gone.is_set():
                self._loop.add_reader(fd, self._read, number, fd)

    def _took(self, seconds: float) -> None:
        """Read less next time if that was long. Leave the event loop to others for as long as it was
        kept busy; a terminal gives so little at a time that it needs no rest."""
        change = 0.5 if seconds > 2 * WORK_S else 2 if seconds < WORK_S else 1
        self._read_bytes = min(max(int(self._read_bytes * change), MIN_READ_BYTES), READ_BYTES)
        self._worked_s += seconds
        if self.tty or self._worked_s < WORK_S:
            return
        for fd in self._open:
            self._loop.remove_reader(fd)
        self._loop.call_later(self._worked_s, self._listen)
        self._worked_s = 0.0

    def _read(self, number: int, fd: int) -> bool:
        """Read what is there, False when that is nothing. Not reading is the back-pressure that holds
        a fast command back."""
        try:
            data = os.read(fd, self._read_bytes)
        except OSError as error:
            if error.errno in _FULL:
                return False
            data = b""  # a terminal tells its end by EIO
        if data:
            self._gather(number, data)
        else:
            self._loop.remove_reader(fd)
            self._open.discard(fd)
            self._feed()
            self.collector.end(number)
            if not self._open:
                self._drained.set()
        return bool(data)

    def _gather(self, number: int, data: bytes) -> None:
        self._last_output_at = self._loop.time()
        self._stir.set()
        self._gathered.append((number, data))
        self._gathered_bytes += len(data)
        if self._gathered_bytes >= self._read_bytes:
            self._feed()
        elif self._feeding is None:
            self._feeding = self._loop.call_later(GATHER_S, self._feed)

    def _feed(self) -> None:
        """Hand over what was read, in the order in which it came."""
        if self._feeding is not None:
            self._feeding.cancel()
            self._feeding = None
        gathered, self._gathered, self._gathered_bytes = self._gathered, [], 0
        begun = self._loop.time()
        for number, pieces in groupby(gathered, key=itemgetter(0)):
            self.collector.feed(number, b"".join(data for _, data in pieces))
        self._took(self._loop.time() - begun)
        if gathered and self._tick is None:
            self._tick = self._loop.call_later(LIVE_INTERVAL_S, self._display)

    def _display(self) -> None:
        self._tick = None
        text = self.collector.display()
        if text:
            lines = (self._shown + text).split("\n")
            self._shown = "\n".join(line.rpartition("\r")[2] for line in lines)[-TAIL_CHARS:]
            self.show(text)

    def _look(self) -> None:
        """Whether it waits for input: stopped in a read of it, and silent before that for a moment. This is
        the one place that asks."""
        is_silent = self._loop.time() - self._last_output_at >= SILENCE_S
        waits = (is_silent or self.awaits_input) and self.running.awaits_input()
        if waits != self.awaits_input:
            self.awaits_input = waits
            self.on_waiting(waits)
        if self.running.stdin is not None:
            self._looking = self._loop.call_later(LOOK_S, self._look)

    # --- input -----------------------------------------------------------------------------------

    async def write(self, data: bytes, timeout_s: float) -> int:
        """Type; returns how many bytes were taken before `timeout_s` passed or the input closed."""
        written = 0
        deadline = self._loop.time() + timeout_s
        while written < len(data) and self.running.stdin is not None:
            try:
                written += os.write(self.running.stdin, data[written:])
            except BlockingIOError:
                if not await self._writable(self.running.stdin, deadline - self._loop.time()):
                    break
            except OSError:  # the other side is closed
                break
        if written:
            self._typed = data[written - 1 : written].decode("latin-1")
        return written

    async def _writable(self, fd: int, timeout_s: float) -> bool:
        free = asyncio.Event()
        self._loop.add_writer(fd, free.set)
        try:
            await asyncio.wait_for(free.wait(), max(0.0, timeout_s))
        except TimeoutError:
            return False
        finally:
            self._loop.remove_writer(fd)
        return True

    async def end_input(self) -> None:
        """No more input: a pipe is closed, a terminal gets its end-of-file key."""
        if not self.tty:
            self.running.close_stdin()
        elif self._typed < " ":  # a fresh line, or a key that ended the one before
            await self.write(b"\x04", 1.0)
        else:  # the first key only ends the unfinished line
            await self.write(b"\x04\x04", 1.0)

    def signal(self, name: str) -> None:
        """Signal the foreground process group, as `INT`."""
        self.running.signal(name)

    def resize(self, columns: int, rows: int) -> None:
        """Give the terminal another size; its programs get WINCH."""
        self.running.resize(columns, rows)
        self.collector.resize(columns, rows)

    # --- the end ---------------------------------------------------------------------------------

    async def stop(self) -> None:
        """INT, TERM, KILL on everything it started; when cancelled meanwhile, KILL at once."""
        if not self.gone.is_set():
            self.ending = Ending.STOPPED
        await self._stop()

    async def _stop(self) -> None:
        try:
            if not self.gone.is_set():
                await self.running.stop()
        except asyncio.CancelledError:
            self.running.kill()
            raise
        await self.gone.wait()

    def kill(self) -> None:
        """KILL everything at once."""
        if not self.gone.is_set():
            self.ending = Ending.STOPPED
            self.running.kill()
