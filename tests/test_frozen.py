"""`@frozen` is `@dataclass(frozen=True, slots=True, kw_only=True)`, made faster, and `@mutable` the one that
can be changed."""

from collections.abc import Callable, Mapping
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, is_dataclass, replace
from typing import Any

import pytest

from agent_tui.frozen import frozen, mutable

Make = Callable[[type], Any]


class _Door:
    """A door."""

    name: str
    width: float = 0.8
    tags: Mapping[str, str] = field(default_factory=dict)
    code: str = field(default="", repr=False)

    @property
    def shown(self) -> str:
        """Its name."""
        return self.name.title()


def _made(make: Make) -> Any:
    """A class of its own from the same lines."""
    lines = {name: value for name, value in vars(_Door).items() if name not in ("__dict__", "__weakref__")}
    return make(type("Door", (), {**lines, "__qualname__": "House.Door"}))


# Both are asked the same, so that what is expected here cannot drift from what a dataclass does.
both = pytest.mark.parametrize("make", [frozen, dataclass(frozen=True, slots=True, kw_only=True)])


@both
def test_fields_are_given_by_name_and_have_defaults(make: Make) -> None:
    door = _made(make)
    one, other = door(name="front", width=1.0), door(name="back")
    assert (one.name, one.width, one.tags, one.code) == ("front", 1.0, {}, "")
    assert other.width == 0.8 and other.tags is not one.tags
    assert one.shown == "Front"


@both
@pytest.mark.parametrize("given", [{}, {"name": "front", "height": 2.0}])
def test_a_missing_or_unknown_field_is_refused(make: Make, given: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="height" if given else "name"):
        _made(make)(**given)


@both
def test_a_field_is_not_given_by_place(make: Make) -> None:
    with pytest.raises(TypeError, match="positional"):
        _made(make)("front")


@both
def test_equality_and_hash_are_of_the_class_and_all_fields(make: Make) -> None:
    door, gate = _made(make), _made(make)
    assert door(name="a", code="1") == door(name="a", code="1")
    assert door(name="a", code="1") != door(name="a", code="2")
    assert door(name="a") != gate(name="a")
    assert len({door(name="a", tags=()), door(name="a", tags=()), door(name="b", tags=())}) == 2
    with pytest.raises(TypeError, match="unhashable"):
        hash(door(name="a"))  # a dict is in it


@both
def test_the_text_names_all_fields_but_hidden_ones(make: Make) -> None:
    assert repr(_made(make)(name="a", code="1234")) == "House.Door(name='a', width=0.8, tags={})"


@both
def test_nothing_of_it_changes(make: Make) -> None:
    one = _made(make)(name="a")
    for change in (lambda: setattr(one, "name", "b"), lambda: delattr(one, "name")):
        with pytest.raises(FrozenInstanceError, match="name"):
            change()
    assert one.name == "a" and not hasattr(one, "__dict__")


@both
def test_the_functions_of_dataclasses_know_it(make: Make) -> None:
    one = _made(make)(name="a", tags={"of": "oak"})
    assert is_dataclass(one)
    assert [each.name for each in fields(one)] == ["name", "width", "tags", "code"]
    assert replace(one, width=2.0) == type(one)(name="a", width=2.0, tags={"of": "oak"})
    assert asdict(one) == {"name": "a", "width": 0.8, "tags": {"of": "oak"}, "code": ""}


@pytest.mark.parametrize("make", [mutable, dataclass(eq=False, slots=True, kw_only=True)])
def test_what_is_mutable_changes_and_equals_only_itself(make: Make) -> None:
    door = _made(make)
    one, other = door(name="a", code="1234"), door(name="a", code="1234")
    one.width = 2.0
    assert (one.name, one.width, one.tags) == ("a", 2.0, {}) and one.tags is not other.tags
    assert repr(one) == "House.Door(name='a', width=2.0, tags={})"
    assert one != other and len({one, one, other}) == 2
    assert replace(one, name="b").width == 2.0
    with pytest.raises(AttributeError, match="height"):
        one.height = 1.0
