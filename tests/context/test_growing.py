"""A log that is read as it grows gives what reading all of it gives; so does the measure of its view."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from context.builder import build_view
from context.estimate import Meter, unit_tokens
from context.items import Item, ResultItem, RollbackItem
from context.units import LogReader, read_log
from context.view import ExchangeUnit
from tests.context.logs import TOOLS, make_log
from tests.context.test_view_properties import MOVES, go_on


def damaged(items: list[Item], random: Random) -> list[Item]:
    """The log with results that are missing, doubled or without a call, and turns taken back."""
    found: list[Item] = []
    for item in items:
        chance = random.random()
        if isinstance(item, ResultItem) and chance < 0.05:
            continue
        found.append(item)
        if isinstance(item, ResultItem) and chance < 0.15:
            found.append(ResultItem(id=f"{item.id}x", response_item_id="i1", call_id="c", text="stray"))
        if chance > 0.97:
            hidden = tuple(one.id for one in found[-random.randrange(1, 6) :])
            found.append(RollbackItem(id=f"r{len(found)}", hidden=hidden))
    return found


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000), MOVES)
def test_reading_a_log_as_it_grows_equals_reading_all_of_it(seed: int, moves: list[str]) -> None:
    maker = make_log(seed, 20, result_chars=120)
    go_on(maker, moves)
    random = Random(seed)
    log: list[Item] = []
    reader = LogReader(log)
    for item in damaged(maker.items, random):
        log.append(item)
        if random.random() < 0.6:
            assert reader.read() == read_log(log)
    assert reader.read() == read_log(log)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000), MOVES)
def test_measuring_a_view_as_it_grows_equals_measuring_it_anew(seed: int, moves: list[str]) -> None:
    maker = make_log(seed, 10, result_chars=300)
    go_on(maker, moves)
    log: list[Item] = []
    reader, meter = LogReader(log), Meter()
    for item in maker.items:
        log.append(item)
        view = build_view(reader, system="s", project="p", tools=TOOLS)
        assert meter.raw(view) == meter.fixed(view) + sum(unit_tokens(unit) for unit in view.units)


def test_units_that_did_not_change_stay_the_same_objects() -> None:
    maker = make_log(3, 30)
    log: list[Item] = list(maker.items)
    reader = LogReader(log)
    before = reader.read().units
    maker.exchange(calls=1)
    log.extend(maker.items[len(log) :])
    after = reader.read().units
    assert all(one is other for one, other in zip(after, before[:-1], strict=False))
    assert isinstance(after[-1], ExchangeUnit)
