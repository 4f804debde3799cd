"""Line mode: a full front end for dumb terminals, serial lines, screen readers and pipes.

Append-only. It consumes the engine's events and sends commands, and nothing else. A line that was
begun before a question appeared never answers it: it is set aside and offered again.
"""

import asyncio
import sys
import time
from contextlib import nullcontext, suppress

from agent_tui.engine.commands import Command, CommandBody, Engine, Interrupt, RunShell, Shutdown, Submit
from agent_tui.engine.events import (
    ApprovalAsked,
    ApprovalDecided,
    Event,
    InputAccepted,
    InputDelivered,
    InputReturned,
    Inspected,
    LostResultAsked,
    QuestionAnswered,
    QuestionAsked,
    Refused,
    SessionClosed,
    SessionStarted,
    TurnEnded,
    TurnStarted,
)
from agent_tui.engine.types import Config, Decision
from agent_tui.plain import questions, slash
from agent_tui.plain.lines import Interrupted, LineSource, StreamLines, TerminalLines
from agent_tui.plain.questions import Choice, Question
from agent_tui.plain.wording import Narrator, seconds
from agent_tui.safe_text import one_line

FORCE_WITHIN_S = 2.0
PROGRESS_AT_S = (10.0, 30.0)
PROGRESS_EVERY_S = 60.0


