"""The one queue into the engine. Each docstring names the event that answers."""

from collections.abc import AsyncIterable, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Literal, Protocol

from agent_tui.engine.events import Event
from agent_tui.engine.types import Decision, InputKind
from agent_tui.frozen import frozen
from context.items import Image

INIT = (  # the message of `/init`
    "Look at this project and write AGENTS.md at its root: how to build it, how to run one test and "
    "all tests, how it is laid out, and its conventions. Keep it under 60 lines, "
    "and only what you have seen to be true."
)


@frozen
class Submit:
    """A message: `InputAccepted`, or `Refused`. PROMPT starts a turn when idle and steers otherwise."""

    text: str
    images: tuple[Image, ...] = ()
    kind: InputKind = InputKind.PROMPT
    now: bool = False  # steer now: waves not started are skipped


@frozen
class EditPending:
    """Change a pending message: `InputEdited`; with `text` None take it back: `InputReturned`."""

    input_id: str
    text: str | None
    kind: InputKind | None = None
    before: str | None = None  # id of the one it is to go before; empty: behind all of them


@frozen
class Decide:
    """Answer an approval: `ApprovalDecided`; a second answer is `Refused`."""

    approval_id: str
    decision: Decision
    digest: str  # of what was shown; another one is `Refused`
    feedback: str = ""
    edited: str = ""  # arguments (JSON) or command text with `Decision.EDIT`
    grant: str = ""  # the wider grant chosen with `g`
    rule: str = ""  # with RULE: one of `ApprovalAsked.wider_rules`; empty: the rule as shown


@frozen
class Answer:
    """Answer a question: `QuestionAnswered`, with `SettingChanged` where it raises a limit, or
    `Refused` when it is no amount above what is used; None leaves it without an answer."""

    question_id: str
    text: str | None


@frozen
class Settle:
    """Choose for a lost result: `CallEnded` with the outcome."""

    question_id: str
    choice: Literal["keep", "rollback", "again", "stop"]
    conflicts: Mapping[str, str] = field(default_factory=dict)  # of a rollback: path → keep, take, merge


@frozen
class Interrupt:
    """Stop now: `TurnEnded` (interrupted); `force` kills process groups at once, `cancel` also gives the
    task up: `TurnEnded` (cancelled), and it cannot be continued."""

    force: bool = False
    cancel: bool = False
    why: str = "interrupted by user"


@frozen
class Pause:
    """Stop at the next boundary: `TaskChanged` (paused)."""


@frozen
class Continue:
    """Go on with a paused task: `TurnStarted`."""


@frozen
class RunShell:
    """The person's own `!` command, sandboxed: call events; `to_context` adds a notice for the model."""

    command: str
    to_context: bool = True


@frozen
class TerminalInput:
    """The person types into a live terminal, resizes or stops it: `CallOutput`, `TerminalTyped`."""

    terminal: str
    chars: str = ""
    signal: str = ""  # INT, TERM, KILL, HUP or WINCH; `tools.types.STOP`
    columns: int = 0
    rows: int = 0


@frozen
class Compact:
    """Compact now: `CompactionEnded`; `undo` takes the newest epoch back."""

    focus: str = ""
    undo: bool = False


@frozen
class Rollback:
    """Go back: `RolledBack` or `Refused`."""

    checkpoint_id: str
    mode: Literal["files", "conversation", "both"] = "both"
    paths: tuple[str, ...] = ()
    choices: Mapping[str, str] = field(default_factory=dict)  # conflict path → keep, take, merge
    default_choice: Literal["keep", "take", "merge", "abort"] = "keep"
    force: bool = False  # files too although a terminal can still write


@frozen
class Redo:
    """Undo the last rollback: `RolledBack` or `Refused`."""

    force: bool = False  # files too although a terminal can still write


@frozen
class Set:
    """Change a setting of the session (`model`, `effort`, `approval`, `sandbox`, `network`,
    `add_dir`, `title`): `StatusChanged` or `Refused`. In a run the title changes at once, model and effort
    with the next request, the others with the next call that starts; a question that is open stays so."""

    key: str
    value: str


class Subject(StrEnum):
    """What can be inspected; the data is the JSON-ready form of the type named."""

    CHECKPOINTS = "checkpoints"  # list of checkpoints.types.Checkpoint, newest first
    KEPT = "kept"  # checkpoints.types.Kept; may take a while
    ROLLBACK_PLAN = "rollback_plan"  # checkpoints.types.RollbackPlan; args id, paths (one a line)
    DIFF = "diff"  # unified diff text; args: call=ID | turn=1 | session=1 | checkpoint=ID and until=ID
    # List of objects: `session_ports._session_list`. With args remove=ID, or rename=ID and title=TEXT, does
    # that first, for sessions that no process has open.
    SESSIONS = "sessions"
    WATCH = "watch"  # object of another session: events, as `TRANSCRIPT`, and read; args id, read
    CONTEXT = "context"  # object: part → tokens
    COST = "cost"  # object: turn, run, session, models → name → requests, tokens of each kind, cost_usd
    # List of objects id, scope, rule; with args remove=ID removes it, with ended_by=CHECKPOINT those that a
    # rollback of the conversation to it ends.
    GRANTS = "grants"
    # List of objects id, command, state, started_at, ended_at, stopping_at, call_id, tail, awaits_input,
    # exit_code, signal, ref, size_bytes, cwd, sandbox.
    TERMINALS = "terminals"
    OUTPUT = "output"  # text of an artifact; args ref, start_line, end_line
    FILES = "files"  # object for @ mentions: path → git's word or ''; with args ignored=1 all files
    # List of objects name, where, context_window, price_input, price_output, state; takes about 1 s.
    # With args default=NAME it is kept as the default of later starts first.
    MODELS = "models"
    SETTINGS = "settings"  # object: key → value and origin
    TRANSCRIPT = "transcript"  # list of durable `Event`s, as they are, with a seq above args after
    # Object: path → text of the files of an edit as it would leave them, null for what is no text to change;
    # args call.
    EDIT = "edit"
    EDITED = "edited"  # the arguments (JSON) that leave them so; args call, texts (JSON), those changed
    REQUEST = "request"  # the exact next request body


@frozen
class Inspect:
    """Ask for facts without changing anything: `Inspected` with this command's id, or `Refused`."""

    subject: Subject
    args: Mapping[str, str] = field(default_factory=dict)


@frozen
class Shutdown:
    """End the process cleanly, within 2 s: `SessionClosed`."""

    why: str = "quit"


CommandBody = (
    Submit
    | EditPending
    | Decide
    | Answer
    | Settle
    | Interrupt
    | Pause
    | Continue
    | RunShell
    | TerminalInput
    | Compact
    | Rollback
    | Redo
    | Set
    | Inspect
    | Shutdown
)


@frozen
class Command:
    """One command; `id` is chosen by the front end and echoed as the `cause` of what it leads to."""

    id: str
    body: CommandBody


class Engine(Protocol):
    """All that a front end holds."""

    def send(self, command: Command) -> None:
        """Put a command in the queue; never blocks, never raises; refusal is an event."""

    def events(self) -> AsyncIterable[Event]:
        """A new reader of the stream, from now on; durable events are never dropped for it."""
