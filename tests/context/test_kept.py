"""What the report of an epoch says is kept whole is in the new view."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from context.epoch import EpochInput, finish_epoch, plan_epoch
from context.estimate import Meter
from context.items import (
    CompactionItem,
    Image,
    KeptWhole,
    Origin,
    Replacement,
    ResponseItem,
    ResultItem,
    UserItem,
)
from context.units import units_of
from context.view import ExchangeUnit, SummaryUnit, UserUnit
from tests.context.logs import LogMaker, make_log
from tests.context.test_epoch import WINDOW, view_of, view_text


def epoch(maker: LogMaker, *, floor: bool = False) -> tuple[KeptWhole, CompactionItem]:
    """Run one, and append its record."""
    given = EpochInput(facts=maker.facts, window=WINDOW, floor=floor)
    plan = plan_epoch(maker.items, view_of(maker.items), Meter(), given)
    item, _ = finish_epoch(plan, f"k{len(maker.items)}", None)
    maker.items.append(item)
    return plan.kept, item


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.integers(5, 60), st.booleans())
def test_what_is_counted_stands_in_the_view(seed: int, steps: int, floor: bool) -> None:
    maker = make_log(seed, steps, result_chars=1_500)
    kept, item = epoch(maker, floor=floor)
    units = units_of(maker.items)
    head = units[0].text if isinstance(units[0], SummaryUnit) else ""
    said = [one for one in maker.items if isinstance(one, UserItem)]
    whole = {unit.item.id for unit in units if isinstance(unit, UserUnit)} | {
        one.id for one in said if f'- "{one.text}"\n' in head
    }
    assert kept.messages == len(whole)
    assert kept.steers == sum(one.id in whole and one.origin is Origin.STEER for one in said)
    paths = {change.path for fact in maker.facts.values() for change in fact.changes}
    assert kept.files == sum(path in view_text(maker.items) for path in paths)
    tail = [one for one in maker.items if isinstance(one, ResponseItem)][-kept.steps :] if kept.steps else []
    shortened = {one.item_id for one in item.replacements}
    shown = {unit.response.id: unit for unit in units if isinstance(unit, ExchangeUnit)}
    for response in tail:
        if response.calls:
            assert not shortened & {response.id, *(result.id for result in shown[response.id].results)}
    assert kept.steps >= 1


def test_a_message_that_is_cut_or_had_a_picture_is_not_kept_whole() -> None:
    maker = LogMaker(Random(2))
    maker.user("long " * 4_000)
    maker.exchange(1)
    maker.items.append(
        UserItem(id="picture", text="look", images=(Image(media_type="image/png", data="aGk="),))
    )
    maker.exchange(1)
    maker.items.append(UserItem(id="asked", text="blue", origin=Origin.ANSWER))
    maker.user("short")
    maker.exchange(1)
    maker.user("newest")
    for _ in range(3):
        maker.exchange(1)
    kept, item = epoch(maker, floor=True)
    assert "picture" in item.hidden
    assert (kept.messages, kept.steers) == (2, 0), "`short` in the ledger and `newest` in the view"


def test_a_step_that_an_earlier_epoch_shortened_is_not_whole() -> None:
    maker = LogMaker(Random(3))
    maker.user("go")
    for _ in range(4):
        maker.exchange(1)
    assert epoch(maker)[0].steps == 4
    newest = [one for one in maker.items if isinstance(one, ResultItem)][-2]
    short = Replacement(item_id=newest.id, call_id=newest.call_id, result_text="[shortened]")
    maker.items.append(CompactionItem(id="k99", hidden=(), replacements=(short,), text=""))
    assert epoch(maker)[0].steps == 1
