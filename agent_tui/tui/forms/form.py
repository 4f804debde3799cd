"""The one look of everything that needs a person: heavy rule, object, facts, choices (3.5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from agent_tui.engine.commands import CommandBody
from agent_tui.tui.glyphs import own_words
from agent_tui.tui.transcript.lines import BLANK, Line, Span, clip, ruled, width_of, with_right, wrap
from agent_tui.tui.transcript.look import Look

LABEL = 10  # columns of a fact's label
COMPACT_BELOW = 20  # rows of the terminal under which a prompt has no blank lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One row; `needs_end` choices wait until the whole object was on the screen."""

    key: str
    label: str
    note: str = ""
    short: str = ""  # label where two stand in a row
    needs_end: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """The prompt takes a line of text."""

    title: str
    text: str
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    """The answer: a command for the engine."""

    body: CommandBody


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Something the app does: `full_view`, `stop_and_quit` …"""

    name: str


Effect = Send | Act | None


class Form(Protocol):
    """One question; keys come only while the prompt is armed."""

    @property
    def title(self) -> str:
        """Kind of the question, for the heavy rule."""

    @property
    def writing(self) -> Writing | None:
        """What it takes a text for, if it does now."""

    def object(self, look: Look) -> list[Line]:
        """What it is about, whole."""

    def facts(self, look: Look) -> list[Line]:
        """Labelled lines."""

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


def fact(label: str, spans: Sequence[Span], look: Look, right: str = "") -> list[Line]:
    """`  in        ~/src/slugkit`."""
    lead = (Span("  "), Span(f"{label:<{LABEL - 1}} ", "muted"))
    room = look.width - (len(right) + 1 if right else 0)
    rows = wrap(spans, room, first=lead, rest=(Span(" " * (LABEL + 2)),)) or [lead]
    if right:
        rows[0] = with_right(rows[0], (Span(right, "accent"),), look.width)
    return rows


def choice_rows(form: Form, look: Look, *, armed: bool, locked: str, selected: int) -> list[Line]:
    """The choices one below the other, and the last row."""
    rows: list[Line] = []
    choices = form.choices()
    for index, choice in enumerate(choices[:-1]):
        key = choice.key if armed else look.glyphs.unarmed
        blocked = locked if choice.needs_end else ""
        note = blocked or choice.note
        lead: Line = (
            Span("  > " if index == selected else "    ", "accent"),
            Span(f"{key}  ", "accent" if armed and not blocked else "muted"),
        )
        role = "muted" if blocked else "text"
        label = f"{choice.label:<18}" if note else choice.label
        rows += wrap([Span(label, role), Span(note, "muted")], look.width, first=lead, rest=(Span(" " * 26),))
    return rows


def last_row(form: Form, look: Look, *, armed: bool, draft: bool) -> Line:
    """`  Esc  deny and pause        ? why · v full view`."""
    last = form.choices()[-1]
    corner = form.corner() if armed else "Shift+Tab answer" if draft else "keys work in a moment"
    left = (Span(f"  {last.key}  ", "accent"), Span(last.label))
    right = (Span(own_words(corner, look.glyphs), "muted"),) if corner else ()
    if width_of(left) + width_of(right) + 1 > look.width:
        right = ()
    return with_right(left, right, look.width)


def compact_choices(form: Form, look: Look, *, armed: bool, locked: str) -> list[Line]:
    """Several to a row, for low and narrow screens."""
    spans: list[Span] = []
    for choice in form.choices()[:-1]:
        key = choice.key if armed else look.glyphs.unarmed
        blocked = bool(locked) and choice.needs_end
        spans += [
            Span("   " if spans else ""),
            Span(key + "\u00a0", "accent" if armed and not blocked else "muted"),
            Span((choice.short or choice.label).replace(" ", "\u00a0"), "muted" if blocked else "text"),
        ]
    lead = (Span("    "),)
    return [
        tuple(Span(span.text.replace("\u00a0", " "), span.role) for span in row)
        for row in wrap(spans, look.width, first=lead, rest=lead)
    ]


def title_row(form: Form, look: Look, position: str) -> Line:
    """`━━ approval · command ━━━━━ 1 of 1 ━━`."""
    right = (Span(position, "attention"),) if position else ()
    return ruled(
        (Span(own_words(form.title, look.glyphs), "attention"),),
        right,
        look.width,
        look.glyphs.heavy,
        "attention",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A prompt as lines, and how much of its object is in view."""

    lines: list[Line]
    object_rows: int
    shown_to: int  # last row of the object that is on the screen


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where and in which state a prompt is drawn."""

    room: int  # rows
    compact: bool = False
    position: str = ""  # `1 of 1`
    others: Sequence[Line] = ()  # the other open questions
    armed: bool = False
    draft: bool = False  # the editor holds text
    scroll: int = 0  # first row of the object in view
    seen: int = 0  # rows of the object that were in view
    selected: int = -1


def draw(form: Form, look: Look, place: Place) -> Drawn:
    """Lay a prompt out in at most `room` rows; only its object scrolls."""
    content = form.object(look)
    facts = (
        [clip(row, look.width, look.glyphs.more) for row in form.facts(look)]
        if place.compact
        else form.facts(look)
    )
    gap = [] if place.compact else [BLANK]
    tail = (
        [] if form.writing is not None else _tail(form, look, place, locked_words(len(content), place.seen))
    )
    fixed = 1 + len(place.others) + len(gap) * (3 if facts else 2) + len(facts) + len(tail)
    height = max(min(len(content), place.room - fixed), 1)
    scroll = min(place.scroll, max(len(content) - height, 0))
    lines = [title_row(form, look, place.position), *place.others, *gap, *content[scroll : scroll + height]]
    if scroll + height < len(content):
        more = f"{len(content) - scroll - height} more rows"
        lines[-1] = with_right(
            clip(lines[-1], look.width - len(more) - 2), (Span(more, "attention"),), look.width
        )
    lines += [*gap, *facts] if facts else []
    lines += [*gap, *tail] if tail else []
    return Drawn(lines=lines, object_rows=len(content), shown_to=scroll + height)


def _tail(form: Form, look: Look, place: Place, locked: str) -> list[Line]:
    if place.compact:
        choices = compact_choices(form, look, armed=place.armed, locked=locked)
    else:
        choices = choice_rows(form, look, armed=place.armed, locked=locked, selected=place.selected)
    return [*choices, last_row(form, look, armed=place.armed, draft=place.draft)]


def locked_words(total: int, seen: int) -> str:
    """Why a choice is locked, empty when it is not."""
    return "" if seen >= total else f"locked until all was seen: {seen} of {total} lines"
