"""Restore points: of this session (rewind), or of all sessions of the workspace (3.7)."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent_tui.engine.commands import Subject
from agent_tui.safe_text import one_line
from agent_tui.tui import words
from agent_tui.tui.glyphs import own_words
from agent_tui.tui.link import RefusedError
from agent_tui.tui.screens.rollback import RollbackMode, head_of
from agent_tui.tui.screens.view import ListView
from agent_tui.tui.transcript import changes
from agent_tui.tui.transcript.card import VERBS
from agent_tui.tui.transcript.lines import Line, Span, clip, untrusted, width_of, with_right
from agent_tui.tui.transcript.look import Look
from checkpoints.types import Author, Checkpoint, Phase, RollbackPlan
from context.codec import decode

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp

PLAN_AFTER_S = 0.15  # a row that stays picked for so long is looked at closer
_SHOWN = (Phase.TURN_START, Phase.BEFORE_CALL, Phase.BEFORE_ROLLBACK)


def before_words(checkpoint: Checkpoint) -> str:
    """What a checkpoint goes back to before, after the word "before"."""
    cause = checkpoint.cause
    summary = one_line(cause.summary)[:200]
    if cause.phase is Phase.TURN_START:
        return f'your message "{summary}"' if summary else "your message"
    if cause.phase is Phase.BEFORE_ROLLBACK:
        return "a rollback"
    if cause.tool == "apply_patch":
        return summary or "a patch"
    return f"`{summary}`" if summary else cause.tool or cause.phase.value.replace("_", " ")


def clock_of(checkpoint: Checkpoint) -> str:
    """Local time of day."""
    return time.strftime("%H:%M", time.localtime(checkpoint.created_at))


def changed_after(item: Checkpoint, items: Sequence[Checkpoint]) -> Line:
    """What happened between this checkpoint and the next one of its session."""
    if item.broken:
        return tuple(untrusted(f"! {item.broken}", "attention"))
    following = next((each for each in items if each.session == item.session and each.seq > item.seq), None)
    files = item.after or (following.changes if following is not None else ())
    if item.cause.phase is Phase.TURN_START and not files and not item.changes and item.seq > 1:
        return (Span(f"nothing since {item.session}/{item.seq - 1}", "muted"),)
    if item.uncovered and not files:
        return tuple(untrusted(f"! {item.uncovered[0].path} not covered", "attention", strict=True))
    spans: list[Span] = []
    for change in files[:2]:
        role = "external" if change.author is Author.EXTERNAL else "muted"
        spans += [Span(", ", "muted")] * bool(spans) + changes.change_spans(change, role, with_counts=False)
    if len(files) > 2:
        spans.append(Span(f" +{len(files) - 2}", "muted"))
    return tuple(spans)


class CheckpointsView(ListView[Checkpoint]):
    """Restore points; of this session (rewind) or of the whole workspace."""

    keys_second = "↑ ↓ j k move · / find · Esc close"

    def __init__(self, agent: "AgentApp", *, everywhere: bool) -> None:
        super().__init__(agent)
        self._everywhere = everywhere
        self._all: list[Checkpoint] = []  # oldest first, also those that are no row
        self._plan: RollbackPlan | None = None  # of the picked row, once it is known
        if everywhere:
            self.keys_first = "Enter preview · d diff to now · D diff to next · / find · Esc close"
            self.keys_second = "f files · c conversation · ↑ ↓ j k move"
        else:
            self.keys_first = "f files · c conversation · Enter both, with preview · d diff to now"

    async def load(self) -> None:
        args = {} if self._everywhere else {"session": self.agent.session.session_id}
        try:
            data = await self.agent.link.ask(Subject.CHECKPOINTS, **args)
        except RefusedError as error:
            self.failure, data = str(error), []
        self._all = [decode(Checkpoint, each) for each in data][::-1]
        shown = [each for each in self._all if each.cause.phase in _SHOWN]
        back = (each.cause.phase is Phase.BEFORE_ROLLBACK for each in reversed(shown))
        after = next((count for count, is_undo in enumerate(back) if not is_undo), 0)  # `/redo` is for those
        self.set_items(shown, at=len(shown) - 1 - after)

    def title_words(self) -> tuple[str, str]:
        count = words.count(len(self.items), "point")
        if self._everywhere:
            return "checkpoints · this workspace", count
        return "rewind · go back to before …", f"{self.agent.session.session_id} · {count}"

    def empty(self) -> str:
        return "No checkpoints yet. One is taken before the first change"

    def row(self, item: Checkpoint, look: Look) -> Line:
        right = clip(changed_after(item, self._all), look.width // 2 - 4, look.glyphs.more)
        left = self._listed(item) if self._everywhere else self._told(item, look)
        room = look.width - 5 - width_of(right)
        return with_right(clip(left, room, look.glyphs.more), right, look.width - 2)

    def _listed(self, item: Checkpoint) -> list[Span]:
        room = max(len(each.id) for each in self.items) + 1
        spans = [*untrusted(f"{item.id:<{room}} ", "muted"), Span(f"{clock_of(item)}  ", "muted")]
        other = "" if item.session == self.agent.session.session_id else ", other session"
        return [*spans, *untrusted(f"before {before_words(item)}{other}", strict=True)]

    def _told(self, item: Checkpoint, look: Look) -> list[Span]:
        """As the transcript says it: messages stand out, calls are below them."""
        cause, when = item.cause, Span(f"{clock_of(item)} ", "muted")
        if cause.phase is Phase.TURN_START:
            said = one_line(cause.summary) or "your message"
            return [when, Span(look.glyphs.user + " ", "accent"), *untrusted(said, "strong", strict=True)]
        if cause.phase is Phase.BEFORE_ROLLBACK:
            return [when, Span("    rolled back; before that: undo of an undo", "text")]
        verb = VERBS.get(cause.tool, "called")
        shown = one_line(cause.summary).removeprefix("patch ") or cause.tool
        return [when, Span(f"    {verb:<8} "), *untrusted(shown, strict=True)]

    def moved(self) -> None:
        self._plan = None
        if self.picked is not None:
            self.set_timer(PLAN_AFTER_S, lambda item=self.picked: self._look_closer(item))

    def _look_closer(self, item: Checkpoint) -> None:
        if item is self.picked and not item.broken:
            self.run_worker(self._fetch_plan(item), exclusive=True, group="plan")

    async def _fetch_plan(self, item: Checkpoint) -> None:
        try:
            plan = decode(RollbackPlan, await self.agent.link.ask(Subject.ROLLBACK_PLAN, id=item.id))
        except RefusedError:
            return  # the preview says why
        if item is self.picked:
            self._plan = plan
            self.draw()

    def detail(self, look: Look) -> list[Line]:
        item = self.picked
        if item is None:
            return []
        separator = own_words(" · ", look.glyphs)
        head = f"  before {clock_of(item)} {before_words(item)}{separator}checkpoint {item.id}"
        rows = [clip(untrusted(head, strict=True), look.width, look.glyphs.more)]
        if item.broken:
            broken = untrusted(f"  ! it cannot be restored: {item.broken}", "attention")
            return [*rows, clip(broken, look.width, look.glyphs.more)]
        files = _planned(self._plan) if self._plan is not None else look.glyphs.more
        rows.append((Span("  files: ", "muted"), Span(files)))
        conversation = self._hidden(item)
        if conversation:
            rows.append((Span("  conversation: ", "muted"), Span(conversation)))
        return [clip(row, look.width, look.glyphs.more) for row in rows]

    def _count_hidden(self, item: Checkpoint) -> int | None:
        return self.agent.feed.items_after(item.id, self.agent.transcript.blocks)

    def _hidden(self, item: Checkpoint) -> str:
        hidden = self._count_hidden(item)
        if hidden is None:
            return ""
        text = f"{words.count(hidden, 'item')} would be hidden"
        returns = item.cause.phase is Phase.TURN_START and item.cause.summary
        return f"{text}, 1 message returns to the editor" if returns else text

    def press(self, key: str, character: str) -> bool:
        modes: dict[str, RollbackMode] = {"f": "files", "c": "conversation", "enter": "both"}
        item = self.picked
        mode = modes.get(character) or modes.get(key)
        if item is None:
            return False
        if mode == "conversation" and self._count_hidden(item) == 0:
            self.say("nothing of the conversation came after this point")
        elif mode:
            self.agent.views.rollback(item.id, mode)
        elif character == "d":
            self.agent.views.diff(f"since {item.id}", {"checkpoint": item.id}, before=item.id, after="now")
        elif character == "D" and self._everywhere:
            self._diff_to_next(item)
        else:
            return False
        return True

    def _diff_to_next(self, item: Checkpoint) -> None:
        call = item.cause.call_id if item.cause.phase is Phase.BEFORE_CALL else ""
        if call and item.session == self.agent.session.session_id:
            self.agent.views.diff(
                f"call {call}", {"call": call, "from": item.id}, before=item.id, after="next"
            )
        else:
            self.say("only a checkpoint before a call of this session has a next one to compare with")


def _planned(plan: RollbackPlan) -> str:
    """`8 to change, 1 to create, 1 conflict`."""
    parts = []
    for head in ("change", "create", "delete"):
        count = sum(head_of(each) == head for each in plan.operations)
        parts += [f"{count} to {head}"] if count else []
    others = sum(head_of(each) not in ("change", "create", "delete") for each in plan.operations)
    parts += [f"{words.count(others, 'other step')}"] if others else []
    parts += [words.count(len(plan.conflicts), "conflict")] if plan.conflicts else []
    return ", ".join(parts) or "nothing to change"
