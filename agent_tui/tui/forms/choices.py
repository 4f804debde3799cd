"""The choices of a prompt as rows: one below the other, or several in a row where rows are few."""

from collections.abc import Sequence

from agent_tui.frozen import frozen
from agent_tui.tui.forms.form import Choice, Form, Place, bounded, is_inline
from agent_tui.tui.glyphs import own_words
from agent_tui.tui.transcript.lines import Line, Span, clip, untrusted, width_of, with_right, wrap
from agent_tui.tui.transcript.look import Look

CHOICE_ROWS = 3  # of a choice at most
GAP = "   "  # between two in a row


@frozen
class Style:
    """How the choices stand; one of the two is set."""

    rows: int = 0  # one below the other, of so many rows each at most
    columns: int = 0  # beside each other, so many of equal width at least


@frozen
class Tail:
    """Rows, in which of them each choice begins, and whether a label or a note is not whole."""

    rows: list[Line]
    starts: list[int]
    is_cut: bool = False


def styles(form: Form, *, compact: bool) -> list[Style]:
    """From the roomiest to the one that takes the fewest rows."""
    below = [Style(rows=rows) for rows in range(CHOICE_ROWS, 0, -1)]
    beside = [Style(columns=columns) for columns in range(1, 6)]
    return beside if compact and not form.in_rows else [*below, *beside]


def tail(form: Form, look: Look, place: Place, locked: str, style: Style, *, is_cut: bool = False) -> Tail:
    """The choices and the row of Esc; none while a text is written. `is_cut`: what stands above is not
    whole."""
    if form.writing is not None:
        return Tail(rows=[], starts=[])
    if is_inline(form):
        return _inline(form, look, place, locked)
    found = (
        _below(form, look, place, locked, style) if style.rows else _grouped(form, look, place, locked, style)
    )
    last = _last_row(form, look, place, is_cut=is_cut or found.is_cut)
    return Tail(rows=[*found.rows, last], starts=[*found.starts, len(found.rows)], is_cut=found.is_cut)


def _inline(form: Form, look: Look, place: Place, locked: str) -> Tail:
    rows = _joined(form.choices(), look, place, locked=bool(locked))
    waits = "" if place.armed else _unarmed_words(place.draft)
    if waits and len(rows) == 1 and width_of(rows[0]) + len(waits) < look.width:
        rows = [with_right(rows[0], (Span(waits, "muted"),), look.width)]
    return Tail(rows=rows, starts=[0] * len(form.choices()))


def _below(form: Form, look: Look, place: Place, locked: str, style: Style) -> Tail:
    """One below the other; beside other open questions the later ones share a row."""
    rows: list[Line] = []
    starts: list[int] = []
    is_cut = False
    choices = form.choices()
    alone = len(choices) - 1
    if place.others:
        alone = sum(choice.key in ("y", "s") for choice in choices) or alone
    for index, choice in enumerate(choices[:alone]):
        starts.append(len(rows))
        key = choice.key if place.armed else look.glyphs.unarmed
        blocked = bool(locked) and choice.needs_end
        note = locked if blocked and not any(each.needs_end for each in choices[:index]) else choice.note
        lead: Line = (
            Span("  > " if index == place.selected else "    ", "accent"),
            Span(f"{key}  ", "accent" if place.armed and not blocked else "muted"),
        )
        role = "muted" if blocked else "text"
        label = f"{choice.label:<{form.columns}}" if note else choice.label
        spans = [*untrusted(label, role, strict=True), *untrusted(note, "muted", strict=True)]
        whole = wrap(spans, look.width, first=lead, rest=(Span(" " * (form.columns + 7)),))
        rows += bounded(whole, style.rows, look.width, look)
        is_cut |= len(whole) > style.rows
    if alone < len(choices) - 1:
        starts += [len(rows)] * (len(choices) - 1 - alone)
        chosen = place.selected - alone if place.selected >= alone else -1
        rows += _joined(choices[alone:-1], look, place, locked=bool(locked), selected=chosen, first_gap="  ")
    return Tail(rows=rows, starts=starts, is_cut=is_cut)


