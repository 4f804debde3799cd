"""What line mode knows of its session: for `/status`, `/plan`, redo, and the words at the end."""

import asyncio
from collections.abc import Iterable
from dataclasses import field, fields, replace

from agent_tui import handover
from agent_tui.engine.events import (
    Body,
    CallDrafted,
    CallEnded,
    CallProposed,
    InputAccepted,
    InputDelivered,
    InputEdited,
    InputReturned,
    LostResultAsked,
    PlanChanged,
    ReasoningStreamed,
    RetryScheduled,
    RolledBack,
    SessionClosed,
    SessionStarted,
    SettingChanged,
    StatusChanged,
    StepStarted,
    TaskChanged,
    TerminalChanged,
    TextStreamed,
    TurnEnded,
    TurnStarted,
)
from agent_tui.engine.types import RULES_FILE, Config, SandboxStatus, TaskStatus, moved
from agent_tui.figures import count
from agent_tui.frozen import mutable
from agent_tui.outstanding import Outstanding
from agent_tui.plain.words import money, sandbox_words, undo_words
from agent_tui.safe_text import one_line
from agent_tui.short_path import short_path
from tools.types import OutcomeStatus

_GOES_ON = (StepStarted, TextStreamed, ReasoningStreamed, CallDrafted, TurnEnded)


