"""What stands on an emulated screen, and whether any of it is an answer to the keys."""

import pyte


def rows(screen: pyte.Screen) -> list[str]:
    """Its rows, blanks at the right cut off; cheaper than `screen.display`, which looks at each cell."""
    drawn = (screen.buffer.get(row, {}) for row in range(screen.lines))
    # a wide character has a cell with nothing in it behind it
    return ["".join(row[cell].data for cell in range(max(row, default=-1) + 1)).rstrip() for row in drawn]


def answers(screen: pyte.Screen, *texts: str) -> bool:
    """Whether all the texts stand on it at once, one of them at least in a row that was drawn since
    `screen.dirty` was emptied: what stood there before the keys went out says nothing of what they did."""
    shown = rows(screen)
    picture = "\n".join(shown)
    if not all(text in picture for text in texts):
        return False
    for text in texts:
        at = picture.find(text)
        while at >= 0:
            first = picture.count("\n", 0, at)
            if screen.dirty.intersection(range(first, first + text.count("\n") + 1)):
                return True
            at = picture.find(text, at + 1)
    return False
