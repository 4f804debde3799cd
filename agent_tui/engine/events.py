"""The one typed stream out of the engine.

Two grades. Durable events are the ledger: written before anything acts on them, delivered to every
reader in order, and together with the log's items all that a session is rebuilt from. Transient
events (`TRANSIENT`) are for display: they may be merged or dropped, and are never stored.
"""

from collections.abc import Mapping
from typing import Any, Literal

from agent_tui.engine.call_events import (
    ApprovalAsked,
    ApprovalDecided,
    CallChanged,
    CallEnded,
    CallOutput,
    CallProposed,
    CallSpawned,
    CallStarted,
    CheckpointTaken,
    GrantRemoved,
    InputAwaited,
    LimitFacts,
    LostResultAsked,
    QuestionAnswered,
    QuestionAsked,
    TerminalChanged,
    TerminalTyped,
)
from agent_tui.engine.types import (
    EndReason,
    InputKind,
    PlanStep,
    SandboxStatus,
    TaskStatus,
)
from agent_tui.frozen import frozen
from checkpoints.types import FileChange, Health, RollbackResult
from context.guard import Guard
from context.items import Image, KeptWhole, Usage

__all__ = [
    "TRANSIENT",
    "ApprovalAsked",
    "ApprovalDecided",
    "Body",
    "CallChanged",
    "CallDrafted",
    "CallEnded",
    "CallOutput",
    "CallProposed",
    "CallSpawned",
    "CallStarted",
    "CallTrace",
    "CheckpointTaken",
    "CompactionEnded",
    "CompactionStarted",
    "Event",
    "GrantRemoved",
    "InputAccepted",
    "InputAwaited",
    "InputDelivered",
    "InputEdited",
    "InputReturned",
    "Inspected",
    "LimitFacts",
    "LostResultAsked",
    "NoticeRaised",
    "PlanChanged",
    "ProgressJudged",
    "QuestionAnswered",
    "QuestionAsked",
    "ReasoningStreamed",
    "Refused",
    "ResponseEnded",
    "RetryScheduled",
    "RolledBack",
    "SessionClosed",
    "SessionStarted",
    "SettingChanged",
    "SideRequestEnded",
    "StatusChanged",
    "StepStarted",
    "TaskChanged",
    "TerminalChanged",
    "TerminalTyped",
    "TextStreamed",
    "TurnEnded",
    "TurnStarted",
]

# --- session -----------------------------------------------------------------------------------


@frozen
class SessionStarted:
    """First event of a session, and again with `resumed` of each process that continues it."""

    session_id: str
    workspace: str
    model: str
    system: str = ""  # the frozen system text; only the first one counts
    project: str = ""
    boot_id: str = ""
    resumed: bool = False
    forked_from: str = ""
    settings: Mapping[str, str] | None = None  # shown when they differ at resume
    base_url: str = ""  # given with the model at this start; a later start without one uses it again
    paused: bool = False  # with `resumed`: its newest task waits for `Continue`


@frozen
class StatusChanged:
    """Transient. Facts of the status line; None means unchanged."""

    sandbox: SandboxStatus | None = None
    undo: Health | None = None
    model: str | None = None
    effort: str | None = None
    approval: str | None = None
    context_used: int | None = None  # tokens
    context_window: int | None = None
    context_soft: int | None = None  # above it a compaction runs
    context_hard: int | None = None  # above it nothing can be sent
    cost_usd: float | None = None  # None: unchanged or unknown
    branch: str | None = None
    changed_files: int | None = None  # of the workspace, when the session began: other than git has them
    terminals: int | None = None
    activity: str | None = None  # "thinking", "answering", "running", "compacting", "" for idle


@frozen
class SettingChanged:
    """A setting of the session has a new value, for later processes as well but for what guards the machine;
    see command `Set`."""

    key: str
    value: str


@frozen
class NoticeRaised:
    """Something the person should know; `to_model` says that the model was told too."""

    text: str
    level: Literal["info", "warning", "error"] = "info"
    to_model: bool = False
    key: str = ""  # names a notice that is raised once, such as "budget.turns.200"
    about: Literal["guard", "records", "others", ""] = ""  # in this order at a start


# --- input -------------------------------------------------------------------------------------