def _joined(
    choices: Sequence[Choice],
    look: Look,
    place: Place,
    *,
    locked: bool,
    selected: int | None = None,
    first_gap: str = " ",
) -> list[Line]:
    """`n deny · f deny and say · e edit`."""
    spans: list[Span] = []
    for index, choice in enumerate(choices):
        blocked = locked and choice.needs_end
        key = choice.key if place.armed or choice.key == "Esc" else look.glyphs.unarmed
        label = choice.short or choice.label
        spans += [
            Span(own_words(" · ", look.glyphs) if spans else "", "muted"),
            Span(
                ("> " if index == (place.selected if selected is None else selected) else "")
                + key
                + (" " if index else first_gap),
                "accent" if place.armed and not blocked else "muted",
            ),
            *untrusted(label, "muted" if blocked else "text", strict=True),
        ]
    lead: Line = (Span("    "),)
    return wrap(spans, look.width, first=lead, rest=lead)


def _grouped(form: Form, look: Look, place: Place, locked: str, style: Style) -> Tail:
    """Several to a row; what denies begins one where that takes no more."""
    count = len(form.choices()) - 1
    together = _beside(form, look, place, locked, style, range(count))
    keys = [choice.key for choice in form.choices()]
    if "n" not in keys[1:]:
        return together
    at = keys.index("n")
    above = _beside(form, look, place, locked, style, range(at))
    below = _beside(form, look, place, locked, style, range(at, count))
    if len(above.rows) + len(below.rows) > len(together.rows):
        return together
    return Tail(
        rows=[*above.rows, *below.rows],
        starts=[*above.starts, *(len(above.rows) + start for start in below.starts)],
        is_cut=above.is_cut or below.is_cut,
    )


def _beside(form: Form, look: Look, place: Place, locked: str, style: Style, which: range) -> Tail:
    rows: list[Line] = []
    starts: list[int] = []
    is_cut = False
    room = (look.width - 4 - len(GAP) * (style.columns - 1)) // style.columns
    for at in which:
        choice = form.choices()[at]
        blocked = bool(locked) and choice.needs_end
        key = choice.key if place.armed else look.glyphs.unarmed
        label = untrusted(choice.short or choice.label, "muted" if blocked else "text", strict=True)
        shown = clip(label, room - width_of([Span(key)]) - 1, look.glyphs.more)
        is_cut |= shown != tuple(label) or (form.in_rows and bool(choice.note))
        spans = (Span(f"{key} ", "accent" if place.armed and not blocked else "muted"), *shown)
        gap = "  > " if at == place.selected else "    "
        if rows and width_of(rows[-1]) + len(GAP) + width_of(spans) <= look.width:
            rows[-1] = (*rows[-1], Span(gap[1:], "accent"), *spans)
        else:
            rows.append((Span(gap, "accent"), *spans))
        starts.append(len(rows) - 1)
    return Tail(rows=rows, starts=starts, is_cut=is_cut)


def _last_row(form: Form, look: Look, place: Place, *, is_cut: bool) -> Line:
    """`  Esc  deny and pause        ? why · v full view`."""
    last = form.choices()[-1]
    corner = [part for part in form.corner().split(" · ") if part]
    if look.low:  # what a session or a rule would cover is not beside the choices there
        corner = ["? scopes" if part == "? why" else part for part in corner]
    if is_cut and "v full view" not in corner:
        corner.append("v shows all")
    if not place.armed:
        corner = [_unarmed_words(place.draft)]
    left = (Span(f"  {last.key} " if look.low else f"  {last.key}  ", "accent"), Span(last.label))
    while corner:
        right = (Span(own_words(" · ".join(corner), look.glyphs), "muted"),)
        if width_of(left) + width_of(right) + 1 <= look.width:
            return with_right(left, right, look.width)
        del corner[0]
    return left


def _unarmed_words(draft: bool) -> str:
    return "Shift+Tab answer" if draft else "keys work in a moment"
