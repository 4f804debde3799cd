"""The one look of everything that needs a person: heavy rule, object, facts, choices."""

from collections.abc import Sequence
from typing import Literal, Protocol

from agent_tui.engine.commands import CommandBody
from agent_tui.frozen import frozen
from agent_tui.tui import words
from agent_tui.tui.glyphs import own_words
from agent_tui.tui.transcript.lines import (
    BLANK,
    Line,
    Span,
    clip,
    ruled,
    untrusted,
    width_of,
    with_right,
    wrap,
)
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


def fact(
    label: str, spans: Sequence[Span], look: Look, right: str = "", *, columns: int = LABEL
) -> list[Line]:
    """`  in        ~/src/slugkit`; `columns` for the label. One row on a low screen."""
    lead = (Span("  "), Span(f"{label:<{columns - 1}} ", "muted"))
    room = look.width - (len(right) + 1 if right else 0)
    if look.low:
        rows = [clip((*lead, *spans), room, look.glyphs.more)]
    else:
        rows = wrap(spans, room, first=lead, rest=(Span(" " * (columns + 2)),)) or [lead]
    if right:
        rows[0] = with_right(rows[0], (Span(right, "accent"),), look.width)
    return rows


def is_inline(form: Form) -> bool:
    """Whether its choices stand in one row: those that begin with Enter are a step, not a decision."""
    return form.choices()[0].key == "Enter"


def choice_rows(form: Form, look: Look, place: "Place", locked: str) -> list[Line]:
    """The choices one below the other; beside other open questions the later ones share a row."""
    rows: list[Line] = []
    choices = form.choices()
    armed, selected = place.armed, place.selected
    alone = len(choices) - 1
    if place.others:
        alone = sum(choice.key in ("y", "s") for choice in choices) or alone
    for index, choice in enumerate(choices[:alone]):
        key = choice.key if armed else look.glyphs.unarmed
        blocked = bool(locked) and choice.needs_end
        note = locked if blocked and not any(each.needs_end for each in choices[:index]) else choice.note
        lead: Line = (
            Span("  > " if index == selected else "    ", "accent"),
            Span(f"{key}  ", "accent" if armed and not blocked else "muted"),
        )
        role = "muted" if blocked else "text"
        label = f"{choice.label:<{form.columns}}" if note else choice.label
        spans = [*untrusted(label, role, strict=True), *untrusted(note, "muted", strict=True)]
        rows += wrap(spans, look.width, first=lead, rest=(Span(" " * (form.columns + 7)),))
    if alone < len(choices) - 1:
        chosen = selected - alone if selected >= alone else -1
        rows += joined_choices(
            choices[alone:-1], look, armed=armed, locked=bool(locked), selected=chosen, first_gap="  "
        )
    return rows


def joined_choices(
    choices: Sequence[Choice],
    look: Look,
    *,
    armed: bool,
    locked: bool,
    selected: int = -1,
    first_gap: str = " ",
) -> list[Line]:
    """`n deny · f deny and say · e edit`."""
    spans: list[Span] = []
    for index, choice in enumerate(choices):
        blocked = locked and choice.needs_end
        key = choice.key if armed or choice.key == "Esc" else look.glyphs.unarmed
        label = choice.short or choice.label
        spans += [
            Span(own_words(" · ", look.glyphs) if spans else "", "muted"),
            Span(
                ("> " if index == selected else "") + key + (" " if index else first_gap),
                "accent" if armed and not blocked else "muted",
            ),
            *untrusted(label, "muted" if blocked else "text", strict=True),
        ]
    lead: Line = (Span("    "),)
    return wrap(spans, look.width, first=lead, rest=lead)


def last_row(form: Form, look: Look, *, armed: bool, draft: bool) -> Line:
    """`  Esc  deny and pause        ? why · v full view`."""
    last = form.choices()[-1]
    corner = form.corner() if armed else _unarmed_words(draft)
    if look.low:  # what a session or a rule would cover is not beside the choices there
        corner = corner.replace("? why", "? scopes")
    left = (Span(f"  {last.key} " if look.low else f"  {last.key}  ", "accent"), Span(last.label))
    right = (Span(own_words(corner, look.glyphs), "muted"),) if corner else ()
    if width_of(left) + width_of(right) + 1 > look.width:
        right = ()
    return with_right(left, right, look.width)