@frozen
class InputAccepted:
    """A message is in the inbox, durably; followed by exactly one of Delivered or Returned."""

    input_id: str
    kind: InputKind
    text: str
    images: tuple[Image, ...] = ()
    now: bool = False  # calls that run are told to stop for it, and the rest of their wave is skipped


@frozen
class InputEdited:
    """A pending message has new text, another kind or another place."""

    input_id: str
    text: str
    kind: InputKind
    before: str | None = None  # id of the one it now goes before; empty: behind all; None: it stays


@frozen
class InputDelivered:
    """The message is now item `item_id` of the log; same transaction as that item."""

    input_id: str
    item_id: str
    step: int  # the step it is seen by


@frozen
class InputReturned:
    """The message was taken back, undelivered; its text belongs in the editor again."""

    input_id: str
    text: str
    reason: str


# --- runs and steps ----------------------------------------------------------------------------


@frozen
class TaskChanged:
    """A task has a new state; only legal edges occur."""

    task_id: str
    status: TaskStatus
    cause: str = ""


@frozen
class TurnStarted:
    """A run began; ended by exactly one `TurnEnded`, by a later process if this one is killed."""

    task_id: str
    run_id: str
    attempt: int = 1


@frozen
class StepStarted:
    """A model request goes out; `view_id` names the compaction epoch it uses."""

    step_id: str
    number: int
    view_id: str = ""


@frozen
class TextStreamed:
    """Transient. A piece of the answer of the current step; `offset` counts characters before it."""

    step_id: str
    text: str
    offset: int


@frozen
class ReasoningStreamed:
    """Transient. A piece of reasoning of the current step."""

    step_id: str
    text: str
    offset: int


@frozen
class CallDrafted:
    """Transient. The model is writing the arguments of a call."""

    step_id: str
    tool: str
    arguments_chars: int


@frozen
class RetryScheduled:
    """Transient. A model call failed and is sent again, the same bytes, after `delay_s`."""

    attempt: int
    attempts: int
    delay_s: float
    error: str
    kind: str = ""  # class of the failure: a value of `models.base.ErrorKind`
    http_status: int | None = None


@frozen
class ResponseEnded:
    """A response is whole and on disk with its calls (the item has the same id); text is final."""

    step_id: str
    item_id: str
    text: str
    reasoning: str
    reasoning_s: float
    usage: Usage
    cost_usd: float | None
    reserved_calls: int
    interrupted: bool = False
    grace: bool = False  # the grace call after a limit, which is no step of the work
    model: str = ""  # `PROVIDER/MODEL` that gave it


@frozen
class SideRequestEnded:
    """A request beside the conversation is over; it counts in what is used and is no step."""

    role: Literal["summary", "title"]
    model: str  # `PROVIDER/MODEL`
    usage: Usage
    cost_usd: float | None
    error: str = ""  # why nothing came of it
    interrupted: bool = False  # by us, while it was awaited


@frozen
class TurnEnded:
    """The run is over: one reason, one sentence, what changed, what is left."""

    run_id: str
    reason: EndReason
    sentence: str
    exit_code: int
    usage: Usage
    cost_usd: float | None
    steps: int
    duration_s: float
    changes: tuple[FileChange, ...] = ()
    text: str = ""  # the final answer
    error: str = ""
    last_check: str = ""  # its command
    check_result: str = ""  # such as "passed after the last change"
    report: str = ""  # commands, changed files, last check and open failures, from the records alone
    rejected: Literal["", "key", "model"] = ""  # with `model_rejected`: what `sentence` names

    @property
    def tells_check(self) -> bool:
        """Whether there was a last check that `sentence` does not name."""
        return bool(self.last_check) and self.last_check not in self.sentence


# --- the rest ----------------------------------------------------------------------------------


@frozen
class PlanChanged:
    """The model's plan as a whole."""

    steps: tuple[PlanStep, ...]
    explanation: str = ""


@frozen
class CallTrace:
    """What progress detection keeps of a call: hashes only, never arguments."""

    call_id: str
    tool: str
    call: str  # fingerprint of tool and canonical arguments
    target: str  # fingerprint of what it was about
    result: str  # fingerprint of the normalised result
    failed: bool
    changed: bool  # the workspace, to content not seen before


