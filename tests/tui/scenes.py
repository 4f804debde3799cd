"""Event lists that the tests and the screenshots play: one session from its start."""

from pathlib import Path
from typing import Any

from agent_tui.engine import events as e
from agent_tui.engine.sentence import Facts, sentence
from agent_tui.engine.types import (
    CallState,
    Config,
    Decision,
    EndReason,
    InputKind,
    ModelChoice,
    SandboxStatus,
)
from checkpoints.types import FileChange, Health
from context.items import Usage
from sandbox.policy import Mode
from tools.types import Assessment, CallClass, Effects, Outcome, OutcomeStatus

USAGE = Usage(input_tokens=41_000, output_tokens=900)
ALL = (
    Decision.ONCE,
    Decision.SESSION,
    Decision.RULE,
    Decision.EDIT,
    Decision.DENY,
    Decision.DENY_AND_PAUSE,
)


def config(tmp: Path, **changes: Any) -> Config:
    """A configuration with its own directories."""
    values: dict[str, Any] = {
        "workspace": Path.home() / "src" / "slugkit",
        "state_dir": tmp / "state",
        "config_dir": Path.home() / ".config" / "agent-tui",  # shown, never written
        "model": ModelChoice(
            provider="openai", model="gpt-5.1", api="responses", context_window=272_000, effort="high"
        ),
        "interface": {"motion": "false"},
    }
    return Config(**(values | changes))


def started(**changes: Any) -> list[e.Body]:
    """The session is there, all is well."""
    status: dict[str, Any] = {
        "sandbox": SandboxStatus(available=True, mode=Mode.WORKSPACE_WRITE, network=False),
        "undo": Health(state="ok"),
        "cost_usd": 0.0,
        "context_used": 0,
        "branch": "main",
    }
    return [
        e.SessionStarted(session_id="7f3a", workspace="/home/you/src/slugkit", model="openai/gpt-5.1"),
        e.StatusChanged(**(status | changes)),
    ]


def message(text: str, number: int = 1, kind: InputKind = InputKind.PROMPT, step: int = 1) -> list[e.Body]:
    """A message that is taken at once."""
    return [
        e.InputAccepted(input_id=f"i{number}", kind=kind, text=text),
        e.InputDelivered(input_id=f"i{number}", item_id=f"u{number}", step=step),
    ]


def turn() -> list[e.Body]:
    """A run begins."""
    return [e.TurnStarted(task_id="t1", run_id="r1")]


def step(number: int) -> list[e.Body]:
    """A request goes out."""
    return [e.StepStarted(step_id=f"s{number}", number=number), e.StatusChanged(activity="thinking")]


def text(number: int, words: str) -> list[e.Body]:
    """A piece of the answer."""
    return [e.StatusChanged(activity="answering"), e.TextStreamed(step_id=f"s{number}", text=words, offset=0)]


def response(
    number: int, words: str = "", reasoning: str = "", seconds: float = 0.0, calls: int = 0
) -> list[e.Body]:
    """The response is whole."""
    usage = Usage(input_tokens=41_000, output_tokens=900, reasoning_tokens=412 if reasoning else 0)
    return [
        e.ResponseEnded(
            step_id=f"s{number}", item_id=f"a{number}", text=words, reasoning=reasoning, reasoning_s=seconds,
            usage=usage, cost_usd=0.42, reserved_calls=calls,
        )
    ]  # fmt: skip


def proposed(call: str, tool: str, shown: str, number: int = 1) -> list[e.Body]:
    """A call is there."""
    return [e.CallProposed(call_id=call, step_id=f"s{number}", tool=tool, arguments="{}", shown=shown)]


def running(call: str) -> list[e.Body]:
    """It runs."""
    return [
        e.CallStarted(
            call_id=call, attempt=1, arguments_sha256="", cwd="/home/you/src/slugkit", sandbox="workspace, net off",
            spool="", boot_id="b", checkpoint_id="7f3a/12",
        )
    ]  # fmt: skip


