"""The engine's nouns: configuration, session parts, states, end reasons. Pure data."""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from pathlib import Path
from typing import Literal, TypeVar

from agent_tui.frozen import frozen
from sandbox.policy import Limits, Mode

T = TypeVar("T")

SCHEMA = 1  # version of events on the wire and in the store
RULES_FILE = "rules.toml"  # in the directory of the settings

OF_SANDBOX = ("sandbox", "network", "add_dir")  # settings that commands run by
OF_GATE = ("approval", *OF_SANDBOX)  # settings that calls are judged by


class ApprovalPolicy(StrEnum):
    """When a call asks."""

    UNTRUSTED = "untrusted"  # everything that is not provably read-only asks
    ON_REQUEST = "on-request"  # the sandbox decides; leaving it asks
    NEVER = "never"  # nothing can ask; what would have to is refused


@frozen
class Budgets:
    """Limits of a session, None for no limit."""

    max_turns: int | None = None  # model responses
    max_tool_calls: int | None = None
    max_tokens: int | None = None
    max_cost_usd: float | None = None
    timeout_s: float | None = None  # active time
    max_idle_steps: int | None = 12  # consecutive steps without progress


EFFORTS = ("minimal", "low", "medium", "high")  # of reasoning


@frozen
class ModelChoice:
    """Which model, reached how; the key itself is never part of a record."""

    provider: str
    model: str
    api: Literal["responses", "chat", "messages", "demo"]
    base_url: str = ""
    api_key_env: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    context_window: int = 32_000
    max_output: int = 4_096
    effort: str | None = None

    @property
    def name(self) -> str:
        """`PROVIDER/MODEL`."""
        return f"{self.provider}/{self.model}"


IDLE_TIMEOUT_S = 120.0  # a local server may read a long prompt for a minute before it says a word


@frozen
class Config:
    """Effective settings of one start; immutable, each value's layer in `origins`."""

    workspace: Path
    state_dir: Path
    config_dir: Path
    model: ModelChoice | None
    extra_roots: tuple[Path, ...] = ()
    sandbox: Mode = Mode.WORKSPACE_WRITE
    network: bool = False
    approval: ApprovalPolicy = ApprovalPolicy.ON_REQUEST
    interactive: bool = True
    limits: Limits = Limits()
    budgets: Budgets = Budgets()
    ephemeral: bool = False
    checkpoints: bool = True
    require_checkpoints: bool = False
    verify: str | None = None
    output_schema: str | None = None  # JSON Schema text
    on_lost_result: Literal["report", "rollback", "stop"] = "report"
    answers: tuple[str, ...] = ()
    idle_timeout_s: float = IDLE_TIMEOUT_S  # silence of a model after which its answer counts as stalled
    fast_model: str | None = None  # `PROVIDER/MODEL`; None: no titles are written
    summary_model: str | None = None  # `PROVIDER/MODEL` or `main`; None: `fast_model`, or the ledger alone
    planner_model: str | None = None  # `PROVIDER/MODEL`; None: the model plans for itself
    fallback: tuple[str, ...] = ()  # `PROVIDER/MODEL` of those that take over, in order
    repo_map: bool = False  # a map of the project in the project text
    interface: Mapping[str, str] = field(default_factory=dict)  # theme, glyphs, motion, mouse …
    told: Mapping[str, str] = field(default_factory=dict)  # key → value in words, of every setting
    origins: Mapping[str, str] = field(default_factory=dict)  # key → layer

    def names(self, key: str) -> bool:
        """Whether this very start says it, by flag or environment."""
        return self.origins.get(key) in ("flag", "env")


class TaskStatus(StrEnum):
    """States of a task; the last three have no exits."""

    CREATED = "created"
    PENDING = "pending"
    RUNNING = "running"
    WAITING_APPROVAL = "waiting_approval"
    WAITING_INPUT = "waiting_input"
    WAITING_TOOL = "waiting_tool"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class CallState(StrEnum):
    """States of a call before it has an outcome; outcomes are `tools.types.OutcomeStatus`."""

    PROPOSED = "proposed"
    VALIDATED = "validated"
    AWAITING_APPROVAL = "awaiting_approval"
    AUTHORISED = "authorised"
    STARTED = "started"
    ENDED = "ended"
    ANSWERED = "answered"


class EndReason(StrEnum):
    """Why a run ended; the total list."""

    COMPLETED = "completed"
    COMPLETED_UNVERIFIED = "completed_unverified"
    CONTRACT_UNMET = "contract_unmet"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    CRASHED = "crashed"
    BUDGET_TURNS = "budget_turns"
    BUDGET_TOOLS = "budget_tools"
    BUDGET_TIME = "budget_time"
    BUDGET_TOKENS = "budget_tokens"
    BUDGET_COST = "budget_cost"
    COST_UNKNOWN = "cost_unknown"
    CONTEXT_EXHAUSTED = "context_exhausted"
    LOOP_DETECTED = "loop_detected"
    MODEL_UNAVAILABLE = "model_unavailable"
    MODEL_REJECTED = "model_rejected"
    APPROVAL_UNAVAILABLE = "approval_unavailable"
    CHECKPOINT_UNAVAILABLE = "checkpoint_unavailable"
    STATE_UNWRITABLE = "state_unwritable"
    INTERNAL_ERROR = "internal_error"


