"""The engine as its front ends hold it: a queue of commands in, the stream of events out.

Drives one session: starts turns when messages wait, answers questions that commands ask, and ends
within two seconds of `Shutdown`.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from agent_tui.engine import inbox
from agent_tui.engine.commands import (
    Answer,
    Command,
    Compact,
    Continue,
    Decide,
    EditPending,
    Inspect,
    Interrupt,
    Pause,
    Redo,
    Rollback,
    RunShell,
    Set,
    Settle,
    Shutdown,
    Submit,
    TerminalInput,
)
from agent_tui.engine.events import (
    ApprovalAsked,
    ApprovalDecided,
    Body,
    LostResultAsked,
    QuestionAnswered,
    QuestionAsked,
    Refused,
    SessionClosed,
    SessionStarted,
    StatusChanged,
)
from agent_tui.engine.hub import Reader
from agent_tui.engine.loop import Turn
from agent_tui.engine.ports import Model, Ports
from agent_tui.engine.resume import Recovery, crash_parts, kill_lost_terminals
from agent_tui.engine.scope import Scope
from agent_tui.engine.session import Session
from agent_tui.engine.stop import Stop
from agent_tui.engine.types import Config, InputKind, SandboxStatus, TaskStatus
from agent_tui.engine.waits import Waits
from checkpoints.records import RecordsError
from context.budget import Window
from context.estimate import Meter

MAX_COMMANDS = 1_000
SHUTDOWN_S = 2.0  # for the running turn to end; after it what still runs is killed


class EngineRuntime:
    """One session and the process's hold on it; implements `commands.Engine`.

    `start` opens a session that has no records yet, and says what this process is in one that has.
    `choose_model` makes the adapter of another model by its name `PROVIDER/MODEL`, and raises
    `AgentError` with the reason if it cannot.
    """

    def __init__(
        self,
        *,
        config: Config,
        session: Session,
        ports: Ports,
        start: SessionStarted,
        artifacts: Path,
        sandbox: SandboxStatus,
        choose_model: Callable[[str], Model] | None = None,
    ) -> None:
        self._config = config
        self._session = session
        self._ports = ports
        self._first = start
        self._artifacts = artifacts
        self._sandbox = sandbox
        self._choose_model = choose_model
        self._commands: asyncio.Queue[Command] = asyncio.Queue(MAX_COMMANDS)
        self._waits = Waits()
        self._meter = Meter()
        self._answers = deque(config.answers)
        self._wake = asyncio.Event()
        self._stop = Stop()
        self._turn: asyncio.Task[None] | None = None
        self._early: dict[str, tuple[ApprovalAsked, ApprovalDecided]] = {}
        self._recovery = Recovery(self._scope())

    def send(self, command: Command) -> None:
        """Put a command in the queue; never blocks, never raises; refusal is an event."""
        try:
            self._commands.put_nowait(command)
        except asyncio.QueueFull:
            self._refuse(command, "too many commands are waiting")

    def events(self) -> Reader:
        """A new reader of the stream, from now on; durable events are never dropped for it."""
        return self._session.subscribe()

    async def run(self) -> None:
        """Serve commands until `Shutdown`; raises RecordsError when not even the start can be stored."""
        await self._open()
        closing = ""
        while not closing:
            command = await self._commands.get()
            closing = command.body.why if isinstance(command.body, Shutdown) else ""
            try:
                await self._handle(command)
            except RecordsError as error:
                self._refuse(command, str(error))
        await self._close(closing)

    # --- life ---------------------------------------------------------------------------------

    async def _open(self) -> None:
        for asked, decided in self._session.fold.grants:
            self._ports.gate.restore(asked, decided)
        session = self._session
        if session.fold.first is None:
            await session.commit(self._first)
        else:
            kill_lost_terminals(session, self._first.boot_id)
            again = replace(self._first, resumed=True, system="", project="")
            await session.commit(again, *crash_parts(session))
            await self._recovery.begin()
        self._show_status()

    def _show_status(self) -> None:
        self._session.show(
            StatusChanged(
                sandbox=self._sandbox,
                undo=self._ports.checkpointer.health(),
                model=self._ports.model.info.model,
                approval=str(self._config.approval),
                context_window=self._ports.model.info.context_window,
                activity="",
            )
        )

    async def _close(self, why: str) -> None:
        if self._turn is not None:
            self._stop.interrupt(why)
            _, pending = await asyncio.wait({self._turn}, timeout=SHUTDOWN_S)
            if pending:
                self._stop.interrupt(why, force=True)
                await asyncio.wait({self._turn}, timeout=SHUTDOWN_S)
        await self._ports.toolbox.close()
        await self._ports.checkpointer.close()
        await self._session.settle(
            *inbox.returns(self._session, "the session was closed"), SessionClosed(reason=why)
        )
        await self._session.close()

    # --- turns --------------------------------------------------------------------------------

    @property
    def _busy(self) -> bool:
        return self._turn is not None and not self._turn.done()

    def _start_turn(self) -> None:
        """Start driving when idle; a turn that runs takes what waits by itself."""
        if not self._busy:
            self._turn = asyncio.create_task(self._drive())

    async def _drive(self) -> None:
        """Turns until nothing waits that may start one."""
        going_on = True
        while going_on:
            self._stop = Stop()
            await Turn(self._scope(), self._recovery, wake=self._wake).run()
            paused = self._session.fold.task_status is TaskStatus.PAUSED
            if paused and not self._stop.now.is_set():
                await self._session.settle(*inbox.returns(self._session, "the run stopped"))
            self._session.show(StatusChanged(activity=""))
            going_on = bool(self._session.fold.inbox)

    def _scope(self) -> Scope:
        info = self._ports.model.info
        return Scope(
            session=self._session,
            config=self._config,
            ports=self._ports,
            stop=self._stop,
            waits=self._waits,
            meter=self._meter,
            window=Window(size=info.context_window, max_output=info.max_output),
            artifacts=self._artifacts,
            boot_id=self._first.boot_id,
            answers=self._answers,
            early=self._early,
        )

    # --- commands -----------------------------------------------------------------------------

    def _refuse(self, command: Command, reason: str) -> None:
        self._session.show(Refused(command_id=command.id, reason=reason), cause=command.id)

    async def _handle(self, command: Command) -> None:
        match command.body:
            case Submit():
                refusal = await self._submit(command.body, command.id)
            case EditPending():
                body = command.body
                refusal = await inbox.edit(self._session, body.input_id, body.text, body.kind, command.id)
            case Decide():
                refusal = await self._decide(command.body, command.id)
            case Answer():
                refusal = await self._answer(command.body, command.id)
            case Interrupt():
                refusal = await self._interrupt(command.body, command.id)
            case Pause():
                self._stop.pause("you paused the run")
                refusal = "" if self._busy else "nothing runs"
            case Continue():
                refusal = self._continue()
            case Settle():
                refusal = await self._settle(command.body)
            case Shutdown():
                refusal = ""
            case RunShell() | TerminalInput() | Compact() | Rollback() | Redo() | Set() | Inspect():
                refusal = "this command is not available yet"
        if refusal:
            self._refuse(command, refusal)

    async def _submit(self, body: Submit, cause: str) -> str:
        refusal = inbox.refusal(self._session, body.text, body.images)
        if refusal:
            return refusal
        kind = body.kind
        if kind is InputKind.PROMPT and self._busy and not self._stop.now.is_set():
            kind = InputKind.STEER
        await inbox.accept(self._session, body.text, body.images, kind, cause)
        if body.now and self._busy:
            self._stop.skipping.set()
        self._wake.set()
        self._start_turn()
        return ""

    async def _decide(self, body: Decide, cause: str) -> str:
        asked = self._session.fold.approvals.get(body.approval_id)
        if asked is None:
            return "this approval was answered already"
        if body.digest != asked.digest:
            return "the question has changed since it was shown"
        if body.decision not in asked.choices:
            return f"`{body.decision}` is not offered here"
        decided = ApprovalDecided(
            approval_id=body.approval_id,
            call_id=asked.call_id,
            decision=body.decision,
            by="person",
            scope=asked.session_key if body.decision == "session" else "",
            feedback=body.feedback,
            edited=body.edited,
            grant=body.grant,
        )
        done = await self._session.commit(
            decided, cause=cause, when=lambda: body.approval_id in self._session.fold.approvals
        )
        if not done:
            return "this approval was answered already"
        if self._busy:
            self._waits.give(body.approval_id, decided)
        else:
            self._early[asked.call_id] = (asked, decided)
        self._start_turn()
        return ""

    async def _answer(self, body: Answer, cause: str) -> str:
        if not isinstance(self._session.fold.questions.get(body.question_id), QuestionAsked):
            return "this question was answered already"
        await self._session.commit(
            QuestionAnswered(question_id=body.question_id, text=body.text), cause=cause
        )
        self._waits.give(body.question_id, body.text)
        self._start_turn()
        return ""

    async def _settle(self, body: Settle) -> str:
        asked = self._session.fold.questions.get(body.question_id)
        if not isinstance(asked, LostResultAsked):
            return "this result is settled already"
        refusal = await self._recovery.settle(asked.call_id, body.choice)
        if not refusal and body.choice != "stop" and not self._recovery.open_calls:
            self._start_turn()
        return refusal

    async def _interrupt(self, body: Interrupt, cause: str) -> str:
        if not self._busy:
            return "nothing runs"
        self._stop.interrupt(body.why, force=body.force)
        returned: list[Body] = inbox.returns(self._session, "the run was interrupted")
        if returned:
            await self._session.settle(*returned, cause=cause)
        return ""

    def _continue(self) -> str:
        if self._busy:
            self._wake.set()
            return ""
        if self._session.fold.task_status is not TaskStatus.PAUSED:
            return "there is no paused task"
        self._start_turn()
        return ""