def output(call: str, *lines: str) -> list[e.Body]:
    """Live output."""
    return [e.CallOutput(call_id=call, text="".join(f"{line}\n" for line in lines))]


def ended(
    call: str, tool: str, status: OutcomeStatus = OutcomeStatus.SUCCEEDED, **values: Any
) -> list[e.Body]:
    """It is over; `exit_code`, `text`, `data` and others go to the outcome."""
    seconds = values.pop("seconds", 0.0)
    changes = values.pop("changes", ())
    external = values.pop("external", ())
    event = {key: values.pop(key) for key in ("uncovered", "edited", "checkpoint_id") if key in values}
    outcome = Outcome(status=status, text=values.pop("text", ""), **values)
    return [
        e.CallEnded(
            call_id=call,
            tool=tool,
            outcome=outcome,
            changes=changes,
            external=external,
            duration_s=seconds,
            **event,
        )
    ]


def call(
    name: str,
    tool: str,
    shown: str,
    number: int = 1,
    status: OutcomeStatus = OutcomeStatus.SUCCEEDED,
    lines: tuple[str, ...] = (),
    **values: Any,
) -> list[e.Body]:
    """A whole call."""
    live = output(name, *lines) if lines else []
    return [*proposed(name, tool, shown, number), *running(name), *live, *ended(name, tool, status, **values)]


CHANGES = (
    FileChange(path="slugify.py", kind="M", added=2, removed=1),
    FileChange(path="test_slugify.py", kind="A", added=14),
)
ALL_CHANGES = (
    FileChange(path="slugify.py", kind="M", added=4, removed=1),
    FileChange(path="test_slugify.py", kind="A", added=14),
)

ANSWER = """`slugify` returns an empty string when nothing is left after cleaning. Two
callers pass that on as a file name:

| Caller          | What happens with ""    |
|-----------------|-------------------------|
| export.py:31    | writes a file named .md |
| routes.py:77    | route `/` is shadowed   |

"""

CODE = """    def slugify(text: str) -> str:
        text = re.sub(r"[^a-z0-9]+", "-", text.lower())
        return text.strip("-") or "n-a"

"""


def looked() -> list[e.Body]:
    """The start of the session on the screens: a message, reasoning, two reads."""
    return [
        *message("look at slugify.py and make empty input safe"),
        *turn(),
        *step(1),
        *response(1, reasoning="I should look for callers before choosing a fallback.", seconds=6, calls=2),
        *call("c1", "read_file", "slugify.py", data={"first": 1, "last": 42, "total": 42}),
        *call("c2", "search_files", '"slugify(" in .', data={"matches": 9, "files": 4}, seconds=0.1),
        *step(2),
    ]


def streaming() -> list[e.Body]:
    """A streaming answer."""
    words = ANSWER + CODE + "I will change the function and add a test for"
    status = e.StatusChanged(context_used=41_000, cost_usd=0.42)
    return [*looked(), *text(2, words), status]


def command_runs() -> list[e.Body]:
    """A command runs, a steer and a queued message wait."""
    return [
        *looked(),
        *text(2, "I will change the function and add a test for it."),
        *response(2, "I will change the function and add a test for it.", calls=1),
        *call("c3", "apply_patch", "2 files", 2, changes=CHANGES, seconds=0.1),
        *step(4),
        *response(4, calls=1),
        *proposed("c4", "exec_command", "pytest -q", 4),
        *running("c4"),
        e.StatusChanged(activity="running", context_used=43_000, cost_usd=0.47),
        *output("c4", *[f"line {number}" for number in range(31)]),
        *output(
            "c4",
            "test_export.py ........                                              [ 41%]",
            "test_routes.py ......                                                [ 60%]",
            "test_slugify.py .F..                                                 [ 72%]",
            "test_store.py ...........                                            [ 94%]",
            "test_web.py ..",
        ),
        e.InputAccepted(input_id="i2", kind=InputKind.STEER, text="keep the old behaviour for None too"),
        e.InputAccepted(input_id="i3", kind=InputKind.QUEUE, text="then update the changelog"),
    ]