class PlainApp:
    """One session in line mode."""

    def __init__(self, engine: Engine, config: Config, lines: LineSource) -> None:
        self._engine = engine
        self._config = config
        self._lines = lines
        self._narrator = Narrator()
        self._open: dict[str, Question] = {}
        self._replies: dict[str, asyncio.Future[Inspected | Refused]] = {}
        self._draft = ""
        self._commands = 0
        self._session_id = ""
        self._is_kept = True
        self._running = False
        self._pending: set[str] = set()  # command ids of messages that are in no turn yet
        self._closed = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._working = asyncio.Event()
        self._interrupted_at = 0.0

    async def run(self, first: Submit | None) -> int:
        """Until the person leaves; returns the exit code."""
        follower = asyncio.create_task(self._follow())
        progress = asyncio.create_task(self._report_progress())
        if first is not None:
            self._send(first)
        try:
            while not self._closed.is_set():
                if self._open:
                    await self._ask(next(iter(self._open.values())))
                elif not await self._one_line():
                    break
            self._send(Shutdown())
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closed.wait(), timeout=10)
        finally:
            progress.cancel()
            follower.cancel()
            await asyncio.gather(progress, follower, return_exceptions=True)
        self._print(*self._farewell())
        return 0

    # --- events --------------------------------------------------------------------------------

    async def _follow(self) -> None:
        async for event in self._engine.events():
            self._take(event)
            if isinstance(event.body, SessionClosed):
                self._is_kept = event.body.kept
                break
        self._closed.set()
        self._lines.set_aside()

    def _take(self, event: Event) -> None:
        match event.body:
            case Inspected(command_id=command_id) | Refused(command_id=command_id) as reply if (
                command_id in self._replies
            ):
                self._replies.pop(command_id).set_result(reply)
                return
            case SessionStarted():
                self._session_id = event.body.session_id
                self._print(*self._greeting(event.body))
            case InputAccepted(input_id=pending):
                self._pending.discard(event.cause)
                self._pending.add(pending)
            case InputDelivered(input_id=pending) | InputReturned(input_id=pending):
                self._pending.discard(pending)
            case Refused(command_id=refused):
                self._pending.discard(refused)
            case TurnStarted():
                self._running = True
                self._working.set()
            case TurnEnded():
                self._running = False
                self._working.clear()
            case ApprovalAsked() | QuestionAsked() | LostResultAsked() as question:
                self._open[questions.question_id(question)] = question
                self._draft = self._lines.set_aside() or self._draft
            case ApprovalDecided(approval_id=answered) | QuestionAnswered(question_id=answered):
                self._open.pop(answered, None)
            case _:
                pass
        self._note_idle()
        self._print(*self._narrator.lines(event.body))

    def _note_idle(self) -> None:
        """Idle: no turn runs and no message waits for one."""
        if self._running or self._pending:
            self._idle.clear()
        else:
            self._idle.set()

    async def _report_progress(self) -> None:
        """Says that commands still run, after 10 s, 30 s, and then every minute of quiet."""
        while True:
            await self._working.wait()
            started, told = time.monotonic(), 0
            while self._narrator.running():
                due = PROGRESS_AT_S[told] if told < len(PROGRESS_AT_S) else PROGRESS_EVERY_S * (told - 1)
                if time.monotonic() - started >= due:
                    told += 1
                    for line in self._narrator.running():
                        self._print(f"Still running: {seconds(round(due))}, {line}.")
                await asyncio.sleep(1)
            await asyncio.sleep(1)

    # --- input ---------------------------------------------------------------------------------

    async def _one_line(self) -> bool:
        """Read and act on one line; False when the person leaves."""
        draft, self._draft = self._draft, ""
        try:
            line = await self._lines.read("you> ", draft)
        except Interrupted:
            return self._interrupt()
        if line is None:
            if self._lines.ended:
                await self._idle.wait()
                return bool(self._open)
            return True
        if not line.strip():
            return True
        if line.startswith("/"):
            return await self._slash(line)
        if line.startswith("!"):
            quiet = line.startswith("!!")
            self._send(RunShell(command=line.lstrip("!").strip(), to_context=not quiet))
        else:
            self._send(Submit(text=line))
        return True

    def _interrupt(self) -> bool:
        now = time.monotonic()
        again = now - self._interrupted_at < FORCE_WITHIN_S
        self._interrupted_at = now
        if self._running:
            self._send(Interrupt(force=again))
            return True
        if not again:
            self._print("Ctrl+C again leaves.")
        return not again

    async def _slash(self, line: str) -> bool:
        parsed = slash.parse(line)
        if parsed.leave:
            return False
        if parsed.text:
            self._print(*parsed.text.splitlines())
        if parsed.body is not None and parsed.show is None:
            self._send(parsed.body)
        elif parsed.body is not None and parsed.show is not None:
            reply = await self._inspect(parsed.body)
            if isinstance(reply, Inspected):
                self._print(*parsed.show(reply.data))
            else:
                self._print(f"Refused: {one_line(reply.reason)}")
        return True

    async def _inspect(self, body: CommandBody) -> Inspected | Refused:
        future: asyncio.Future[Inspected | Refused] = asyncio.get_running_loop().create_future()
        self._replies[f"plain-{self._commands + 1}"] = future
        self._send(body)
        return await future

    # --- questions -----------------------------------------------------------------------------

    async def _ask(self, question: Question) -> None:
        """Print one question and read until it is answered or no longer open."""
        key = questions.question_id(question)
        number = list(self._open).index(key) + 1
        body, facts = questions.heading(question, number, len(self._open))
        offered = questions.choices(question)
        if not await self._show_pages(body):
            return self._leave(question)
        self._print(*facts, *(f"  {n}. {choice.label}" for n, choice in enumerate(offered, 1)))
        while key in self._open and not self._closed.is_set():
            chosen = await self._choose(offered)
            if chosen is None:
                return self._leave(question)
            choice, text = chosen
            if choice.value == Decision.RULE and not await self._confirm_rule(question):
                continue
            self._open.pop(key, None)
            return self._send(questions.answer(question, choice, text))
        return None

    async def _show_pages(self, lines: list[str]) -> bool:
        parts = questions.pages(lines)
        done = 0
        for part in parts[:-1]:
            self._print(*part)
            done += len(part)
            try:
                typed = await self._lines.read(
                    f"Line {done - len(part) + 1} to {done} of {len(lines)}. Enter for more> "
                )
            except Interrupted:
                return False
            if typed is None:
                return False
        self._print(*parts[-1])
        return True

    async def _choose(self, offered: list[Choice]) -> tuple[Choice, str] | None:
        """The choice and the text typed for it; None when the person leaves the question."""
        with suppress(Interrupted):
            while (typed := await self._lines.read(f"answer 1 to {len(offered)}> ")) is not None:
                if typed.strip().isdigit() and 1 <= int(typed) <= len(offered):
                    choice = offered[int(typed) - 1]
                    if not choice.needs:
                        return choice, ""
                    return choice, await self._lines.read(f"{choice.needs}> ", choice.prefill) or ""
                self._print(f"Type a number from 1 to {len(offered)}.")
        return None

    async def _confirm_rule(self, question: Question) -> bool:
        assert isinstance(question, ApprovalAsked)
        self._print(*questions.rule_lines(question))
        try:
            return await self._lines.read("save it> ") == "yes"
        except Interrupted:
            return False

    def _leave(self, question: Question) -> None:
        """Ctrl+C or the end of input at a question: the answer that allows nothing."""
        if questions.question_id(question) not in self._open:
            return
        self._open.pop(questions.question_id(question))
        offered = questions.choices(question)
        self._send(questions.answer(question, offered[-1], ""))

    # --- output --------------------------------------------------------------------------------

    def _send(self, body: CommandBody) -> None:
        self._commands += 1
        if isinstance(body, Submit):
            self._pending.add(f"plain-{self._commands}")
            self._note_idle()
        self._engine.send(Command(id=f"plain-{self._commands}", body=body))

    @staticmethod
    def _print(*lines: str) -> None:
        for line in lines:
            sys.stdout.write(line + "\n")
        sys.stdout.flush()

    def _greeting(self, started: SessionStarted) -> list[str]:
        network = "on" if self._config.network else "off"
        return [
            f"agent-tui, plain mode. Directory: {one_line(started.workspace, strict=True)}.",
            f"Model: {started.model or 'none'}. Sandbox: {self._config.sandbox}, network {network}.",
            f"Approvals: {self._config.approval}. Type /help for commands.",
            "",
        ]

    def _farewell(self) -> list[str]:
        if not self._session_id or self._config.ephemeral or not self._is_kept:
            return []
        return [
            "",
            f"agent-tui: session {self._session_id} kept",
            f"  continue   agent-tui resume {self._session_id}",
        ]


async def run(engine: Engine, config: Config, *, first: Submit | None) -> int:
    """Drive `engine` in line mode until the person leaves; returns the exit code."""
    if not sys.stdin.isatty():
        return await PlainApp(engine, config, StreamLines()).run(first)
    from prompt_toolkit.patch_stdout import patch_stdout

    history = config.state_dir / "plain-history"
    with patch_stdout() if sys.stdout.isatty() else nullcontext():
        return await PlainApp(engine, config, TerminalLines(history)).run(first)
