"""Layer 2: which whole units an epoch hides, oldest first."""

from collections.abc import Callable, Collection, Sequence

from context.items import Origin
from context.units import item_ids
from context.view import ExchangeUnit, FinalUnit, NoticeUnit, SummaryUnit, Unit, UserUnit

NEWEST_COMPLETE_UNITS = 2
TAIL_SHARE = 0.20
TAIL_SHARE_AFTER_REREADS = 0.40


def protected_units(
    units: Sequence[Unit],
    tokens: Callable[[Unit], int],
    tail_tokens: int,
    pinned_calls: Collection[str] = (),
) -> frozenset[str]:
    """First item ids of the units no layer touches.

    The newest message of the person and the steers after it, the newest two complete units, the
    tail up to `tail_tokens` (one big unit may exceed it by half), sticky notices, pinned results.
    """
    kept: set[str] = set()
    kept.update(_current_turn(units))
    complete = [unit for unit in units if isinstance(unit, ExchangeUnit | FinalUnit)]
    kept.update(item_ids(unit)[0] for unit in complete[-NEWEST_COMPLETE_UNITS:])
    used = 0
    for unit in reversed(units):
        size = tokens(unit)
        if used + size > (tail_tokens if used else tail_tokens * 1.5):
            break
        used += size
        kept.add(item_ids(unit)[0])
    for unit in units:
        if isinstance(unit, NoticeUnit) and unit.notice.sticky:
            kept.add(item_ids(unit)[0])
        if isinstance(unit, ExchangeUnit) and any(c.call_id in pinned_calls for c in unit.response.calls):
            kept.add(item_ids(unit)[0])
    return frozenset(kept)


def _current_turn(units: Sequence[Unit]) -> list[str]:
    """The newest prompt and every steer or answer after it."""
    found: list[str] = []
    for unit in reversed(units):
        if isinstance(unit, UserUnit):
            found.append(unit.item.id)
            if unit.item.origin in (Origin.PROMPT, Origin.QUEUED):
                break
    return found


def evict(
    units: Sequence[Unit], tokens: Callable[[Unit], int], protected: Collection[str], excess: int
) -> tuple[Unit, ...]:
    """The oldest unprotected units whose hiding frees at least `excess` tokens, or all of them."""
    hidden: list[Unit] = []
    freed = 0
    for unit in units:
        if freed >= excess:
            break
        if isinstance(unit, SummaryUnit) or item_ids(unit)[0] in protected:
            continue
        hidden.append(unit)
        freed += tokens(unit)
    return tuple(hidden)


def floor_units(units: Sequence[Unit]) -> tuple[Unit, ...]:
    """Floor mode: all that must go so that only S, the newest message and the newest complete unit
    stay."""
    keep: set[str] = set()
    for wanted in (UserUnit, ExchangeUnit | FinalUnit):
        newest = next((unit for unit in reversed(units) if isinstance(unit, wanted)), None)
        if newest is not None:
            keep.add(item_ids(newest)[0])
    return tuple(
        unit for unit in units if not isinstance(unit, SummaryUnit) and item_ids(unit)[0] not in keep
    )
