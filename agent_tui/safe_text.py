"""Untrusted text made harmless: control, bidirectional and invisible characters become visible.

Nothing a model, a tool, a file name or an error says is ever parsed as markup, and no character of
it reaches the terminal that could move the cursor, change colours or reorder what is read.
"""

import re
import unicodedata

TAB_SIZE = 4

# C0 but tab and newline, DEL, C1; bidirectional controls; line separators; tag characters.
_HOSTILE = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f"
)
# Characters without width that are legitimate in prose (emoji, Indic joins) and not in a decision.
_INVISIBLE = (
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065"
    "\u206a-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0100-\U000e01ef"
)
_LENIENT = re.compile(f"[{_HOSTILE}\ud800-\udfff]")
_STRICT = re.compile(f"[{_HOSTILE}{_INVISIBLE}\ud800-\udfff]")

_WORDS = {
    "\x1b": "escape",
    "\r": "carriage return",
    "\u202e": "right-to-left override",
    "\u202d": "left-to-right override",
    "\u200b": "zero-width space",
}


def escaped(char: str) -> str:
    """The visible form of one character, as a programmer would write it."""
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # a byte of a file name that is not UTF-8 (surrogateescape)
        return f"\\x{code - 0xDC00:02x}"
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def name_of(char: str) -> str:
    """What a person would call a hidden character."""
    return _WORDS.get(char) or unicodedata.name(char, "control character").lower()


def visible(text: str, *, strict: bool = False) -> str:
    """`text` for the screen, newlines kept, tabs widened; `strict` also shows what has no width."""
    return "".join(part for part, _ in parts(text, strict=strict))


def parts(text: str, *, strict: bool = False) -> list[tuple[str, bool]]:
    """`text` cut into pieces to show; True marks the visible form of a hidden character."""
    pattern = _STRICT if strict else _LENIENT
    result: list[tuple[str, bool]] = []
    at = 0
    for found in pattern.finditer(text):
        if found.start() > at:
            result.append((_widened(text[at : found.start()]), False))
        result.append((escaped(found.group()), True))
        at = found.end()
    if at < len(text):
        result.append((_widened(text[at:]), False))
    return result


def hidden(text: str) -> list[str]:
    """The hidden characters of `text`, in order, for the warning of a prompt."""
    return _STRICT.findall(text)


def one_line(text: str, *, strict: bool = False) -> str:
    """`text` on one line: newlines shown as `⏎`."""
    return visible(text, strict=strict).replace("\n", " ⏎ ")


def _widened(text: str) -> str:
    return text.replace("\t", " " * TAB_SIZE) if "\n" not in text else text.expandtabs(TAB_SIZE)
