"""A command that was started: its end, its signals, and the death of everything it started."""

import asyncio
import os
import re
import signal
import termios
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from agent_tui.frozen import frozen
from sandbox import channels as wires
from sandbox import processes
from sandbox.channels import Channels
from sandbox.errors import SandboxError
from sandbox.limits import GROUP_AFTER_S, WATCH_INTERVAL_S, Enforcement
from sandbox.preparation import Preparation
from sandbox.processes import Handle

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

    from sandbox.proxy import Proxy

INTERRUPT_GRACE_S = 2.0
TERMINATE_GRACE_S = 3.0
_POPULATION_CHECKS_S = (0.0, 0.002, 0.01, 0.05)  # then every quarter of a second
_POPULATION_INTERVAL_S = 0.25
_ROUSE_INTERVAL_S = 0.1
_LEAVE_INTERVAL_S = 0.0005
_STATUS = re.compile(rb"(?P<word>up|pid|exit)(?: (?P<number>\d{1,10}))?")
_LONGEST_STATUS = 64
_INTERFERED = "the command interfered with its sandbox and was killed"


@frozen
class Exit:
    """How a command ended: `code` is 128 + number for a signal, which `signal` then names."""

    code: int
    signal: str | None = None

    @classmethod
    def of(cls, code: int) -> "Exit":
        name = None
        if code > 128:
            with suppress(ValueError):
                name = signal.Signals(code - 128).name.removeprefix("SIG")
        return cls(code=code, signal=name)


