"""A limit with a person there: asked once, stored, and the run goes on with what was said."""

from pathlib import Path
from typing import Any

import pytest

from agent_tui.engine.commands import Answer, Continue, Decide, Interrupt, Settle, Submit
from agent_tui.engine.events import (
    LimitFacts,
    NoticeRaised,
    QuestionAnswered,
    QuestionAsked,
    Refused,
    SettingChanged,
    TurnEnded,
)
from agent_tui.engine.types import Budgets, Decision, EndReason
from agent_tui.models.base import ModelInfo
from context.items import Usage
from tests.engine.fakes import Engine, calls, engine, text

DEAR = ModelInfo(
    provider="fake",
    model="fake",
    context_window=100_000,
    max_output=100,
    price_input=10.0,
    price_output=10.0,
)
REACHED: dict[str, tuple[Budgets, ModelInfo | None]] = {
    "turns": (Budgets(max_turns=1), None),
    "tools": (Budgets(max_tool_calls=1), None),
    "tokens": (Budgets(max_tokens=10_000), None),
    "cost": (Budgets(max_cost_usd=0.1), DEAR),
}


def read(path: str) -> Any:
    return calls(("read_file", {"path": path}), usage=Usage(input_tokens=10_000, output_tokens=10))


async def ask(run: Engine, count: int = 1) -> QuestionAsked:
    asked = await run.wait(QuestionAsked, count=count)
    assert isinstance(asked, QuestionAsked) and asked.limit is not None
    return asked


async def end(run: Engine, count: int = 1) -> TurnEnded:
    ended = await run.wait(TurnEnded, count=count)
    assert isinstance(ended, TurnEnded)
    return ended


@pytest.mark.parametrize("name", REACHED)
async def test_each_limit_asks_and_goes_on_when_it_is_raised(tmp_path: Path, name: str) -> None:
    budgets, info = REACHED[name]
    script = [read("/a"), read("/b"), text("done")]
    if name == "tools":  # the calls that were not run are made again
        script.insert(1, read("/b"))
    async with engine(tmp_path, *script, budgets=budgets, info=info) as run:
        run.send(Submit(text="go"))
        asked = await ask(run)
        assert asked.limit is not None and asked.limit.name == name
        assert asked.text.startswith("Limit reached: ")
        run.send(Answer(question_id=asked.question_id, text="none"))
        ended = await end(run)
    assert (ended.reason, ended.text) == (EndReason.COMPLETED, "done")
    assert [one.text for one in run.bodies(QuestionAnswered)] == ["none"]
    assert [(one.key, one.value) for one in run.bodies(SettingChanged)] == [(f"limit.{name}", "none")]
    assert len(run.toolbox.ran) == 2


async def test_the_first_option_doubles_the_limit_and_it_is_asked_again_there(tmp_path: Path) -> None:
    script = [read(f"/{number}") for number in range(4)]
    async with engine(tmp_path, *script, text("grace"), budgets=Budgets(max_turns=2)) as run:
        run.send(Submit(text="go"))
        first = await ask(run)
        assert first.options == ("raise to 4 turns", "stop here")
        state = "Last check: none with a known result; 0 files changed in this turn"
        assert first.limit == LimitFacts(name="turns", used=2, allowed=2, raised=4, step=2, state=state)
        run.send(Answer(question_id=first.question_id, text=first.options[0]))
        second = await ask(run, count=2)
        assert second.limit is not None and second.limit.allowed == 4
        run.send(Answer(question_id=second.question_id, text="stop here"))
        ended = await end(run)
    assert (ended.reason, ended.exit_code, ended.text) == (EndReason.BUDGET_TURNS, 3, "grace")
    warned = [body.key for body in run.bodies(NoticeRaised) if body.key.startswith("budget.turns")]
    assert warned == ["budget.turns.2", "budget.turns.4"]


@pytest.mark.parametrize(("max_cost", "option"), [(0.002, "raise to $0.01"), (0.1, "raise to $0.20")])
async def test_the_first_option_is_taken_whatever_its_cents(
    tmp_path: Path, max_cost: float, option: str
) -> None:
    script = [read("/a"), text("done")]
    async with engine(tmp_path, *script, budgets=Budgets(max_cost_usd=max_cost), info=DEAR) as run:
        run.send(Submit(text="go"))
        asked = await ask(run)
        assert asked.options[0] == option
        run.send(Answer(question_id=asked.question_id, text=asked.options[0]))
        await run.wait(SettingChanged)
        run.send(Interrupt())
        await end(run)
    assert run.bodies(Refused) == []