def finished() -> list[e.Body]:
    """The end of that turn."""
    last = "Empty input now gives `n-a`, and `None` still raises `TypeError`. All 64 tests pass."
    return [
        *command_runs()[:-1],
        *output("c4", "FAILED test_slugify.py::test_none - AttributeError: 'NoneType' object has no "
            "attribute 'lower'", "1 failed, 63 passed in 8.91s"),
        *ended("c4", "exec_command", OutcomeStatus.FAILED, exit_code=1, seconds=9.2),
        e.InputDelivered(input_id="i2", item_id="u2", step=5),
        *step(5),
        *response(5, calls=2),
        *call("c5", "apply_patch", "slugify.py", 5, changes=(FileChange(path="slugify.py", kind="M", added=2, removed=0),)),
        *call("c6", "exec_command", "pytest -q", 5, lines=("64 passed in 8.77s",), exit_code=0, seconds=9.0),
        *step(6),
        *response(6, last),
        e.StatusChanged(context_used=46_000, cost_usd=0.51, activity=""),
        e.TurnEnded(
            run_id="r1", reason=EndReason.COMPLETED, sentence="done", exit_code=0, usage=USAGE, cost_usd=0.51, steps=6,
            duration_s=58.0, changes=ALL_CHANGES, text=last, last_check="pytest -q",
            check_result="passed after the last change",
        ),
    ]  # fmt: skip


def assessed(shown: str, **changes: Any) -> Assessment:
    """How the gate sees a command."""
    values: dict[str, Any] = {
        "action": "command",
        "call_class": CallClass.ASK,
        "reason": "not a known safe command",
        "shown": shown,
        "effects": Effects(),
    }
    return Assessment(**(values | changes))


def approval(
    number: int = 1,
    shown: str = "make publish INDEX=staging",
    assessment: dict[str, Any] | None = None,
    **changes: Any,
) -> list[e.Body]:
    """A question about a call."""
    values: dict[str, Any] = {
        "approval_id": f"ap{number}",
        "call_id": f"c{number + 20}",
        "tool": "exec_command",
        "assessment": assessed(shown, **(assessment or {})),
        "cwd": str(Path.home() / "src" / "slugkit"),
        "why": "your rule asks: make publish (rules.toml, line 3)",
        "sandbox": "writes in ~/src/slugkit, network off",
        "sandbox_short": "workspace, net off",
        "digest": f"d{number}",
        "choices": ALL,
        "session_key": "exactly this command in this directory",
        "rule": "run make publish INDEX=staging",
        "wider_rules": ("run make publish INDEX=*",),
        "deny_rule": "run make publish INDEX=staging",
        "rule_allows": "`make publish INDEX=staging` in ~/src/slugkit, in the sandbox",
    }
    return [
        *proposed(f"c{number + 20}", changes.get("tool", values["tool"]), shown, 9),
        e.CallChanged(call_id=f"c{number + 20}", state=CallState.AWAITING_APPROVAL),
        e.ApprovalAsked(**(values | changes)),
    ]


def asks() -> list[e.Body]:
    """A command waits for approval."""
    words = "The tests pass. I will publish the package to the staging index."
    return [
        *message("publish it"),
        *turn(),
        *step(1),
        *response(1, words, calls=1),
        *approval(choices=(*ALL[:-1], Decision.DENY_RULE, ALL[-1])),
        e.StatusChanged(context_used=46_000, cost_usd=0.51),
    ]


def end(*, interrupted: bool = False) -> list[e.Body]:
    """A turn ends."""
    reason = EndReason.INTERRUPTED if interrupted else EndReason.COMPLETED
    return [
        e.StatusChanged(activity=""),
        e.TurnEnded(
            run_id="r1",
            reason=reason,
            sentence=sentence(reason, Facts()),
            exit_code=0,
            usage=USAGE,
            cost_usd=0.0,
            steps=1,
            duration_s=1.0,
        ),
    ]


def broken() -> list[e.Body]:
    """An event that no screen can show: for what happens after an internal error."""
    return [e.TextStreamed(step_id="s1", text=None, offset=0)]  # type: ignore[arg-type]
