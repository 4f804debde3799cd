"""Restore points: of this session (rewind), or of all sessions of the workspace."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_tui.engine.commands import Subject
from agent_tui.safe_text import one_line
from agent_tui.tui import words
from agent_tui.tui.glyphs import own_words
from agent_tui.tui.link import RefusedError
from agent_tui.tui.screens.rollback import HEADS, RollbackMode, head_of, returning
from agent_tui.tui.screens.view import ListView
from agent_tui.tui.transcript import changes
from agent_tui.tui.transcript.blocks import Block
from agent_tui.tui.transcript.card import VERBS
from agent_tui.tui.transcript.lines import Line, Span, clip, untrusted, width_of, with_right
from agent_tui.tui.transcript.look import Look
from checkpoints.types import Author, Checkpoint, FileChange, Kept, Phase, RollbackPlan
from context.codec import decode

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp

PLAN_AFTER_S = 0.15  # a row that stays picked for so long is looked at closer
_SHOWN = (Phase.TURN_START, Phase.BEFORE_CALL, Phase.BEFORE_ROLLBACK)
_BACK_TO = "rollback to "  # how a checkpoint before a rollback names its target


@dataclass(frozen=True, slots=True)
class Point:
    """A row: the checkpoint that is gone back to, and what came after it."""

    checkpoint: Checkpoint
    changed: tuple[FileChange, ...]
    at: float  # time of the row, UTC seconds
    following: str = ""  # id of the next checkpoint of its session
    external: bool = False  # all that came after it is not of a call
    begins: bool = True  # of a message: with it a turn began

    @property
    def phase(self) -> Phase:
        """Of the checkpoint."""
        return self.checkpoint.cause.phase


def points(taken: Sequence[Checkpoint], *, external: bool) -> list[Point]:
    """The rows for checkpoints, oldest first; with `external` also what was changed between calls, and
    without the calls that changed nothing."""
    rows: list[Point] = []
    begun: dict[tuple[str, int], str] = {}  # session and turn → its first checkpoint
    for item in taken:
        if item.cause.phase is Phase.TURN_START:
            begun.setdefault((item.session, item.cause.turn), item.id)
    newer: dict[str, Checkpoint] = {}  # session → its next checkpoint
    for item in reversed(taken):
        following, newer[item.session] = newer.get(item.session), item
        changed = item.after or (following.changes if following is not None else ())
        others = bool(changed) and all(each.author is Author.EXTERNAL for each in changed)
        idle = external and following is not None and (others or not (changed or item.broken))
        if others and external and following is not None:
            rows.append(Point(item, changed, following.created_at, following.id, external=True))
        if item.cause.phase in _SHOWN and not (idle and item.cause.phase is Phase.BEFORE_CALL):
            own = () if others and external else changed
            begins = begun.get((item.session, item.cause.turn), item.id) == item.id
            name = following.id if following else ""
            rows.append(Point(item, own, item.created_at, name, begins=begins))
    return rows[::-1]


def before_words(point: Point) -> str:
    """What a row goes back to before, after the word "before"."""
    cause = point.checkpoint.cause
    summary = one_line(cause.summary)[:200]
    if point.external:
        return "the external change"
    if cause.phase is Phase.TURN_START:
        return f'your message "{summary}"' if summary else "your message"
    if cause.phase is Phase.BEFORE_ROLLBACK:
        return summary or "a rollback"
    if cause.tool == "apply_patch":
        return summary or "a patch"
    return f"`{summary}`" if summary else cause.tool or cause.phase.value.replace("_", " ")


def changed_after(point: Point, look: Look) -> Line:
    """What happened between this checkpoint and the next one of its session."""
    item = point.checkpoint
    if item.broken:
        return tuple(untrusted(f"! {item.broken}", "attention"))
    files = point.changed
    if item.cause.phase is Phase.TURN_START and not files and not item.changes and item.seq > 1:
        return (Span(f"nothing since {item.session}/{item.seq - 1}", "muted"),)
    if item.uncovered and not files:
        return tuple(untrusted(f"! {item.uncovered[0].path} not covered", "attention", strict=True))
    spans: list[Span] = []
    for change in files[:2]:
        role = "external" if change.author is Author.EXTERNAL else "muted"
        spans += [Span(", ", "muted")] * bool(spans)
        spans += changes.change_spans(change, look.glyphs, role, with_counts=False)
    if len(files) > 2:
        spans.append(Span(f" +{len(files) - 2}", "muted"))
    return tuple(spans)


def _said(point: Point, room: int, look: Look) -> Line:
    """The message of a row; one that came while the model worked is told from one that began a turn."""
    summary = one_line(point.checkpoint.cause.summary)
    if not summary:
        return (Span("your message" if point.begins else "went on after a pause", "strong"),)
    note = "" if point.begins else " (steer)"
    said = clip(untrusted(summary, "strong", strict=True), room - len(note), look.glyphs.more)
    return (*said, Span(note, "muted"))


class CheckpointsView(ListView[Point]):
    """Restore points; of this session (rewind) or of the whole workspace."""

    keys_second = "↑ ↓ j k move · / find · Esc close"

    def __init__(self, agent: "AgentApp", *, everywhere: bool) -> None:
        super().__init__(agent)
        self._everywhere = everywhere
        self._taken: dict[str, Checkpoint] = {}  # by id
        self._kept: Kept | None = None  # what all of them take, once that is known
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
        taken = [decode(Checkpoint, each) for each in data][::-1]
        self._taken = {each.id: each for each in taken}
        shown = points(taken, external=not self._everywhere)
        back = (each.phase is Phase.BEFORE_ROLLBACK for each in reversed(shown))
        after = next((count for count, is_undo in enumerate(back) if not is_undo), 0)  # `/redo` is for those
        self.set_items(shown, at=len(shown) - 1 - after)
        if self._everywhere and shown:
            with suppress(RefusedError):  # the list is what counts
                self._kept = decode(Kept, await self.agent.link.ask(Subject.KEPT))
                self.draw_frame()

    def title_words(self) -> tuple[str, str]:
        if self._everywhere:
            facts = [f"{len(self.items):,}"]
            if self._kept is not None:
                facts += [words.size(self._kept.size_bytes), f"kept {self._kept.days:g} days"]
            return "checkpoints · this workspace", " · ".join(facts)
        count = words.count(len(self.items), "point")
        return "rewind · go back to before …", f"{self.agent.session.session_id} · {count}"

    def empty(self) -> str:
        return "No checkpoints yet. One is taken before the first change"

    def row(self, item: Point, look: Look) -> Line:
        found = self._right(item, look)
        right = clip(found, look.width // 2 - 4, look.glyphs.more)
        room = look.width - 5 - width_of(right)
        left = self._listed(item) if self._everywhere else self._told(item, look, room)
        return with_right(clip(left, room, look.glyphs.more), right, look.width - 2)

    def _right(self, item: Point, look: Look) -> Line:
        """What came after it; in the rewind list only where that says something about going there."""
        if self._everywhere or item.changed or item.checkpoint.broken:
            return changed_after(item, look)
        last = self.agent.session.last_rollback
        undoes_last = last and last.files and last.files.undo == item.checkpoint.id
        return (Span("undo of an undo: /redo", "muted"),) if undoes_last else ()

    def _listed(self, item: Point) -> list[Span]:
        room = max(len(each.checkpoint.id) for each in self.items) + 1
        spans = [
            *untrusted(f"{item.checkpoint.id:<{room}} ", "muted"),
            Span(f"{words.time_of_day(item.at)}  ", "muted"),
        ]
        other = "" if item.checkpoint.session == self.agent.session.session_id else ", other session"
        return [*spans, *untrusted(f"before {before_words(item)}{other}", strict=True)]

    def _told(self, item: Point, look: Look, room: int) -> list[Span]:
        """As the transcript says it: messages stand out, calls are below them."""
        cause, when = item.checkpoint.cause, Span(f"{words.time_of_day(item.at)} ", "muted")
        if item.external:
            return [when, Span("    external, you or another program", "external")]
        if cause.phase is Phase.TURN_START:
            return [when, Span(look.glyphs.user + " ", "accent"), *_said(item, room - 8, look)]
        if cause.phase is Phase.BEFORE_ROLLBACK:
            return [when, *untrusted(f"    {self._went_to(cause.summary)}", strict=True)]
        verb = VERBS.get(cause.tool, "called")
        shown = one_line(cause.summary).removeprefix("patch ") or cause.tool
        return [when, Span(f"    {verb:<8} "), *untrusted(shown, strict=True)]

    def _went_to(self, summary: str) -> str:
        """`rolled back to before 13:51`, by the id that the summary of a rollback names; `redone` for one
        that went back to where another began."""
        name = summary.removeprefix(_BACK_TO).partition(",")[0] if summary.startswith(_BACK_TO) else ""
        taken = self._taken.get(name)
        if taken is None:
            return f"rolled back to {one_line(name)}" if name else "rolled back"
        if taken.cause.phase is Phase.BEFORE_ROLLBACK:
            return f"redone, back to {words.time_of_day(taken.created_at)}"
        return f"rolled back to before {words.time_of_day(taken.created_at)}"

    def moved(self) -> None:
        self._plan = None
        if self.picked is not None:
            self.set_timer(PLAN_AFTER_S, lambda item=self.picked: self._look_closer(item))

    def _look_closer(self, item: Point) -> None:
        if item is self.picked and not item.checkpoint.broken:
            self.run_worker(self._fetch_plan(item), exclusive=True, group="plan")

    async def _fetch_plan(self, item: Point) -> None:
        try:
            data = await self.agent.link.ask(Subject.ROLLBACK_PLAN, id=item.checkpoint.id)
            plan = decode(RollbackPlan, data)
        except RefusedError:
            return  # the preview says why
        if item is self.picked:
            self._plan = plan
            self.draw()

    def detail(self, look: Look) -> list[Line]:
        item = self.picked
        if item is None:
            return []
        separator, broken = own_words(" · ", look.glyphs), item.checkpoint.broken
        name = f"{separator}checkpoint {item.checkpoint.id}"
        head = untrusted(f"  before {words.time_of_day(item.at)} {before_words(item)}", strict=True)
        rows = [(*clip(head, look.width - len(name), look.glyphs.more), Span(name))]
        if broken:
            words_of = untrusted(f"  ! there is no going back to it: {broken}", "attention")
            return [*rows, clip(words_of, look.width, look.glyphs.more)]
        files = _planned(self._plan) if self._plan is not None else look.glyphs.more
        rows.append((Span("  files: ", "muted"), Span(files)))
        conversation = self._hidden(item)
        if conversation:
            rows.append((Span("  conversation: ", "muted"), Span(conversation)))
        return [clip(row, look.width, look.glyphs.more) for row in rows]

    def _after(self, item: Point) -> list[Block] | None:
        return self.agent.feed.blocks_after(item.checkpoint.id, self.agent.transcript.blocks)

    def _hidden(self, item: Point) -> str:
        hidden = self._after(item)
        if hidden is None:
            return ""
        text = f"{words.count(len(hidden), 'item')} would be hidden"
        count = returning(self.agent.session, hidden)
        verb = "returns" if count == 1 else "return"
        return f"{text}, {words.count(count, 'message')} {verb} to the editor" if count else text

    def press(self, key: str, character: str) -> bool:
        modes: dict[str, RollbackMode] = {"f": "files", "c": "conversation", "enter": "both"}
        item = self.picked
        mode = modes.get(character) or modes.get(key)
        if item is None:
            return False
        name = item.checkpoint.id
        if mode == "conversation" and self._after(item) == []:
            self.say("nothing of the conversation came after this point")
        elif mode:
            self.agent.views.rollback(name, mode)
        elif character == "d":
            self.agent.views.diff(f"since {name}", {"checkpoint": name}, before=name, after="now")
        elif character == "D" and self._everywhere:
            self._diff_to_next(item)
        else:
            return False
        return True

    def _diff_to_next(self, item: Point) -> None:
        name, following = item.checkpoint.id, item.following
        if following:
            args = {"checkpoint": name, "until": following}
            self.agent.views.diff(f"from {name} to {following}", args, before=name, after=following)
        else:
            self.say("nothing came after this one in its session; d compares it with now")


def _planned(plan: RollbackPlan) -> str:
    """`8 to change, 1 to create, 1 conflict`."""
    parts = []
    for head in HEADS:
        count = sum(head_of(each) == head for each in plan.operations)
        parts += [f"{count} to {head}"] if count else []
    parts += [words.count(len(plan.conflicts), "conflict")] if plan.conflicts else []
    return ", ".join(parts) or "nothing to change"
