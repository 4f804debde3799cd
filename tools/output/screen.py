"""The screen of a full-screen program, such as `less` or `vim`: what a person would see of it now."""

import unicodedata

_CELL_CHARS = 32  # a program can print joining characters for ever; the longest flags and families have fewer


class Screen:
    """A grid of characters with a cursor and a scroll region; a wide one leaves the cell after it empty."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = max(1, columns), max(1, rows)
        self.cells = [[" "] * self.columns for _ in range(self.rows)]
        self.row = self.column = 0
        self._top, self._bottom = 0, self.rows - 1

    def resize(self, columns: int, rows: int) -> None:
        """Another size: what fits stays where it is until the program draws anew."""
        self.columns, self.rows = max(1, columns), max(1, rows)
        kept = [row[: self.columns] + [" "] * (self.columns - len(row)) for row in self.cells[: self.rows]]
        self.cells = kept + [[" "] * self.columns for _ in range(self.rows - len(kept))]
        self._top, self._bottom = 0, self.rows - 1
        self.move_to(self.row, self.column)

    def text(self) -> str:
        """The rows without trailing blanks; empty rows at the end left out."""
        return "\n".join("".join(row).rstrip() for row in self.cells).rstrip("\n")

    def write(self, text: str) -> None:
        """Text with line feeds, at the cursor; wraps at the right edge."""
        for char in text:
            if char == "\n":
                self._line_feed()
                self.column = 0
                continue
            if char == "\t":
                self.column = min(self.columns - 1, (self.column // 8 + 1) * 8)
                continue
            self._put(char)

    def _put(self, char: str) -> None:
        width = 1 if char.isascii() else _width(char)
        if width == 0:
            at = max(0, self.column - 1)
            if len(self.cells[self.row][at]) < _CELL_CHARS:
                self.cells[self.row][at] += char
            return
        if self.column + width > self.columns:
            self._line_feed()
            self.column = 0
        row = self.cells[self.row]
        row[self.column] = char
        row[self.column + 1 : self.column + width] = [""] * (width - 1)
        self.column += width

    def move_to(self, row: int, column: int) -> None:
        """Put the cursor somewhere, from 0; clamped."""
        self.row = min(max(row, 0), self.rows - 1)
        self.column = min(max(column, 0), self.columns - 1)

    def reverse_line(self) -> None:
        """Up one line; at the top of the scroll region its content moves down."""
        if self.row == self._top:
            self._scroll(self._top, -1)
        else:
            self.row = max(0, self.row - 1)

    def edit(self, final: str, numbers: list[int]) -> None:
        """What a CSI sequence with this final byte does; unknown ones do nothing."""
        count = max(1, numbers[0])
        if final == "J":
            self._erase_screen(numbers[0])
        elif final == "K":
            self._erase(self.row, *_span(numbers[0], self.column, self.columns))
        elif final == "r":
            bottom = numbers[1] if len(numbers) > 1 and numbers[1] else self.rows
            self._top, self._bottom = min(count, self.rows) - 1, min(bottom, self.rows) - 1
            self.move_to(0, 0)
        elif final in "LM" and self._top <= self.row <= self._bottom:
            self._scroll(self.row, -count if final == "L" else count)
        elif final in "ST":
            self._scroll(self._top, count if final == "S" else -count)
        elif final in "@PX":
            self._edit_row(final, min(count, self.columns))

    def _edit_row(self, final: str, count: int) -> None:
        row, at = self.cells[self.row], min(self.column, self.columns - 1)
        if final == "X":
            self._erase(self.row, at, min(at + count, self.columns))
        elif final == "@":
            self.cells[self.row] = (row[:at] + [" "] * count + row[at:])[: self.columns]
        else:
            self.cells[self.row] = (row[:at] + row[at + count :] + [" "] * count)[: self.columns]

    def _erase_screen(self, mode: int) -> None:
        rows = {0: range(self.row + 1, self.rows), 1: range(self.row)}.get(mode, range(self.rows))
        for row in rows:
            self._erase(row, 0, self.columns)
        if mode in (0, 1):
            self._erase(self.row, *_span(mode, self.column, self.columns))

    def _erase(self, row: int, start: int, end: int) -> None:
        start, end = min(start, self.columns), min(end, self.columns)
        self.cells[row][start:end] = [" "] * max(0, end - start)

    def _line_feed(self) -> None:
        if self.row == self._bottom:
            self._scroll(self._top, 1)
        else:
            self.row = min(self.row + 1, self.rows - 1)

    def _scroll(self, top: int, count: int) -> None:
        """Move the lines from `top` to the bottom of the region up by `count`, down where negative."""
        height = self._bottom - top + 1
        if height < 1:
            return
        shift = max(-height, min(count, height))
        blank = [[" "] * self.columns for _ in range(abs(shift))]
        region = self.cells[top : self._bottom + 1]
        moved = region[shift:] + blank if shift > 0 else blank + region[: height + shift]
        self.cells[top : self._bottom + 1] = moved


def _width(char: str) -> int:
    """Cells a terminal gives it: two for wide ones, none for what joins the one before."""
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _span(mode: int, at: int, end: int) -> tuple[int, int]:
    """What an erase covers: 0 from the cursor on, 1 up to it, 2 everything."""
    return (at, end) if mode == 0 else (0, at + 1) if mode == 1 else (0, end)
