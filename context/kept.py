"""What an epoch leaves whole, counted from the view that it makes."""

from collections.abc import Collection, Mapping, Sequence

from context.entities import missing
from context.items import KeptWhole, Origin, UserItem
from context.ledger import GONE_AGAIN, quotes
from context.units import item_ids
from context.view import ExchangeUnit, FinalUnit, SummaryUnit, Unit, UserUnit


def kept_whole(
    users: Sequence[UserItem],
    changed: Mapping[str, str],
    before: Sequence[Unit],
    after: Sequence[Unit],
    touched: Collection[str],
) -> KeptWhole:
    """Count it; `before` and `after` are the units of both views, `touched` item ids of what is hidden or
    shortened, and `changed` kinds by path."""
    ledger = next((unit.text for unit in after if isinstance(unit, SummaryUnit)), "")
    shown = {unit.item.id: unit.item for unit in after if isinstance(unit, UserUnit)}
    whole = [
        user
        for user in users
        if user.origin is not Origin.ANSWER
        and (shown.get(user.id) == user or (not user.images and quotes(ledger, user.text)))
    ]
    paths = [path for path, kind in changed.items() if kind != GONE_AGAIN]
    return KeptWhole(
        messages=len(whole),
        steers=sum(user.origin is Origin.STEER for user in whole),
        files=len(paths) - len(absent(paths, after)),
        steps=_newest_steps(before, touched),
    )


def absent(names: Sequence[str], units: Sequence[Unit]) -> tuple[str, ...]:
    """Those of `names` that do not occur in the units."""
    ledger = "".join(unit.text for unit in units if isinstance(unit, SummaryUnit))
    left = missing(names, ledger)
    return missing(left, repr([u for u in units if not isinstance(u, SummaryUnit)])) if left else ()


def _newest_steps(units: Sequence[Unit], touched: Collection[str]) -> int:
    count = 0
    for unit in reversed(units):
        if isinstance(unit, ExchangeUnit | FinalUnit):
            if any(item_id in touched for item_id in item_ids(unit)):
                break
            count += 1
    return count
