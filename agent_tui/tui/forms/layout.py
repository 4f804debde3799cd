"""Lays a prompt out: whatever it asks, its choices and what an answer depends on stay on the screen."""

from collections.abc import Sequence

from agent_tui.frozen import frozen
from agent_tui.tui import words
from agent_tui.tui.forms.choices import Style, Tail, styles, tail
from agent_tui.tui.forms.form import Fact, Form, Place, Spacing, is_inline
from agent_tui.tui.glyphs import own_words
from agent_tui.tui.transcript.lines import BLANK, Line, Span, clip, ruled, with_right
from agent_tui.tui.transcript.look import Look

LOW_OBJECT_ROWS = 4  # of the object, before facts that decide nothing take a second row, and before the list
MOST_OTHERS, FEWEST_OTHERS = 8, 2  # rows of the list of open questions; the fewest: one, and how many more


@frozen
class Drawn:
    """A prompt as lines, and how much of its object is in view."""

    lines: list[Line]
    object_rows: int
    shown_to: int  # last row of the object that is on the screen
    cursor: int  # row of the picked choice, else of the first one, among the lines
    is_locked: bool  # what allows waits until all was seen


def draw(form: Form, look: Look, place: Place) -> Drawn:
    """Lay a prompt out in at most `limit` rows; only its object scrolls."""
    content, facts = form.object(look), form.facts(look)
    locked = _locked_words(len(content), place.seen)
    style, end = _fitting(form, look, place, locked, facts)
    kept = min(len(content), LOW_OBJECT_ROWS)
    wanted = [len(each.rows(look)) for each in facts]
    least = [min(rows, each.most) if each.decides else 1 for each, rows in zip(facts, wanted, strict=True)]
    needed = 1 + kept + sum(least) + min(len(place.others), FEWEST_OTHERS) + len(end.rows)
    left = min(max(place.room, needed), place.limit) - 1 - len(end.rows)  # for object, facts and list
    given = _shares(facts, wanted, max(left - kept, min(len(facts), left - 1)))
    shown = [row for each, most in zip(facts, given, strict=True) for row in each.rows(look, most=most)]
    cut = [each for each, rows, most in zip(facts, wanted, given, strict=True) if most < rows]
    if not locked and not place.read_whole and any(each.decides for each in cut):
        locked = "locked until v showed all"
    if locked or 0 in given:
        end = tail(form, look, place, locked, style, is_cut=0 in given)
    others = _window(place, min(left - len(shown) - kept, MOST_OTHERS))
    bare = 1 + len(others) + len(shown) + len(end.rows)
    free = place.room - bare - kept  # for blank lines: they go before the prompt takes more than its room
    spacing: Spacing = "none" if place.compact else _spacing(form.spacing, free, bool(others))
    airy = [BLANK] if spacing == "airy" else []
    gap = [] if spacing == "none" else [BLANK]
    above = airy or (gap if others else [])
    fixed = bare + len(above) + len(airy) * bool(shown) + len(gap)
    most = place.limit if is_inline(form) else max(place.room, min(fixed + kept, place.limit))
    height = min(len(content), max(most - fixed, 1))
    scroll = min(place.scroll, max(len(content) - height, 0))
    position = place.position if place.others or form.aside is None else form.aside
    lines = [title_row(form, look, position), *others, *above]
    lines += content[scroll : scroll + height]
    if scroll + height < len(content):
        more = own_words(_more(form, len(content), len(content) - scroll - height), look.glyphs)
        last = clip(lines[-1], look.width - len(more) - 2, look.glyphs.more)
        lines[-1] = with_right(last, (Span(more, "attention"),), look.width)
    lines += [*airy, *shown] if shown else []
    lines += gap if end.rows else []
    cursor = len(lines) + (end.starts[max(place.selected, 0)] if end.starts else 0)
    return Drawn(
        lines=[*lines, *end.rows], object_rows=len(content), shown_to=scroll + height, cursor=cursor,
        is_locked=bool(locked),
    )  # fmt: skip


def _fitting(form: Form, look: Look, place: Place, locked: str, facts: Sequence[Fact]) -> tuple[Style, Tail]:
    """The roomiest style of the choices that leaves a row to everything else, or to all that decides."""
    found = [(style, tail(form, look, place, locked, style)) for style in styles(form, compact=place.compact)]
    for others in (len(facts), sum(each.decides for each in facts)):
        for style, end in found:
            if 2 + others + len(end.rows) <= place.limit:
                return style, end
    return min(found, key=lambda each: len(each[1].rows))


def _shares(facts: Sequence[Fact], wanted: Sequence[int], left: int) -> list[int]:
    """Rows of each fact: what decides loses its rows last, and never all of them."""
    given = [min(rows, each.most) for each, rows in zip(facts, wanted, strict=True)]
    while sum(given) > left:
        least = 1 if max(given) > 1 else 0
        losing = [at for at, rows in enumerate(given) if rows > least]
        if least == 0:
            losing = [at for at in losing if not facts[at].decides]
        if not losing:
            break
        given[max(losing, key=lambda at: (not facts[at].decides, given[at], at))] -= 1
    return given


def _window(place: Place, rows: int) -> list[Line]:
    """The open questions, or those around this one and how many more."""
    count = len(place.others)
    if count <= rows:
        return list(place.others)
    if rows < FEWEST_OTHERS:
        return []
    first = max(min(place.current - (rows - 1) // 2, count - rows + 1), 0)
    return [*place.others[first : first + rows - 1], (Span(f"    + {count - rows + 1} more", "muted"),)]


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


def _more(form: Form, total: int, below: int) -> str:
    """How to see the rows of the object that are not in view."""
    if not is_inline(form):
        return f"Space more · v all {words.count(total, 'line')}"
    return f"Space {words.count(below, 'more row')}"


def _spacing(wanted: Spacing, left: int, several: bool) -> Spacing:
    """As wanted as long as the blank lines find place: they go before anything is cut off."""
    if wanted == "airy" and left < 3:
        wanted = "close"
    return "none" if left < (2 if several else 1) else wanted


def _locked_words(total: int, seen: int) -> str:
    """Why a choice is locked, empty when it is not."""
    lines = words.count(total, "line")
    return "" if seen >= total else f"locked until all was seen: {seen} of {lines}"
