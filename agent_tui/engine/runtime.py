"""The engine as its front ends hold it: a queue of commands in, the stream of events out.

Starts turns when messages wait, answers what commands ask, ends within two seconds of `Shutdown`.
"""

import asyncio
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
from agent_tui.engine.desk import Desk
from agent_tui.engine.events import Inspected, NoticeRaised, Refused, SessionStarted, StatusChanged
from agent_tui.engine.hub import Reader
from agent_tui.engine.life import close_session, open_session, sandbox_in_force
from agent_tui.engine.ports import Ports
from agent_tui.engine.session import Session
from agent_tui.engine.types import OF_SANDBOX, Config, InputKind, SandboxStatus
from agent_tui.engine.work import Work
from checkpoints.records import RecordsError

MAX_COMMANDS = 1_000
ENDS_S = 0.5  # between the last word of a run and its last write; no other command is taken meanwhile


class EngineRuntime:
    """One session and the process's hold on it; implements `commands.Engine`.

    `start` opens a session that has no records yet, and says what this process is in one that has;
    `notices` are shown once the session is open, such as what became of a damaged store.
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
        notices: tuple[NoticeRaised, ...] = (),
    ) -> None:
        self._session = session
        self._start = start
        self._sandbox = sandbox  # what this machine can do
        self._notices = notices
        self._commands: asyncio.Queue[Command] = asyncio.Queue(MAX_COMMANDS)
        self._work = Work(
            config=config, session=session, ports=ports, artifacts=artifacts, boot_id=start.boot_id
        )
        self._desk = Desk(session, self._work.waits, self._work.early, lambda: self._work.is_busy)

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
        await open_session(self._work, self._start, self._sandbox, self._notices)
        closing = ""
        while not closing:
            command = await self._commands.get()
            closing = command.body.why if isinstance(command.body, Shutdown) else ""
            try:
                await self._handle(command)
            except RecordsError as error:
                self._refuse(command, str(error))
        await close_session(self._work, closing)

    async def _handle(self, command: Command) -> None:
        refusal = await self._obey(command)
        if refusal:
            self._refuse(command, refusal)

    def _refuse(self, command: Command, reason: str) -> None:
        self._session.show(Refused(command_id=command.id, reason=reason), cause=command.id)

    async def _obey(self, command: Command) -> str:
        """Do what a command says; returns a refusal or ''."""
        cause = command.id
        match command.body:
            case Submit():
                return await self._submit(command.body, cause)
            case EditPending():
                return await inbox.edit(self._session, command.body, cause)
            case Decide():
                return await self._decide(command.body, cause)
            case Answer():
                return await self._desk.answer(command.body, cause)
            case Settle():
                return await self._settle(command.body)
            case Continue():
                return self._work.go_on(cause)
            case Interrupt() | Pause():
                return await self._stop_run(command.body, cause)
            case Inspect():
                self._work.aside(self._inspect(command.body, cause))
                return ""
            case TerminalInput() as body:
                return await self._type(body)
            case Set():
                return await self._set(command.body, cause)
            case Shutdown():
                return ""
            case _:
                return await self._when_idle(command)

    async def _type(self, body: TerminalInput) -> str:
        size = (body.columns, body.rows) if body.columns and body.rows else None
        toolbox = self._work.ports.toolbox
        is_hidden = toolbox.terminal_hides(body.terminal)  # before it is taken: that may end a prompt
        refusal = await toolbox.terminal_input(body.terminal, body.chars, body.signal, size)
        if not refusal:
            self._work.by_hand.note(body, is_hidden=is_hidden)
        return refusal

    async def _submit(self, body: Submit, cause: str) -> str:
        refusal = inbox.refusal(self._session, body.text, body.images)
        if refusal:
            return refusal
        work, kind = self._work, body.kind
        if kind is InputKind.PROMPT and work.is_busy and not work.stop.now.is_set():
            kind = InputKind.STEER
        now = body.now and work.is_busy
        await inbox.accept(self._session, body, kind, cause, now=now)
        if now:
            work.stop.skipping.set()
        work.wake.set()
        work.start_turn()
        return ""

    async def _decide(self, body: Decide, cause: str) -> str:
        refusal = await self._desk.decide(body, cause)
        if not refusal and not self._work.recovery.undecided:
            self._work.start_turn()
        return refusal

    async def _settle(self, body: Settle) -> str:
        recovery = self._work.recovery
        refusal = await self._desk.settle(body, recovery)
        if not refusal and body.choice != "stop" and not recovery.open_calls:
            self._work.start_turn()
        return refusal

    async def _stop_run(self, body: Interrupt | Pause, cause: str) -> str:
        work = self._work
        if not work.is_busy:
            return "nothing runs"
        if isinstance(body, Pause):
            work.stop.pause("you paused the run")
            work.wake.set()
            return ""
        work.stop.interrupt(body.why, force=body.force, cancel=body.cancel)
        await inbox.give_back(self._session, "the run was interrupted", cause)
        return ""

    async def _inspect(self, body: Inspect, cause: str) -> None:
        from agent_tui.engine.inspection import InspectionError, inspect

        try:
            data = await inspect(self._work.scope(), body)
        except (InspectionError, RecordsError) as error:
            self._session.show(Refused(command_id=cause, reason=str(error)), cause=cause)
        else:
            self._session.show(Inspected(command_id=cause, data=data), cause=cause)

    async def _set(self, body: Set, cause: str) -> str:
        if body.key == "model":
            return await self._work.switch_model(body, cause)
        refusal = await self._work.change(body, cause)
        if not refusal and body.key in OF_SANDBOX:
            now = sandbox_in_force(self._work.ports, self._sandbox)
            self._session.show(StatusChanged(sandbox=now), cause=cause)
        return refusal

    async def _when_idle(self, command: Command) -> str:
        """Commands that would get in the way of a run; one that has told its end gets a moment to be done."""
        work = self._work
        if work.task is not None:
            await asyncio.wait({work.task}, timeout=ENDS_S)
        if work.is_busy:
            return "a run is under way; interrupt it or wait for its end"
        match command.body:
            case RunShell():
                work.run_shell(command.body, command.id)
            case Compact():
                work.compact(command.body, command.id)
            case Rollback():
                from agent_tui.engine.undo import roll_back

                return await roll_back(work.scope(), command.body, command.id)
            case Redo():
                from agent_tui.engine.undo import redo

                return await redo(work.scope(), command.body, command.id)
        return ""
