"""How data is declared, on every floor, with fields that are given by name: `@frozen` where they never
change, `@mutable` where they do.

To readers, type checkers and the functions of `dataclasses` the same as `@dataclass(frozen=True, slots=True,
kw_only=True)` and `@dataclass(eq=False, slots=True, kw_only=True)`. Those write and compile methods for each
class as it is imported, which takes 0.3 ms, and a start imports two hundred; here all classes share them,
which go over the fields. An object costs half a microsecond more for it.
"""

from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field
from typing import Any, ClassVar, NoReturn, TypeVar, dataclass_transform

T = TypeVar("T")


class _Methods:
    """What the classes share; those of `@mutable` the first two."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __init__(self, **given: Any) -> None:
        for name, known in self.__dataclass_fields__.items():
            if name in given:
                value = given.pop(name)
            elif known.default is not MISSING:
                value = known.default
            elif known.default_factory is not MISSING:
                value = known.default_factory()
            else:
                raise TypeError(f"{type(self).__name__}: `{name}` is missing")
            object.__setattr__(self, name, value)
        if given:
            raise TypeError(f"{type(self).__name__} has no field {', '.join(f'`{name}`' for name in given)}")

    def __repr__(self) -> str:
        shown = (known.name for known in self.__dataclass_fields__.values() if known.repr)
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{type(self).__qualname__}({values})"

    def __eq__(self, other: object) -> bool:
        return _values(self) == _values(other) if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(_values(self))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise FrozenInstanceError(f"cannot delete field {name!r}")


def _values(one: Any) -> tuple[Any, ...]:
    return tuple(getattr(one, name) for name in one.__dataclass_fields__)


_OF_ALL = ("__init__", "__repr__")
_OF_FROZEN = (*_OF_ALL, "__eq__", "__hash__", "__setattr__", "__delattr__")
_with_fields = dataclass(init=False, eq=False, repr=False, slots=True, kw_only=True)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """Make data of a class: its annotations are the fields. Of what `dataclasses.field` can say,
    `default_factory` and `repr` count."""
    return _sharing(cls, _OF_FROZEN)


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field,))
def mutable(cls: type[T]) -> type[T]:
    """The same for data that changes; each object equals only itself."""
    return _sharing(cls, _OF_ALL)


def _sharing(cls: type[T], names: tuple[str, ...]) -> type[T]:
    for name in names:
        setattr(cls, name, vars(_Methods)[name])
    return _with_fields(cls)
