"""Drives one session to its end without a person: `agent-tui exec`.

Ctrl+C interrupts and, a second time, kills; SIGTERM pauses cleanly within two seconds. All of them
leave a session that can be resumed. Exit codes are those of the end reason, 130 and 143 for signals.
"""

import asyncio
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import AsyncIterable
from pathlib import Path
from typing import TextIO

from agent_tui.engine.commands import (
    Command,
    CommandBody,
    Continue,
    Engine,
    Interrupt,
    Pause,
    Shutdown,
    Submit,
)
from agent_tui.engine.events import (
    Event,
    InputAccepted,
    InputDelivered,
    InputReturned,
    Refused,
    ResponseEnded,
    SessionClosed,
    SessionStarted,
    TurnEnded,
    TurnStarted,
)
from agent_tui.engine.types import InputKind
from agent_tui.frozen import frozen
from agent_tui.headless.jsonl import JsonLines
from agent_tui.headless.orders import MAX_LINE_BYTES, OrderError, parse
from agent_tui.headless.progress import Progress
from agent_tui.headless.unattended import OpenQuestions
from agent_tui.safe_text import visible
from context.items import Image

SIGINT_CODE = 128 + signal.SIGINT
SIGTERM_CODE = 128 + signal.SIGTERM
NOT_STARTED_CODE = 1
REFUSED_CODE = 2  # what was asked for cannot be done: nothing to go on with, a message that is too long
OUTPUT_CODE = 1  # the answer could not be written
PIPE_CLOSED_CODE = 128 + signal.SIGPIPE
CLOSE_WITHIN_S = 2.5  # of a SIGTERM: the engine takes two seconds
_SETTLE_S = 10.0  # for the engine to close after the last turn


@frozen
class Later:
    """A message that is sent once so many responses have come, and no run is open unless it is a steer."""

    text: str
    after: int
    steer: bool = False


@frozen
class Job:
    """What a one-shot run is asked to do and where its results go."""

    prompt: str  # empty: a paused task goes on, or orders say what to do
    images: tuple[Image, ...] = ()
    json: bool = False
    last_message: Path | None = None
    takes_orders: bool = False  # commands as JSON lines on stdin
    said: tuple[Later, ...] = ()  # in place of a prompt: a whole session, as it was saved
    ephemeral: bool = False  # nothing is kept that could be resumed


