"""The title that a fast model writes, and that it is counted and never in the way."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent_tui.engine.commands import Inspect, Set, Subject, Submit
from agent_tui.engine.events import Inspected, SettingChanged, SideRequestEnded, TurnEnded
from agent_tui.engine.title import MAX_TITLE_CHARS, cleaned
from agent_tui.engine.types import Budgets
from agent_tui.models.base import ErrorKind, ModelError, ModelInfo, ModelRequest, StreamPart
from context.items import Usage
from tests.engine.fakes import Engine, FakeModel, Step, engine, failed, text

USAGE = Usage(input_tokens=200, output_tokens=10, cache_read_tokens=50)
FAST = ModelInfo(
    provider="fast", model="small", context_window=8_000, max_output=900, price_input=1.0, price_output=2.0
)
DOWN = ModelError(kind=ErrorKind.UNAVAILABLE, message="down for lunch")


def with_fast(run: Engine, *steps: Step, info: ModelInfo = FAST) -> FakeModel:
    model = FakeModel(steps, info)
    run.use(fast=model)
    return model


async def first_turn(run: Engine, message: str = "rename the module") -> None:
    run.send(Submit(text=message))
    await run.wait(TurnEnded)


async def test_the_fast_model_names_the_session_after_the_first_turn(tmp_path: Path) -> None:
    async with engine(tmp_path, text("Renamed it."), text("ok")) as run:
        fast = with_fast(run, text('"Rename of the module."\n', usage=USAGE))
        await first_turn(run)
        assert await run.wait(SettingChanged) == SettingChanged(key="title", value="Rename of the module")
        [request] = fast.requests
        asked = str(request.view.units)
        assert "rename the module" in asked and "Renamed it." in asked
        assert (request.tool_choice, request.max_output_tokens) == ("none", 900)
        run.send(Submit(text="more"))
        await run.wait(TurnEnded, count=2)
        assert len(fast.requests) == 1


async def test_what_a_title_costs_is_counted_and_is_no_turn(tmp_path: Path) -> None:
    async with engine(tmp_path, text("ok", usage=Usage(input_tokens=1_000, output_tokens=5))) as run:
        with_fast(run, text("A name", usage=USAGE))
        await first_turn(run)
        ended = await run.wait(SideRequestEnded)
        assert ended == SideRequestEnded(role="title", model="fast/small", usage=USAGE, cost_usd=0.00022)
        run.send(Inspect(subject=Subject.COST))
        found: Any = await run.wait(Inspected)
        assert found.data["models"]["fast/small"] == {
            "requests": 1,
            "input_tokens": 200,
            "cache_read_tokens": 50,
            "cache_write_tokens": 0,
            "output_tokens": 10,
            "cost_usd": 0.00022,
        }
        assert found.data["session"]["input_tokens"] == 1_200
        assert (found.data["session"]["requests"], found.data["session"]["cost_usd"]) == (2, None)
        assert run.session.fold.spent.turns == 1
        assert run.session.fold.spent.tokens == 1_215


async def test_a_failure_is_stored_and_not_tried_again(tmp_path: Path) -> None:
    async with engine(tmp_path, text("ok"), text("ok")) as run:
        fast = with_fast(run, failed(DOWN))
        await first_turn(run)
        ended = await run.wait(SideRequestEnded)
        assert isinstance(ended, SideRequestEnded) and ended.error == "down for lunch"
        run.send(Submit(text="more"))
        await run.wait(TurnEnded, count=2)
        assert len(fast.requests) == 1 and "title" not in run.session.fold.settings


async def test_a_limit_of_money_keeps_a_model_of_unknown_price_from_being_asked(tmp_path: Path) -> None:
    known = ModelInfo(
        provider="f", model="f", context_window=9_000, max_output=100, price_input=0.0, price_output=0.0
    )
    limits = Budgets(max_cost_usd=1.0)
    async with engine(tmp_path, text("ok"), info=known, budgets=limits) as run:
        fast = with_fast(run, info=replace(FAST, price_input=None))
        await first_turn(run)
        ended = await run.wait(SideRequestEnded)
        assert isinstance(ended, SideRequestEnded) and ended.error == "not asked: cost_unknown"
        assert fast.requests == [] and run.session.fold.spent.cost_usd == 0.0


class Slow(FakeModel):
    """Answers when `go` is set."""

    def __init__(self, *steps: Step) -> None:
        super().__init__(steps, FAST)
        self.asked, self.go = asyncio.Event(), asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamPart]:
        self.asked.set()
        await self.go.wait()
        async for part in super().stream(request):
            yield part


async def test_a_title_of_the_person_stays(tmp_path: Path) -> None:
    async with engine(tmp_path, text("ok")) as run:
        slow = Slow(text("theirs"))
        run.use(fast=slow)
        await first_turn(run)
        await slow.asked.wait()
        run.send(Set(key="title", value="mine"))
        await run.wait(SettingChanged)
        slow.go.set()
        await run.wait(SideRequestEnded)
        assert run.session.fold.settings["title"] == "mine"


async def test_a_second_turn_does_not_ask_again_while_the_title_is_awaited(tmp_path: Path) -> None:
    async with engine(tmp_path, text("ok"), text("ok"), text("ok")) as run:
        slow = Slow(text("a name"), text("another"))
        run.use(fast=slow)
        await first_turn(run)
        await slow.asked.wait()
        for count in (2, 3):
            run.send(Submit(text="more"))
            await run.wait(TurnEnded, count=count)
        slow.go.set()
        await run.wait(SettingChanged)
    assert len(slow.requests) == 1


async def test_a_title_that_leaving_cuts_short_is_counted_and_asked_for_again(tmp_path: Path) -> None:
    async with engine(tmp_path, text("ok")) as run:
        slow = Slow(text("a name"))
        run.use(fast=slow)
        await first_turn(run)
        await slow.asked.wait()
    async with engine(tmp_path, text("ok")) as run:
        assert run.session.fold.costs.models["fast/small"].usage.input_tokens > 10
        with_fast(run, text("A name"))
        await first_turn(run, "more")
        assert await run.wait(SettingChanged) == SettingChanged(key="title", value="A name")


@pytest.mark.parametrize("settings", [{"interactive": False}, {"ephemeral": True}])
async def test_a_run_that_nobody_comes_back_to_asks_for_none(
    tmp_path: Path, settings: dict[str, bool]
) -> None:
    async with engine(tmp_path, text("ok"), **settings) as run:
        fast = with_fast(run)
        await first_turn(run)
        await run.idle()
        assert fast.requests == []


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ("Fix the build\nbecause it fails", "Fix the build"),
        ("\n  **Title: Fix `make`** \n", "Fix `make`"),
        ("Title: Fix it.", "Fix it"),
        ("bad\x1b[2J\x07name", "bad [2J name"),
        ("x" * 200, "x" * MAX_TITLE_CHARS),
        ("   \n ", ""),
    ],
)
def test_what_becomes_of_an_answer(answer: str, title: str) -> None:
    assert cleaned(answer) == title
