"""Finds the one place in a file that a hunk means, or says why there is not exactly one."""

import difflib
import re
import unicodedata
from collections.abc import Callable, Sequence

from tools.patch.grammar import Hunk, PatchError

MAX_NAMED = 8  # candidate places in a refusal
_MAX_COMPARED = 2_000  # lines that are compared letter by letter to name the nearest one
_COMPARED_CHARS = 200  # of each
_TOKEN = re.compile(r"\w+|[^\w\s]+")

_LOOKALIKES = str.maketrans(
    {"‘": "'", "’": "'", "‚": "'", "“": '"', "”": '"', "„": '"', "‐": "-", "‑": "-", "‒": "-",
     "–": "-", "—": "-", "−": "-", "\u00a0": " ", "\u2007": " ", "\u202f": " ", "\u3000": " "}
)  # fmt: skip

# A line that fits only in a looser view is still copied from the file, never from the patch.
_VIEWS: tuple[Callable[[str], str], ...] = (
    lambda line: line,
    lambda line: line.rstrip(),
    lambda line: unicodedata.normalize("NFC", line).translate(_LOOKALIKES).rstrip(),
)


class Lines:
    """The lines of a file, and where each of them stands in each view; worked out once for all hunks."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self._views: dict[int, tuple[list[str], dict[str, list[int]]]] = {}

    def fitting(self, number: int, hunk: Hunk) -> list[int]:
        """Where the lines of a hunk stand one after the other in a view."""
        lines, places = self._view(number)
        wanted = [_VIEWS[number](line) for line in hunk.old]
        last = len(lines) - len(wanted)
        return [
            start
            for start in places.get(wanted[0], ())
            if (start == last if hunk.at_end else start <= last)
            and lines[start : start + len(wanted)] == wanted
        ]

    def _view(self, number: int) -> tuple[list[str], dict[str, list[int]]]:
        if number not in self._views:
            lines = [_VIEWS[number](text) for text in self.texts]
            places: dict[str, list[int]] = {}
            for index, line in enumerate(lines):
                places.setdefault(line, []).append(index)
            self._views[number] = lines, places
        return self._views[number]


def locate(lines: Lines, hunk: Hunk, cursor: int, path: str) -> int:
    """Index of the line where the hunk begins. `cursor` is where the hunk before it ended.

    Raises `PatchError` when no place or more than one fits.
    """
    texts = lines.texts
    if not hunk.old:
        return _insertion(texts, hunk, path)
    for number in range(len(_VIEWS)):
        places = lines.fitting(number, hunk)
        if hunk.anchors:
            places = _after_anchors(texts, hunk, places, path)
        if places:
            return _only(places, hunk, cursor, texts, path)
    where = f"`{path}`: the lines at patch line {hunk.line} are not in the file"
    if hunk.at_end:
        where += " at its end"
    if hunk.anchors:
        where += f" in the block of `{hunk.anchors[-1]}`"
    raise PatchError(missing(texts, hunk, where))


def _only(places: list[int], hunk: Hunk, cursor: int, texts: Sequence[str], path: str) -> int:
    """The one place: by being alone, by the order of the hunks, or by an exact line number."""
    following = [place for place in places if place >= cursor]
    left = following or places
    if len(left) == 1:
        return left[0]
    if hunk.start is not None and hunk.start - 1 in left:
        return hunk.start - 1
    raise PatchError(
        f"`{path}`: the part at patch line {hunk.line} fits {len(places)} places; give more lines around it, "
        f"or an anchor such as `@@ class Name`:\n{_named(texts, places)}"
    )


def _named(texts: Sequence[str], places: Sequence[int]) -> str:
    """Candidate places, one a line."""
    lines = [f"  line {place + 1}: {texts[place].strip()[:80]}" for place in places[:MAX_NAMED]]
    if len(places) > MAX_NAMED:
        lines.append(f"  and {len(places) - MAX_NAMED} more")
    return "\n".join(lines)


def _insertion(texts: Sequence[str], hunk: Hunk, path: str) -> int:
    """Where a hunk that only adds lines puts them."""
    if hunk.at_end or not texts:
        return len(texts)
    if hunk.anchors:
        anchors = _anchor_places(texts, hunk, path)
        if len(anchors) == 1:
            return anchors[0] + 1
        raise PatchError(
            f"`{path}`: patch line {hunk.line}: the anchor `{hunk.anchors[-1]}` stands in {len(anchors)} "
            f"places; put another anchor before it:\n{_named(texts, anchors)}"
        )
    if hunk.start is not None:
        return min(hunk.start, len(texts))
    raise PatchError(
        f"`{path}`: the part at patch line {hunk.line} only adds lines and does not say where; put lines "
        "that stand there around them, or an `@@` anchor, or `*** End of File`"
    )


def _after_anchors(texts: Sequence[str], hunk: Hunk, places: list[int], path: str) -> list[int]:
    """For each place of the last anchor the first fitting one in its block."""
    found: dict[int, None] = {}
    for anchor in _anchor_places(texts, hunk, path):
        place = next((place for place in places if place >= anchor), None)
        if place is not None and not _ends_between(texts, anchor, place):
            found[place] = None
    return list(found)


def _anchor_places(texts: Sequence[str], hunk: Hunk, path: str) -> list[int]:
    """Where the last anchor stands, each anchor searched below the one before it."""
    starts = [-1]
    for number, anchor in enumerate(hunk.anchors):
        matches = _anchor_lines(texts, anchor)
        if not matches:
            raise PatchError(_no_anchor(texts, anchor, hunk, path))
        starts = [
            match
            for match in matches
            if any(
                match > start and (start < 0 or not _ends_between(texts, start, match)) for start in starts
            )
        ]
        if not starts:
            raise PatchError(
                f"`{path}`: patch line {hunk.line}: `{anchor}` does not stand in the block of "
                f"`{hunk.anchors[number - 1]}`"
            )
    return starts


def _anchor_lines(texts: Sequence[str], anchor: str) -> list[int]:
    """Lines that are the anchor; if none, that begin with it; if none, that hold it."""
    whole_word = re.compile(re.escape(anchor) + r"(?!\w)")
    tiers: tuple[Callable[[str], bool], ...] = (
        lambda text: text == anchor,
        lambda text: whole_word.match(text) is not None,
        lambda text: anchor in text,
    )
    for fits in tiers:
        found = [index for index, text in enumerate(texts) if fits(text.strip())]
        if found:
            return found
    return []


def _ends_between(texts: Sequence[str], anchor: int, place: int) -> bool:
    """Whether the block of the anchor ends before a place: a line no deeper that begins alike, such
    as the next `class`, `def` or heading."""
    depth, token = _indent(texts[anchor]), _TOKEN.match(texts[anchor].strip())
    if token is None:
        return False
    return any(
        _indent(text) <= depth and (other := _TOKEN.match(text.strip())) and other[0] == token[0]
        for text in texts[anchor + 1 : place]
    )


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _no_anchor(texts: Sequence[str], anchor: str, hunk: Hunk, path: str) -> str:
    nearest = _most_like(anchor, texts, 0.4)
    where = (
        f"; the nearest is line {nearest + 1}: `{texts[nearest].strip()[:80]}`" if nearest is not None else ""
    )
    return f"`{path}`: patch line {hunk.line}: no line is or holds the anchor `{anchor}`{where}"


def missing(texts: Sequence[str], hunk: Hunk, where: str) -> str:
    """`where` with the nearest place and the first line that differs there."""
    wanted = hunk.old
    best = _nearest(texts, wanted)
    if best is None:
        size = f"{len(texts):,} line{'' if len(texts) == 1 else 's'}"
        return f"{where}; it has {size} and none like `{wanted[0].strip()[:80]}`; read it again"
    first = next((offset for offset, line in enumerate(wanted) if _at(texts, best + offset) != line), None)
    if first is None:
        return f"{where}; they stand at line {best + 1}"
    found = _at(texts, best + first)
    said = f"the file has `{found[:120]}`" if found is not None else "the file ends"
    return (
        f"{where}. The nearest place starts at line {best + 1}; at line {best + first + 1} the patch expects "
        f"`{wanted[first][:120]}` and {said}"
    )


def _at(texts: Sequence[str], index: int) -> str | None:
    return texts[index] if 0 <= index < len(texts) else None


def _nearest(texts: Sequence[str], wanted: Sequence[str]) -> int | None:
    """The start with most lines equal but for blanks; None when not one is."""
    positions: dict[str, list[int]] = {}
    for index, text in enumerate(texts):
        if text.strip():
            positions.setdefault(text.strip(), []).append(index)
    votes: dict[int, int] = {}
    for offset, line in enumerate(wanted):
        for index in positions.get(line.strip(), ())[:200]:
            votes[index - offset] = votes.get(index - offset, 0) + 1
    if votes:
        return max(0, max(votes, key=lambda start: (votes[start], -start)))
    return _most_like(wanted[0].strip(), texts, 0.6)


def _most_like(wanted: str, texts: Sequence[str], cutoff: float) -> int | None:
    """The line that is most like a text; first of all those are compared that share a word with it."""
    words = [word for word in _TOKEN.findall(wanted) if len(word) > 1]
    sharing = [index for index, text in enumerate(texts) if any(word in text for word in words)]
    candidates: dict[str, int] = {}
    for index in (*sharing[:_MAX_COMPARED], *range(min(len(texts), _MAX_COMPARED))):
        if text := texts[index].strip()[:_COMPARED_CHARS]:
            candidates.setdefault(text, index)
    near = difflib.get_close_matches(wanted[:_COMPARED_CHARS], list(candidates), n=1, cutoff=cutoff)
    return candidates[near[0]] if near else None
