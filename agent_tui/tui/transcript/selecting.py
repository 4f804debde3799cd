"""Text picked with the mouse: what is between two cells of the screen, without glyphs and bars."""

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

Cell = tuple[int, int]  # row, column


class Selecting:
    """From the press of the button to its release; rows are those of the screen, which stands still."""

    def __init__(self) -> None:
        self._from: Cell | None = None
        self._to: Cell | None = None

    @property
    def is_moving(self) -> bool:
        """Whether the pointer has left the cell in which the button was pressed."""
        return self._from is not None and self._to is not None and self._from != self._to

    @property
    def is_held(self) -> bool:
        """Whether the button is down."""
        return self._from is not None

    def press(self, row: int, column: int) -> None:
        """The button goes down."""
        self._from = self._to = (row, column)

    def move(self, row: int, column: int) -> None:
        """The pointer moves with the button down."""
        self._to = (max(row, 0), max(column, 0))

    def release(self) -> None:
        """The button is up: nothing is selected any more."""
        self._from = self._to = None

    def columns(self, row: int, strip: Strip) -> tuple[int, int] | None:
        """First column of this row and the one behind the last; None where nothing is selected."""
        if self._from is None or self._to is None or not self.is_moving:
            return None
        first, last = sorted((self._from, self._to))
        if not first[0] <= row <= last[0]:
            return None
        start = first[1] if row == first[0] else 0
        end = last[1] + 1 if row == last[0] else strip.cell_length
        return max(start, gutter(strip.text)), end

    def marked(self, row: int, strip: Strip, style: Style) -> Strip:
        """The strip with what is selected of it in that style."""
        found = self.columns(row, strip)
        if found is None or found[0] >= found[1]:
            return strip
        start, end = found
        middle = Strip([Segment(strip.crop(start, end).text, style)])
        return Strip.join([strip.crop(0, start), middle, strip.crop(end, strip.cell_length)])

    def text(self, strips: Sequence[Strip]) -> str:
        """What is selected, a line for each row."""
        rows = []
        for row, strip in enumerate(strips):
            found = self.columns(row, strip)
            if found is not None:
                rows.append(strip.crop(*found).text.rstrip() if found[0] < found[1] else "")
        return "\n".join(rows).strip("\n")


def gutter(text: str) -> int:
    """Columns of glyphs and bars before the words of a row."""
    if text[:2] == "  " and text[3:4] == " " and text[2:3] in "│|┆:±":
        return 4
    return 2 if text[1:2] == " " else 0
