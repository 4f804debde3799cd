"""How much of a window the results of one step may take together."""

from collections.abc import Sequence

from context.estimate import text_tokens

_HEAD_SHARE = 0.6  # of what is kept of a cut text; the rest is its end
_MIN_CHARS = 200


def shares(sizes: Sequence[int], each: int, together: int) -> list[int]:
    """What each of several results may take, in tokens: small ones keep their size, big ones share
    what is left evenly, none gets more than `each`."""
    granted = [min(size, each) for size in sizes]
    left, waiting = together, sorted(range(len(sizes)), key=lambda index: granted[index])
    for position, index in enumerate(waiting):
        granted[index] = min(granted[index], left // (len(waiting) - position))
        left -= granted[index]
    return granted


def cut_to(text: str, tokens: int, where: str) -> str:
    """Head and tail of a text, about `tokens` long, and between them a line with `where` all of it is."""
    size = text_tokens(text)
    if size <= tokens:
        return text
    mark = "\n[… {left:,} characters left out here: the window has no room for more; all of it: {where} …]\n"
    room = max(tokens - text_tokens(mark + where), 0)
    keep = max(_MIN_CHARS, int(len(text) * room / size))
    while True:
        head, tail = round(keep * _HEAD_SHARE), keep - round(keep * _HEAD_SHARE)
        kept = text[:head] + mark.format(left=len(text) - keep, where=where) + text[len(text) - tail :]
        if text_tokens(kept) <= tokens or keep <= _MIN_CHARS:
            return kept
        keep = max(_MIN_CHARS, int(keep * 0.9))
