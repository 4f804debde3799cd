"""What a run came to, told from its records alone: checks, failures, changed files."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from agent_tui.engine.changes import shown
from agent_tui.engine.fold import Fold
from checkpoints.types import FileChange

if TYPE_CHECKING:
    from context.facts import CallFact

MAX_LINES = 12


def last_check(facts: "Iterable[CallFact]") -> tuple[str, bool]:
    """The newest check with its exit code and whether it passed after the last change; '' for none."""
    check: CallFact | None = None
    stale = False
    for fact in facts:
        if fact.is_check and fact.status in ("succeeded", "failed", "timed_out"):
            check, stale = fact, False  # what a check writes itself, such as byte code, is part of it
        elif fact.changes:
            stale = True
    if check is None:
        return "", False
    outcome = "passed" if check.passed else f"failed{exit_text(check.exit_code)}"
    when = "before the last change" if stale else "after the last change"
    return f"{check.target} {outcome} {when}", check.passed and not stale


def exit_text(code: int | None) -> str:
    """` (exit 1)`; nothing for what never ran."""
    return "" if code is None else f" (exit {code})"


def open_failures(facts: "Iterable[CallFact]") -> list[str]:
    """Commands whose newest run failed."""
    newest = {fact.key: fact for fact in facts if fact.kind == "exec"}
    return [
        f"{fact.target}{exit_text(fact.exit_code)}: {fact.first_error}".rstrip(": ")
        for fact in newest.values()
        if not fact.passed and fact.status in ("failed", "timed_out", "succeeded")
    ]


def names(changes: Iterable[FileChange]) -> str:
    """Changed files in one line."""
    named = [f"{change.kind} {shown(change.path)}" for change in changes]
    more = f" and {len(named) - MAX_LINES} more" if len(named) > MAX_LINES else ""
    return ", ".join(named[:MAX_LINES]) + more


def summary(fold: Fold, why: str) -> str:
    """The account that stands for a final answer when the model gives none."""
    changes = fold.run.changes if fold.run else ()
    check, _ = last_check(fold.facts.values())
    failures = open_failures(fold.facts.values())[-MAX_LINES:]
    lines = [
        f"The run ended: {why}",
        f"Changed files: {names(changes) or 'none'}",
        f"Last check: {check or 'none was run'}",
        *(f"Still failing: {line}" for line in failures),
    ]
    return "\n".join(lines)
