"""Events of tool calls and of the questions they raise; part of `engine.events`, where readers take
them from."""

from collections.abc import Mapping
from typing import Literal

from agent_tui.engine.types import CallState, Decision
from agent_tui.frozen import frozen
from checkpoints.types import Checkpoint, FileChange
from tools.types import Assessment, Outcome, Spawned

# --- calls -------------------------------------------------------------------------------------


@frozen
class CallProposed:
    """The model asked for a call; same transaction as its response item."""

    call_id: str
    step_id: str
    tool: str
    arguments: str  # as sent
    shown: str = ""  # what a card names: command, paths, pattern
    by: Literal["model", "person", "contract"] = "model"  # only calls of the model are answered to it
    to_model: bool = True  # False: the person keeps the output from the model


@frozen
class CallChanged:
    """A call has a new state before it starts."""

    call_id: str
    state: CallState
    detail: str = ""  # "for your approval", "for the call before it"


@frozen
class CallStarted:
    """The call is about to run; on disk before it does."""

    call_id: str
    attempt: int
    arguments_sha256: str
    cwd: str
    sandbox: str  # the profile in words, such as "workspace, net off"
    spool: str
    boot_id: str
    checkpoint_id: str = ""
    allowed: str = ""  # by whom or what: "by policy", "by rule, run git *"
    written_before: Mapping[str, str] | None = None  # path → hash, for reconciling file writes
    written_after: Mapping[str, str] | None = None


@frozen
class CallSpawned:
    """A process of the call exists."""

    call_id: str
    process: Spawned


@frozen
class CallOutput:
    """Transient. Cleaned live output of a running call or terminal."""

    call_id: str
    text: str
    terminal: str = ""


@frozen
class InputAwaited:
    """Transient. A running call or terminal waits for what is typed to it, or no longer does."""

    call_id: str
    waits: bool
    terminal: str = ""


@frozen
class CallEnded:
    """The final outcome of a call, once; the model sees it only after this is on disk."""

    call_id: str
    tool: str
    outcome: Outcome
    changes: tuple[FileChange, ...]
    external: tuple[FileChange, ...]  # changed meanwhile by others
    duration_s: float  # waiting for approval not included
    checkpoint_id: str = ""
    uncovered: tuple[str, ...] = ()
    edited: str = ""  # arguments a person put in place of the model's


@frozen
class CheckpointTaken:
    """A checkpoint exists; before the call it protects."""

    checkpoint: Checkpoint


@frozen
class TerminalChanged:
    """A live process of `exec_command` began, ended or was lost."""

    terminal: str
    call_id: str
    command: str
    state: Literal["live", "ended", "lost"]
    exit_code: int | None = None
    signal: str | None = None


@frozen
class TerminalTyped:
    """The person typed into a live terminal, or signalled it; what came close together is one."""

    terminal: str
    chars: str = ""
    left_out: int = 0  # more characters, beyond what is kept of one record
    hidden: bool = False  # typed where the terminal shows nothing of it: what it was is not kept
    signal: str = ""  # as in `TerminalInput`


# --- questions ---------------------------------------------------------------------------------


@frozen
class ApprovalAsked:
    """A person must decide; answered by a `Decide` command with this id. Stored before it is asked."""

    approval_id: str
    call_id: str
    tool: str
    assessment: Assessment
    cwd: str
    why: str
    sandbox: str  # what the sandbox will allow, in words
    digest: str  # over tool, arguments, cwd, profile, pre-images, policy version
    choices: tuple[Decision, ...]
    session_key: str = ""  # what `session` would cover, in words
    rule: str = ""  # the rule that would be saved
    rule_allows: str = ""
    deny_rule: str = ""  # pattern that `Decision.DENY_RULE` saves
    wider_rules: tuple[str, ...] = ()  # the same with one word let vary; `Decide.rule` names one
    first_attempt: str = ""  # what an attempt in the sandbox already changed
    diff: str = ""  # for edits: unified diff of what would be written
    expires_at: float | None = None
    policy: str = ""  # approval, sandbox mode and network it was asked under
    grants: tuple[str, ...] = ()  # what `g` steps through, smallest first: "write_path /x", "network"
    sandbox_short: str = ""  # the sandbox in few words, for a low screen
    during: str = ""  # the command that waits for it while it runs; only with hosts


@frozen
class ApprovalDecided:
    """The decision, once for each approval; grants of the session are rebuilt from these."""

    approval_id: str
    call_id: str
    decision: Decision
    by: Literal["person", "rule", "grant", "policy"]
    scope: str = ""
    feedback: str = ""
    edited: str = ""
    grant: str = ""  # the one of `ApprovalAsked.grants` that was given; empty: the one asked for


@frozen
class GrantRemoved:
    """A session grant is no longer valid: taken back, or ended by a stricter policy."""

    grant_id: str  # the approval id that gave it
    reason: str


@frozen
class LimitFacts:
    """The limit that a question is about: answered with an option, a number above `used`, or `none`."""

    name: Literal["turns", "tools", "time", "tokens", "cost"]
    used: float  # responses, calls, seconds, tokens or USD, like the two below
    allowed: float
    raised: float | None  # what the first option raises it to; None: it lifts a cost limit
    step: int
    state: str  # the last check and how much has changed


@frozen
class QuestionAsked:
    """`request_user_input`, or a question of the runtime without a call: answered by an `Answer`
    command with this id; with a `limit`, the answer that raises it is stored as `SettingChanged`."""

    question_id: str
    call_id: str
    text: str
    options: tuple[str, ...]
    free_text: bool
    limit: LimitFacts | None = None  # the run stands at this limit and may go on
    kind: Literal["question", "no_progress", "no_checkpoint"] = "question"  # the last two: of the runtime


@frozen
class QuestionAnswered:
    """The answer, or none when the person left the question."""

    question_id: str
    text: str | None


@frozen
class LostResultAsked:
    """After a crash: a call that may have run and has no result; answered by `Settle`."""

    question_id: str
    call_id: str
    tool: str
    shown: str
    started_at: float
    facts: str  # process gone or alive
    changes: tuple[FileChange, ...]
    checkpoint_id: str
    cwd: str = ""
    output: str = ""  # the end of what it had printed; `Subject.OUTPUT` has all of it
    ended_at: float = 0.0  # UTC seconds of the last record before its process died; 0 where there is none
