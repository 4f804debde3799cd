"""The one look of everything that needs a person: heavy rule, object, facts, choices."""

from collections.abc import Sequence
from typing import Literal, Protocol

from agent_tui.engine.commands import CommandBody
from agent_tui.frozen import frozen
from agent_tui.tui.transcript.lines import Line, Span, clip, width_of, with_right, wrap
from agent_tui.tui.transcript.look import Look

Spacing = Literal["airy", "close", "none"]  # blank lines: all, before the choices only, none
LABEL = 10  # columns of a fact's label
CHOICE, WIDE_CHOICE = 18, 23  # columns of a choice's label: of an approval, of what else is asked


@frozen
class Choice:
    """One row; `needs_end` choices wait until the whole object was on the screen."""

    key: str
    label: str
    note: str = ""
    short: str = ""  # label where two stand in a row
    needs_end: bool = False


@frozen
class Writing:
    """The prompt takes a line of text."""

    title: str
    text: str
    hint: str


@frozen
class Send:
    """The answer: a command for the engine."""

    body: CommandBody


@frozen
class Act:
    """Something the app does: `full_view`, `stop_and_quit` …"""

    name: str


Effect = Send | Act | None


FACT_ROWS = 4  # of a fact at most


@frozen
class Fact:
    """`  sandbox   writes in ~/src/slugkit`."""

    label: str
    spans: Sequence[Span]
    right: str = ""  # a key, at the right end
    decides: bool = False  # an answer depends on it: it is the last to be cut
    most: int = FACT_ROWS

    def rows(self, look: Look, *, columns: int = LABEL, most: int | None = None) -> list[Line]:
        """The whole of it, or at most so many rows; `columns` for the label."""
        lead = (Span("  "), Span(f"{self.label:<{columns - 1}} ", "muted"))
        room = look.width - (len(self.right) + 1 if self.right else 0)
        rows = wrap(self.spans, room, first=lead, rest=(Span(" " * (columns + 2)),)) or [lead]
        if most is not None:
            rows = bounded(rows, most, room, look)
        if self.right and rows:
            rows[0] = with_right(rows[0], (Span(self.right, "accent"),), look.width)
        return rows


def fact(label: str, spans: Sequence[Span], look: Look, *, columns: int = LABEL) -> list[Line]:
    """A labelled line among those of an object."""
    return Fact(label=label, spans=spans).rows(look, columns=columns)


def bounded(rows: Sequence[Line], most: int, width: int, look: Look) -> list[Line]:
    """At most so many rows of this width, of which all but the first begin with an indent; the last one
    tells where something was cut, and what shows it."""
    if len(rows) <= most:
        return list(rows)
    if not most:
        return []
    mark = Span(f"{look.glyphs.more} v shows all", "attention")
    first, *others = rows[most - 1 :]
    filled = [*first, *(span for row in others[:1] for span in (Span(" "), *row[1:]))]
    return [*rows[: most - 1], (*clip(filled, width - width_of((mark,)), ""), mark)]


class Form(Protocol):
    """One question; keys come only while the prompt is armed."""

    @property
    def title(self) -> str:
        """Kind of the question, for the heavy rule."""

    @property
    def aside(self) -> str | None:
        """Right end of the rule while nothing else waits; None for `1 of 1`."""

    @property
    def writing(self) -> Writing | None:
        """What it takes a text for, if it does now."""

    @property
    def spacing(self) -> Spacing:
        """Where it has blank lines, on a screen that has room for them."""

    @property
    def columns(self) -> int:
        """Of a choice's label."""

    @property
    def in_rows(self) -> bool:
        """Whether its choices stand one below the other on a low screen too: their notes tell them apart."""

    def object(self, look: Look) -> list[Line]:
        """What it is about, whole."""

    def facts(self, look: Look, *, whole: bool = False) -> list[Fact]:
        """Labelled lines, in few words on a low screen; `whole`: also what stands behind its choices."""

    def choices(self) -> Sequence[Choice]:
        """In the order of their rows; the one with key `Esc` last."""

    def corner(self) -> str:
        """What else can be pressed, right of the last row."""

    def press(self, key: str) -> Effect:
        """Take a key; may change the form itself."""

    def submit(self, text: str) -> Effect:
        """The text of `writing` was sent."""

    def dismiss(self) -> Effect:
        """Esc."""


def is_inline(form: Form) -> bool:
    """Whether its choices stand in one row: those that begin with Enter are a step, not a decision."""
    return form.choices()[0].key == "Enter"


@frozen
class Place:
    """Where and in which state a prompt is drawn."""

    room: int  # rows that its object may fill it up to
    limit: int  # rows that there are
    compact: bool = False
    position: str = ""  # `1 of 1`
    others: Sequence[Line] = ()  # the open questions, where there are several
    current: int = 0  # which of them this is
    armed: bool = False
    draft: bool = False  # the editor holds text
    scroll: int = 0  # first row of the object in view
    seen: int = 0  # rows of the object that were in view
    read_whole: bool = False  # the full view was read to its end
    selected: int = -1