@frozen
class EndFacts:
    """Exit code and sentence of an end reason. What stands in braces is of the run: see `sentence`."""

    exit_code: int
    sentence: str
    hint: str = ""  # what to do about it, wherever it is read


END_FACTS: Mapping[EndReason, EndFacts] = {
    EndReason.COMPLETED: EndFacts(exit_code=0, sentence="done"),
    EndReason.COMPLETED_UNVERIFIED: EndFacts(exit_code=0, sentence="done, not verified: {check}"),
    EndReason.CONTRACT_UNMET: EndFacts(exit_code=6, sentence="not met: {finding}"),
    EndReason.CANCELLED: EndFacts(exit_code=130, sentence="cancelled by you"),
    EndReason.INTERRUPTED: EndFacts(exit_code=130, sentence="interrupted by you"),
    EndReason.CRASHED: EndFacts(exit_code=1, sentence="crashed {time}; resumed"),
    EndReason.BUDGET_TURNS: EndFacts(exit_code=3, sentence="limit reached: {turns}"),
    EndReason.BUDGET_TOOLS: EndFacts(exit_code=3, sentence="limit reached: {calls}"),
    EndReason.BUDGET_TIME: EndFacts(exit_code=3, sentence="limit reached: {span}"),
    EndReason.BUDGET_TOKENS: EndFacts(exit_code=3, sentence="limit reached: {tokens}"),
    EndReason.BUDGET_COST: EndFacts(exit_code=3, sentence="limit reached: {amount}"),
    EndReason.COST_UNKNOWN: EndFacts(
        exit_code=3,
        sentence="limit reached: cost is limited and the price of this model is not known",
        hint="set `price_input` and `price_output` of the model, or leave the limit out",
    ),
    EndReason.CONTEXT_EXHAUSTED: EndFacts(exit_code=3, sentence="the view does not fit the window"),
    EndReason.LOOP_DETECTED: EndFacts(exit_code=3, sentence="no progress: {finding}"),
    EndReason.MODEL_UNAVAILABLE: EndFacts(exit_code=1, sentence="{provider} did not answer ({tries})"),
    EndReason.MODEL_REJECTED: EndFacts(exit_code=1, sentence="{provider} refused the request"),
    EndReason.APPROVAL_UNAVAILABLE: EndFacts(
        exit_code=4, sentence="approvals were needed and nobody could be asked"
    ),
    EndReason.CHECKPOINT_UNAVAILABLE: EndFacts(exit_code=5, sentence="no undo, and checkpoints are required"),
    EndReason.STATE_UNWRITABLE: EndFacts(exit_code=5, sentence="the session cannot be written"),
    EndReason.INTERNAL_ERROR: EndFacts(
        exit_code=1, sentence="internal error; the session is safe", hint="agent-tui --debug shows where"
    ),
}


_END_WORDS = {
    "completed": "done",
    "completed_unverified": "done",
    "interrupted": "interrupted",
    "cancelled": "interrupted",
    "running": "crashed",
    "crashed": "crashed",
    "waiting": "waiting",
    "loop_detected": "no progress",
    "context_exhausted": "limit",
    "cost_unknown": "limit",
    "": "",
}


def end_word(reason: str) -> str:
    """One word for a list of sessions; `reason` as stored, an `EndReason`, `running` or `waiting`."""
    return _END_WORDS.get(reason, "limit" if reason.startswith("budget_") else "failed")


class Decision(StrEnum):
    """What a person said to an approval."""

    ONCE = "once"
    SESSION = "session"
    RULE = "rule"  # saved for the workspace
    EDIT = "edit"
    DENY = "deny"
    DENY_RULE = "deny_rule"  # and saved for the workspace
    DENY_AND_PAUSE = "deny_and_pause"


class InputKind(StrEnum):
    """What a submitted message is meant for."""

    PROMPT = "prompt"
    STEER = "steer"
    QUEUE = "queue"


def moved(waiting: Mapping[str, T], input_id: str, before: str | None) -> dict[str, T]:
    """Messages that wait, by id, with one of them before another, or behind all; None: as they are."""
    if before is None or before == input_id or input_id not in waiting:
        return dict(waiting)
    order = [each for each in waiting if each != input_id]
    order.insert(order.index(before) if before in order else len(order), input_id)
    return {each: waiting[each] for each in order}


@frozen
class PlanStep:
    """One line of the model's plan."""

    text: str
    status: Literal["pending", "in_progress", "completed", "dropped"]
    note: str = ""  # why it was dropped


@frozen
class SandboxStatus:
    """What the start-up probe found and what is set now, for the status line and `doctor`."""

    available: bool
    mode: Mode
    network: bool
    extra_roots: int = 0  # directories beside the workspace that commands may write
    detail: str = ""  # what is missing and how to get it
    lost: tuple[str, ...] = ()  # protections that this machine cannot give
