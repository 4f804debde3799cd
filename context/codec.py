"""Records to JSON-ready values and back, by type hints; stable key order, no configuration.

Understands what our records are made of: frozen dataclasses, `StrEnum`, paths, tuples, string-keyed
mappings, `None`, and unions of dataclasses, which carry the class name under `type`.
"""

import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]

Read = Callable[[Any], Any]
_PLAIN = frozenset({bool, int, float, str})


class DecodeError(ValueError):
    """A stored value does not fit the type it is read as."""


def encode(value: Any) -> JsonValue:
    """Give the JSON-ready form of a record; dataclasses become objects with their name in `type`."""
    kind: Any = type(value)
    if value is None or kind in _PLAIN:
        return value  # type: ignore[no-any-return]  # one of the plain types
    names = _field_names(kind)
    if names is not None:
        body: dict[str, JsonValue] = {"type": kind.__name__}
        for name in names:
            body[name] = encode(getattr(value, name))
        return body
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, tuple | list | frozenset | set):
        return [encode(item) for item in (sorted(value) if isinstance(value, frozenset | set) else value)]
    if isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"cannot encode {kind.__name__}")


@lru_cache(maxsize=512)
def _field_names(kind: type) -> tuple[str, ...] | None:
    """The fields of a dataclass, None for any other type."""
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else None


def decode(kind: Any, value: JsonValue) -> Any:
    """Read `value` as `kind`, a dataclass or a union of dataclasses; raises DecodeError.

    Unknown keys are ignored and missing ones take their default, so newer records stay readable.
    """
    return _reader(kind)(value)


@lru_cache(maxsize=1024)
def _reader(kind: Any) -> Read:
    """How values of a type are read; made once, since a session holds tens of thousands of them."""
    origin = get_origin(kind)
    if kind is Any or kind is object:
        return lambda value: value
    if origin in (Union, types.UnionType):
        return _union_reader(get_args(kind))
    if origin is Literal:
        allowed = get_args(kind)
        return lambda value: _check(value in allowed, kind, value)
    if origin in (tuple, list, frozenset, set):
        return _sequence_reader(origin, get_args(kind))
    if origin is not None and issubclass(origin, Mapping):
        return _mapping_reader(kind)
    if is_dataclass(kind):
        return _record_reader(kind)
    return _plain_reader(kind)


def _plain_reader(kind: Any) -> Read:
    if kind is type(None):
        return lambda value: _check(value is None, kind, value)
    if issubclass(kind, Enum):
        return lambda value: _read_enum(kind, value)
    if kind is Path:
        return lambda value: Path(_check(isinstance(value, str), kind, value))
    if kind is bool:
        return lambda value: _check(isinstance(value, bool), kind, value)
    if kind is float:
        return _read_float
    return lambda value: _check(isinstance(value, kind) and not isinstance(value, bool), kind, value)


def _read_float(value: Any) -> float:
    number = isinstance(value, float | int) and not isinstance(value, bool)
    return float(_check(number, float, value))


def _check(fits: bool, kind: Any, value: Any) -> Any:
    if not fits:
        raise DecodeError(f"{value!r:.80} is not {getattr(kind, '__name__', kind)}")
    return value


def _read_enum(kind: type[Enum], value: Any) -> Enum:
    try:
        return kind(value)
    except ValueError as error:
        raise DecodeError(f"{value!r:.80} is not a {kind.__name__}") from error


def _union_reader(members: tuple[Any, ...]) -> Read:
    """A record is known by its name; anything else is what reads it first."""
    records: dict[str, Any] = {
        str(getattr(member, "__name__", "")): member for member in members if is_dataclass(member)
    }

    def read(value: Any) -> Any:
        if value is None and type(None) in members:
            return None
        name = value.get("type") if isinstance(value, dict) else None
        record = records.get(name) if isinstance(name, str) else None
        if record is not None:
            return _reader(record)(value)
        for member in members:
            try:
                return _reader(member)(value)
            except DecodeError:
                continue
        raise DecodeError(f"{value!r:.80} fits none of the {len(members)} types expected")

    return read


def _sequence_reader(origin: Any, args: tuple[Any, ...]) -> Read:
    def read(value: Any) -> Any:
        _check(isinstance(value, list), origin, value)
        if origin is tuple and not (len(args) == 2 and args[1] is Ellipsis):
            _check(len(args) == len(value), origin, value)
            return tuple(_reader(kind)(item) for kind, item in zip(args, value, strict=True))
        return origin(map(_reader(args[0]), value))

    return read


def _mapping_reader(kind: Any) -> Read:
    item_kind = get_args(kind)[1]

    def read(value: Any) -> Any:
        _check(isinstance(value, dict), kind, value)
        item = _reader(item_kind)
        return {key: item(one) for key, one in value.items()}

    return read


def _record_reader(kind: Any) -> Read:
    @cache
    def readers() -> dict[str, Read]:  # on first use: a record may hold others of its own type
        hints = get_type_hints(kind)
        return {field.name: _reader(hints[field.name]) for field in fields(kind)}

    def read(value: Any) -> Any:
        _check(isinstance(value, dict) and value.get("type", kind.__name__) == kind.__name__, kind, value)
        known = readers()
        try:
            return kind(**{name: known[name](item) for name, item in value.items() if name in known})
        except TypeError as error:
            raise DecodeError(f"{kind.__name__}: {error}") from error

    return read