async def test_an_answer_to_what_was_never_asked_is_told_apart(tmp_path: Path) -> None:
    async with engine(tmp_path, text("done")) as run:
        sent = [
            run.send(Answer(question_id="q9", text="x")),
            run.send(Decide(approval_id="a9", decision=Decision.ONCE, digest="d")),
            run.send(Settle(question_id="l9", choice="stop")),
        ]
        await run.wait(Refused, count=3)
    assert run.bodies(Refused) == [
        Refused(command_id=command, reason=f"no such question: `{name}`")
        for command, name in zip(sent, ("q9", "a9", "l9"), strict=True)
    ]


@pytest.mark.parametrize("said", ["", "lots", "2", "-5", "$1", "1.5.2"])
async def test_an_answer_that_is_no_higher_amount_is_refused_and_the_question_stays(
    tmp_path: Path, said: str
) -> None:
    script = [read("/a"), read("/b"), text("done")]
    async with engine(tmp_path, *script, budgets=Budgets(max_turns=2)) as run:
        run.send(Submit(text="go"))
        asked = await ask(run)
        run.send(Answer(question_id=asked.question_id, text=said))
        refused = await run.wait(Refused)
        assert isinstance(refused, Refused) and "is no amount above 2" in refused.reason
        run.send(Answer(question_id=asked.question_id, text="raise to 1,000 turns"))
        await end(run)
        again = run.send(Answer(question_id=asked.question_id, text="5"))
        answered_already = Refused(command_id=again, reason="this question was answered already")
        assert await run.wait(Refused, count=2) == answered_already
    assert [one.value for one in run.bodies(SettingChanged)] == ["1000"]


async def test_a_limit_with_an_unknown_price_asks_before_the_first_request(tmp_path: Path) -> None:
    async with engine(tmp_path, text("done"), budgets=Budgets(max_cost_usd=1.0)) as run:
        run.send(Submit(text="go"))
        asked = await ask(run)
        assert (asked.options[0], run.model.requests) == ("go on without a cost limit", [])
        run.send(Answer(question_id=asked.question_id, text=asked.options[0]))
        assert (await end(run)).reason is EndReason.COMPLETED


async def test_a_question_left_open_pauses_and_going_on_asks_again(tmp_path: Path) -> None:
    async with engine(tmp_path, read("/a"), text("done"), budgets=Budgets(max_turns=1)) as run:
        run.send(Submit(text="go"))
        asked = await ask(run)
        run.send(Answer(question_id=asked.question_id, text=None))
        assert (await end(run)).reason is EndReason.INTERRUPTED
        run.send(Continue())
        asked = await ask(run, count=2)
        run.send(Interrupt())
        assert (await end(run, count=2)).reason is EndReason.INTERRUPTED
        run.send(Continue())
        asked = await ask(run, count=3)
        run.send(Answer(question_id=asked.question_id, text="9"))
        assert (await end(run, count=3)).reason is EndReason.COMPLETED


async def test_what_was_said_of_a_limit_holds_for_later_processes(tmp_path: Path) -> None:
    budgets = Budgets(max_turns=1)
    async with engine(tmp_path, read("/a"), text("done"), budgets=budgets) as run:
        run.send(Submit(text="go"))
        asked = await ask(run)
        run.send(Answer(question_id=asked.question_id, text="3"))
        await end(run)
    script = [read(f"/{number}") for number in range(3)]
    async with engine(tmp_path, *script, text("grace"), budgets=budgets, interactive=False) as again:
        again.send(Submit(text="more"))
        assert (await end(again)).reason is EndReason.BUDGET_TURNS
    assert len(again.toolbox.ran) == 3
    named = {"max_turns": "flag"}
    async with engine(tmp_path, read("/x"), text("grace"), budgets=budgets, origins=named) as third:
        third.send(Submit(text="more"))
        asked = await ask(third)
        assert asked.limit is not None and asked.limit.allowed == 1


async def test_a_crash_at_the_question_asks_again_when_the_run_goes_on(tmp_path: Path) -> None:
    budgets = Budgets(max_turns=1)
    async with engine(tmp_path, read("/a"), budgets=budgets) as run:
        run.send(Submit(text="go"))
        await ask(run)
        await run.crash()
    async with engine(tmp_path, text("done"), budgets=budgets) as again:
        again.send(Continue())
        asked = await ask(again)
        assert list(again.session.fold.questions) == [asked.question_id]
        again.send(Answer(question_id=asked.question_id, text="none"))
        assert (await end(again, count=2)).reason is EndReason.COMPLETED
