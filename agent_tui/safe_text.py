"""Untrusted text made harmless: control, bidirectional and invisible characters become visible.

Nothing a model, a tool, a file name or an error says is ever parsed as markup, and no character of
it reaches the terminal that could move the cursor, change colours or reorder what is read.
"""

import re
import unicodedata

TAB_SIZE = 4
MAX_WARNINGS = 5  # of one text

# C0 but tab and newline, DEL, C1; bidirectional controls; line separators; tag characters.
_HOSTILE = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f"
)
# Characters without width that are legitimate in prose (emoji, Indic joins) and not in a decision.
_INVISIBLE = (
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065"
    "\u206a-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0100-\U000e01ef"
)
_LENIENT = f"[{_HOSTILE}\ud800-\udfff]"
_STRICT = f"[{_HOSTILE}{_INVISIBLE}\ud800-\udfff]"

_WORDS = {
    "\x1b": "escape",
    "\r": "carriage return",
    "\u202e": "right-to-left override",
    "\u202d": "left-to-right override",
    "\u200b": "zero-width space",
}

_TERM = r"\w+"
_ENCODED_HOST = r"(?:[a-z0-9-]+\.)*xn--[a-z0-9-]+(?:\.[a-z0-9-]+)*"
_ALIKE = (
    "ARMENIAN",
    "CHEROKEE",
    "COPTIC",
    "CYRILLIC",
    "GREEK",
    "LATIN",
)  # share shapes of letters


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
    for found in re.finditer(pattern, text):
        if found.start() > at:
            result.append((_widened(text[at : found.start()]), False))
        result.append((escaped(found.group()), True))
        at = found.end()
    if at < len(text):
        result.append((_widened(text[at:]), False))
    return result


def hidden(text: str) -> list[str]:
    """The hidden characters of `text`, in order, for the warning of a prompt."""
    return re.findall(_STRICT, text)


def warnings(text: str) -> list[str]:
    """What a person who decides about `text` could miss in it, each in words that are safe to show.

    Characters that are hidden, words whose letters come from scripts that look alike, and encoded host
    names with the form that a person would read.
    """
    said = []
    chars = hidden(text)
    if chars:
        names = list(dict.fromkeys(name_of(char) for char in chars))
        listed = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
        said.append(f"{len(chars):,} hidden character{'' if len(chars) == 1 else 's'}: {listed}")
    for host in dict.fromkeys(re.findall(_ENCODED_HOST, text, re.IGNORECASE)):
        said.append(f'{host[:80]} reads "{_readable(host)}"' + _and_mixes(_readable(host)))
    mixed = (word for word in dict.fromkeys(re.findall(_TERM, text)) if _and_mixes(word))
    said += [f'"{visible(word[:40], strict=True)}"{_and_mixes(word).removeprefix(" and")}' for word in mixed]
    return said[:MAX_WARNINGS]


def _readable(host: str) -> str:
    try:
        return visible(host.encode("ascii").decode("idna"), strict=True)
    except UnicodeError:
        return "nothing a browser would show"


def _and_mixes(text: str) -> str:
    """` and mixes Cyrillic and Latin`, or nothing where one script is all there is."""
    if text.isascii():
        return ""
    firsts = {unicodedata.name(char, "").partition(" ")[0] for char in text if char.isalpha()}
    scripts = [name.capitalize() for name in _ALIKE if name in firsts]
    return f" and mixes {' and '.join(scripts)}" if len(scripts) > 1 else ""


def one_line(text: str, *, strict: bool = False) -> str:
    """`text` on one line: newlines shown as `⏎`."""
    return visible(text, strict=strict).replace("\n", " ⏎ ")


def _widened(text: str) -> str:
    return text.replace("\t", " " * TAB_SIZE) if "\n" not in text else text.expandtabs(TAB_SIZE)