def compact_choices(form: Form, look: Look, *, armed: bool, locked: str) -> list[Line]:
    """Several to a row, for low and narrow screens; what denies begins one where that takes no more."""
    choices = form.choices()[:-1]
    rows = _compact_rows(choices, look, armed=armed, locked=locked)
    keys = [choice.key for choice in choices]
    if "n" in keys[1:]:
        at = keys.index("n")
        parts = (choices[:at], choices[at:])
        apart = [row for part in parts for row in _compact_rows(part, look, armed=armed, locked=locked)]
        return apart if len(apart) <= len(rows) else rows
    return rows


def _compact_rows(choices: Sequence[Choice], look: Look, *, armed: bool, locked: str) -> list[Line]:
    spans: list[Span] = []
    for choice in choices:
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


@frozen
class Drawn:
    """A prompt as lines, and how much of its object is in view."""

    lines: list[Line]
    object_rows: int
    shown_to: int  # last row of the object that is on the screen
    first_choice: int = 0  # row of it among the lines


@frozen
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
    tail = (
        [] if form.writing is not None else _tail(form, look, place, locked_words(len(content), place.seen))
    )
    bare = 2 + len(place.others) + len(facts) + len(tail)  # with one row of the object
    spacing: Spacing = "none" if place.compact else _spacing(form.spacing, place.room - bare, place)
    airy = [BLANK] if spacing == "airy" else []
    gap = [] if spacing == "none" else [BLANK]
    above = airy or (gap if place.others else [])
    fixed = 1 + len(place.others) + len(above) + len(airy) * bool(facts) + len(gap) + len(facts) + len(tail)
    height = min(len(content), max(place.room - fixed, 1))
    scroll = min(place.scroll, max(len(content) - height, 0))
    position = place.position if place.others or form.aside is None else form.aside
    lines = [title_row(form, look, position), *place.others, *above]
    lines += content[scroll : scroll + height]
    if scroll + height < len(content):
        more = own_words(_more(form, len(content), len(content) - scroll - height), look.glyphs)
        lines[-1] = with_right(
            clip(lines[-1], look.width - len(more) - 2), (Span(more, "attention"),), look.width
        )
    lines += [*airy, *facts] if facts else []
    first_choice = len(lines) + len(gap)
    lines += [*gap, *tail] if tail else []
    return Drawn(lines=lines, object_rows=len(content), shown_to=scroll + height, first_choice=first_choice)


def _more(form: Form, total: int, below: int) -> str:
    """How to see the rows of the object that are not in view."""
    if "v full view" in form.corner():
        return f"Space more · v all {words.count(total, 'line')}"
    return f"Space {words.count(below, 'more row')}"


def _spacing(wanted: Spacing, left: int, place: Place) -> Spacing:
    """As wanted as long as the blank lines find place: they go before anything is cut off."""
    if wanted == "airy" and left < 3:
        wanted = "close"
    return "none" if left < (2 if place.others else 1) else wanted


def _tail(form: Form, look: Look, place: Place, locked: str) -> list[Line]:
    if is_inline(form):
        rows = joined_choices(form.choices(), look, armed=place.armed, locked=False, selected=place.selected)
        waits = "" if place.armed else _unarmed_words(place.draft)
        fits = len(rows) == 1 and width_of(rows[0]) + len(waits) < look.width
        return [with_right(rows[0], (Span(waits, "muted"),), look.width)] if waits and fits else rows
    if place.compact:
        choices = compact_choices(form, look, armed=place.armed, locked=locked)
    else:
        choices = choice_rows(form, look, place, locked)
    return [*choices, last_row(form, look, armed=place.armed, draft=place.draft)]


def _unarmed_words(draft: bool) -> str:
    return "Shift+Tab answer" if draft else "keys work in a moment"


def locked_words(total: int, seen: int) -> str:
    """Why a choice is locked, empty when it is not."""
    lines = words.count(total, "line")
    return "" if seen >= total else f"locked until all was seen: {seen} of {lines}"
