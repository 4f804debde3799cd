"""Generated sessions in every dialect: after any epochs the request is one that each provider takes."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tui.models.base import ModelInfo, ModelRequest
from agent_tui.models.catalog import Quirks
from agent_tui.models.router import dialect_of
from context.budget import Window
from context.builder import build_view
from context.entities import missing
from context.epoch import EpochInput, finish_epoch, plan_epoch
from context.estimate import Meter
from context.history import history_pointer
from context.items import CompactionItem, Item, Origin, RollbackItem, UserItem
from context.units import units_of
from context.view import SummaryUnit, View
from tests.context.logs import TOOLS, LogMaker, make_log
from tests.model_server import checks

WINDOW = Window(size=16_000, max_output=2_000)
DIALECTS = ("chat", "responses", "messages")


def view_of(log: list[Item]) -> View:
    return build_view(log, system="system", project="# Rules\n\nRULE-7341", tools=TOOLS)


def body_of(dialect: str, view: View) -> bytes:
    info = ModelInfo(provider="p", model="m", context_window=16_000, max_output=2_000)
    built = dialect_of(dialect).build(
        ModelRequest(view=view, model="m", max_output_tokens=2_000), info, Quirks()
    )  # type: ignore[arg-type]  # one of the three
    assert built.left_out == ()
    return built.body


def epoch(maker: LogMaker, *, floor: bool = False) -> tuple[CompactionItem, tuple[str, ...]]:
    number = len(maker.items)
    given_input = EpochInput(
        facts=maker.facts,
        window=WINDOW,
        floor=floor,
        live_ids=("t7",),
        live=("terminal t7: npm run dev",),
        history=history_pointer(f"k{number}", [i.id for i in maker.items if isinstance(i, CompactionItem)]),
    )
    view, meter = view_of(maker.items), Meter()
    plan = plan_epoch(maker.items, view, meter, given_input)
    if plan.tokens_after > WINDOW.input:
        plan = plan_epoch(maker.items, view, meter, replace(given_input, floor=True))
    item, _ = finish_epoch(plan, f"k{number}", None)
    maker.items.append(item)
    return item, plan.hard


def go_on(maker: LogMaker, moves: list[str]) -> tuple[str, ...]:
    """Play moves; returns what the newest epoch had to keep."""
    hard: tuple[str, ...] = ()
    for move in moves:
        match move:
            case "steer":
                maker.user(f"steer {len(maker.items)}: use `--flag-{len(maker.items)}`", Origin.STEER)
            case "final":
                maker.final()
                maker.user()
            case "notice":
                maker.notice(sticky=True)
            case "epoch" | "floor":
                _, hard = epoch(maker, floor=move == "floor")
            case "undo":
                newest = [i for i in maker.items if isinstance(i, CompactionItem) and i.undone is None]
                undone = {i.undone for i in maker.items if isinstance(i, CompactionItem)}
                if newest and newest[-1].id not in undone:
                    maker.items.append(
                        CompactionItem(
                            id=f"z{len(maker.items)}",
                            hidden=(),
                            replacements=(),
                            text="",
                            undone=newest[-1].id,
                        )
                    )
            case "rollback":
                last = maker.items[-1]
                if isinstance(last, UserItem):
                    maker.items.append(RollbackItem(id=f"b{len(maker.items)}", hidden=(last.id,)))
                    maker.user()  # nothing is sent before the person says something else
            case _:
                maker.exchange(calls=int(move))
    return hard


MOVES = st.lists(
    st.sampled_from(("1", "1", "3", "8", "steer", "final", "notice", "epoch", "floor", "undo", "rollback")),
    max_size=30,
)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000), MOVES)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_takes_the_view_after_any_epochs(dialect: str, seed: int, moves: list[str]) -> None:
    maker = make_log(seed, 8, result_chars=1200)
    go_on(maker, moves)
    epoch(maker)
    view = view_of(maker.items)
    assert checks.check(dialect, body_of(dialect, view), options={}, issued={}) == []
    assert sum(isinstance(unit, SummaryUnit) for unit in view.units) <= 1


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 10_000), st.lists(st.sampled_from(("1", "1", "3", "steer", "final", "epoch")), max_size=30)
)
def test_what_must_be_kept_is_in_the_view_and_the_view_fits(seed: int, moves: list[str]) -> None:
    maker = make_log(seed, 15, result_chars=1200)
    go_on(maker, moves)
    item, hard = epoch(maker)
    view = view_of(maker.items)
    text = str(units_of(maker.items))
    assert Meter().tokens(view) <= WINDOW.input
    newest = [one for one in maker.items if isinstance(one, UserItem)][-1]
    assert newest.text in text
    if item.text:
        assert missing(hard, text) == ()
        changed = {change.path for fact in maker.facts.values() for change in fact.changes}
        assert missing(sorted(changed), text) == ()
        assert f"out/history-{item.id}" in text


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 10_000))
@pytest.mark.parametrize("dialect", DIALECTS)
def test_without_an_epoch_a_request_is_a_prefix_of_the_next(dialect: str, seed: int) -> None:
    maker = make_log(seed, 3, result_chars=600)
    before = messages_of(dialect, body_of(dialect, view_of(maker.items)))
    for _ in range(6):
        maker.exchange(calls=2)
        now = messages_of(dialect, body_of(dialect, view_of(maker.items)))
        assert now[: len(before)] == before
        before = now


def messages_of(dialect: str, body: bytes) -> list[object]:
    """The messages of a request, without the marks for the cache, which move by design (a.10)."""
    import json

    request = json.loads(body)
    found = request["input" if dialect == "responses" else "messages"]
    for message in found:
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            block.pop("cache_control", None)
    assert isinstance(found, list)
    return found
