from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from context.builder import build_view
from context.items import (
    CompactionItem,
    NoticeItem,
    Origin,
    Replacement,
    ResponseItem,
    ResultItem,
    RollbackItem,
    UserItem,
)
from context.units import item_ids, read_log, units_of
from context.view import ExchangeUnit, FinalUnit, NoticeUnit, SummaryUnit, UserUnit
from tests.context.logs import TOOLS, LogMaker, make_log


@given(st.integers(0, 10_000), st.integers(0, 40))
def test_every_exchange_holds_one_result_for_each_call_in_order(seed: int, steps: int) -> None:
    reading = read_log(make_log(seed, steps).items)
    assert reading.orphans == ()
    assert reading.incomplete == ()
    for unit in reading.units:
        if isinstance(unit, ExchangeUnit):
            assert [r.call_id for r in unit.results] == [c.call_id for c in unit.response.calls]


@given(st.integers(0, 10_000), st.integers(0, 30))
def test_every_visible_item_is_in_exactly_one_unit(seed: int, steps: int) -> None:
    log = make_log(seed, steps).items
    assert sorted(i for unit in units_of(log) for i in item_ids(unit)) == sorted(item.id for item in log)


@given(st.integers(0, 10_000), st.integers(1, 30))
def test_a_longer_log_only_appends_units(seed: int, steps: int) -> None:
    maker = make_log(seed, steps)
    before = units_of(maker.items)
    maker.final()
    maker.user()
    maker.exchange()
    assert units_of(maker.items)[: len(before)] == before


def _one_exchange() -> LogMaker:
    maker = make_log(1, 0)
    maker.exchange(calls=2)
    return maker


def test_a_response_without_all_results_is_in_no_view() -> None:
    maker = _one_exchange()
    results = [item for item in maker.items if isinstance(item, ResultItem)]
    maker.items.remove(results[1])
    reading = read_log(maker.items)
    assert {type(unit) for unit in reading.units} == {UserUnit}
    assert len(reading.incomplete) == 1


def test_the_first_result_of_a_call_wins() -> None:
    maker = _one_exchange()
    first = next(item for item in maker.items if isinstance(item, ResultItem))
    maker.items.append(replace(first, id="late", text="late"))
    reading = read_log(maker.items)
    assert reading.orphans == ("late",)
    assert "late" not in str(reading.units)


def test_a_result_is_matched_in_its_own_response_only() -> None:
    maker = _one_exchange()
    foreign = ResultItem(id="x", response_item_id="no such response", call_id="c1.0", text="")
    assert read_log([*maker.items, foreign]).orphans == ("x",)


def test_a_steer_recorded_inside_an_exchange_comes_after_it() -> None:
    maker = make_log(1, 0)
    maker.exchange(calls=1)
    at = next(n for n, item in enumerate(maker.items) if isinstance(item, ResultItem))
    maker.items.insert(at, UserItem(id="steer", text="s", origin=Origin.STEER))
    kinds = [type(unit) for unit in units_of(maker.items)]
    assert kinds[:3] == [UserUnit, ExchangeUnit, UserUnit]


def test_a_sticky_notice_is_a_unit_and_an_ordinary_one_belongs_to_the_unit_before() -> None:
    maker = make_log(1, 0)
    maker.items += [NoticeItem(id="n1", text="a"), NoticeItem(id="n2", text="b", sticky=True)]
    first, second = units_of(maker.items)
    assert isinstance(first, UserUnit)
    assert [n.id for n in first.notices] == ["n1"]
    assert isinstance(second, NoticeUnit)


def test_compaction_hides_replaces_and_puts_its_text_first() -> None:
    maker = _one_exchange()
    maker.final()
    response = next(item for item in maker.items if isinstance(item, ResponseItem))
    result = next(item for item in maker.items if isinstance(item, ResultItem))
    record = CompactionItem(
        id="k1",
        hidden=("i1",),
        replacements=(
            Replacement(item_id=result.id, call_id=result.call_id, result_text="short"),
            Replacement(item_id=response.id, call_id=result.call_id, arguments="{}"),
        ),
        text="ledger",
    )
    units = units_of([*maker.items, record])
    assert units[0] == SummaryUnit(id="k1", text="ledger")
    exchange = units[1]
    assert isinstance(exchange, ExchangeUnit)
    assert exchange.results[0].text == "short"
    assert exchange.response.calls[0].arguments == "{}"


def test_a_newer_compaction_absorbs_the_older_and_undo_brings_it_back() -> None:
    maker = _one_exchange()
    one = CompactionItem(id="k1", hidden=("i1",), replacements=(), text="one")
    two = CompactionItem(id="k2", hidden=(), replacements=(), text="two")
    undo = CompactionItem(id="k3", hidden=(), replacements=(), text="", undone="k2")
    summaries = [
        [u.text for u in units_of(log) if isinstance(u, SummaryUnit)]
        for log in ([*maker.items, one], [*maker.items, one, two], [*maker.items, one, two, undo])
    ]
    assert summaries == [["one"], ["two"], ["one"]]


def test_rollback_hides_and_redo_shows_again() -> None:
    maker = _one_exchange()
    before = units_of(maker.items)
    maker.final()
    hidden = RollbackItem(id="b1", hidden=(maker.items[-1].id,))
    assert units_of([*maker.items, hidden]) == before
    redo = RollbackItem(id="b2", hidden=(), undone="b1")
    assert isinstance(units_of([*maker.items, hidden, redo])[-1], FinalUnit)


def test_a_rolled_back_compaction_hides_nothing() -> None:
    maker = _one_exchange()
    before = units_of(maker.items)
    compaction = CompactionItem(id="k1", hidden=("i1",), replacements=(), text="one")
    assert units_of([*maker.items, compaction, RollbackItem(id="b1", hidden=("k1",))]) == before


def test_an_undo_that_is_rolled_back_takes_nothing_back() -> None:
    maker = _one_exchange()
    maker.items.append(CompactionItem(id="k1", hidden=("i1",), replacements=(), text="one"))
    before = units_of(maker.items)
    undo = CompactionItem(id="k2", hidden=(), replacements=(), text="", undone="k1")
    assert units_of([*maker.items, undo, RollbackItem(id="b1", hidden=("k2",))]) == before


def test_tools_are_sorted_by_name() -> None:
    view = build_view([], system="s", project="", tools=tuple(reversed(TOOLS)))
    assert [tool.name for tool in view.tools] == ["apply_patch", "exec_command", "read_file"]