class Running:
    """One started command. All methods belong to the event loop that started it."""

    def __init__(
        self,
        *,
        pid: int,
        root: Handle,
        channels: Channels,
        enforcement: Enforcement | None = None,
        preparation: Preparation | None = None,
        proxy: "Proxy | None" = None,
        folder: "TemporaryDirectory[str] | None" = None,
    ) -> None:
        self.pid = pid  # ours to reap: bwrap, or the guard of an unsandboxed command
        self.root_pid = root.pid  # all that runs is below it: pid 1 of the sandbox, or the guard
        self.process_group = root.pid  # of an unsandboxed command known a moment later
        self.started_at_ticks = processes.start_ticks(pid) or 0
        self.boot_id = processes.boot_id()
        self.limit_hit = ""  # a sentence when a limit ended the command
        self.notices: list[str] = list(preparation.pins.notices) if preparation else []
        self._root = root
        self._outer = processes.open_handle(pid)
        self._channels = channels
        self._sandboxed = preparation is not None
        self._enforcement = enforcement
        self._preparation = preparation
        self._proxy = proxy
        self._folder = folder  # what it may read while it runs
        self._loop = asyncio.get_running_loop()
        self._exit: asyncio.Future[Exit] = self._loop.create_future()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._finishing: asyncio.Task[None] | None = None
        self._outer_alive = True
        self._is_up = False
        self._named: asyncio.Future[None] = self._loop.create_future()
        self._text = b""
        self._loop.add_reader(channels.status, self._read_status)
        self._loop.add_reader(self._outer.fd, self._reap)
        if enforcement:
            self._loop.call_later(GROUP_AFTER_S, self._adopt)
            self._loop.call_later(WATCH_INTERVAL_S, self._watch)

    @property
    def outputs(self) -> tuple[int, ...]:
        """Descriptors to read from; empty when the streams were handed on."""
        return self._channels.outputs

    @property
    def stdin(self) -> int | None:
        """A non-blocking descriptor to write to, or None; end it with `close_stdin`."""
        return self._channels.stdin

    @property
    def exit(self) -> Exit | None:
        """How the command ended; None while it runs."""
        return self._exit.result() if self._exit.done() else None

    async def named(self) -> None:
        """Until an unsandboxed command waits for leave and its process group is known, or it is gone."""
        either: list[asyncio.Future[Any]] = [self._named, self._exit]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)

    def let_run(self) -> None:
        """Let the command run: a sandboxed one once pid 1 has tied its life to ours, which bwrap does just
        before it waits for its children; earlier a death of ours would leave the command behind."""
        if self._channels.leash < 0 or self._exit.done():
            return
        if not self._sandboxed or processes.is_waiting(self.root_pid):
            with suppress(BrokenPipeError):
                os.write(self._channels.leash, b"run\n")
        else:
            self._loop.call_later(_LEAVE_INTERVAL_S, self.let_run)

    async def wait(self) -> Exit:
        """Until the command itself ends; what it left behind may go on."""
        return await asyncio.shield(self._exit)

    async def ended(self) -> None:
        """Until nothing that the command started is left."""
        await asyncio.shield(self._ended)

    @property
    def hosts(self) -> Mapping[str, str]:
        """What a command that may reach single hosts has tried: `name:port` → '' where it got through, else
        what became of it."""
        return self._proxy.decisions if self._proxy else {}

    def leftovers(self) -> list[int]:
        """Processes still running beside or after the command, by host pid."""
        below = processes.descendants(self.root_pid)
        return below[1:] if self._sandboxed else below

    def awaits_input(self) -> bool:
        """Whether the command, or anything it started, waits for what is written to `stdin`; no where the
        kernel does not tell."""
        awaited = self._channels.awaited
        if awaited is None or self._channels.stdin is None or self._ended.done():
            return False
        return any(map(awaited.is_awaited_by, processes.descendants(self.root_pid)))

    def hides_input(self) -> bool:
        """Whether its terminal shows nothing of what is typed, as at the prompt for a password, or nobody
        can tell. Without a terminal nothing is hidden."""
        if self._channels.terminal is None:
            return False
        try:
            return not termios.tcgetattr(self._channels.terminal)[3] & termios.ECHO
        except termios.error:
            return True

    def resize(self, columns: int, rows: int) -> None:
        """Set the size of the terminal; without one nothing happens."""
        if self._channels.terminal is not None:
            wires.resize(self._channels.terminal, (columns, rows))

    def close_stdin(self) -> None:
        """End the command's input; on a terminal write `\\x04` instead."""
        if self._channels.stdin is not None:
            os.close(self._channels.stdin)
            self._channels.stdin = None

    def signal(self, name: str) -> None:
        """Signal the foreground process group by name, as `INT`; gone processes are ignored."""
        if self._ended.done():
            return
        number = signal.Signals[f"SIG{name}"]
        group = self._foreground_group()
        if group > 1:
            with suppress(ProcessLookupError):
                os.killpg(group, number)

    def _foreground_group(self) -> int:
        if self._channels.terminal is None:
            return self.process_group
        with suppress(OSError):
            return os.tcgetpgrp(self._channels.terminal)
        return self.process_group

    async def stop(self) -> Exit:
        """INT, after 2 s TERM, after 3 s more KILL for the whole tree; returns when all is gone."""
        for name, grace_s in (("INT", INTERRUPT_GRACE_S), ("TERM", TERMINATE_GRACE_S)):
            if self._ended.done():
                break
            self.signal(name)
            with suppress(TimeoutError):
                await asyncio.wait_for(self.wait(), grace_s)
                break
        self.kill()
        await self.ended()
        return await self.wait()

    def kill(self) -> None:
        """KILL everything at once."""
        if self._sandboxed:
            if self._finishing is None:
                self._root.signal(signal.SIGKILL)
            if self._outer_alive:
                self._outer.signal(signal.SIGKILL)
        else:
            self._let_go()

    def close(self) -> None:
        """Kill what is left and close every descriptor, once output is read; a second call does nothing."""
        if not self._ended.done():
            self.kill()
        if self._channels.status >= 0:
            self._loop.remove_reader(self._channels.status)
        self._channels.close()

    def _read_status(self) -> None:
        try:
            data = os.read(self._channels.status, 4096)
        except BlockingIOError:  # asked at the end, while another process is still letting go of it
            return
        *lines, self._text = (self._text + data).split(b"\n")
        if not all(map(self._take_status, lines)) or len(self._text) > _LONGEST_STATUS:
            self._text = b""
            self.limit_hit = _INTERFERED
            self.kill()
        if not data:
            self._loop.remove_reader(self._channels.status)

    def _take_status(self, line: bytes) -> bool:
        """Follow one line; False for one that nobody of ours writes at this point. A sandboxed
        command can open the pipe through `/proc`, so no line of it may steer anything outside."""
        found = _STATUS.fullmatch(line)
        if found is None:
            return False
        word, number = found["word"], int(found["number"] or 0)
        if word == b"up":
            known, self._is_up = self._is_up, True
            if not known:
                self.let_run()
            return self._sandboxed and not known
        if word == b"pid":
            if self._sandboxed or self._named.done():
                return False
            self.process_group = number
            self._named.set_result(None)
        elif not self._exit.done():
            self._exit.set_result(Exit.of(number))
            # after those who wait for the exit, who hear of it in two turns
            self._loop.call_soon(self._loop.call_soon, self._check_population, 0)
        return True

    def _check_population(self, turn: int) -> None:
        """Let the sandbox go once the command and all it left behind are gone."""
        if self._ended.done() or self._channels.leash < 0:
            return
        if not self.leftovers():
            self._let_go()
            return
        delay = _POPULATION_CHECKS_S[turn] if turn < len(_POPULATION_CHECKS_S) else _POPULATION_INTERVAL_S
        self._loop.call_later(delay, self._check_population, turn + 1)

    def _let_go(self) -> None:
        if self._channels.leash >= 0:
            os.close(self._channels.leash)
            self._channels.leash = -1
            if not self._sandboxed:
                self._rouse()

    def _rouse(self) -> None:
        """What ends the tree hears of that only where nothing in the tree keeps it stopped."""
        if self._outer_alive:
            self._outer.signal(signal.SIGCONT)
            self._loop.call_later(_ROUSE_INTERVAL_S, self._rouse)

    def _reap(self) -> None:
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid == 0:
            return
        self._loop.remove_reader(self._outer.fd)
        self._outer.close()
        self._outer_alive = False
        if self._channels.status >= 0:
            self._read_status()
        if not self._exit.done():
            code = os.waitstatus_to_exitcode(status)
            self._exit.set_result(Exit.of(code if code >= 0 else 128 - code))
        # pid 1 of the namespace ends only after everything in it
        if self._sandboxed:
            self._loop.add_reader(self._root.fd, self._gone)
        else:
            self._gone()

    def _adopt(self) -> None:
        if self._enforcement and self._outer_alive:
            self._enforcement.adopt(self.root_pid, self._loop)

    def _watch(self) -> None:
        """Kill a tree that holds more than it may, where no control group does it."""
        if self._finishing or self._enforcement is None:
            return
        sentence = self._enforcement.check(self.root_pid)
        if sentence:
            self.limit_hit = sentence
            self.kill()
        else:
            self._loop.call_later(WATCH_INTERVAL_S, self._watch)

    def _gone(self) -> None:
        self._loop.remove_reader(self._root.fd)
        self._root.close()
        self._finishing = self._loop.create_task(self._finish())

    async def _finish(self) -> None:
        """Nothing is left running: give back what the sandbox took from the workspace and the kernel."""
        try:
            if self._proxy:
                await self._proxy.close()
            if self._enforcement:
                self.limit_hit = await self._enforcement.finish() or self.limit_hit
            if self._folder:
                self._folder.cleanup()
            if self._preparation:
                self.notices += self._preparation.release()
        except (OSError, SandboxError) as error:
            self.notices.append(f"clearing up after the sandbox failed: {error}")
        self._ended.set_result(None)


def start_failure(text: str) -> SandboxError:
    """bwrap's own words as one line."""
    lines = [line for line in text.splitlines() if line.strip()]
    said = lines[-1].removeprefix("bwrap: ") if lines else "it said nothing"
    return SandboxError(f"sandbox: `bwrap` failed: {said}; run `agent-tui doctor`")
