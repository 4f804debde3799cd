"""The engine as its front ends hold it: a queue of commands in, the stream of events out.

Starts turns when messages wait, answers what commands ask, ends within two seconds of `Shutdown`.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
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
from agent_tui.engine.compaction import Compactor
from agent_tui.engine.desk import Desk, Early
from agent_tui.engine.drift import drift_parts
from agent_tui.engine.events import (
    Inspected,
    NoticeRaised,
    Refused,
    SessionClosed,
    SessionStarted,
    StatusChanged,
)
from agent_tui.engine.framing import view_of, window_of
from agent_tui.engine.hub import Reader
from agent_tui.engine.inspection import InspectionError, inspect
from agent_tui.engine.limits import named_limits
from agent_tui.engine.loop import Turn
from agent_tui.engine.own_calls import run_own
from agent_tui.engine.ports import Ports
from agent_tui.engine.resume import Recovery, crash_parts, kill_lost_terminals
from agent_tui.engine.scope import Scope
from agent_tui.engine.session import Session
from agent_tui.engine.settings import SettingError, apply, assumption_parts, change
from agent_tui.engine.snapshots import Snapshots
from agent_tui.engine.standby import Relay
from agent_tui.engine.stop import Stop, StoppedError
from agent_tui.engine.title import give_title, wants_title
from agent_tui.engine.types import OF_SANDBOX, Config, InputKind, SandboxStatus, TaskStatus
from agent_tui.engine.undo import redo, roll_back
from agent_tui.engine.waits import Waits
from agent_tui.engine.watching import Watch
from agent_tui.engine.wave import Wave
from checkpoints.records import RecordsError
from context.budget import Window
from context.estimate import Meter
from context.items import CompactionItem, NoticeItem, ResponseItem, RollbackItem

MAX_COMMANDS = 1_000
NOTHING_PAUSED = "there is no paused task"
_CHANGE_THE_VIEW = (CompactionItem, RollbackItem)
ENDS_S = 0.5  # between the last word of a run and its last write; no other command is taken meanwhile
SHUTDOWN_S = 1.0  # for the running turn to end; after it what still runs is killed (2 s in all)


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
        notices: tuple[str, ...] = (),
    ) -> None:
        self._config = config
        self._session = session
        self._ports = ports
        self._relay = Relay(ports)
        self._first = start
        self._artifacts = artifacts
        self._sandbox = sandbox
        self._notices = notices
        self._commands: asyncio.Queue[Command] = asyncio.Queue(MAX_COMMANDS)
        self._waits = Waits()
        self._meter = Meter()
        self._answers = deque(config.answers)
        self._wake = asyncio.Event()
        self._continues: list[str] = []  # commands to go on that no turn has taken up
        self._stop = Stop()
        self._work: asyncio.Task[None] | None = None  # turns, a shell command or a compaction
        self._asides: set[asyncio.Task[None]] = set()  # inspections and the watch
        self._naming: asyncio.Task[None] | None = None
        self._early: Early = {}
        self._desk = Desk(session, self._waits, self._early, lambda: self._busy)
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
        session = self._session
        for asked, decided in session.fold.grants:
            self._ports.gate.restore(asked, decided)
        if session.fold.first is None:
            await session.commit(self._first, *named_limits(self._config, {}))
        else:
            kill_lost_terminals(session, self._first.boot_id)
            paused = session.fold.task_status is TaskStatus.PAUSED
            again = replace(self._first, resumed=True, system="", project="", paused=paused)
            limits = named_limits(self._config, session.fold.settings)
            crash = crash_parts(session)
            items = sum(isinstance(part, NoticeItem) for part in crash)
            drift = drift_parts(
                session, again.settings or {}, ahead=items, names_model=self._config.names("model")
            )
            await session.commit(again, *crash, *drift, *limits)
            self._restore_settings()
            self._recall_sizes()
            await self._recovery.begin()
        for text in self._opening_notices():
            await session.commit(NoticeRaised(text=text, level="warning"))
        if told := assumption_parts(session, self._ports):
            await session.commit(*told)
        self._show_status()
        watch = Watch(session, self._ports)
        self._aside(watch.run())
        self._aside(watch.follow_terminals())
        if self._config.interactive and not session.fold.log and self._ports.branch():
            self._aside(watch.count_changes())

    def _opening_notices(self) -> list[str]:
        unread = self._session.unreadable
        lost = [f"{unread} records of this session cannot be read by this version"] if unread else []
        return [*self._notices, *lost]

    def _restore_settings(self) -> None:
        """Model and effort go on as they were, unless this start names a model; what guards the
        machine is as this start says."""
        for key in ("model", "effort"):
            value = self._session.fold.settings.get(key, "")
            if value and not (key == "model" and self._config.names("model")):
                try:
                    self._use(apply(self._ports, key, value))
                except SettingError as error:
                    self._notices += (f"the session's {key} `{value}` cannot be used: {error}",)

    def _use(self, ports: Ports) -> None:
        """Work with these ports; a run that is under way asks another model from its next request on."""
        is_other = ports.model is not self._ports.model
        self._ports = ports
        if self._busy and is_other:
            self._relay.choose(ports.model)
            self._wake.set()  # a wait for the next attempt ends now
        elif not self._busy:
            self._relay = Relay(ports)
            self._meter = Meter() if is_other else self._meter  # another model counts otherwise

    def _recall_sizes(self) -> None:
        """Measure on from the newest prompt size that this model's provider reported."""
        log, model = self._session.fold.log, self._ports.model.info.model
        since = max((n for n, item in enumerate(log) if isinstance(item, _CHANGE_THE_VIEW)), default=-1)
        own = [item for item in log[since + 1 :] if isinstance(item, ResponseItem)]
        scope = self._scope()
        self._meter.recall(view_of(scope), {item.id for item in own if item.origin.model == model})

    def _show_status(self) -> None:
        scope, fold = self._scope(), self._session.fold
        self._session.show(
            StatusChanged(
                sandbox=self._sandbox_now(),
                undo=self._ports.checkpointer.health(),
                model=self._ports.model.info.name,
                approval=str(self._ports.gate.approval()),
                context_used=self._meter.tokens(view_of(scope)) if fold.log else None,
                context_window=window_of(scope).size,
                cost_usd=fold.spent.cost_usd if fold.log else None,
                branch=self._ports.branch(),
                activity="",
            )
        )

    def _sandbox_now(self) -> SandboxStatus:
        """What this machine can do, and what is set now."""
        now = self._ports.gate.policy()
        return replace(self._sandbox, mode=now.mode, network=now.network, extra_roots=len(now.extra_roots))

    async def _close(self, why: str) -> None:
        """Within a few seconds: stop what runs, end what it started, say goodbye."""
        if self._work is not None:
            self._stop.interrupt(why, closing=True)
            _, pending = await asyncio.wait({self._work}, timeout=SHUTDOWN_S)
            if pending:
                self._stop.interrupt(why, force=True)
                await asyncio.wait({self._work}, timeout=SHUTDOWN_S)
        for task in (asides := tuple(self._asides)):
            task.cancel()
        await self._ports.toolbox.close()
        if asides:  # what a title took so far is stored
            await asyncio.wait(asides, timeout=SHUTDOWN_S)
        await inbox.give_back(self._session, "the session was closed")
        if not await self._session.settle():  # what is still in memory has its last chance here
            text = "the end of this session could not be stored; a resume begins before it"
            await self._session.settle(NoticeRaised(text=text, level="error"))
        await self._session.settle(SessionClosed(reason=why, kept=not self._session.fold.is_unused))
        await self._session.close()
        await self._ports.checkpointer.close()  # may wait for a long checkpoint; the session is safe by now

    def _aside(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._asides.add(task)
        task.add_done_callback(self._asides.discard)
        return task

    # --- work ---------------------------------------------------------------------------------

    @property
    def _busy(self) -> bool:
        return self._work is not None and not self._work.done()

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        self._work = asyncio.create_task(work)

    def _start_turn(self) -> None:
        """Start driving when idle; a turn that runs takes what waits by itself."""
        if not self._busy:
            self._begin(self._drive(wanted=True))

    async def _drive(self, *, wanted: bool) -> None:
        """Turns until nothing waits that may start one; `wanted`: the first even without a message."""
        if self._relay.has_choice:
            self._return_to_chosen_model()
        while wanted or self._session.fold.inbox or self._continues:
            wanted, asked = False, self._continues
            self._continues = []
            self._stop = Stop()
            if await Turn(self._scope(), self._recovery, wake=self._wake).run() is None:
                for cause in asked:
                    self._session.show(Refused(command_id=cause, reason=NOTHING_PAUSED), cause=cause)
            self._return_to_chosen_model()
            self._give_title()
            paused = self._session.fold.task_status is TaskStatus.PAUSED
            if paused and not self._stop.now.is_set():
                await inbox.give_back(self._session, "the run stopped")
            self._session.show(StatusChanged(activity="", branch=self._ports.branch()))

    def _give_title(self) -> None:
        """Only one is asked for, however many turns end before it is there."""
        is_asked = self._naming is not None and not self._naming.done()
        if not is_asked and wants_title(self._scope()):
            self._naming = self._aside(give_title(self._scope()))

    def _return_to_chosen_model(self) -> None:
        if self._relay.has_changed or self._relay.is_planning or self._relay.has_choice:
            self._relay = Relay(self._ports)
            self._meter = Meter()
            self._recall_sizes()
            info = self._ports.model.info
            self._session.show(StatusChanged(model=info.name, context_window=info.context_window))

    async def _shell(self, body: RunShell, cause: str) -> None:
        """The person's own command; its output goes to the model when it is wanted there."""
        self._stop = Stop()
        scope = self._scope()
        try:
            wave = Wave(scope, Snapshots(scope), self._session.fold.steps)
            own = {"cmd": body.command}
            outcome = await run_own(scope, wave, "exec_command", own, "person", to_model=body.to_context)
            if body.to_context:
                text = f"The user ran `{body.command}`:\n{outcome.text}"
                await self._session.commit(NoticeItem(id=self._session.item_id("n"), text=text), cause=cause)
        except StoppedError:
            pass
        except RecordsError as error:
            self._session.show(Refused(command_id=cause, reason=str(error)))
        await self._drive(wanted=False)

    async def _compact(self, body: Compact, cause: str) -> None:
        def work(compactor: Compactor) -> Awaitable[str]:
            return compactor.undo() if body.undo else compactor.manual(body.focus)

        await self._compacting(work, cause, "")

    async def _compacting(self, work: Callable[[Compactor], Awaitable[str]], cause: str, kept: str) -> None:
        self._stop = Stop()
        scope = self._scope()
        self._session.show(StatusChanged(activity="compacting"))
        try:
            refusal = await work(Compactor(scope, lambda: view_of(scope)))
        except StoppedError:
            refusal = kept  # a stop leaves that as it is, besides the view
        except RecordsError as error:
            refusal = str(error)
        if refusal:
            self._session.show(Refused(command_id=cause, reason=refusal), cause=cause)
        self._session.show(StatusChanged(activity=""))
        await self._drive(wanted=False)

    def _scope(self) -> Scope:
        return Scope(
            session=self._session,
            config=self._config,
            ports=self._relay.ports,
            relay=self._relay,
            stop=self._stop,
            waits=self._waits,
            meter=self._meter,
            artifacts=self._artifacts,
            boot_id=self._first.boot_id,
            answers=self._answers,
            early=self._early,
        )

    # --- commands -----------------------------------------------------------------------------

    def _refuse(self, command: Command, reason: str) -> None:
        self._session.show(Refused(command_id=command.id, reason=reason), cause=command.id)

    async def _handle(self, command: Command) -> None:
        refusal = await self._obey(command)
        if refusal:
            self._refuse(command, refusal)

    async def _obey(self, command: Command) -> str:
        """Do what a command says; returns a refusal or ''."""
        cause = command.id
        match command.body:
            case Submit():
                return await self._submit(command.body, cause)
            case EditPending() as body:
                return await inbox.edit(self._session, body.input_id, body.text, body.kind, cause)
            case Decide():
                refusal = await self._desk.decide(command.body, cause)
                return refusal or ("" if self._recovery.undecided else self._go_on())
            case Answer():
                return await self._desk.answer(command.body, cause)
            case Settle():
                return await self._settle(command.body)
            case Interrupt() | Pause() | Continue():
                return await self._steer_run(command.body, cause)
            case Inspect():
                self._aside(self._inspect(command.body, cause))
                return ""
            case TerminalInput() as body:
                size = (body.columns, body.rows) if body.columns and body.rows else None
                return await self._ports.toolbox.terminal_input(body.terminal, body.chars, body.signal, size)
            case Set() as body:
                return await (self._switch_model if body.key == "model" else self._change)(body, cause)
            case Shutdown():
                return ""
            case _:
                return await self._when_idle(command)

    async def _when_idle(self, command: Command) -> str:
        """Commands that would get in the way of a run; one that has told its end gets a moment to be done."""
        if self._work is not None:
            await asyncio.wait({self._work}, timeout=ENDS_S)
        if self._busy:
            return "a run is under way; interrupt it or wait for its end"
        match command.body:
            case RunShell():
                self._begin(self._shell(command.body, command.id))
            case Compact():
                self._begin(self._compact(command.body, command.id))
            case Rollback():
                return await roll_back(self._scope(), command.body, command.id)
            case Redo():
                return await redo(self._scope(), command.id)
        return ""

    async def _change(self, body: Set, cause: str) -> str:
        try:
            self._use(await change(self._session, self._ports, body.key, body.value, cause))
        except SettingError as error:
            return str(error)
        if body.key in OF_SANDBOX:
            self._session.show(StatusChanged(sandbox=self._sandbox_now()), cause=cause)
        return ""

    async def _switch_model(self, body: Set, cause: str) -> str:
        """Change the model; a view too big for it is compacted first, as work of its own, or in a run
        before the next request."""
        try:
            info = apply(self._ports, body.key, body.value).model.info
        except SettingError as error:
            return str(error)
        window = Window(size=info.context_window, max_output=info.max_output)
        scope = self._scope()
        if self._busy or not Compactor(scope, lambda: view_of(scope)).is_too_big_for(window):
            return await self._change(body, cause)
        self._begin(self._shrink_and_switch(body, window, cause))
        return ""

    async def _shrink_and_switch(self, body: Set, window: Window, cause: str) -> None:
        before = self._ports.model

        async def work(compactor: Compactor) -> str:
            await compactor.shrink_for(window, body.value)
            is_newest = self._ports.model is before
            return await self._change(body, cause) if is_newest else "another model was chosen meanwhile"

        await self._compacting(work, cause, "the model is as before")

    async def _submit(self, body: Submit, cause: str) -> str:
        refusal = inbox.refusal(self._session, body.text, body.images)
        if refusal:
            return refusal
        kind = body.kind
        if kind is InputKind.PROMPT and self._busy and not self._stop.now.is_set():
            kind = InputKind.STEER
        now = body.now and self._busy
        await inbox.accept(self._session, body, kind, cause, now=now)
        if now:
            self._stop.skipping.set()
        self._wake.set()
        return self._go_on()

    def _go_on(self) -> str:
        self._start_turn()
        return ""

    async def _settle(self, body: Settle) -> str:
        refusal = await self._desk.settle(body, self._recovery)
        if not refusal and body.choice != "stop" and not self._recovery.open_calls:
            self._start_turn()
        return refusal

    async def _steer_run(self, body: Interrupt | Pause | Continue, cause: str) -> str:
        if isinstance(body, Continue):
            return self._continue(cause)
        if not self._busy:
            return "nothing runs"
        if isinstance(body, Pause):
            self._stop.pause("you paused the run")
            self._wake.set()
            return ""
        self._stop.interrupt(body.why, force=body.force, cancel=body.cancel)
        await inbox.give_back(self._session, "the run was interrupted", cause)
        return ""

    def _continue(self, cause: str) -> str:
        """A turn follows, or one is open, or it is refused: whoever asked is never left waiting."""
        if self._busy and self._session.fold.is_running:
            self._wake.set()  # a wait for the next attempt ends now
            return ""
        if not self._busy and self._session.fold.task_status is not TaskStatus.PAUSED:
            return NOTHING_PAUSED
        if self._recovery.undecided:
            return self._recovery.undecided
        self._continues.append(cause)
        return self._go_on()

    async def _inspect(self, body: Inspect, cause: str) -> None:
        try:
            data = await inspect(self._scope(), body)
        except (InspectionError, RecordsError) as error:
            self._session.show(Refused(command_id=cause, reason=str(error)), cause=cause)
        else:
            self._session.show(Inspected(command_id=cause, data=data), cause=cause)
