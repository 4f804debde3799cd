"""Untrusted text made visible: nothing in it can move a cursor, hide, reorder or fake anything.

What changes how text looks without being seen itself is written as `\\xNN`, `\\uNNNN` or
`\\UNNNNNNNN`; long runs of blanks become a count. The text that runs is never changed by this.
"""

import re
import unicodedata
from collections.abc import Iterator

MAX_BLANKS = 8  # a longer run is shown as a count
MAX_MARKS = 2  # combining characters on one letter; further ones are escaped

_HIDDEN_CATEGORIES = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
_BLANKS = frozenset("\u00a0\u1680\u202f\u205f\u3000\u2800\u3164\uffa0\u115f\u1160") | {
    chr(code) for code in range(0x2000, 0x200B)
}
_VARIATION = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef\u180b-\u180f\u034f]")


def make_visible(text: str) -> str:
    """The text on one line, everything hidden in it written out, newlines as `\\n`."""
    return "\\n".join("".join(_visible_parts(line)) for line in text.split("\n"))


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


def _visible_parts(line: str) -> Iterator[str]:
    for run in re.findall(r" +|[^ ]+", line):
        if run[0] == " ":
            yield f"({len(run)} blanks)" if len(run) > MAX_BLANKS else run
        else:
            for char, hidden in _characters(run):
                yield escape(char) if hidden else char


def escape(char: str) -> str:
    """`\\xNN`, `\\uNNNN` or `\\UNNNNNNNN`."""
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
