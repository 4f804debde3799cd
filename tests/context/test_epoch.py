from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context.budget import Window
from context.builder import build_view
from context.entities import missing
from context.epoch import EpochInput, finish_epoch, plan_epoch
from context.estimate import Meter
from context.guard import Guard
from context.items import CompactionItem, Image, Item, Origin, ResponseItem, ResultItem, UserItem
from context.units import read_log, units_of
from context.view import ExchangeUnit, SummaryUnit, UserUnit, View
from tests.context.logs import TOOLS, LogMaker, make_log

WINDOW = Window(size=16_000, max_output=4_000)


def view_of(log: list[Item]) -> View:
    return build_view(log, system="system", project="# Project instructions\n\nRULE-7341", tools=TOOLS)


def run_epoch(
    maker: LogMaker, summary: str | None = None, **changes: object
) -> tuple[list[Item], CompactionItem]:
    meter = Meter()
    given_input = replace(EpochInput(facts=maker.facts, window=WINDOW), **changes)  # type: ignore[arg-type]
    plan = plan_epoch(maker.items, view_of(maker.items), meter, given_input)
    item, _ = finish_epoch(plan, f"k{len(maker.items)}", summary)
    log = [*maker.items, item]
    assert summary or plan.tokens_after == Meter().tokens(view_of(log))  # planned without reading it anew
    return log, item


def view_text(log: list[Item]) -> str:
    return str(units_of(log))


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000), st.integers(5, 80))
def test_an_epoch_keeps_units_whole_and_fits_the_hard_limit(seed: int, steps: int) -> None:
    maker = make_log(seed, steps, result_chars=1500)
    log, item = run_epoch(maker)
    reading = read_log(log)
    assert reading.orphans == ()
    assert reading.incomplete == ()
    for unit in reading.units:
        if isinstance(unit, ExchangeUnit):
            assert [r.call_id for r in unit.results] == [c.call_id for c in unit.response.calls]
    assert sum(isinstance(unit, SummaryUnit) for unit in reading.units) == (1 if item.hidden else 0)
    assert Meter().tokens(view_of(log)) <= WINDOW.input


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000), st.integers(5, 80))
def test_every_hard_entity_changed_path_and_the_newest_message_stay(seed: int, steps: int) -> None:
    maker = make_log(seed, steps, result_chars=1500)
    plan = plan_epoch(
        maker.items, view_of(maker.items), Meter(), EpochInput(facts=maker.facts, window=WINDOW)
    )
    item, _ = finish_epoch(plan, "k", None)
    text = view_text([*maker.items, item])
    newest = [i for i in maker.items if isinstance(i, UserItem)][-1]
    assert newest.text in text
    assert missing(plan.hard, text) == ()
    changed = {change.path for fact in maker.facts.values() for change in fact.changes}
    if item.hidden:
        assert missing(sorted(changed), text) == ()


ODD = st.text("ab\\.\n \u2003", max_size=5)


@given(st.lists(ODD), ODD.map(lambda text: text * 3))
def test_names_are_missing_that_do_not_occur_in_a_text(names: list[str], text: str) -> None:
    assert missing(names, text) == tuple(name for name in names if name not in text)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10_000))
def test_epochs_in_a_row_stay_valid_and_bounded(seed: int) -> None:
    maker = make_log(seed, 20, result_chars=1500)
    for _ in range(6):
        maker.items, _item = run_epoch(maker)
        assert Meter().tokens(view_of(maker.items)) <= WINDOW.input
        for _ in range(6):
            maker.exchange(calls=2)
        assert read_log(maker.items).incomplete == ()


def test_nothing_is_done_below_the_target() -> None:
    maker = make_log(3, 1, result_chars=100)
    plan = plan_epoch(
        maker.items, view_of(maker.items), Meter(), EpochInput(facts=maker.facts, window=WINDOW)
    )
    assert plan.hidden == ()


def pictures_in(log: list[Item]) -> list[str]:
    """The names of all pictures that a request would hold."""
    units = units_of(log)
    messages = [image.name for unit in units if isinstance(unit, UserUnit) for image in unit.item.images]
    exchanges = [unit for unit in units if isinstance(unit, ExchangeUnit)]
    results = [image.name for unit in exchanges for result in unit.results for image in result.images]
    return [*messages, *results]


def test_under_pressure_only_the_newest_picture_is_sent_and_every_word_stays() -> None:
    maker = LogMaker(Random(1), result_chars=60)
    for number in range(5):
        picture = Image(media_type="image/png", data="aGk=", name=f"p{number}.png")
        maker.user(f"question {number}")
        if number % 2:
            maker.exchange(1)
            result = next(item for item in reversed(maker.items) if isinstance(item, ResultItem))
            seen = replace(result, text=f"seen {number}", images=(picture,))
            maker.items[maker.items.index(result)] = seen
        else:
            maker.items[-1] = UserItem(id=f"u{number}", text=f"question {number}", images=(picture,))
        maker.final()
    assert len(pictures_in(maker.items)) == 5
    log, item = run_epoch(maker)
    assert (pictures_in(log), item.hidden) == (["p4.png"], ())
    text = view_text(log)
    assert all(f"question {number}" in text and f"picture p{number}.png" in text for number in range(4))
    assert "seen 1" in text and "seen 3" in text
    maker.items = log
    plan = plan_epoch(log, view_of(log), Meter(), EpochInput(facts=maker.facts, window=WINDOW))
    assert plan.changes_nothing and plan.kept.messages == 3, "what lost its picture is not whole"