class OneShot:
    """One run of a job on an engine that has started."""

    def __init__(self, engine: Engine, job: Job) -> None:
        self._engine = engine
        self._job = job
        self._mapper = JsonLines()
        self._progress = Progress(sys.stderr)
        self._commands = 0
        self._said = deque(job.said)
        self._responses = 0
        self._pending: set[str] = set()  # messages that no turn has taken
        self._continuing: set[str] = set()  # commands that asked to go on with a paused task
        self._returned = False  # a message was given back
        self._running = False
        self._orders_open = job.takes_orders
        self._open = OpenQuestions()
        self._for_nobody: set[str] = set()  # commands that answer because nobody is left to
        self._signal: int | None = None
        self._ended: TurnEnded | None = None
        self._answer = ""
        self._refusal = ""
        self._session = ""
        self._is_closing = False
        self._reader_left = False
        self._output_problem = ""
        self._closed = asyncio.Event()

    async def run(self) -> int:
        """Until the session is idle with nothing left to do; returns the exit code."""
        events = self._engine.events()
        self._watch_signals()
        follower = asyncio.create_task(self._follow(events))
        if self._job.prompt:
            self._send(Submit(text=self._job.prompt, images=self._job.images))
        elif self._said:
            self._say_on()
        elif not self._job.takes_orders:
            self._send(Continue())
        closed = asyncio.create_task(self._closed.wait())
        await asyncio.wait({closed, follower}, return_when=asyncio.FIRST_COMPLETED)
        closed.cancel()
        if follower.done():
            await follower  # what went wrong in it
        follower.cancel()
        self._report()
        return self._exit_code()

    # --- events ----------------------------------------------------------------------------------

    async def _follow(self, events: AsyncIterable[Event]) -> None:
        async for event in events:
            self._show(event)
            self._take(event)
            self._open.take(event.body)
            self._answer_for_nobody()
            if isinstance(event.body, SessionClosed):
                break
            if self._is_idle() and not self._is_closing:
                self._close("done")
        self._closed.set()

    def _show(self, event: Event) -> None:
        if not self._job.json:
            if not self._refuses_start(event):  # told at the end
                self._progress.show(event)
            return
        for line in self._mapper.lines(event):
            self._print(line + "\n")

    def _refuses_start(self, event: Event) -> bool:
        return isinstance(event.body, Refused) and event.body.command_id in self._pending

    def _print(self, text: str) -> None:
        """Write to stdout; one that takes no more ends the run, and the session can be resumed."""
        if self._reader_left or self._output_problem:
            return
        try:
            _write(sys.stdout, text)
        except BrokenPipeError:
            self._reader_left = True
        except OSError as error:
            self._output_problem = f"stdout cannot be written: {error.strerror}"
        if (self._reader_left or self._output_problem) and not self._is_closing:
            self._close("the output cannot be written")

    def _take(self, event: Event) -> None:
        match event.body:
            case SessionStarted(session_id=session):
                self._session = session
                if self._job.takes_orders:  # not before: what they lead to comes after the opening
                    loop = asyncio.get_running_loop()
                    threading.Thread(target=self._read_orders, args=(loop,), daemon=True).start()
            case InputAccepted(input_id=pending):
                self._pending.discard(event.cause)
                self._pending.add(pending)
            case InputDelivered(input_id=pending) | InputReturned(input_id=pending):
                self._pending.discard(pending)
                self._returned = self._returned or isinstance(event.body, InputReturned)
            case Refused(command_id=command, reason=reason):
                self._refused(command, reason)
            case TurnStarted():
                self._running = True
                self._pending -= self._continuing
                self._continuing.clear()
            case ResponseEnded():
                self._responses += 1
                self._say_on()
            case TurnEnded() as ended:
                self._running = False
                self._ended = ended
                self._answer = ended.text
                self._say_on()
            case _:
                pass

    def _refused(self, command: str, reason: str) -> None:
        is_still_open = self._open.refused(command)
        if command in self._pending:
            self._pending.discard(command)
            self._refusal = reason
        elif is_still_open and command in self._for_nobody and not self._is_closing:
            self._close("an open question could not be answered")  # it would stay open for ever

    def _say_on(self) -> None:
        """Send what was said next in the session that is played again, where its turn has come."""
        if self._signal is not None or self._is_closing:
            return
        while self._said and self._said[0].after <= self._responses:
            if self._running and not self._said[0].steer:
                return
            is_steer = self._running
            message = self._said.popleft()
            self._send(Submit(text=message.text, kind=InputKind.STEER if is_steer else InputKind.PROMPT))
            if not is_steer:
                return

    def _is_idle(self) -> bool:
        return not (self._running or self._pending or self._orders_open)

    # --- commands --------------------------------------------------------------------------------

    def _send(self, body: CommandBody) -> str:
        """Give the engine a command; its id."""
        self._commands += 1
        command = Command(id=f"exec{self._commands}", body=body)
        if isinstance(body, Submit):
            self._pending.add(command.id)
        elif isinstance(body, Continue) and not self._running:  # in a run it only cuts a wait short
            self._pending.add(command.id)
            self._continuing.add(command.id)
        self._open.ordered(command.id, body)
        self._engine.send(command)
        return command.id

    def _close(self, why: str) -> None:
        self._is_closing = True
        self._send(Shutdown(why=why))
        asyncio.get_running_loop().call_later(_SETTLE_S, self._closed.set)

    def _read_orders(self, loop: asyncio.AbstractEventLoop) -> None:
        """In a thread: stdin can be a file, a pipe or a terminal. One line at a time, in order."""
        for line in iter(lambda: sys.stdin.buffer.readline(MAX_LINE_BYTES), b""):
            text = line.decode("utf-8", "replace").strip()
            if text:
                asyncio.run_coroutine_threadsafe(self._order(text), loop).result()
        asyncio.run_coroutine_threadsafe(self._no_more_orders(), loop)

    async def _order(self, line: str) -> None:
        try:
            order = parse(line)
        except OrderError as error:
            self._complain(f"stdin: {error}")
            return
        self._send(order)

    def _answer_for_nobody(self) -> None:
        """Once stdin has ended nobody answers; the run goes on to its end all the same."""
        if self._job.takes_orders and not self._orders_open and self._signal is None:
            for answer in self._open.answers():
                self._for_nobody.add(self._send(answer))

    async def _no_more_orders(self) -> None:
        self._orders_open = False
        self._answer_for_nobody()
        if self._is_idle() and not self._is_closing:
            self._close("end of input")

    def _complain(self, text: str) -> None:
        if self._job.json:
            self._print(self._mapper.error(text, time.time()) + "\n")
        else:
            self._progress.say(f"! {text}")

    # --- signals ---------------------------------------------------------------------------------

    def _watch_signals(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupted)
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
                loop.add_signal_handler(number, self._terminated)

    def _interrupted(self) -> None:
        again = self._signal is not None
        self._signal = self._signal or signal.SIGINT
        self._orders_open = False
        self._send(Interrupt(force=again))
        if not self._running and not self._is_closing:
            self._close("interrupted")

    def _terminated(self) -> None:
        self._signal = signal.SIGTERM
        self._orders_open = False
        self._send(Pause())
        if not self._is_closing:
            self._close("terminated")
        asyncio.get_running_loop().call_later(CLOSE_WITHIN_S, self._closed.set)

    # --- the end ---------------------------------------------------------------------------------

    def _report(self) -> None:
        self._write_answer()
        if not self._job.json and self._ended is not None and self._answer:
            text = visible(self._answer) if sys.stdout.isatty() else self._answer
            self._print(text.rstrip("\n") + "\n")
        if self._output_problem:
            self._progress.say(f"agent-tui: {self._output_problem}")
        if self._refusal and self._ended is None:
            self._progress.say(f"agent-tui: {self._refusal}")
        if self._signal is not None and self._session and not self._job.ephemeral:
            self._progress.say(
                f"agent-tui: session {self._session} is kept; `agent-tui resume {self._session}`"
            )

    def _write_answer(self) -> None:
        path = self._job.last_message
        if path is None or self._ended is None:
            return
        try:
            path.write_text(self._answer, encoding="utf-8", errors="replace")
        except OSError as error:
            self._output_problem = f"-o: `{path}` cannot be written: {error.strerror}"

    def _exit_code(self) -> int:
        if self._signal is not None:
            return SIGTERM_CODE if self._signal == signal.SIGTERM else SIGINT_CODE
        if self._reader_left:
            return PIPE_CLOSED_CODE
        if self._output_problem:
            return OUTPUT_CODE
        if self._ended is None and self._returned:
            return SIGINT_CODE  # interrupted before it could begin
        if self._ended is None:
            return REFUSED_CODE if self._refusal else NOT_STARTED_CODE
        return self._ended.exit_code


def _write(stream: TextIO, text: str) -> None:
    """Write whole text whatever the locale's encoding; a lone surrogate becomes its escape."""
    stream.flush()
    data = text.encode("utf-8", "backslashreplace")
    while data:
        data = data[os.write(stream.fileno(), data) :]
