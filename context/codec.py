"""Records to JSON-ready values and back, by type hints; stable key order, no configuration.

Understands what our records are made of: frozen dataclasses, `StrEnum`, paths, tuples, string-keyed
mappings, `None`, and unions of dataclasses, which carry the class name under `type`.
"""

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]


class DecodeError(ValueError):
    """A stored value does not fit the type it is read as."""


def encode(value: Any) -> JsonValue:
    """Give the JSON-ready form of a record; dataclasses become objects with their name in `type`."""
    if value is None or (isinstance(value, bool | int | float | str) and not isinstance(value, Enum)):
        return value
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, Path):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        body: dict[str, JsonValue] = {"type": type(value).__name__}
        for field in fields(value):
            body[field.name] = encode(getattr(value, field.name))
        return body
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, tuple | list | frozenset | set):
        return [encode(item) for item in (sorted(value) if isinstance(value, frozenset | set) else value)]
    raise TypeError(f"cannot encode {type(value).__name__}")


def decode(kind: Any, value: JsonValue) -> Any:
    """Read `value` as `kind`, a dataclass or a union of dataclasses; raises DecodeError.

    Unknown keys are ignored and missing ones take their default, so newer records stay readable.
    """
    return _decode(kind, value)


@lru_cache(maxsize=512)
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _decode(kind: Any, value: Any) -> Any:
    origin = get_origin(kind)
    if kind is Any or kind is object:
        return value
    if origin in (Union, types.UnionType):
        return _decode_union(get_args(kind), value)
    if origin is Literal:
        return _check(value in get_args(kind), kind, value)
    if origin in (tuple, list, frozenset, set):
        return _decode_sequence(origin, get_args(kind), value)
    if origin is not None and issubclass(origin, Mapping):
        _check(isinstance(value, dict), kind, value)
        return {key: _decode(get_args(kind)[1], item) for key, item in value.items()}
    if kind is type(None):
        return _check(value is None, kind, value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _decode_enum(kind, value)
    if is_dataclass(kind):
        return _decode_record(kind, value)
    if kind is Path:
        return Path(_check(isinstance(value, str), kind, value))
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return _check(isinstance(value, kind) and (kind is bool or not isinstance(value, bool)), kind, value)


def _check(fits: bool, kind: Any, value: Any) -> Any:
    if not fits:
        raise DecodeError(f"{value!r:.80} is not {getattr(kind, '__name__', kind)}")
    return value


def _decode_enum(kind: type[Enum], value: Any) -> Enum:
    try:
        return kind(value)
    except ValueError as error:
        raise DecodeError(f"{value!r:.80} is not a {kind.__name__}") from error


def _decode_union(members: tuple[Any, ...], value: Any) -> Any:
    if isinstance(value, dict) and "type" in value:
        for member in members:
            if is_dataclass(member) and getattr(member, "__name__", "") == value["type"]:
                return _decode_record(member, value)
    for member in members:
        try:
            return _decode(member, value)
        except DecodeError:
            continue
    raise DecodeError(f"{value!r:.80} fits none of the {len(members)} types expected")


def _decode_sequence(origin: Any, args: tuple[Any, ...], value: Any) -> Any:
    _check(isinstance(value, list), origin, value)
    if origin is tuple and not (len(args) == 2 and args[1] is Ellipsis):
        _check(len(args) == len(value), origin, value)
        return tuple(_decode(kind, item) for kind, item in zip(args, value, strict=True))
    return origin(_decode(args[0], item) for item in value)


def _decode_record(kind: Any, value: Any) -> Any:
    _check(isinstance(value, dict) and value.get("type", kind.__name__) == kind.__name__, kind, value)
    hints = _hints(kind)
    known = {field.name for field in fields(kind)}
    try:
        return kind(**{name: _decode(hints[name], item) for name, item in value.items() if name in known})
    except TypeError as error:
        raise DecodeError(f"{kind.__name__}: {error}") from error
