"""What a run came to, told from its records alone: commands, checks, failures, changed files."""

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING

from agent_tui.engine.changes import shown
from agent_tui.engine.fold import Fold
from agent_tui.engine.states import NOT_RUN
from agent_tui.frozen import frozen
from checkpoints.types import FileChange

if TYPE_CHECKING:
    from context.facts import CallFact

MAX_LINES = 12
MAX_CHECK_CHARS = 60
NO_CHECK = "none with a known result"  # one may have run behind a pipe


@frozen
class Check:
    """The newest check of a run: its command in one line, and what it came to, in words."""

    command: str
    result: str
    lacks: str = ""  # why it is no proof of what is there now; empty: it passed, after the last change

    @property
    def is_good(self) -> bool:
        """Passed, after the last change."""
        return not self.lacks

    def __str__(self) -> str:
        return f"`{self.command}` {self.result}"


def last_check(facts: "Iterable[CallFact]") -> Check | None:
    """The newest check; None where none was run whose result is known."""
    check: CallFact | None = None
    stale = False
    for fact in facts:
        if fact.is_check and fact.status in ("succeeded", "failed", "timed_out"):
            check, stale = fact, False  # what a check writes itself, such as byte code, is part of it
        elif fact.changes:
            stale = True
    if check is None:
        return None
    outcome = "passed" if check.passed else f"failed{exit_text(check.exit_code)}"
    when = "before the last change" if stale else "after the last change"
    command, lacks = check_name(check.target), ""
    if stale:
        lacks = f"{command} was not run after the last change"
    elif not check.passed:
        lacks = f"{command} fails{exit_text(check.exit_code)}"
    return Check(command=command, result=f"{outcome} {when}", lacks=lacks)


def check_name(command: str) -> str:
    """A command line in one short line."""
    line = " ".join(command.split())
    return line if len(line) <= MAX_CHECK_CHARS else f"{line[: MAX_CHECK_CHARS - 1]}…"


def check_of_turn(fold: Fold) -> Check | None:
    """The newest check, where this turn ran it or changed something; of an earlier turn nothing is said."""
    own = list(islice(fold.facts.values(), fold.facts_before, None))
    is_due = last_check(own) is not None or any(fact.changes for fact in own)
    return last_check(fold.facts.values()) if is_due else None


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


def commands(facts: "Iterable[CallFact]") -> str:
    """Commands that ran, each with how it ended, in one line; the newest of many."""
    ran = [
        f"{check_name(fact.target)}{exit_text(fact.exit_code) or f' ({fact.status})'}"
        for fact in facts
        if fact.kind == "exec" and fact.status not in NOT_RUN
    ]
    more = f" and {len(ran) - MAX_LINES} before them" if len(ran) > MAX_LINES else ""
    return ", ".join(ran[-MAX_LINES:]) + more


def names(changes: Iterable[FileChange]) -> str:
    """Changed files in one line."""
    named = [f"{change.kind} {shown(change.path)}" for change in changes]
    more = f" and {len(named) - MAX_LINES} more" if len(named) > MAX_LINES else ""
    return ", ".join(named[:MAX_LINES]) + more


def summary(fold: Fold, why: str) -> str:
    """The account that stands for a final answer when the model gives none."""
    changes = fold.run.changes if fold.run else ()
    check = last_check(fold.facts.values())
    failures = open_failures(fold.facts.values())[-MAX_LINES:]
    lines = [
        f"The run ended: {why}",
        f"Changed files: {names(changes) or 'none'}",
        f"Last check: {check or NO_CHECK}",
        f"Commands: {commands(islice(fold.facts.values(), fold.facts_before, None)) or 'none'}",
        *(f"Still failing: {line}" for line in failures),
    ]
    return "\n".join(lines)
