"""The changed-files line: `3 files: M a.py +1 -1 · A b.py +2 · D c.py -40`."""

from collections.abc import Sequence

from agent_tui.tui import words
from agent_tui.tui.transcript.lines import Span, untrusted
from checkpoints.types import FileChange

NAMED = 4  # files that the line names before `+ n more`


def path_spans(change: FileChange, role: str = "text") -> list[Span]:
    """The path, for a rename both."""
    spans = untrusted(change.path, role, strict=True)
    if change.old_path:
        spans = [*untrusted(change.old_path, role, strict=True), Span(" → ", role), *spans]
    return spans


def counts(change: FileChange) -> str:
    """`+4 -1`; added files without the zero; the detail of a binary, link or mode."""
    if change.added is None and change.removed is None:
        return change.detail and f"({change.detail})"
    added, removed = change.added or 0, change.removed or 0
    parts = [] if change.kind == "D" and not added else [f"+{added}"]
    if change.kind != "A" or removed:
        parts.append(f"-{removed}")
    return " ".join(parts)


def change_spans(change: FileChange, role: str = "text", *, with_counts: bool = True) -> list[Span]:
    """`M slugify.py +2 -1`."""
    spans = [Span(f"{change.kind} ", role), *path_spans(change, role)]
    shown = counts(change) if with_counts else ""
    if shown:
        spans.append(Span(" ", role))
        spans += untrusted(shown, "muted")
    return spans


def joined(
    changes: Sequence[FileChange], separator: str, role: str = "text", named: int = NAMED
) -> list[Span]:
    """The first `named` changes of text, then `+ n more`; binaries are counted where there is text."""
    lead = [change for change in changes if not is_binary(change)] or list(changes)
    spans: list[Span] = []
    for change in lead[:named]:
        if spans:
            spans.append(Span(separator, "muted"))
        spans += change_spans(change, role)
    if len(lead) > named:
        spans.append(Span(f"{separator}+ {len(lead) - named} more", "muted"))
    if len(changes) > len(lead):
        spans.append(Span(f"{separator}+ {len(changes) - len(lead)} binary", "muted"))
    return spans


def is_binary(change: FileChange) -> bool:
    """Whether it was no text, as what a compiler leaves behind."""
    return change.added is None and change.removed is None and change.detail.startswith("binary")


def files(changes: Sequence[FileChange]) -> str:
    """`2 files`."""
    return words.count(len(changes), "file")


def totals(changes: Sequence[FileChange]) -> str:
    """`+16 -1` over all."""
    return f"+{sum(c.added or 0 for c in changes)} -{sum(c.removed or 0 for c in changes)}"
