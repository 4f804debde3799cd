"""What compaction and progress detection know of a finished call: from its events, by code alone."""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from agent_tui.engine.checks import proof
from agent_tui.engine.events import CallEnded, CallProposed
from context.facts import CallFact, CallKind, PathChange
from tools.types import Outcome, OutcomeStatus

_KINDS: Mapping[str, CallKind] = {
    "read_file": "read",
    "view_image": "read",
    "list_files": "search",
    "search_files": "search",
    "repo_map": "search",
    "apply_patch": "write",
    "exec_command": "exec",
    "write_stdin": "poll",
}
_ERROR_LINE = re.compile(
    r"^.*(?:\berror\b|\bfailed\b|\bfailure\b|exception|traceback|panicked|fatal:|^E  ).*$",
    re.IGNORECASE | re.MULTILINE,
)
_FAILING_TEST = re.compile(
    r"^(?:FAILED|ERROR)\s+(?P<pytest>\S+)"  # pytest's short summary
    r"|^(?:FAIL|ERROR): (?P<unittest>\w+ \([\w.]+\))"
    r"|^--- FAIL: (?P<go>\S+)"
    r"|^test (?P<rust>\S+) \.\.\. FAILED"
    r"|^not ok \d+ - (?P<tap>.+)$",
    re.MULTILINE,
)
MAX_FAILING_TESTS = 20
MAX_QUESTION = 300  # characters of a question beside its answer


def fact_of(ended: CallEnded, proposed: CallProposed, step: int) -> CallFact:
    """The fact of one ended call."""
    arguments = _arguments(proposed.arguments)
    outcome = ended.outcome
    kind = _kind(ended.tool, arguments)
    target = _target(kind, arguments) or proposed.shown or ended.tool
    first, last = _lines(kind, arguments, outcome)
    failed = outcome.status is not OutcomeStatus.SUCCEEDED or outcome.exit_code not in (None, 0)
    return CallFact(
        call_id=ended.call_id,
        tool=ended.tool,
        kind=kind,
        step=step,
        target=target,
        key=call_key(ended.tool, arguments),
        status=str(outcome.status),
        first_line=first,
        last_line=last,
        exit_code=outcome.exit_code,
        changes=tuple(PathChange(path=change.path, kind=change.kind) for change in ended.changes),
        checkpoint_id=ended.checkpoint_id,
        artifact=outcome.artifact.ref if outcome.artifact else "",
        total_bytes=outcome.total_bytes or len(outcome.text.encode("utf-8", errors="surrogatepass")),
        total_lines=outcome.text.count("\n"),
        sha256=hashlib.sha256(outcome.text.encode("utf-8", errors="surrogatepass")).hexdigest(),
        first_error=first_error(outcome.text) if failed else "",
        failing_tests=failing_tests(outcome.text) if failed else (),
        terminal=outcome.terminal or "",
        is_check=kind == "exec" and (proposed.by == "contract" or _is_told(target, outcome)),
        denial_text=outcome.text if outcome.status is OutcomeStatus.DENIED else "",
        answer=_answer(arguments, outcome),
    )


def _is_told(command: str, outcome: Outcome) -> bool:
    """Whether the end of a command line says of the checks in it that they passed, or that one failed."""
    if outcome.status not in (OutcomeStatus.SUCCEEDED, OutcomeStatus.FAILED, OutcomeStatus.TIMED_OUT):
        return False
    proves = proof(command)
    if proves is None:
        return False
    if outcome.status is OutcomeStatus.SUCCEEDED and outcome.exit_code in (None, 0):
        return proves.of_success
    ran = outcome.status is not OutcomeStatus.FAILED or outcome.exit_code is not None
    return ran and (proves.of_failure or bool(failing_tests(outcome.text)))


def call_key(tool: str, arguments: Mapping[str, Any]) -> str:
    """Equal for equal calls: keys sorted, whitespace inside strings kept."""
    return tool + json.dumps(arguments, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def first_error(text: str) -> str:
    """The first line that reads like an error, at most 200 characters."""
    found = _ERROR_LINE.search(text)
    return found.group(0).strip()[:200] if found else ""


def failing_tests(text: str) -> tuple[str, ...]:
    """Names of failing tests in the output of the common runners."""
    found = dict.fromkeys(
        next(group for group in match.groups() if group) for match in _FAILING_TEST.finditer(text)
    )
    return tuple(found)[:MAX_FAILING_TESTS]


def _arguments(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {"raw": text}
    return value if isinstance(value, dict) else {"raw": text}


def _answer(arguments: Mapping[str, Any], outcome: Outcome) -> str:
    answer = outcome.data.get("answer")
    question = str(arguments.get("question", ""))[:MAX_QUESTION]
    return f"(asked: {question}) {answer}" if isinstance(answer, str) else ""


def _target(kind: CallKind, arguments: Mapping[str, Any]) -> str:
    names = {"read": ("path",), "search": ("pattern", "path"), "exec": ("cmd",), "poll": ("session",)}
    found = (arguments.get(name) for name in names.get(kind, ()))
    return next((str(value) for value in found if value), "")


def _kind(tool: str, arguments: Mapping[str, Any]) -> CallKind:
    """A piece of a long line is no range of lines: no other read stands for it, and it for none."""
    if tool == "read_file" and "start_column" in arguments:
        return "other"
    return _KINDS.get(tool, "other")


def _lines(kind: CallKind, arguments: Mapping[str, Any], outcome: Outcome) -> tuple[int | None, int | None]:
    """First and last line of a read; the end of what was shown where that is less than was wanted."""
    if kind != "read":
        return None, None
    first, last = arguments.get("start_line"), arguments.get("end_line")
    shown, total = outcome.data.get("last"), outcome.data.get("total")
    if last is None and isinstance(shown, int) and shown != total:
        last = shown
    return (first if isinstance(first, int) else None, last if isinstance(last, int) else None)
