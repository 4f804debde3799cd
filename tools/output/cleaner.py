"""From decoded text to what a terminal would show: escape sequences applied or removed.

State survives any split of the text. One cleaner for each stream of a command; streams that share
a canvas are merged in the order in which they arrive.
"""

import re
from collections.abc import Callable

from tools.output.canvas import Canvas
from tools.output.screen import Screen

_CONTROLS = "\x07\x08\r\x18\x1a\x1b"  # those that end a sequence included
_CONTROL = re.compile(f"[{_CONTROLS}]")
_IGNORED = re.compile(r"[\x00-\x06\x0b\x0c\x0e-\x17\x19\x1c-\x1f\x7f-\x9f]")
_IGNORED_ASCII = bytes(code for code in range(0x80) if _IGNORED.match(chr(code)))
# ECMA-48: parameters, intermediates, final byte; what is longer is no sequence
_CSI = re.compile(r"\x1b\[([0-?]{0,200})([ -/]{0,8})([@-~])")
_ESCAPE = re.compile(r"\x1b[ -/]{0,8}[0-~]")
_COLOUR = re.compile(r"\x1b\[[0-9;:]{0,200}m")
_CUT = re.compile(r"\x1b(?:\[[0-?]{0,200}[ -/]{0,8}|[ -/]{0,8})\Z")
_STRING_START = re.compile(r"\x1b[\]PX^_]")
_STRING_END = re.compile(r"\x07|\x1b\\|[\x18\x1a]|\x1b(?=[^\\])")
_MAX_STRING = 1 << 20  # characters of an OSC or DCS before it is taken for an accident
_MAX_INSERTED = 500  # blanks by one sequence
_ALTERNATE = {"47", "1047", "1049"}


