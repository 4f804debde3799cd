"""Markdown that is still being written: only the last, open block of it is rendered again."""

import re

from agent_tui.tui.transcript import markdown
from agent_tui.tui.transcript.lines import BLANK, Line
from agent_tui.tui.transcript.look import Look

_MARKER = r"[ \t]*(?:\d{1,9}[.)]?|[-*+])?[ \t\r]*"  # all that there is yet of a list's next item


class Growing:
    """Lines of a growing text at one look; cost of an update is that of its last block."""

    def __init__(self, look: Look) -> None:
        self.look = look
        self._closed: list[Line] = []
        self._offset = 0  # characters of the text that are in closed blocks

    @property
    def closed(self) -> list[Line]:
        """Lines that do not change any more."""
        return self._closed

    def update(self, text: str) -> list[Line]:
        """The lines after `closed`, once `text`, which begins with that of the last update, is taken in."""
        tail = text[self._offset :]
        blocks = markdown.blocks(tail)
        at = max(len(blocks) - 1, 0)
        if at and _may_go_on(tail[: blocks[at].start], tail[blocks[at].start :]):
            at -= 1
        for block in blocks[:at]:
            self._add(markdown.lines_of(block.tokens, self.look))
        self._offset += blocks[at].start if at else 0
        last: list[Line] = []
        for block in blocks[at:]:
            rows = markdown.lines_of(block.tokens, self.look)
            last += [BLANK, *rows] if rows and (self._closed or last) else rows
        return last

    def _add(self, rows: list[Line]) -> None:
        if self._closed and rows:
            self._closed.append(BLANK)
        self._closed += rows


def _may_go_on(before: str, begun: str) -> bool:
    """Whether the first line of a block may yet turn out to go on with the block before: `*` becomes
    `**bold`, and `2` after an empty line becomes `2. ` of the same list."""
    return "\n" not in begun and (re.fullmatch(_MARKER, begun) is not None or not _after_blank(before))


def _after_blank(text: str) -> bool:
    """Whether a text ends with an empty line, over which no paragraph goes on."""
    return not text.rstrip(" \t").removesuffix("\n").rpartition("\n")[2].strip()
