"""The keys below a view or a picked block: whole hints, as many as fit."""

from rich.cells import cell_len

from agent_tui.tui.glyphs import Glyphs, own_words

BETWEEN = " · "
_FIRST_TO_GO = ("↑ ↓", "j k", "/ find", "y copy")  # the same everywhere, and nowhere what it is for


def fitted(keys: tuple[str, str], room: tuple[int, int], glyphs: Glyphs) -> tuple[str, str]:
    """The rows, each at most `room` cells wide: what does not fit into the first leads the second, and what
    does not fit there goes, `Esc` last."""
    first, second = ([hint for hint in row.split(BETWEEN) if hint] for row in keys)
    while first and _width(first, glyphs) > room[0]:
        moved = first.pop()
        second.insert(len(second) if "Esc" in moved else 0, moved)
    while len(second) > 1 and _width(second, glyphs) > room[1]:
        second.remove(_least(second))
    return _joined(first, glyphs), _joined(second, glyphs)


def _least(hints: list[str]) -> str:
    may_go = [hint for hint in hints if "Esc" not in hint] or hints
    return next((hint for hint in may_go if hint.startswith(_FIRST_TO_GO)), may_go[-1])


def _joined(hints: list[str], glyphs: Glyphs) -> str:
    return own_words(BETWEEN.join(hints), glyphs)


def _width(hints: list[str], glyphs: Glyphs) -> int:
    return cell_len(_joined(hints, glyphs))
