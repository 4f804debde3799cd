"""What the fixed parts of the screen show; changed by the feed, read by the widgets."""

from dataclasses import field

from agent_tui.engine import events
from agent_tui.engine.types import Config, EndReason, InputKind, SandboxStatus, TaskStatus, moved
from agent_tui.frozen import mutable
from agent_tui.outstanding import Outstanding
from checkpoints.types import Health
from context.items import Image

Question = events.ApprovalAsked | events.QuestionAsked | events.LostResultAsked


@mutable
class Asked:
    """A question that is or was open; `answer` is its answer in words."""

    event: Question
    answer: str = ""

    @property
    def id(self) -> str:
        """Id that the answer names."""
        return (
            self.event.approval_id if isinstance(self.event, events.ApprovalAsked) else self.event.question_id
        )


@mutable
class Pending:
    """A message that is accepted and not delivered."""

    input_id: str
    kind: InputKind
    text: str
    images: tuple[Image, ...] = ()
    now: str = ""  # for a steer now: what that does, in words


@mutable
class Retry:
    """A model call that is sent again later."""

    attempt: int
    attempts: int
    due_at: float  # UTC seconds
    error: str
    kind: str = ""  # class of the failure
    since: float = 0.0  # UTC seconds of the first try


@mutable
class Status:
    """Facts of the status line."""

    model: str = ""
    effort: str = ""
    context_used: int = 0
    context_window: int = 0
    context_soft: int = 0  # 0: not told
    context_hard: int = 0
    cost_usd: float | None = None
    max_cost_usd: float | None = None
    sandbox: SandboxStatus | None = None
    approval: str = ""
    undo: Health | None = None
    terminals: int = 0
    branch: str = ""
    changed_files: int = 0  # when the session began, other than git has them


def status_of(config: Config) -> Status:
    """What the settings say, until the engine says more."""
    model = config.model
    return Status(
        model=model.name if model else "",
        effort=(model.effort or "") if model else "",
        context_window=model.context_window if model else 0,
        approval=config.approval.value,
        max_cost_usd=config.budgets.max_cost_usd,
    )


@mutable
class State:
    """The session as the screen knows it."""

    session_id: str = ""
    workspace: str = ""
    title: str = ""
    first_model: str = ""  # the one it began with, and the address that was given with it
    base_url: str = ""
    status: Status = field(default_factory=Status)
    activity: str = ""  # word of the engine: thinking, answering, running, compacting
    drafting: str = ""  # tool whose call the model is writing
    task: TaskStatus | None = None
    busy: bool = False
    paused: bool = False
    stored_calls: int = 0  # of the newest turn, whose results are on disk
    not_run: int = 0  # calls of the newest step that were denied, or skipped
    step: int = 0
    turn_started_at: float = 0.0
    activity_at: float = 0.0
    held_at: float = 0.0  # since when a call waits for the first checkpoint; 0 while none does
    import_at: float = 0.0  # when the first checkpoint began to be taken
    heard_at: float = 0.0  # of the newest sign of life of the model; 0 while no request is out
    stopping_at: float = 0.0
    retry: Retry | None = None
    running: set[str] = field(default_factory=set)
    pending: list[Pending] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    terminals: dict[str, events.TerminalChanged] = field(default_factory=dict)
    ready: bool = False
    resumed_at: int = 0  # event at which this process continued a stored session
    closed: bool = False
    is_kept: bool = True  # false once it was closed without a word said
    ended: EndReason | None = None  # of the last turn
    ended_files: int = 0  # that the last turn changed
    last_answer: str = ""
    last_rollback: events.RolledBack | None = None  # what a redo would take back
    rolled_back_at: float = 0.0  # UTC seconds
    going_back: int | None = None  # steps of a rollback or redo that was sent and has not ended
    changed: Outstanding = field(default_factory=Outstanding)  # files, in this session
    answers: dict[str, str] = field(default_factory=dict)  # command → question that it answers
    sent: dict[str, tuple[str, tuple[Image, ...]]] = field(default_factory=dict)  # command → what was typed
    dropped: set[str] = field(default_factory=set)  # pending ids that were removed, not taken back
    given_back: int = 0  # of them, those that an end of the run gave back, to be said once
    returned: list[str] = field(default_factory=list)  # texts for the editor, taken by the app
    images_back: list[Image] = field(default_factory=list)  # of them, for the next message

    @property
    def is_stoppable(self) -> bool:
        """Whether something goes on that Esc and Ctrl+C stop: a turn, a compaction, a call."""
        return self.busy or self.activity == "compacting" or bool(self.running)

    @property
    def open_questions(self) -> list[Asked]:
        """Those without an answer."""
        return [asked for asked in self.asked if not asked.answer]

    @property
    def live_terminals(self) -> list[events.TerminalChanged]:
        """Terminals whose process is alive."""
        return [terminal for terminal in self.terminals.values() if terminal.state == "live"]

    def move_pending(self, input_id: str, before: str | None) -> None:
        """Put a message that waits before another one, or behind all; None: it stays."""
        by_id = {each.input_id: each for each in self.pending}
        self.pending = [*moved(by_id, input_id, before).values()]

    @property
    def provider(self) -> str:
        """Who is asked for answers."""
        return self.status.model.partition("/")[0]

    def end_turn(self, body: events.TurnEnded) -> None:
        """Nothing works any more."""
        self.busy, self.activity, self.retry, self.stopping_at, self.heard_at = False, "", None, 0.0, 0.0
        self.ended, self.ended_files = body.reason, len(body.changes)
        self.running.clear()
        self.last_answer = body.text or self.last_answer

    def told_undo(self, undo: Health | None, at: float) -> None:
        """Remember when the first checkpoint began, before its news is taken in."""
        before = self.status.undo
        if undo is not None and (before is None or before.state != "importing"):
            self.import_at = at

    def take_over(self, earlier: "State") -> None:
        """Keep what the stored part of the session says and this process has not said since."""
        self.title = self.title or earlier.title
        self.first_model = earlier.first_model or self.first_model
        self.base_url = self.base_url or earlier.base_url
        self.not_run = self.not_run or earlier.not_run
        self.last_answer = self.last_answer or earlier.last_answer
        if self.last_rollback is None and not self.turn_started_at:
            self.last_rollback, self.rolled_back_at = earlier.last_rollback, earlier.rolled_back_at
            self.returned += self.last_rollback.messages if self.last_rollback is not None else ()
        self.changed = self.changed.behind(earlier.changed)
        status, before = self.status, earlier.status
        status.context_used = status.context_used or before.context_used
        status.cost_usd = before.cost_usd if status.cost_usd is None else status.cost_usd