class Cleaner:
    """Feeds one stream to a canvas, or to the screen while the program draws a full one."""

    def __init__(self, canvas: Canvas, screen: Callable[[], Screen] | None = None) -> None:
        self._canvas = canvas
        self._make_screen = screen
        self.screen: Screen | None = None  # in use: a full-screen program runs
        self._held = ""  # an escape sequence that is not complete yet
        self._string_left = 0  # inside an OSC or DCS: how much more of it is swallowed
        self._saved = (0, 0)

    def feed(self, text: str) -> None:
        """The next text of the stream."""
        text, self._held = self._held + _without_ignored(text), ""
        if not self._string_left and text.count("\x1b") == text.count("\x1b["):
            # what is nothing on a canvas goes at once: colours, and a return before a line feed
            text = _COLOUR.sub("", text).replace("\r\n", "\n")
        if not self._string_left and not any(control in text for control in _CONTROLS):
            self._plain(text)
            return
        position = 0
        while position < len(text):
            position = self._string(text, position) if self._string_left else self._piece(text, position)

    def finish(self) -> None:
        """The stream ended: a cut sequence is dropped."""
        self._held = ""

    def _piece(self, text: str, position: int) -> int:
        """Plain text up to the next control, or that control."""
        match = _CONTROL.search(text, position)
        end = match.start() if match else len(text)
        if end > position:
            self._plain(text[position:end])
            return end
        if text[position] == "\x1b":
            return self._escape(text, position)
        self._control(text[position])
        return position + 1

    def _plain(self, text: str) -> None:
        if self.screen is not None:
            self.screen.write(text)
        else:
            self._canvas.write_lines(text)

    def _control(self, char: str) -> None:
        target = self.screen or self._canvas
        if char == "\r":
            target.column = 0
        elif char == "\b":
            target.column = max(0, target.column - 1)

    def _string(self, text: str, position: int) -> int:
        """The inside of an OSC or DCS: swallowed up to its end."""
        match = _STRING_END.search(text, position, position + self._string_left)
        if match:
            self._string_left = 0
            return match.start() if match[0] == "\x1b" else match.end()
        end = min(len(text), position + self._string_left)
        if end == len(text) and text.endswith("\x1b"):
            self._held, end = "\x1b", end - 1
            self._string_left -= end - position
            return len(text)
        self._string_left -= end - position
        return end

    def _escape(self, text: str, position: int) -> int:
        if match := _CSI.match(text, position):
            self._sequence(match[1], match[2], match[3])
            return match.end()
        if _STRING_START.match(text, position):
            self._string_left = _MAX_STRING
            return position + 2
        if cut := _CUT.match(text, position):
            self._held = cut[0]
            return len(text)
        if not text.startswith("\x1b[", position) and (match := _ESCAPE.match(text, position)):
            self._short(match[0][1:])
            return match.end()
        return position + 1

    def _short(self, name: str) -> None:
        """Sequences without parameters."""
        target = self.screen or self._canvas
        if name == "7":
            self._saved = (target.row, target.column)
        elif name == "8":
            target.move_to(*self._saved)
        elif name == "M" and self.screen is not None:
            self.screen.reverse_line()
        elif name == "M":
            self._canvas.move_to(self._canvas.row - 1, self._canvas.column)
        elif name in ("D", "E"):
            self._plain("\n")
        elif name == "c" and self.screen is None:
            self._canvas.clear()

    def _sequence(self, parameters: str, intermediates: str, final: str) -> None:
        if parameters[:1] == "?":
            if final in "hl" and _ALTERNATE & set(parameters[1:].split(";")):
                self._alternate(final == "h")
            return
        if intermediates or parameters[:1] in ("<", "=", ">"):
            return
        numbers = [int(part) if part.isdigit() else 0 for part in parameters.split(";")[:8]]
        numbers = [min(number, 100_000) for number in numbers]
        target = self.screen or self._canvas
        if final in "ABCDEFGHdf`":
            target.move_to(*_moved(final, target.row, target.column, numbers))
        elif final == "s":
            self._saved = (target.row, target.column)
        elif final == "u":
            target.move_to(*self._saved)
        elif self.screen is not None:
            self.screen.edit(final, numbers)
        else:
            self._edit_line(final, numbers)

    def _edit_line(self, final: str, numbers: list[int]) -> None:
        canvas = self._canvas
        line, column, count = canvas.lines[canvas.row], canvas.column, max(1, numbers[0])
        if final == "K":
            if numbers[0] in (1, 2):
                line.blank(0, column + 1)
            if numbers[0] in (0, 2):
                line.cut(column if numbers[0] == 0 else 0)
        elif final == "J" and numbers[0] == 0:
            line.cut(column)
            for below in canvas.lines[canvas.row + 1 :]:
                below.cut(0)
        elif final == "J" and numbers[0] >= 2:
            canvas.clear()
        elif final == "P":
            line.delete(column, count)
        elif final == "X":
            line.blank(column, count)
        elif final == "@":
            line.insert(column, min(count, _MAX_INSERTED))

    def _alternate(self, on: bool) -> None:
        if not on:
            self.screen = None
        elif self.screen is None and self._make_screen is not None:
            self.screen = self._make_screen()


def _without_ignored(text: str) -> str:
    """Without the controls that do nothing, of which a program can print millions."""
    if text.isascii():
        return text.encode().translate(None, _IGNORED_ASCII).decode()
    return _IGNORED.sub("", text)


def _moved(final: str, row: int, column: int, numbers: list[int]) -> tuple[int, int]:
    """Where a cursor movement leads, from 0."""
    count = max(1, numbers[0])
    match final:
        case "A" | "F":
            row -= count
        case "B" | "E":
            row += count
        case "C":
            column += count
        case "D":
            column -= count
        case "G" | "`":
            column = count - 1
        case "d":
            row = count - 1
        case _:
            row, column = count - 1, max(1, numbers[1] if len(numbers) > 1 else 1) - 1
    return row, 0 if final in "EF" else column
