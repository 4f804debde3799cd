"""Lines added and removed between two texts, where no search for the best match is needed to tell."""

from itertools import takewhile


def line_counts(old: bytes, new: bytes) -> tuple[int, int] | None:
    """Added and removed lines, as `git diff --numstat` counts those of texts without NUL bytes.

    None where lines between the first and the last difference are in both: then it depends on the match.
    """
    before, after = _lines(old), _lines(new)
    same = _alike(before, after)
    before, after = before[same:], after[same:]
    same = _alike(before[::-1], after[::-1])
    removed, added = before[: len(before) - same], after[: len(after) - same]
    if not set(removed).isdisjoint(added):
        return None
    return len(added), len(removed)


def _lines(text: bytes) -> list[bytes]:
    """With their ends: git takes a last line without one for another line."""
    *whole, last = text.split(b"\n")
    lines = [line + b"\n" for line in whole]
    return [*lines, last] if last else lines


def _alike(first: list[bytes], second: list[bytes]) -> int:
    """How many lines are the same from the start."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))
