"""The known name that a person may have meant by one that is not known."""

from collections.abc import Iterable

LIKE_ENOUGH = 75.0  # percent; a swap of two letters in a word of six is 83
LONG, EDITS = 7, 2  # letters: of a word in which two may be added, left out or changed


def nearest(word: str, known: Iterable[str]) -> str:
    """The one most like `word`, empty when none is like it."""
    from rapidfuzz import fuzz, process

    found = process.extractOne(word.lower(), list(known), scorer=fuzz.ratio, score_cutoff=LIKE_ENOUGH)
    return str(found[0]) if found else ""


def is_slip(word: str, known: str) -> bool:
    """Whether `word` is `known` with a slip: one letter off, two where it is long, neighbours swapped."""
    from rapidfuzz.distance import OSA

    allowed = EDITS if len(known) >= LONG else 1
    return OSA.distance(word.lower(), known, score_cutoff=allowed) <= allowed
