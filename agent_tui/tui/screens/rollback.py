"""Checkpoints, the rewind list, and the preview that stands before every rollback (3.7)."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from agent_tui.engine import commands
from agent_tui.engine.commands import Subject
from agent_tui.safe_text import one_line
from agent_tui.tui import words
from agent_tui.tui.glyphs import own_words
from agent_tui.tui.link import RefusedError
from agent_tui.tui.screens.view import ListView, View
from agent_tui.tui.transcript import changes
from agent_tui.tui.transcript.lines import BLANK, Line, Span, clip, untrusted, width_of, with_right
from agent_tui.tui.transcript.look import Look
from checkpoints.types import Author, Checkpoint, Conflict, Operation, Phase, RollbackPlan
from context.codec import decode

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp

RollbackMode = Literal["files", "conversation", "both"]
_WHAT: dict[RollbackMode, str] = {
    "both": "files and conversation",
    "files": "files",
    "conversation": "conversation",
}
_CHOICES = ("keep", "take", "merge")
_CHOICE_WORDS = {"keep": "keep mine", "take": "take checkpoint", "merge": "merge"}


def before_words(checkpoint: Checkpoint) -> str:
    """What a checkpoint goes back to before."""
    cause = checkpoint.cause
    summary = one_line(cause.summary)[:60]
    if cause.phase is Phase.TURN_START:
        return f"your message {summary}".rstrip()
    if cause.phase is Phase.BEFORE_ROLLBACK:
        return "rollback"
    return f"`{summary}`" if summary else cause.tool or cause.phase.value.replace("_", " ")


def clock_of(checkpoint: Checkpoint) -> str:
    """Local time of day."""
    return time.strftime("%H:%M", time.localtime(checkpoint.created_at))


class CheckpointsView(ListView[Checkpoint]):
    """Restore points; of this session (rewind) or of the whole workspace."""

    keys_first = "f files · c conversation · Enter both, with preview · d diff to now"
    keys_second = "↑ ↓ j k move · / find · Esc close"

    def __init__(self, agent: "AgentApp", *, everywhere: bool) -> None:
        super().__init__(agent)
        self._everywhere = everywhere

    async def load(self) -> None:
        args = {} if self._everywhere else {"session": self.agent.session.session_id}
        try:
            data = await self.agent.link.ask(Subject.CHECKPOINTS, **args)
        except RefusedError as error:
            self.failure, data = str(error), []
        found = [decode(Checkpoint, each) for each in data]
        wanted = (Phase.TURN_START, Phase.BEFORE_CALL, Phase.BEFORE_ROLLBACK)
        shown = [each for each in found if each.cause.phase in wanted or self._everywhere]
        self.set_items(shown[::-1], at=len(shown) - 1)

    def title_words(self) -> tuple[str, str]:
        count = words.count(len(self.items), "point")
        if self._everywhere:
            return "checkpoints · this workspace", count
        return "rewind · go back to before …", f"{self.agent.session.session_id} · {count}"

    def empty(self) -> str:
        return "No checkpoints yet. One is taken before the first change"

    def row(self, item: Checkpoint, look: Look) -> Line:
        right = self._changed(item)
        room = look.width - 3 - min(width_of(right), look.width // 2)
        lead = [*untrusted(f"{item.id:<9}", "muted"), Span("  ")] if self._everywhere else []
        mark = (
            look.glyphs.user + " " if item.cause.phase is Phase.TURN_START and not self._everywhere else "  "
        )
        text = f"before {before_words(item)}" if self._everywhere else before_words(item)
        left = clip(
            [*lead, Span(f"{clock_of(item)} ", "muted"), Span(mark, "accent"), *untrusted(text, strict=True)],
            room,
        )
        return with_right(left, clip(right, look.width // 2), look.width - 2)

    def _changed(self, item: Checkpoint) -> Line:
        """What the call after this checkpoint changed: it is recorded with the next one."""
        if item.broken:
            return tuple(untrusted(f"! {item.broken}", "attention"))
        after = next(
            (each for each in self.items if each.session == item.session and each.seq == item.seq + 1), None
        )
        files = after.changes if after is not None else ()
        if item.uncovered and not files:
            return tuple(untrusted(f"! {item.uncovered[0].path} not covered", "attention", strict=True))
        spans: list[Span] = []
        for change in files[:2]:
            role = "external" if change.author is Author.EXTERNAL else "muted"
            spans += [Span(", ", "muted")] * bool(spans) + changes.change_spans(
                change, role, with_counts=False
            )
        if len(files) > 2:
            spans.append(Span(f" +{len(files) - 2}", "muted"))
        return tuple(spans)

    def detail(self, look: Look) -> list[Line]:
        item = self.picked
        if item is None:
            return []
        separator = own_words(" · ", look.glyphs)
        head = f"  before {clock_of(item)} {before_words(item)}{separator}checkpoint {item.id}"
        rows = [clip(untrusted(head, strict=True), look.width, look.glyphs.more)]
        if item.broken:
            rows.append(
                clip(
                    untrusted(f"  ! it cannot be restored: {item.broken}", "attention"),
                    look.width,
                    look.glyphs.more,
                )
            )
        return rows

    def press(self, key: str, character: str) -> bool:
        modes: dict[str, RollbackMode] = {"f": "files", "c": "conversation", "enter": "both"}
        item = self.picked
        mode = modes.get(character) or modes.get(key)
        if item is not None and mode:
            self.agent.views.rollback(item.id, mode)
        elif item is not None and character == "d":
            self.agent.views.diff(f"since {item.id}", {"checkpoint": item.id}, before=item.id, after="now")
        else:
            return False
        return True


class PreviewView(View):
    """What a rollback would do, whole; nothing changes before Enter."""

    heavy = True
    keys_first = "Enter roll back · Space keep mine / take checkpoint / merge · d diff"

    def __init__(
        self, agent: "AgentApp", target: str, mode: RollbackMode, paths: tuple[str, ...] = ()
    ) -> None:
        super().__init__(agent)
        self._target = target
        self._mode: RollbackMode = mode
        self._paths = paths
        self._plan: RollbackPlan | None = None
        self._failure = ""
        self._choices: dict[str, str] = {}
        self._at = 0

    @property
    def keys_second(self) -> str:  # type: ignore[override]  # computed where the base has a value
        others = {"both": "f files only · c conversation only", "files": "c both", "conversation": "f both"}[
            self._mode
        ]
        return f"{others} · ↑ ↓ move · Esc cancel"

    async def load(self) -> None:
        try:
            data = await self.agent.link.ask(
                Subject.ROLLBACK_PLAN, id=self._target, paths="\n".join(self._paths)
            )
            self._plan = decode(RollbackPlan, data)
        except RefusedError as error:
            self._failure = str(error)
        self.draw()

    def title_words(self) -> tuple[str, str]:
        return f"rollback · {_WHAT[self._mode]} · to {self._target}", ""

    def content(self, look: Look) -> Sequence[Line]:
        if self._failure:
            return [(Span("  "), *untrusted(self._failure, "error"))]
        if self._plan is None:
            return [(Span(f"  loading {look.glyphs.more}", "muted"),)]
        rows: list[Line] = []
        if self._mode != "conversation":
            rows += self._conflicts(self._plan.conflicts, look)
            rows += _operations(self._plan.operations, look)
            rows += _stays(self._plan, look)
        if self._mode != "files":
            rows.append(
                (
                    Span("  conversation   ", "muted"),
                    Span("what came after this point is hidden; nothing is deleted"),
                )
            )
        return rows or [(Span("  Nothing would change", "muted"),)]

    def _conflicts(self, conflicts: Sequence[Conflict], look: Look) -> list[Line]:
        if not conflicts:
            return []
        rows: list[Line] = [
            (
                Span(f"  conflicts {len(conflicts)}", "attention"),
                Span("    changed by you after the agent; kept unless you choose", "muted"),
            )
        ]
        for index, conflict in enumerate(conflicts):
            mark = "  > " if index == self._at else "    "
            when = time.strftime("%H:%M", time.localtime(conflict.changed_at)) if conflict.changed_at else ""
            choice = _CHOICE_WORDS[self._choices.get(conflict.path, "keep")]
            left = [
                Span(mark, "accent"),
                Span("! ", "external"),
                *untrusted(f"{conflict.path:<20} ", "external", strict=True),
            ]
            left += untrusted(f"{conflict.reason} {when}".strip(), "muted")
            rows.append(with_right(clip(left, look.width - 20), (Span(choice, "strong"),), look.width - 1))
        return rows

    def press(self, key: str, character: str) -> bool:
        conflicts = self._plan.conflicts if self._plan is not None else ()
        if key == "enter":
            self._run()
        elif key == "space" and conflicts:
            path = conflicts[self._at].path
            now = self._choices.get(path, "keep")
            self._choices[path] = _CHOICES[(_CHOICES.index(now) + 1) % len(_CHOICES)]
        elif key in ("up", "down") and len(conflicts) > 1:
            self._at = (self._at + (1 if key == "down" else -1)) % len(conflicts)
        elif character in ("f", "c"):
            wanted: RollbackMode = "files" if character == "f" else "conversation"
            self._mode = wanted if self._mode == "both" else "both"
        elif character == "d":
            self.agent.views.diff(
                f"since {self._target}", {"checkpoint": self._target}, before=self._target, after="now"
            )
        else:
            return False
        self.draw()
        return True

    def _run(self) -> None:
        if self._plan is None:
            return
        self.agent.link.send(
            commands.Rollback(
                checkpoint_id=self._target, mode=self._mode, paths=self._paths, choices=dict(self._choices)
            )
        )
        self.agent.views.close_all()


_HEADS = {
    "write": "change",
    "delete": "delete",
    "mode": "mode",
    "link": "link",
    "mkdir": "directory",
    "rmdir": "directory",
}


def _operations(operations: Sequence[Operation], look: Look) -> list[Line]:
    rows: list[Line] = []
    for head in dict.fromkeys(_head(each) for each in operations):
        group = [each for each in operations if _head(each) == head]
        rows.append((Span(f"  {head} {len(group)}", "strong"),))
        rows += _columns([_operation(each) for each in group], look)
    return rows


def _head(operation: Operation) -> str:
    if operation.action == "write" and "absent" in operation.detail:
        return "create"
    return _HEADS[operation.action]


def _operation(operation: Operation) -> list[Span]:
    spans = untrusted(f"    {operation.path:<18} ", strict=True)
    return [*spans, *untrusted(one_line(operation.detail), "muted")]


def _columns(cells: Sequence[list[Span]], look: Look) -> list[Line]:
    half = look.width // 2
    if look.width < 100 and any(width_of(cell) > half - 1 for cell in cells):
        return [clip(cell, look.width, look.glyphs.more) for cell in cells]
    rows: list[Line] = []
    for index in range(0, len(cells), 2):
        left = clip(cells[index], half - 1)
        right = clip(cells[index + 1], half - 1) if index + 1 < len(cells) else ()
        rows.append((*left, Span(" " * (half - width_of(left))), *right))
    return rows


def _stays(plan: RollbackPlan, look: Look) -> list[Line]:
    entries = [(path, "not made by the agent") for path in plan.kept]
    entries += [(each.path, f"{each.reason}, not covered by undo") for each in plan.uncovered]
    if plan.head_moved:
        entries.append((".git", f"your HEAD moved {plan.head_moved}; not touched"))
    if not entries:
        return []
    rows: list[Line] = [(Span(f"  stays as it is {len(entries)}", "strong"),)]
    for path, reason in entries:
        rows.append(
            clip(
                [*untrusted(f"    {path:<20} ", strict=True), *untrusted(reason, "muted")],
                look.width,
                look.glyphs.more,
            )
        )
    return [*rows, BLANK]
