"""What summaries of compaction cost is counted, and a limit they could pass keeps them from being asked."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

from agent_tui.engine.commands import Interrupt, Submit
from agent_tui.engine.events import CompactionEnded, SideRequestEnded, TurnEnded
from agent_tui.engine.types import Budgets, EndReason
from agent_tui.models.base import ModelRequest, StreamPart, TextDelta
from context.items import Usage
from tests.engine.fakes import Step, engine, text
from tests.engine.test_compaction import SMALL, Summariser, long_output, steps

SUMMARY = "The person wants everything built; parts so far are fine, go on."


async def play(
    tmp_path: Path, answer: Step, budgets: Budgets
) -> tuple[TurnEnded, Summariser, list[SideRequestEnded], int]:
    model = Summariser(answer)
    priced = replace(SMALL, price_input=1.0, price_output=1.0)
    model.info = replace(model.info, price_input=100.0, price_output=100.0)
    async with engine(
        tmp_path, *steps(15), text("done"), info=priced, budgets=budgets, interactive=False
    ) as run:
        run.use(summariser=model)
        run.toolbox.behaviour["exec_command"] = long_output
        run.send(Submit(text="go"))
        ended = await run.wait(TurnEnded)
        assert isinstance(ended, TurnEnded)
        assert run.bodies(CompactionEnded) != []
        return ended, model, run.bodies(SideRequestEnded), run.session.fold.spent.tokens


async def test_tokens_and_money_of_a_summary_count_but_no_turn(tmp_path: Path) -> None:
    usage = Usage(input_tokens=5_000, output_tokens=100)
    ended, model, asked, tokens = await play(tmp_path, text(SUMMARY, usage=usage), Budgets(max_turns=16))
    assert ended.reason is EndReason.COMPLETED
    assert [(one.role, one.usage, one.error) for one in asked] == [("summary", usage, "")] * len(
        model.requests
    )
    assert ended.cost_usd is not None and ended.cost_usd > 0.51 * len(asked)
    assert tokens >= 5_100 * len(asked) > 0


async def test_a_provider_that_reports_no_usage_is_counted_by_estimate(tmp_path: Path) -> None:
    _, _, asked, _ = await play(tmp_path, text(SUMMARY), Budgets())
    assert all(one.usage.estimated and one.usage.input_tokens > 500 for one in asked) and asked


async def test_a_summary_that_could_pass_the_cost_limit_is_not_asked_for(tmp_path: Path) -> None:
    ended, model, asked, _ = await play(tmp_path, text(SUMMARY), Budgets(max_cost_usd=0.3))
    assert (ended.reason, model.requests) == (EndReason.COMPLETED, [])
    assert {one.error for one in asked} == {"not asked: budget_cost"}


class Endless(Summariser):
    """Says a word and no more."""

    def __init__(self) -> None:
        super().__init__(())
        self.info = replace(self.info, price_input=100.0, price_output=100.0)
        self.asked = asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamPart]:
        yield TextDelta(text="The person wants ", offset=0)
        self.asked.set()
        await asyncio.Event().wait()


async def test_a_summary_that_an_interrupt_cuts_short_is_counted_by_estimate(tmp_path: Path) -> None:
    model = Endless()
    async with engine(tmp_path, *steps(15), text("done"), info=SMALL) as run:
        run.use(summariser=model)
        run.toolbox.behaviour["exec_command"] = long_output
        run.send(Submit(text="go"))
        await model.asked.wait()
        before = run.session.fold.spent.tokens
        run.send(Interrupt())
        ended = await run.wait(TurnEnded)
        [cut] = run.bodies(SideRequestEnded)
        assert isinstance(ended, TurnEnded) and isinstance(cut, SideRequestEnded)
        assert ended.reason is EndReason.INTERRUPTED
        assert (cut.error, cut.interrupted, cut.usage.estimated) == ("cut short", True, True)
        assert cut.usage.input_tokens > 500 and cut.usage.output_tokens > 0
        assert cut.cost_usd is not None and cut.cost_usd > 0.05
        assert run.session.fold.spent.tokens == before + cut.usage.input_tokens + cut.usage.output_tokens
