"""The preview that stands before every rollback and redo: the exact list, conflicts first."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from textual.timer import Timer

from agent_tui.engine import commands, events
from agent_tui.engine.commands import Subject
from agent_tui.safe_text import one_line
from agent_tui.tui import words
from agent_tui.tui.glyphs import own_words
from agent_tui.tui.hints import BETWEEN
from agent_tui.tui.link import RefusedError
from agent_tui.tui.screens.view import View
from agent_tui.tui.state import State
from agent_tui.tui.transcript.blocks import Block, UserMessage
from agent_tui.tui.transcript.lines import Line, Span, clip, untrusted, width_of, with_right, wrap
from agent_tui.tui.transcript.look import Look
from checkpoints.types import Action, Author, Conflict, Operation, RollbackPlan
from context.codec import decode
from tools.types import STOP

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp

RollbackMode = Literal["files", "conversation", "both"]
Settle = Callable[[Mapping[str, str]], None]  # conflict path → keep, take, merge
_WHAT: dict[RollbackMode, str] = {
    "both": "files and conversation",
    "files": "files",
    "conversation": "conversation",
}
_CHOICES = ("keep", "take", "merge")
_CHOICE_WORDS = {"keep": "keep mine", "take": "take checkpoint", "merge": "merge"}
BY_YOU = "changed by you"  # a reason that the heading of the conflicts says already
STOP_WAIT_S = 8.0  # for terminals to end before files go back; the last of the signals comes after 5 s


class PreviewView(View):
    """What a rollback would do, whole; nothing changes before an Enter after a pause."""

    heavy = True

    def __init__(
        self, agent: "AgentApp", target: str, mode: RollbackMode, paths: tuple[str, ...] = (), *,
        redo_at: str = "", settle: Settle | None = None,
    ) -> None:  # fmt: skip
        super().__init__(agent)
        self._settle = settle  # does it, for a lost result: with its files the conversation stays
        self._redo_at = redo_at  # time of the rollback that would be taken back
        self._target = target
        self._mode: RollbackMode = mode
        self._paths = paths
        self._plan: RollbackPlan | None = None
        self._failure = ""
        self._grants = 0  # that end with a rollback of the conversation
        self._taken_at = 0.0  # when the target was taken, UTC seconds; 0: not known
        self._stopping: Timer | None = None  # terminals were asked to end, and the rollback waits, as it is
        self._choices: dict[str, str] = {}
        self._at = 0

    @property
    def keys_first(self) -> str:  # type: ignore[override]  # computed where the base has a value
        in_few_words = self.look.narrow or self._live
        choose = "choose" if in_few_words else "keep mine / take checkpoint / merge"
        keep = f" · Space {choose}" if self._chooses else ""
        enter, k = ("Enter", "k") if self.is_armed else (self.look.glyphs.unarmed,) * 2
        if self._live:
            them = "it" if len(self._live) == 1 else "them"
            return f"{enter} stop {them} first · {k} go on anyway{keep} · d diff"
        return f"{enter} {'redo' if self._redo_at else 'roll back'}{keep} · d diff"

    @property
    def _chooses(self) -> bool:
        """Whether there are conflicts to choose in."""
        found = self._plan is not None and self._plan.conflicts and self._mode != "conversation"
        return bool(found) and not self._redo_at

    @property
    def _live(self) -> list[events.TerminalChanged]:
        """Terminals that can still write; files go back only without them."""
        return self.agent.session.live_terminals if self._mode != "conversation" else []

    @property
    def keys_second(self) -> str:  # type: ignore[override]  # computed where the base has a value
        narrow, below = self.look.narrow, self.lines_below
        said = f"{below:,} more" if narrow else words.count(below, "more line")
        keys = [f"{'PgDn' if self._chooses else 'Space'} {said}"] if below else []
        if not self._redo_at and self._settle is None:
            only = "" if narrow else " only"
            keys += {
                "both": [f"f files{only}", f"c conversation{only}"],
                "files": ["c both"],
                "conversation": ["f both"],
            }[self._mode]
        keys += ["↑ ↓ move"] if self._chooses else []
        return BETWEEN.join([*keys, "Esc cancel" if self._settle is None else "Esc back"])

    def hints(self) -> tuple[str, str]:
        return super().hints() if self._plan is not None else ("", "Esc close")

    async def load(self) -> None:
        if self._redo_at and self._mode == "conversation":
            self._plan = RollbackPlan(target="", operations=(), conflicts=())
            self.disarm()
            self.draw()
            return
        try:
            data = await self.agent.link.ask(
                Subject.ROLLBACK_PLAN, id=self._target, paths="\n".join(self._paths)
            )
            plan = decode(RollbackPlan, data)
            taken = await self.agent.link.ask(Subject.CHECKPOINTS)
            times = (each["created_at"] for each in taken if each["id"] == plan.target)
            self._taken_at = next(times, 0.0)
            if not self._redo_at:
                ended = await self.agent.link.ask(Subject.GRANTS, ended_by=plan.target)
                self._grants = len(ended)
            self._plan = plan  # last: with it Enter counts
        except RefusedError as error:
            self._failure = str(error)
        self.disarm()
        self.draw()

    def title_words(self) -> tuple[str, str]:
        if self._redo_at:
            return f"redo · back to {self._redo_at}", ""
        target = self._plan.target if self._plan is not None else self._target
        if self._taken_at:
            before = f"before {words.time_of_day(self._taken_at)}"
            target = before if self.look.narrow else f"{before} · {target}"
        return f"rollback · {_WHAT[self._mode]} · to {target}", ""

    def content(self, look: Look) -> Sequence[Line]:
        if self._failure:
            return [(Span("  "), *untrusted(self._failure, "error"))]
        if self._plan is None:
            return [(Span(f"  loading {look.glyphs.more}", "muted"),)]
        rows: list[Line] = []
        for each in self._live:
            shown = untrusted(
                f"{each.terminal} {one_line(each.command)} can still write", "attention", strict=True
            )
            rows.append(clip([Span("  ! ", "attention"), *shown], look.width, look.glyphs.more))
        if self._mode != "conversation":
            rows += self._conflicts(self._plan.conflicts, look)
            rows += _operations(self._plan.operations, look)
            rows += _stays(self._plan, look)
        if self._mode != "files":
            lead = Span("  conversation   ", "muted")
            rest = (Span(" " * len(lead.text)),)
            rows += wrap([Span(self._conversation())], look.width, first=(lead,), rest=rest)
        return rows or [(Span("  Nothing would change", "muted"),)]

    def _conversation(self) -> str:
        if self._redo_at:
            return "what the rollback hid comes back"
        target = self._plan.target if self._plan is not None else self._target
        hidden = self.agent.feed.blocks_after(target, self.agent.transcript.blocks)
        if hidden is None:
            facts = ["what came after this point is hidden"]
        else:
            facts = [f"{words.count(len(hidden), 'item')} hidden"]
        facts += ["what that rollback hid comes back"] if target in self.agent.feed.rollbacks else []
        count = returning(self.agent.session, hidden or ())
        facts += [f"{words.count(count, 'message')} back to the editor"] if count else []
        verb = "ends" if self._grants == 1 else "end"
        facts += [f"{words.count(self._grants, 'grant')} {verb}"] if self._grants else []
        return ", ".join(facts)

    def _conflicts(self, conflicts: Sequence[Conflict], look: Look) -> list[Line]:
        if not conflicts:
            return []
        rows: list[Line] = [
            _head(
                "conflicts",
                len(conflicts),
                ("changed by you" if look.narrow else "changed by you after the agent")
                + ("; kept unless you choose" if self._chooses else "; kept"),
                "attention",
            )
        ]
        for index, conflict in enumerate(conflicts):
            mark = "  > " if index == self._at and self._chooses else "    "
            when = words.time_of_day(conflict.changed_at) if conflict.changed_at else ""
            choice = _CHOICE_WORDS[self._choices.get(conflict.path, "keep")]
            left = [
                Span(mark, "accent"),
                Span("! ", "external"),
                *untrusted(f"{conflict.path:<20} ", "external", strict=True),
            ]
            who = "you" if conflict.author is Author.EXTERNAL else conflict.author.value
            facts = [f"{who}, {when}" if when else who, one_line(conflict.detail)]
            facts += [conflict.reason] if not conflict.reason.startswith(BY_YOU) else []
            left += untrusted("   ".join(filter(None, facts)), "muted")
            right = (Span(choice, "strong"),)
            room = look.width - width_of(right) - 3
            rows.append(with_right(clip(left, room, look.glyphs.more), right, look.width - 1))
        return rows

    def press(self, key: str, character: str) -> bool:
        conflicts = self._plan.conflicts if self._plan is not None else ()
        if not self.is_armed and (key == "enter" or (character == "k" and self._live)):
            self.too_early()
        elif key == "enter":
            self._run()
        elif character == "k" and self._live:
            self._send(force=True)
        elif key == "space" and self._chooses:
            path = conflicts[self._at].path
            now = self._choices.get(path, "keep")
            self._choices[path] = _CHOICES[(_CHOICES.index(now) + 1) % len(_CHOICES)]
        elif key in ("up", "down") and len(conflicts) > 1 and self._chooses:
            self._at = (self._at + (1 if key == "down" else -1)) % len(conflicts)
            self.draw()
            self.body.reveal(len(self._live) + 1 + self._at)  # behind their heading
            return True
        elif character in ("f", "c") and self._may_choose_mode:
            wanted: RollbackMode = "files" if character == "f" else "conversation"
            self._mode = wanted if self._mode == "both" else "both"
        elif character == "d" and self._target:
            self.agent.views.diff(
                f"since {self._target}", {"checkpoint": self._target}, before=self._target, after="now",
                path=conflicts[self._at].path if conflicts and self._chooses else "",
            )  # fmt: skip
        else:
            return False
        self.draw()
        return True

    @property
    def _may_choose_mode(self) -> bool:
        return not self._redo_at and self._settle is None and self._stopping is None

    def _run(self) -> None:
        if self._plan is None:
            return
        if self._live:
            if self._stopping is None:
                self._stop_first()
        else:
            self._send(force=False)

    def _send(self, *, force: bool) -> None:
        if self._plan is None:
            return
        if self._settle is not None:
            self.agent.views.close_all()
            self._settle(self._choices)
            return
        body = commands.Redo(force=force) if self._redo_at else commands.Rollback(
            checkpoint_id=self._target, mode=self._mode, paths=self._paths, choices=dict(self._choices),
            force=force,
        )  # fmt: skip
        self.agent.session.going_back = len(self._plan.operations)
        self.agent.link.send(body)
        self.agent.views.close_all()

    def _stop_first(self) -> None:
        for each in self._live:
            self.agent.link.send(commands.TerminalInput(terminal=each.terminal, signal=STOP))
        self._stopping = self.set_timer(STOP_WAIT_S, self._gave_up)
        self.say(f"stopping {words.count(len(self._live), 'terminal')} first")

    def session_changed(self) -> None:
        if self._stopping is not None and not self._live:
            self._stopping.stop()
            self._stopping = None
            self._send(force=False)

    def _gave_up(self) -> None:
        self._stopping = None
        self.say("a terminal does not end; F3 and x stop it")


def returning(session: State, hidden: Sequence[Block]) -> int:
    """How many messages a rollback of the conversation brings back to the editor: those that it hides, and
    those that wait."""
    return sum(isinstance(each, UserMessage) for each in hidden) + len(session.pending)


HEADS = ("change", "create", "delete")
_LINES = re.compile(r"\+(\d+) -(\d+)")
_KINDS: dict[Action, str] = {  # of what is there now: a folder, too, may come in place of a file
    "write": "M", "delete": "D", "mode": "X", "link": "M", "mkdir": "M", "rmdir": "D",
}  # fmt: skip


def _operations(operations: Sequence[Operation], look: Look) -> list[Line]:
    rows: list[Line] = []
    for head in HEADS:
        group = [each for each in operations if head_of(each) == head]
        if not group:
            continue
        rows.append(_head(head, len(group), "made by the agent since" if head == "delete" else ""))
        rows += _columns([_operation(each) for each in group], look)
    return rows


def head_of(operation: Operation) -> str:
    """The group of an operation: change, create, delete."""
    if operation.creates:
        return "create"
    return "delete" if operation.action in ("delete", "rmdir") else "change"


def _head(name: str, count: int, note: str = "", role: str = "strong") -> Line:
    lead = Span(f"  {name} {count}", role)
    return (lead, Span(" " * max(17 - len(lead.text), 3) + note, "muted")) if note else (lead,)


def _operation(operation: Operation) -> list[Span]:
    kind = "A" if operation.creates else _KINDS[operation.action]
    path = operation.path + "/" * (operation.action in ("mkdir", "rmdir"))
    detail, found = one_line(operation.detail), _LINES.match(operation.detail)
    if found and kind in ("A", "D"):  # one of the two counts is all there is
        detail = words.count(int(found[1]) + int(found[2]), "line") + detail[found.end() :]
    return [*untrusted(f"    {kind} {path:<18} ", strict=True), *untrusted(detail, "muted")]


def _columns(cells: Sequence[list[Span]], look: Look) -> list[Line]:
    half = look.width // 2
    if look.width < 100 and any(width_of(cell) > half - 1 for cell in cells):
        return [clip(cell, look.width, look.glyphs.more) for cell in cells]
    rows: list[Line] = []
    for index in range(0, len(cells), 2):
        left = clip(cells[index], half - 1, look.glyphs.more)
        right = clip(cells[index + 1], half - 1, look.glyphs.more) if index + 1 < len(cells) else ()
        rows.append((*left, Span(" " * (half - width_of(left))), *right))
    return rows


def _stays(plan: RollbackPlan, look: Look) -> list[Line]:
    entries = [(path, "made by you") for path in plan.kept]
    entries += [(each.path, each.told) for each in plan.uncovered]
    if plan.head_moved:
        entries.append((".git", f"your HEAD moved {own_words(plan.head_moved, look.glyphs)}; not touched"))
    if not entries:
        return []
    rows: list[Line] = [_head("stays as it is", len(entries))]
    for path, reason in entries:
        rows.append(
            clip(
                [*untrusted(f"    {path:<20} ", strict=True), *untrusted(reason, "muted")],
                look.width,
                look.glyphs.more,
            )
        )
    return rows
