"""What a tool is, what a call of it may touch, and what came of it. Pure data and three protocols."""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, Protocol

from agent_tui.frozen import frozen
from sandbox.policy import Policy

Arguments = Mapping[str, Any]  # JSON from the model, valid against the tool's schema


@frozen
class PathSet:
    """Resolved paths, or everything; containment of directories counts as overlap."""

    everything: bool = False
    paths: tuple[Path, ...] = ()


@frozen
class Effects:
    """What a call may do. The default is the most that a tool can do: undeclared = writes all."""

    reads: PathSet = PathSet(everything=True)
    writes: PathSet = PathSet(everything=True)
    network: bool = True
    exclusive: bool = False  # needs the person; never shares a wave
    idempotent: bool = False  # may be run again after a lost result
    terminal: str | None = None  # the exec session it needs


READS_NOTHING = Effects(reads=PathSet(), writes=PathSet(), network=False, idempotent=True)


class CallClass(StrEnum):
    """What the gate has to do with a call before policy and rules are asked."""

    AUTO = "auto"  # provably read-only, or without an effect outside the agent
    ASK = "ask"
    REJECT = "reject"  # never runs; the reason is the answer


class Grant(StrEnum):
    """What a call needs beyond the ordinary sandbox, smallest first."""

    NONE = "none"
    READ_PATH = "read_path"
    WRITE_PATH = "write_path"
    HOST = "host"
    GIT_LANE = "git_lane"
    NETWORK = "network"
    NO_SANDBOX = "no_sandbox"


@frozen
class Assessment:
    """How approvals see a call. `shown` is exactly what is matched and exactly what runs."""

    action: Literal["command", "edit", "read", "network", "input", "question", "tool"]
    call_class: CallClass
    reason: str  # one sentence for a person
    shown: str  # command line, patch or arguments, complete
    effects: Effects
    keys: tuple[str, ...] = ()  # rule keys, one for each sub-command, path or host
    read_only: bool = False  # may run in the read-only sandbox mode, so needs no checkpoint
    grant: Grant = Grant.NONE
    grant_detail: str = ""  # the path or host of the grant
    needs_more: bool = False  # without the grant it would ask as well, or need another one
    grant_is_automatic: bool = False  # given without a question in workspace-write: the git lane
    hard_line: bool = False  # no mode passes it without a person
    files: tuple[Path, ...] = ()  # named for writing, or run as scripts; content is part of the digest
    cwd: str = ""  # where it runs; empty: the workspace
    parsed: str = ""  # the programs of a command line, as they were understood
    notes: tuple[tuple[int, str], ...] = ()  # line of `shown`, and what a person should see there


class OutcomeStatus(StrEnum):
    """End states of a call."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    INTERRUPTED = "interrupted"
    YIELDED = "yielded"  # the process lives on as a terminal
    DENIED = "denied"
    INVALID = "invalid"
    SKIPPED = "skipped"
    OUTCOME_UNKNOWN = "outcome_unknown"


@frozen
class Artifact:
    """A full output kept outside the view."""

    ref: str  # unique in the session, what the model names to read it
    path: Path
    size_bytes: int
    sha256: str = ""  # of so many bytes from the start; empty where the middle of them was let go
    mime: str = "text/plain"
    truncated: bool = False  # the spool cap was reached: head and tail only


@frozen
class WrittenPath:
    """A path a tool changed by its own hand, relative to the workspace where it lies in it."""

    path: str
    kind: Literal["A", "M", "D", "R"]
    old_path: str | None = None
    added: int = 0
    removed: int = 0


@frozen
class Picture:
    """An image out of a tool, for a model that can see."""

    media_type: str  # such as image/png
    data: str  # base64
    name: str = ""


@frozen
class Outcome:
    """What a call came to: `text` is all the model sees, `data` the same facts for programs."""

    status: OutcomeStatus
    text: str
    data: Mapping[str, Any] = field(default_factory=dict)
    exit_code: int | None = None
    signal: str | None = None
    total_bytes: int = 0
    omitted_bytes: int = 0
    complete: bool = True  # False: `text` leaves something out, and says what
    artifact: Artifact | None = None
    pictures: tuple[Picture, ...] = ()
    written: tuple[WrittenPath, ...] = ()
    terminal: str | None = None  # id of the terminal that lives on, or that this call spoke to
    denial: str = ""  # what the sandbox refused, told from evidence; empty: nothing known
    denied_grant: Grant = Grant.NONE  # the smallest grant that would have let it work
    denied_detail: str = ""

    @property
    def output(self) -> str | None:
        """What a command printed: the text without its headline and notes; None where none ran."""
        notes = self.data.get("notes")
        if not isinstance(notes, list):
            return None
        head = 1 + len(notes)
        parts = self.text.split("\n", head)
        return parts[head] if len(parts) > head else ""


@frozen
class Spawned:
    """Identity of a started process: no signal is ever sent without matching all of it."""

    pid: int
    started_at_ticks: int  # field 22 of /proc/PID/stat
    boot_id: str
    process_group: int


STOP = "STOP"  # in place of a signal to a terminal: INT, TERM and KILL in turn, until it is gone


@frozen
class TerminalNews:
    """Live output of a terminal that outlived its call, or its end."""

    terminal: str
    call_id: str
    text: str = ""  # as `CallSink.output`
    ended: bool = False
    exit_code: int | None = None
    signal: str | None = None
    awaits_input: bool | None = None  # as `CallSink.awaits_input`; None: no news of it


class CallSink(Protocol):
    """What a running tool tells while it runs. No method may raise for a full or dead reader."""

    async def spawned(self, process: Spawned) -> None:
        """Make the identity of the process durable; returns when it is on disk."""

    def output(self, text: str) -> None:
        """Cleaned live output for display, coalesced by the caller to at most 20 a second. A `\\r`
        says that what follows it replaces the unfinished line before it."""

    def awaits_input(self, waits: bool) -> None:
        """The command waits for what is typed to it, or no longer does."""

    async def connects(self, host: str) -> str:
        """Whether a command with a grant of hosts may reach another one, as `pip.test:443`: '' or why not.
        Waits for the answer of a person where it takes one."""


@frozen
class Invocation:
    """One authorised call, ready to run; made by the engine's gate and by nothing else."""

    call_id: str
    tool: str
    arguments: Arguments
    policy: Policy  # the sandbox to run in, grants included
    spool: Path  # where the full output goes
    max_output_tokens: int
    timeout_s: float | None = None
    artifacts: Mapping[str, Artifact] = field(default_factory=dict)  # outputs of the session, by reference


@frozen
class ToolSpec:
    """What the model is told of a tool; the description is the `.md` file beside its module."""

    name: str
    description: str
    parameters: Mapping[str, Any]  # JSON Schema, an object with `additionalProperties: false`


class Offered(Protocol):
    """What the model can call: the text it reads, and what a call of it is."""

    @property
    def spec(self) -> ToolSpec: ...

    def refuse(self, arguments: Arguments) -> str:
        """Why arguments that fit the schema still make no call, or ''. Pure."""

    def assess(self, arguments: Arguments, policy: Policy) -> Assessment:
        """Effects and approval facts of a call with valid arguments; pure, fast, never raises."""


class Tool(Offered, Protocol):
    """One that runs here. Not to be called but through the registry."""

    async def run(self, invocation: Invocation, sink: CallSink) -> Outcome:
        """Run to an outcome; failures are outcomes. On cancellation it stops what it started
        (INT, TERM, KILL ladder) and returns an INTERRUPTED outcome by way of the toolbox."""
