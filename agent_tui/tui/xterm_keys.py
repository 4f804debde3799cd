"""The bytes that xterm sends for a key, for a program that runs in a terminal of ours."""

import unicodedata

from textual.keys import KEY_TO_UNICODE_NAME, REPLACED_KEYS

_BITS = {"shift": 1, "alt": 2, "ctrl": 4}
_LETTER = {  # in place of a number, behind it where a modifier is held
    "up": "A", "down": "B", "right": "C", "left": "D", "home": "H", "end": "F",
    "f1": "P", "f2": "Q", "f3": "R", "f4": "S",
}  # fmt: skip
_NUMBER = {
    "insert": 2, "delete": 3, "pageup": 5, "pagedown": 6, "f5": 15, "f6": 17, "f7": 18, "f8": 19, "f9": 20,
    "f10": 21, "f11": 23, "f12": 24,
}  # fmt: skip
_NAMED = {"enter": "\r", "tab": "\t", "backspace": "\x7f", "escape": "\x1b"}
_CONTROL = dict(zip(" 2345678/?", "\x00\x00\x1b\x1c\x1d\x1e\x1f\x7f\x1f\x7f", strict=True))
FUNCTION_KEYS = 12  # on a keyboard; the toolkit counts on where Shift is held


def sent(key: str, character: str | None) -> str:
    """For a key as the toolkit names it; empty for one that sends nothing."""
    *modifiers, base = key.split("+")
    number = base[1:]
    if base.startswith("f") and number.isdecimal() and int(number) > FUNCTION_KEYS:
        base, modifiers = f"f{int(number) - FUNCTION_KEYS}", [*modifiers, "shift"]
    held = 1 + sum(_BITS.get(one, 0) for one in {*modifiers})
    if base in _LETTER:
        lead = "\x1bO" if base in ("f1", "f2", "f3", "f4") else "\x1b["
        return f"{lead}{_LETTER[base]}" if held == 1 else f"\x1b[1;{held}{_LETTER[base]}"
    if base in _NUMBER:
        return f"\x1b[{_NUMBER[base]}{f';{held}' if held > 1 else ''}~"
    if base == "tab" and "shift" in modifiers:
        return "\x1b[Z"
    if base == "backspace" and "ctrl" in modifiers:
        text = "\b"
    elif base in _NAMED:
        text = _NAMED[base]
    elif "ctrl" in modifiers:
        text = _control(_character(base))
    else:
        text = character or _character(base)
    return f"\x1b{text}" if text and "alt" in modifiers else text


def _character(name: str) -> str:
    """What a key is named after; empty where that is no character."""
    if len(name) == 1:
        return name
    name = REPLACED_KEYS.get(name, name)
    try:
        return unicodedata.lookup(KEY_TO_UNICODE_NAME.get(name, name.replace("_", " ")))
    except KeyError:
        return ""


def _control(character: str) -> str:
    if len(character) == 1 and "@" <= character.upper() <= "_":
        return chr(ord(character.upper()) & 0x1F)
    return _CONTROL.get(character, character)
