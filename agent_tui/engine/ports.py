"""What the engine needs from outside, declared by the engine.

Unless stated otherwise a port may block only in `await`, may be cancelled, and raises nothing.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from agent_tui.engine.events import ApprovalAsked, ApprovalDecided
from agent_tui.engine.types import ApprovalPolicy
from agent_tui.frozen import frozen
from agent_tui.models.base import Model, ModelError
from checkpoints.records import Record
from checkpoints.types import (
    Cause,
    Checkpoint,
    Choice,
    FileChange,
    Health,
    Kept,
    RollbackPlan,
    RollbackResult,
)
from sandbox.policy import Policy
from tools.types import Arguments, Assessment, CallSink, Invocation, Outcome, TerminalNews, ToolSpec

__all__ = [
    "Checkpointer",
    "Clock",
    "Gate",
    "GatedCall",
    "Model",
    "Ports",
    "Records",
    "RetryPolicy",
    "Toolbox",
    "Verdict",
]


class Clock(Protocol):
    """Time, so that tests can hold it."""

    def now(self) -> float:
        """UTC seconds."""

    def monotonic(self) -> float:
        """Seconds of a clock that never jumps."""


class Records(Protocol):
    """The session store."""

    async def append(self, records: Sequence[Record]) -> int:
        """On disk when it returns. Raises `RecordsError`: the caller must stop before acting."""

    def read(self, after: int = 0) -> AsyncIterator[Record]:
        """Every record with a `seq` above `after`, in order. Raises `RecordsError`."""

    async def close(self) -> None: ...


class Toolbox(Hashable, Protocol):
    """The registry and its executor; holds the terminals. Knows no approvals: the engine's gate
    is the only caller of `run`."""

    def schemas(self) -> tuple[ToolSpec, ...]:
        """All tools, sorted by name; constant for a session."""

    def check(self, tool: str, arguments: str) -> Arguments | str:
        """Parsed and validated arguments, or the text of the answer to an invalid call."""

    def assess(self, tool: str, arguments: Arguments, policy: Policy) -> Assessment:
        """How the gate sees a valid call; pure and fast."""

    async def make_ready(self, invocation: Invocation) -> None:
        """Begin what takes a while, such as the sandbox of a command; nothing of the call acts before
        `run`. Raises nothing: what hinders it is told by `run`."""

    async def drop(self, call_id: str) -> None:
        """Take back what was made ready, where the call was not run; else nothing happens."""

    async def run(self, invocation: Invocation, sink: CallSink) -> Outcome:
        """Run to an outcome. Cancelling the task interrupts what the call started (INT, TERM, KILL)
        and still returns an INTERRUPTED outcome; cancelling twice kills at once."""

    async def predict(self, tool: str, arguments: Arguments, policy: Policy) -> Mapping[str, tuple[str, str]]:
        """For file writes: path → (sha256 before, sha256 intended), '' where absent; else empty."""

    async def preview(self, tool: str, arguments: Arguments, policy: Policy) -> str:
        """Unified diff of what an edit would write; empty for other tools."""

    async def texts(self, tool: str, arguments: Arguments, policy: Policy) -> Mapping[str, str | None] | str:
        """The files of an edit as they would be: path → text, None for what is no text to change; empty
        for other tools, a text where it would be refused."""

    async def rewritten(
        self, tool: str, arguments: Arguments, texts: Mapping[str, str], policy: Policy
    ) -> Arguments | str:
        """Arguments of an edit after which these files have exactly these texts and the others are as
        `arguments` make them; a text says why there are none."""

    async def refusal(self, tool: str, arguments: Arguments, policy: Policy) -> str:
        """Why a valid call would come to nothing as things are, so that nobody is asked about it; the
        text is the answer to the model. Empty where it may work, or where saying why would show what
        the model may not read."""

    def terminals(self) -> Sequence[Mapping[str, Any]]:
        """Live and recently ended terminals, as `Subject.TERMINALS` without size, directory and sandbox."""

    def terminal_news(self) -> AsyncIterator[TerminalNews]:
        """Output and ends of terminals as they come; for one reader, never ends."""

    def terminal_hides(self, terminal: str) -> bool:
        """Whether it shows nothing of what is typed into it now, as at the prompt for a password."""

    async def terminal_input(
        self, terminal: str, chars: str, signal: str, size: tuple[int, int] | None
    ) -> str:
        """What a person types into a terminal; returns an error text or ''."""

    async def close(self) -> None:
        """End every terminal and everything it started."""


class Checkpointer(Protocol):
    """Checkpoints of the workspace. Methods raise `CheckpointError` with one clear line."""

    def health(self) -> Health: ...

    def hurry(self) -> None:
        """Somebody waits for what runs in the background: give way to nothing any more."""

    def add(self, folder: Path) -> None:
        """From the next checkpoint on take a folder beside the workspace too, each once; it is read in the
        background. What of it cannot be had shows in `health`."""

    async def take(self, cause: Cause) -> Checkpoint:
        """Record the state now; attributes what changed since the one before. At most 10 s. On disk when it
        returns; one after a call is at the latest before the next one returns, and when `close` does."""

    async def changes_since(self, checkpoint_id: str) -> tuple[FileChange, ...]:
        """What differs between that checkpoint and the workspace now."""

    async def list(self, session: str | None = None) -> tuple[Checkpoint, ...]:
        """Newest first."""

    async def kept(self) -> Kept:
        """What they take on disk, and how long they are kept; a second or more where that is much."""

    async def diff(self, older: str, newer: str | None = None, paths: Sequence[str] = ()) -> str:
        """Unified diff between two checkpoints, or one and the workspace."""

    async def plan(self, target: str, paths: Sequence[str] = ()) -> RollbackPlan:
        """What a rollback would do; changes nothing."""

    async def rollback(
        self,
        target: str,
        *,
        paths: Sequence[str] = (),
        choices: Mapping[str, Choice] | None = None,
        default: Choice = "keep",
        session: str = "",
    ) -> RollbackResult:
        """Take a checkpoint, apply, verify."""

    async def redo(self, session: str = "") -> RollbackResult:
        """Undo the last rollback of the workspace."""

    async def close(self) -> None: ...


class RetryPolicy(Protocol):
    """The table of `agent_tui.models.retry`; pure. The loop does the waiting."""

    def __call__(self, error: ModelError, attempt: int) -> float | None:
        """Seconds to wait before the same bytes are sent again after failed attempt number `attempt`
        (from 1); None: not again."""


@frozen
class GatedCall:
    """A valid call in front of the gate; `arguments` are the edited ones after an edit."""

    call_id: str
    tool: str
    arguments: Arguments
    assessment: Assessment
    diff: str = ""  # what an edit would write (`Toolbox.preview`)
    during: str = ""  # the running command that wants this; empty: it is a call of its own


@frozen
class Verdict:
    """What the gate says of a call: it runs in `policy`, somebody is asked, or `text` answers it."""

    kind: Literal["allow", "ask", "deny"]
    policy: Policy | None = None  # allow: the sandbox to run in, grants included
    by: Literal["person", "rule", "grant", "policy"] = "policy"
    scope: str = ""
    text: str = ""  # deny: the answer to the model
    detail: str = ""  # deny: for a card, such as "by rule, ~/.config/agent-tui/rules.toml"
    asked: ApprovalAsked | None = None  # ask: stored before it is shown
    unavailable: bool = False  # deny: an approval was needed and nobody can give it


class Gate(Protocol):
    """Approvals (`engine.approvals`): the one judge of every call. Stores and asks nothing itself:
    the batch stores what it returns. Blocking only for small file reads (pre-images)."""

    def policy(self) -> Policy:
        """The sandbox of the session as set now, without grants of single calls."""

    def approval(self) -> ApprovalPolicy:
        """When a call asks, as set now."""

    def judge(self, call: GatedCall, approval_id: str) -> Verdict:
        """The verdict before a person is asked; used afresh at resume."""

    def settle(self, call: GatedCall, asked: ApprovalAsked, decided: ApprovalDecided) -> Verdict:
        """The verdict after a decision; `ask` again when the digest no longer holds. With EDIT,
        `call` holds the edited arguments, checked and assessed anew."""

    def escalate(
        self, call: GatedCall, outcome: Outcome, changes: Sequence[FileChange], approval_id: str
    ) -> ApprovalAsked | None:
        """The question to put after the sandbox denied a call that ran; None: no question."""

    def digest(self, call: GatedCall) -> str:
        """Over tool, canonical arguments, cwd, profile, pre-images of named files, policy version."""

    def restore(self, asked: ApprovalAsked, decided: ApprovalDecided) -> None:
        """Rebuild session grants from the records; called once for each decision, in order."""

    def setting(self, key: str, value: str) -> Callable[[], None]:
        """What puts `approval`, `sandbox`, `network` or `add_dir` in force, to be called once that is
        stored. Raises ValueError with a line for the person."""

    def grants(self) -> Sequence[Mapping[str, Any]]:
        """Grants of the session and saved rules: id, scope, action, rule, allows, grant. Raises
        AgentError when the rules file cannot be used."""

    def revoke(self, grant_id: str) -> bool:
        """Take a grant back; False when there is none of that id. Raises AgentError as above."""


def _always(text: str) -> bool:  # noqa: ARG001 - the port's shape
    """Nothing is kept of what was told."""
    return True


def _never(error: ModelError) -> bool:  # noqa: ARG001 - the port's shape
    """No other model may take over."""
    return False


def _no_files(ignored: bool) -> Mapping[str, str]:  # noqa: ARG001 - the port's shape
    """None to be mentioned."""
    return {}


def _none_nested(paths: Sequence[str]) -> Sequence[tuple[str, str]]:  # noqa: ARG001 - the port's shape
    """No instruction file stands beside these paths; else name and text of each."""
    return ()


async def _no_models() -> Sequence[Mapping[str, Any]]:
    """Nothing is known to choose from."""
    return ()


@frozen
class Ports:
    """Everything outside that a turn uses."""

    model: Model
    toolbox: Toolbox
    checkpointer: Checkpointer
    gate: Gate
    retry: RetryPolicy
    instructions: Callable[[], str | None] = lambda: None  # of the project, from disk; None: unchanged
    nested_instructions: Callable[[Sequence[str]], Sequence[tuple[str, str]]] = _none_nested
    summariser: Model | None = (
        None  # for compaction, `model` itself where that is meant; None: the ledger alone
    )
    summary_timeout_s: float = 60.0
    fast: Model | None = None  # for small work beside the conversation; None: it is not done
    planner: Model | None = None  # answers until a task has a plan
    choose_model: Callable[[str], Model] | None = None  # by `PROVIDER/MODEL`; raises AgentError
    fallback: tuple[str, ...] = ()  # `PROVIDER/MODEL` of those that take over, in order
    falls_back: Callable[[ModelError], bool] = _never  # whether a failure lets another model take over
    sessions: Callable[[], Sequence[Mapping[str, Any]]] = tuple  # stored ones, as `Subject.SESSIONS`
    keep_model: Callable[[str], None] | None = None  # as default of later starts; raises AgentError
    rename_session: Callable[[str, str], Awaitable[None]] | None = None  # id, title; raises AgentError
    # By id and number of the last record that was read: the events behind it, and the number now. Raises
    # AgentError and RecordsError.
    watch: Callable[[str, int], Awaitable[tuple[Sequence[Any], int]]] | None = None
    remove_session: Callable[[str], None] | None = None  # by id, for good; raises AgentError
    # Of the workspace, for mentions, with git's word for each; true: also ignored ones. May take a while.
    files: Callable[[bool], Mapping[str, str]] = _no_files
    models: Callable[[], Awaitable[Sequence[Mapping[str, Any]]]] = _no_models  # as `Subject.MODELS`
    branch: Callable[[], str] = str  # of the person's repository; '' for none
    is_news: Callable[[str], bool] = _always  # whether a notice was not told before on this machine
