"""Checks one value of a setting, from TOML or from the text of a flag or a variable."""

import sys

from agent_tui.config.options import Option, Value
from agent_tui.near import nearest

_TRUE = ("1", "true", "yes", "on")
_FALSE = ("0", "false", "no", "off", "")


class BadValueError(Exception):
    """The text says what was expected and what was found."""


def from_toml(option: Option, value: object) -> Value:
    """The value of a key in a settings file or of `-c`; raises BadValueError."""
    match option.kind, value:
        case "flag", bool():
            return value
        case "integer", int() if not isinstance(value, bool):
            return _in_range(option, value, value)
        case "number", int() | float() if not isinstance(value, bool):
            return float(_in_range(option, value, value))
        case "list", list() if all(isinstance(item, str) for item in value):
            return tuple(value)
        case "list", str():
            return (value,)
        case "choice", str():
            return _choice(option, value)
        case "text", str():
            return value
        case "scalar", bool() | str() | int() | float():
            return value
    raise BadValueError(f"must be {expected(option)}, not {_found(value)}")


def _found(value: object) -> str:
    if isinstance(value, str):
        return f"the text `{value}`"
    return f"`{str(value).lower()}`" if isinstance(value, bool) else f"`{value}`"


def from_text(option: Option, text: str) -> Value:
    """The value of a flag or of an environment variable; raises BadValueError."""
    match option.kind:
        case "flag":
            if text.lower() not in _TRUE + _FALSE:
                raise BadValueError(f"must be {expected(option)}, not `{text}`")
            return text.lower() in _TRUE
        case "integer" | "number":
            return _in_range(option, _parsed(option, text), text)
        case "list":
            return tuple(text.splitlines())
        case "choice":
            return _choice(option, text)
        case "text" | "scalar":
            return text


def expected(option: Option) -> str:
    """What a value of this option looks like, in words."""
    match option.kind:
        case "flag":
            return "true or false"
        case "integer":
            return f"a whole number from {int(option.positive)} up"
        case "number":
            return "a number above 0" if option.positive else "a number from 0 up"
        case "list":
            return "a list of texts"
        case "choice":
            return _one_of(option)
        case "text":
            return "a text"
        case "scalar":
            return "a text, a number, true or false"


def _one_of(option: Option) -> str:
    return "one of " + ", ".join(f"`{choice}`" for choice in option.choices)


def _parsed(option: Option, text: str) -> int | float:
    try:
        return int(text) if option.kind == "integer" else float(text)
    except ValueError as error:
        raise BadValueError(f"must be {expected(option)}, not `{text}`") from error


def _in_range(option: Option, value: int | float, written: object) -> int | float:
    if not 0 <= value <= sys.float_info.max or (option.positive and value == 0):
        raise BadValueError(f"must be {expected(option)}, not `{written}`")
    return value


def _choice(option: Option, text: str) -> str:
    if text not in option.choices:
        near = nearest(text, option.choices)
        hint = f"; did you mean `{near}`?" if near else ""
        raise BadValueError(f"must be {_one_of(option)}, not `{text}`{hint}")
    return text