def test_pictures_stay_where_no_newer_one_came_or_the_newest_part_is() -> None:
    maker = LogMaker(Random(1), result_chars=60)
    picture = Image(media_type="image/png", data="aGk=", name="only.png")
    maker.items.append(UserItem(id="u1", text="look", images=(picture, picture)))
    for _ in range(40):
        maker.exchange(4)
    log, _ = run_epoch(maker)
    assert pictures_in(log) == ["only.png", "only.png"], "the newest message"
    maker = LogMaker(Random(1), result_chars=60)
    for number in range(3):
        maker.items.append(UserItem(id=f"u{number}", text="look", origin=Origin.STEER, images=(picture,)))
        maker.exchange(1)
    log, _ = run_epoch(maker, target_tokens=0)
    assert pictures_in(log).count("only.png") == 3, "one turn"


def test_floor_mode_keeps_the_newest_message_and_one_complete_unit() -> None:
    maker = make_log(5, 40)
    log, _ = run_epoch(maker, floor=True)
    kinds = [type(unit).__name__ for unit in units_of(log)]
    assert sorted(kinds) == ["ExchangeUnit", "SummaryUnit", "UserUnit"]


@pytest.mark.parametrize(
    ("summary", "problem"),
    [
        ("", "empty"),
        ("I'm sorry, but I cannot summarise this conversation.", "a refusal"),
        ("word " * 20_000, "too long"),
    ],
)
def test_a_bad_summary_is_rejected_and_the_ledger_stays(summary: str, problem: str) -> None:
    maker = make_log(7, 60)
    plan = plan_epoch(
        maker.items, view_of(maker.items), Meter(), EpochInput(facts=maker.facts, window=WINDOW)
    )
    item, why = finish_epoch(plan, "k", summary)
    assert why == problem
    assert item.text == plan.ledger


def test_a_good_summary_stands_beside_the_ledger_and_reaches_the_next_epoch() -> None:
    maker = make_log(7, 60)
    log, item = run_epoch(maker, summary="The person wants mod_3 fixed; next step is to run the tests again.")
    assert "next step is to run the tests" in item.text
    assert item.text.startswith("# What happened before")
    maker.items = log
    plan = plan_epoch(log, view_of(log), Meter(), EpochInput(facts=maker.facts, window=WINDOW))
    assert plan.previous_summary.startswith("The person wants mod_3")


def test_the_span_for_a_summariser_holds_arguments_and_outcomes() -> None:
    maker = make_log(7, 60)
    plan = plan_epoch(
        maker.items, view_of(maker.items), Meter(), EpochInput(facts=maker.facts, window=WINDOW)
    )
    hidden = {
        c.call_id for i in maker.items if isinstance(i, ResponseItem) and i.id in plan.hidden for c in i.calls
    }
    assert plan.span.count("CALL ") == len(hidden) > 0
    assert "exit 1" in plan.span or "succeeded" in plan.span


def test_the_focus_of_a_manual_compaction_is_kept() -> None:
    maker = make_log(7, 60)
    _, item = run_epoch(maker, focus="the parser rewrite")
    assert "the parser rewrite" in item.text


def test_automatic_compaction_stops_after_two_epochs_without_effect_and_reopens_on_growth() -> None:
    guard = Guard()
    for _ in range(2):
        guard = guard.after_epoch(before=9_900, after=9_800, soft=9_000, input_budget=10_000, keys=())
    assert not guard.may_run(9_900, 10_000)
    assert guard.may_run(11_900, 10_000)
    assert guard.reopened().may_run(9_900, 10_000)


def test_an_epoch_at_the_floor_does_not_reopen_automatic_compaction_and_one_that_grew_to_may() -> None:
    limits = {"soft": 8_000, "input_budget": 10_000, "keys": ()}
    guard = Guard(ineffective=2, off_at_tokens=9_000)
    guard = guard.after_epoch(10_100, 6_000, **limits, floor=True)  # type: ignore[arg-type]  # as named
    assert (guard.ineffective, guard.may_run(7_900, 10_000), guard.may_run(8_000, 10_000)) == (2, False, True)
    assert guard.after_epoch(10_100, 8_100, **limits, floor=True).ineffective == 3  # type: ignore[arg-type]
    assert guard.after_epoch(8_100, 5_000, **limits) == Guard()  # type: ignore[arg-type]


def test_asking_again_for_more_than_half_of_what_was_hidden_widens_the_tail() -> None:
    guard = Guard().after_epoch(9_000, 4_000, 8_000, 10_000, keys=[f"k{n}" for n in range(10)])
    for n in range(5):
        guard = guard.after_call(f"c{n}", f"k{n}")
    assert guard.reread_strikes == 0
    guard = guard.after_call("c5", "k5")
    assert guard.reread_strikes == 1
    assert guard.pinned_calls == ("c0", "c1", "c2", "c3", "c4", "c5")


@pytest.mark.parametrize(("again", "others", "strikes"), [(3, 2, 1), (3, 3, 0), (2, 0, 0)])
def test_where_the_next_epoch_comes_early_more_than_half_of_the_calls_until_then_count(
    again: int, others: int, strikes: int
) -> None:
    guard = Guard().after_epoch(9_000, 4_000, 8_000, 10_000, keys=[f"k{n}" for n in range(4)])
    for n in range(again + others):
        guard = guard.after_call(f"c{n}", f"k{n}" if n < again else "new")
    assert guard.after_epoch(9_000, 4_000, 8_000, 10_000, keys=()).reread_strikes == strikes


def test_the_breaker_opens_after_three_failed_summaries_and_is_tried_again_later() -> None:
    guard = Guard()
    for n in range(3):
        assert guard.summary_allowed(float(n))
        guard = guard.after_summary(ok=False, now=float(n))
    assert not guard.summary_allowed(100.0)
    assert guard.summary_allowed(2.0 + 600.0)
    assert guard.after_summary(ok=True, now=700.0).summary_allowed(701.0)
