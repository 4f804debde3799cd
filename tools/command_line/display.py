"""Untrusted text made visible: nothing in it can move a cursor, hide, reorder or fake anything.

What changes how text looks without being seen itself is written as `\\xNN`, `\\uNNNN` or
`\\UNNNNNNNN`; long runs of blanks become a count. The text that runs is never changed by this.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

MAX_BLANKS = 8  # a longer run is shown as a count
MAX_MARKS = 2  # combining characters on one letter; further ones are escaped
MAX_EMPTY_LINES = 2

_HIDDEN_CATEGORIES = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
_BLANKS = frozenset("\u00a0\u1680\u202f\u205f\u3000\u2800\u3164\uffa0\u115f\u1160") | {
    chr(code) for code in range(0x2000, 0x200B)
}
_VARIATION = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef\u180b-\u180f\u034f]")
_WORD = re.compile(r"\w+")
_SCRIPTS = ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC")  # share the shapes of letters
_NAMES = {
    "\u202e": "right-to-left override",
    "\u202d": "left-to-right override",
    "\u202b": "right-to-left embedding",
    "\u202a": "left-to-right embedding",
    "\u202c": "end of direction",
    "\u2066": "left-to-right isolate",
    "\u2067": "right-to-left isolate",
    "\u2068": "first-strong isolate",
    "\u2069": "end of isolate",
    "\u200e": "left-to-right mark",
    "\u200f": "right-to-left mark",
    "\u200b": "zero-width space",
    "\u200c": "zero-width non-joiner",
    "\u200d": "zero-width joiner",
    "\ufeff": "byte order mark",
    "\r": "carriage return",
    "\x1b": "escape",
    "\x07": "bell",
    "\x08": "backspace",
    "\t": "tab",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A piece of a line; `is_mark` pieces stand for something else and need another colour."""

    text: str
    is_mark: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of the text; `number` is the first one it stands for, from 1."""

    number: int
    spans: tuple[Span, ...]
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The line without colours."""
        return "".join(span.text for span in self.spans)


def make_visible(text: str) -> str:
    """The text on one line, everything hidden in it written out, newlines as `\\n`."""
    return "\\n".join("".join(span.text for span in _spans(line)) for line in text.split("\n"))


def visible_lines(text: str) -> tuple[Line, ...]:
    """The text line by line with what is hidden in each; runs of empty lines as one count."""
    lines = []
    empty: list[int] = []
    for number, line in enumerate([*text.split("\n"), None], start=1):
        if line is not None and not line.strip(" "):
            empty.append(number)
            continue
        lines += _empty_lines(empty)
        empty = []
        if line is not None:
            lines.append(Line(number=number, spans=tuple(_spans(line)), notes=notes(line)))
    return tuple(lines)


def _empty_lines(numbers: list[int]) -> list[Line]:
    if len(numbers) > MAX_EMPTY_LINES:
        return [Line(number=numbers[0], spans=(Span(text=f"({len(numbers)} empty lines)", is_mark=True),))]
    return [Line(number=number, spans=()) for number in numbers]


def notes(text: str) -> tuple[str, ...]:
    """What a person could miss in the text, in words: hidden characters, words of mixed scripts."""
    hidden = [char for char, mark in _characters(text) if mark and char != " "]
    found = []
    if hidden:
        names = list(dict.fromkeys(_name(char) for char in hidden))
        count = "1 hidden character" if len(hidden) == 1 else f"{len(hidden)} hidden characters"
        found.append(f"{count}: {', '.join(names[:3])}" + (", …" if len(names) > 3 else ""))
    mixed = [word for word in _WORD.findall(text) if len(_scripts_of(word)) > 1]
    found += [f"`{word[:40]}` mixes {' and '.join(_scripts_of(word))} letters" for word in mixed[:3]]
    return tuple(found)


def _name(char: str) -> str:
    return _NAMES.get(char) or unicodedata.name(char, "control character").lower()


def _scripts_of(word: str) -> list[str]:
    first_words = (unicodedata.name(char, "").partition(" ")[0] for char in word if not char.isascii())
    scripts = {name for name in first_words if name in _SCRIPTS}
    if any(char.isascii() and char.isalpha() for char in word):
        scripts.add("LATIN")
    return sorted(name.capitalize() for name in scripts)


def _characters(text: str) -> Iterator[tuple[str, bool]]:
    """Each character, and whether it must be written out."""
    marks = 0
    for char in text:
        marks = marks + 1 if unicodedata.combining(char) else 0
        if char.isascii():
            yield char, not char.isprintable()
        else:
            yield char, marks > MAX_MARKS or _is_hidden(char)


def _is_hidden(char: str) -> bool:
    return unicodedata.category(char) in _HIDDEN_CATEGORIES or char in _BLANKS or bool(_VARIATION.match(char))


def _spans(line: str) -> Iterator[Span]:
    plain: list[str] = []
    for piece, mark in _with_counts(line):
        if mark:
            if plain:
                yield Span(text="".join(plain))
                plain = []
            yield Span(text=piece, is_mark=True)
        else:
            plain.append(piece)
    if plain:
        yield Span(text="".join(plain))


def _with_counts(line: str) -> Iterator[tuple[str, bool]]:
    for run in re.findall(r" +|[^ ]+", line):
        if run[0] == " " and len(run) > MAX_BLANKS:
            yield f"({len(run)} blanks)", True
        elif run[0] == " ":
            yield run, False
        else:
            for char, hidden in _characters(run):
                yield (escape(char), True) if hidden else (char, False)


def escape(char: str) -> str:
    """`\\xNN`, `\\uNNNN` or `\\UNNNNNNNN`."""
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
