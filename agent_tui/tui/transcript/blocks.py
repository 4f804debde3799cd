"""What the transcript holds: one record for each block, changed in place by the feed.

`revision` grows with every change; rendered lines are kept by (block, revision, width).
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import field
from typing import Literal

from agent_tui.engine.events import CompactionEnded
from agent_tui.engine.types import PlanStep
from agent_tui.frozen import mutable
from checkpoints.types import FileChange
from context.items import Image
from tools.types import Outcome

KEPT_LINES = 500  # of live output in memory; the full output is an artifact
LINE_LIMIT = 4_000  # characters of one output line that are kept for the screen


@mutable
class Block:
    """Base of all blocks; `tight` blocks have no blank line before them."""

    revision: int = 0
    tight: bool = False
    expanded: bool = False
    live: bool = False  # changes soon again, so its lines are not worth keeping
    at: float = 0.0  # UTC seconds
    step: int = 0  # of the session, that it is a part of; 0: of none

    def touch(self) -> None:
        """Note a change."""
        self.revision += 1


@mutable
class Welcome(Block):
    """First block of an empty session."""

    place: str
    branch: str = ""
    changed_files: int = 0


@mutable
class UserMessage(Block):
    """Something the person said; `right` is `steer, step 5`."""

    text: str
    right: str = ""
    images: tuple[Image, ...] = ()
    item_id: str = ""


@mutable
class Reasoning(Block):
    """The model's reasoning; folded unless expanded."""

    text: str = ""
    seconds: float = 0.0
    tokens: int = 0


@mutable
class Answer(Block):
    """Markdown of the model."""

    text: str = ""
    interrupted: bool = False


class Output:
    """The newest lines of live output, with an exact count of all."""

    __slots__ = ("_partial", "lines", "total")

    def __init__(self) -> None:
        self.lines: deque[str] = deque(maxlen=KEPT_LINES)
        self.total = 0
        self._partial = False

    def feed(self, text: str) -> None:
        """Add cleaned text; a piece may end within a line. What follows a `\\r` replaces that line."""
        first, *others = text.split("\n")
        pieces = [first, *(piece.rpartition("\r")[2] for piece in others)]
        if self._partial and self.lines:
            _, turn, new = pieces.pop(0).rpartition("\r")
            self.lines[-1] = (new if turn else self.lines[-1] + new)[:LINE_LIMIT]
        else:
            pieces[0] = first.rpartition("\r")[2]
        self._partial = pieces[-1] != "" if pieces else self._partial
        if pieces and not self._partial:
            pieces.pop()
        self.total += len(pieces)
        self.lines.extend(piece[:LINE_LIMIT] for piece in pieces[-KEPT_LINES:])


CardState = Literal[
    "drafting", "waiting", "running", "succeeded", "failed", "timed_out", "interrupted", "yielded", "denied",
    "invalid", "skipped", "not_run", "outcome_unknown", "ended",
]  # fmt: skip


@mutable
class Call:
    """One tool call as a card shows it."""

    call_id: str
    tool: str
    shown: str
    step_id: str = ""
    state: CardState = "waiting"
    detail: str = ""
    started_at: float = 0.0
    duration_s: float = 0.0
    sandbox: str = ""
    output: Output = field(default_factory=Output)
    last_output_at: float = 0.0
    awaits_input: bool = False
    outcome: Outcome | None = None
    changes: tuple[FileChange, ...] = ()
    external: tuple[FileChange, ...] = ()
    uncovered: tuple[str, ...] = ()
    checkpoint_id: str = ""
    after_id: str = ""  # checkpoint
    edited: str = ""
    denied_by: str = ""
    feedback: str = ""
    terminal: str = ""
    by_person: bool = False
    to_model: bool = True
    arguments: str = ""  # as the model sent them, until the call is over

    @property
    def is_over(self) -> bool:
        """Whether it has an outcome."""
        return self.state not in ("drafting", "waiting", "running")


@mutable
class Card(Block):
    """One call, or several reads of one wave that fold into a line."""

    calls: list[Call]


@mutable
class Plan(Block):
    """The model's plan."""

    steps: tuple[PlanStep, ...]
    explanation: str = ""


@mutable
class Compaction(Block):
    """Report of one compaction."""

    ended: CompactionEnded


@mutable
class RolledBack(Block):
    """Record of a rollback or redo."""

    mode: str
    target: str
    before: str = ""  # what the target is before: `step 3`, `your message`
    undo: str
    changed: Sequence[FileChange]
    kept: Sequence[str]
    mismatches: Sequence[str] = ()
    markers: Sequence[str] = ()
    merged: Sequence[str] = ()  # with the user's own text, with and without markers
    is_redo: bool = False
    back_to: float = 0.0  # of a redo: UTC seconds of the rollback that it takes back
    items: int = 0  # of the conversation, that were hidden or came back
    returned: int = 0  # messages that are back in the editor


@mutable
class TurnEnd(Block):
    """Why a turn ended and what it changed."""

    glyph: Literal["end", "failed", "interrupted"]
    words: str
    steps: int
    duration_s: float
    cost_usd: float | None
    changes: tuple[FileChange, ...]
    last_check: str = ""
    hint: str = ""  # what to do about it
    said: str = ""  # by the provider, where `words` do not tell it


@mutable
class Notice(Block):
    """A line of the runtime; `ended` when something ended with it, else it goes on."""

    text: str
    ended: bool = False
    information: bool = False


@mutable
class Muted(Block):
    """One quiet line, such as what stands for a hidden part; `hidden` is that part."""

    text: str
    hidden: list[Block] = field(default_factory=list)
    in_place_of: "Muted | None" = None  # the line of a rollback that was taken back by this one


@mutable
class Mark(Block):
    """In the pager: where a part that is hidden from the model begins, or `ends`."""

    text: str
    ends: bool = False