@frozen
class ProgressJudged:
    """Progress detection after a step; its state is rebuilt from these."""

    step_id: str
    progressed: bool
    traces: tuple[CallTrace, ...]
    idle_steps: int  # consecutive steps without progress
    strikes: int
    blocked: tuple[str, ...] = ()  # call fingerprints that are answered instead of run
    finding: str = ""  # what a detector found, for people and model


@frozen
class CompactionStarted:
    """Transient."""

    cause: str


@frozen
class CompactionEnded:
    """One epoch is done, or was stopped by the person and left the old view (`item_id` empty)."""

    item_id: str
    cause: str
    tokens_before: int
    tokens_after: int
    hidden_units: int
    shortened_results: int
    detail: str = ""
    project: str | None = None  # project instructions, read anew; None: unchanged
    guard: Guard = Guard()  # what keeps compaction from running for nothing
    target_tokens: int = 0  # what the view was to come down to
    steps: tuple[int, ...] = ()  # first and last of those that were hidden
    names: int = 0  # paths, ids and numbers of what was hidden that the new view still holds
    summary_tokens: int = 0  # by a model; 0: none was used
    seconds: float = 0.0
    cost_usd: float | None = 0.0  # of the summary
    undone: str = ""  # item id of the epoch that this one takes back
    names_lost: int = 0  # more of them, which the new view has no room for
    kept: KeptWhole | None = None  # None: of an older session, where it was not counted
    spans: tuple[tuple[int, int], ...] = ()  # `steps` in runs: first and last of each
    messages: tuple[str, ...] = ()  # item ids of the person's messages that were hidden
    no_summary: str = ""  # why the one that was wanted is missing, such as "refused: empty"


@frozen
class RolledBack:
    """Files, conversation or both went back."""

    checkpoint_id: str
    mode: Literal["files", "conversation", "both"]
    files: RollbackResult | None
    item_id: str = ""  # the rollback item, for conversation and both
    redo_of: str = ""
    messages: tuple[str, ...] = ()  # of the person, in what was hidden: for the editor
    paths: tuple[str, ...] = ()  # that alone went back; none: all


@frozen
class Refused:
    """Transient. A command was not accepted; `command_id` tells which."""

    command_id: str
    reason: str


@frozen
class Inspected:
    """Transient. The answer to an `Inspect` command: plain data, the shape is stated with `Subject`."""

    command_id: str
    data: Any


@frozen
class SessionClosed:
    """Last event of a process: nothing follows."""

    reason: str
    kept: bool = True  # false: nothing was ever said, so there is nothing to come back to


Body = (
    SessionStarted
    | StatusChanged
    | SettingChanged
    | NoticeRaised
    | InputAccepted
    | InputEdited
    | InputDelivered
    | InputReturned
    | TaskChanged
    | TurnStarted
    | StepStarted
    | TextStreamed
    | ReasoningStreamed
    | CallDrafted
    | RetryScheduled
    | ResponseEnded
    | SideRequestEnded
    | TurnEnded
    | CallProposed
    | CallChanged
    | CallStarted
    | CallSpawned
    | CallOutput
    | InputAwaited
    | CallEnded
    | CheckpointTaken
    | TerminalChanged
    | TerminalTyped
    | ApprovalAsked
    | ApprovalDecided
    | GrantRemoved
    | QuestionAsked
    | QuestionAnswered
    | LostResultAsked
    | PlanChanged
    | ProgressJudged
    | CompactionStarted
    | CompactionEnded
    | RolledBack
    | Refused
    | Inspected
    | SessionClosed
)

TRANSIENT: tuple[type, ...] = (
    StatusChanged,
    TextStreamed,
    ReasoningStreamed,
    CallDrafted,
    RetryScheduled,
    CallOutput,
    InputAwaited,
    CompactionStarted,
    Refused,
    Inspected,
)


@frozen
class Event:
    """One event: `seq` is monotonic in the session, `cause` the id of what led to it, else of what it is
    a part of."""

    seq: int
    at: float  # UTC seconds
    run_id: str
    body: Body
    cause: str = ""  # of a command, input, call, step, run, task or the session

    @property
    def is_durable(self) -> bool:
        """Whether it is part of the ledger."""
        return not isinstance(self.body, TRANSIENT)
