"""Numbers, amounts, changed files and what guards the machine, in the words of line mode."""

from collections.abc import Iterable

from agent_tui.engine.types import SandboxStatus
from agent_tui.figures import count
from agent_tui.safe_text import one_line
from checkpoints.types import FileChange, Health
from sandbox.policy import Mode

_KINDS = {"A": "Added", "M": "Modified", "D": "Deleted", "R": "Renamed", "X": "Changed the mode of"}


def seconds(value: float) -> str:
    """A duration in words."""
    minutes, rest = divmod(round(value), 60)
    if minutes:
        return f"{count(minutes, 'minute')} {count(rest, 'second')}"
    text = f"{value:.1f}" if value < 9.95 else str(rest)
    return f"{text} second" + ("" if text in ("1", "1.0") else "s")


def money(usd: float) -> str:
    """An amount in words; cents below one dollar, and parts of one below that."""
    cents = usd * 100
    if 0 < cents < 0.995:
        return f"{cents:.2g} cents"
    return count(round(cents), "cent") if cents < 99.5 else f"{usd:,.2f} dollars"


def sandbox_words(sandbox: SandboxStatus, approval: str) -> str:
    """What commands may touch, while this is the approval mode."""
    if sandbox.mode is Mode.OFF:
        return "OFF, commands run as you"
    if not sandbox.available:
        asks = "no command runs" if approval == "never" else "each command asks"
        return f"not available, {asks}: {one_line(sandbox.detail)}"
    name = "workspace" if sandbox.mode is Mode.WORKSPACE_WRITE else sandbox.mode.value
    more = f" and {sandbox.extra_roots} more" if sandbox.extra_roots else ""
    return f"{name}{more}, network {'on' if sandbox.network else 'off'}"


def undo_words(undo: Health) -> str:
    """`ok`, `file tools only`, or why it is off."""
    words = "first checkpoint under way" if undo.state == "importing" else undo.state.replace("_", " ")
    return f"{words}, {one_line(undo.detail)}" if undo.detail else words


def changes_text(changes: Iterable[FileChange]) -> str:
    """A sentence for each changed file."""
    return " ".join(_change(change) for change in changes)


def _change(change: FileChange) -> str:
    name = one_line(change.path, strict=True)
    if change.kind == "R" and change.old_path:
        name = f"{one_line(change.old_path, strict=True)} to {name}"
    parts = [f"{_KINDS[change.kind]} {name}"]
    if change.added and change.kind == "A":
        parts.append(count(change.added, "line"))
    elif change.added or change.removed:
        parts.append(f"{count(change.added or 0, 'line')} added, {change.removed or 0:,} removed")
    if change.detail:
        detail = change.detail.removeprefix("mode ") if change.kind == "X" else change.detail
        parts.append(one_line(detail.replace(" → ", " to "), strict=True))
    return ", ".join(parts) + "."