@mutable
class Standing:
    """Changed by events, read by commands."""

    config: Config
    session_id: str = ""
    workspace: str = ""
    model: str = ""
    address: tuple[str, str] = ("", "")  # model at the start, and the base URL given with it
    title: str = ""
    resumed: bool = False  # it has records of an earlier process
    running: bool = False
    paused: bool = False
    not_run: int = 0  # calls of the newest step that were denied, or skipped
    is_kept: bool = True  # false once it was closed without a word said
    waits_to_retry: bool = False
    plan: PlanChanged | None = None
    last_rollback: RolledBack | None = None
    no_terminal: asyncio.Event = field(default_factory=asyncio.Event)  # none is live any more
    pending: dict[str, InputAccepted] = field(default_factory=dict)  # messages that are in no turn yet
    arguments: dict[str, str] = field(default_factory=dict)  # of calls without an outcome
    _status: StatusChanged = field(default_factory=StatusChanged)
    _terminals: dict[str, TerminalChanged] = field(default_factory=dict)
    _changed: Outstanding = field(default_factory=Outstanding)

    def take(self, body: Body) -> None:
        """One event."""
        self._changed.take(body)
        self._take_retry(body)
        self._take_call(body)
        self._take_input(body)
        match body:
            case SessionStarted():
                self.session_id, self.workspace, self.model = body.session_id, body.workspace, body.model
                self.address = (body.model, body.base_url)
                self.resumed, self.paused = body.resumed, body.paused
            case SessionClosed():
                self.is_kept = body.kept
            case SettingChanged(key="title"):
                self.title = body.value
            case StatusChanged():
                self._take_status(body)
            case TaskChanged():
                self.paused = body.status is TaskStatus.PAUSED
            case TurnStarted():
                self.running, self.paused, self.last_rollback = True, False, None
            case TurnEnded():
                self.running = False
            case PlanChanged():
                self.plan = body
            case RolledBack():
                self.last_rollback = None if body.redo_of else body
            case TerminalChanged():
                self._terminals[body.terminal] = body
                (self.no_terminal.clear if self.live_terminals else self.no_terminal.set)()
            case _:
                pass

    def recall(self, stored: Iterable[Body]) -> None:
        """Take over what an earlier process of the session said and this one does not say again."""
        earlier = Standing(config=self.config)
        for body in stored:
            earlier.take(body)
        self.title, self.plan, self.last_rollback = earlier.title, earlier.plan, earlier.last_rollback
        self.arguments, self.not_run = earlier.arguments, earlier.not_run
        self._changed = earlier._changed

    def _take_call(self, body: Body) -> None:
        match body:
            case StepStarted():
                self.not_run = 0
            case CallProposed():
                self.arguments[body.call_id] = body.arguments
            case CallEnded():
                self.arguments.pop(body.call_id, None)
                self.not_run += body.outcome.status in (OutcomeStatus.DENIED, OutcomeStatus.SKIPPED)
            case _:
                pass

    def _take_input(self, body: Body) -> None:
        match body:
            case InputAccepted():
                self.pending[body.input_id] = body
            case InputEdited() if body.input_id in self.pending:
                known = self.pending[body.input_id]
                self.pending[body.input_id] = replace(known, text=body.text, kind=body.kind)
                self.pending = moved(self.pending, body.input_id, body.before)
            case InputDelivered() | InputReturned():
                self.pending.pop(body.input_id, None)
            case _:
                pass

    def _take_retry(self, body: Body) -> None:
        """What comes beside a wait, such as the state of a terminal, does not end it."""
        if isinstance(body, RetryScheduled):
            self.waits_to_retry = True
        elif isinstance(body, _GOES_ON):
            self.waits_to_retry = False

    def _take_status(self, body: StatusChanged) -> None:
        known = {item.name: getattr(body, item.name) for item in fields(body)}
        said = {key: value for key, value in known.items() if value is not None}
        self._status = replace(self._status, **said)
        self.model = self._status.model or self.model

    @property
    def is_compacting(self) -> bool:
        """Whether a compaction goes on outside of a turn."""
        return self._status.activity == "compacting"

    @property
    def is_spoken(self) -> bool:
        """Whether a screen reader is served."""
        return self.config.interface.get("screen_reader") == "true"

    @property
    def rules(self) -> str:
        """The file that a saved rule goes to, as it is shown."""
        return short_path(self.config.config_dir / RULES_FILE)

    @property
    def live_terminals(self) -> list[TerminalChanged]:
        """Those whose process is alive."""
        return [each for each in self._terminals.values() if each.state == "live"]

    def lines(self) -> list[str]:
        """The facts of the status line, one a line."""
        status, title = self._status, f", {one_line(self.title)}" if self.title else ""
        return [
            f"Session: {one_line(self.session_id, strict=True)}{title}.",
            *self.where(),
            *self.pause(),
            *self._window(),
            *([f"Cost: {money(status.cost_usd)}."] if status.cost_usd is not None else []),
            f"Terminals: {len(self.live_terminals)} live.",
        ]

    def where(self) -> tuple[str, str, str]:
        """Directory; model and sandbox; what else guards the machine."""
        status = self._status
        branch = f", branch {one_line(status.branch, strict=True)}" if status.branch else ""
        branch += f", {count(status.changed_files, 'file')} changed" if status.changed_files else ""
        effort = status.effort or (self.config.model.effort if self.config.model else "")
        model = one_line(self.model, strict=True) or "none"
        return (
            f"Directory: {one_line(short_path(self.workspace), strict=True)}{branch}.",
            f"Model: {model}{f', effort {one_line(effort)}' if effort else ''}. Sandbox: {self._sandbox()}.",
            f"Approvals: {one_line(status.approval or self.config.approval)}."
            + (f" Undo: {undo_words(status.undo)}." if status.undo else ""),
        )

    def pause(self, asked: Iterable[Body] = ()) -> list[str]:
        """What a paused run left, and how it goes on; nothing while none is paused, or where one of the open
        questions is about a lost result: no line goes on before it."""
        if not self.paused or any(isinstance(each, LostResultAsked) for each in asked):
            return []
        missed = f"{count(self.not_run, 'call')} not run. " if self.not_run else ""
        return [f"Paused: {missed}An empty line goes on." if missed else "Paused: an empty line goes on."]

    def guards(self) -> Config:
        """What guards the start that follows this session."""
        return handover.as_now(self.config, self._status.sandbox, self._status.approval or "")

    def _sandbox(self) -> str:
        found = self._status.sandbox
        if found is None:
            found = SandboxStatus(available=True, mode=self.config.sandbox, network=self.config.network)
        return sandbox_words(found, self._status.approval or self.config.approval)

    def _window(self) -> list[str]:
        used, window = self._status.context_used, self._status.context_window
        window = window or (self.config.model.context_window if self.config.model else 0)
        return [f"Context: {used or 0:,} of {window:,} tokens."] if window else []

    def farewell(self) -> list[str]:
        """How to go on; nothing where nothing is kept."""
        if not self.session_id or self.config.ephemeral or not self.is_kept:
            return []
        changed = f", {count(len(self._changed), 'file')} changed" if self._changed else ""
        name = one_line(self.session_id, strict=True)
        lines = [
            "",
            f"agent-tui: session {name} kept{changed}",
            f"  continue   agent-tui resume {name}",
        ]
        if back := self._changed.checkpoint:
            lines.append(f"  take back  agent-tui rollback {one_line(back, strict=True)}")
        return lines
