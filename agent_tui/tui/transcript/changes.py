"""The changed-files line: `3 files: M a.py +1 -1 · A b.py +2 · D c.py -40`."""

from collections.abc import Sequence

from agent_tui.tui import words
from agent_tui.tui.glyphs import Glyphs, own_words
from agent_tui.tui.transcript.lines import Span, untrusted
from checkpoints.types import FileChange

NAMED = 4  # files that the line names before `+ n more`


def path_spans(change: FileChange, glyphs: Glyphs, role: str = "text") -> list[Span]:
    """The path, for a rename both."""
    spans = untrusted(change.path, role, strict=True)
    if change.old_path:
        spans = [*untrusted(change.old_path, role, strict=True), Span(own_words(" → ", glyphs), role), *spans]
    return spans


def counts(change: FileChange) -> str:
    """`+4 -1`; added files without the zero; the detail of a binary, link or mode."""
    parts: list[str] = []
    moved = change.kind == "R" and not (change.added or change.removed)
    if (change.added is not None or change.removed is not None) and not moved:
        added, removed = change.added or 0, change.removed or 0
        parts += [] if change.kind == "D" and not added else [f"+{added}"]
        parts += [f"-{removed}"] if change.kind != "A" or removed else []
    return " ".join([*parts, *([f"({change.detail})"] if change.detail else [])])


def change_spans(
    change: FileChange, glyphs: Glyphs, role: str = "text", *, with_counts: bool = True
) -> list[Span]:
    """`M slugify.py +2 -1`."""
    spans = [Span(f"{change.kind} ", role), *path_spans(change, glyphs, role)]
    shown = counts(change) if with_counts else ""
    if shown:
        spans.append(Span(" ", role))
        spans += untrusted(own_words(shown, glyphs), "muted")
    return spans


def joined(
    changes: Sequence[FileChange], glyphs: Glyphs, role: str = "text", *, between: str = " · "
) -> list[Span]:
    """The first changes, text before the rest, then `+ n more`."""
    separator = own_words(between, glyphs)
    spans: list[Span] = []
    for change in sorted(changes, key=lambda change: change.added is None)[:NAMED]:
        if spans:
            spans.append(Span(separator, "muted"))
        spans += change_spans(change, glyphs, role)
    if len(changes) > NAMED:
        spans.append(Span(f"{separator}+ {len(changes) - NAMED} more", "muted"))
    return spans


def files(changes: Sequence[FileChange]) -> str:
    """`2 files`."""
    return words.count(len(changes), "file")


def totals(changes: Sequence[FileChange]) -> str:
    """`+16 -1` over all."""
    return f"+{sum(c.added or 0 for c in changes)} -{sum(c.removed or 0 for c in changes)}"
