"""What was spent, as the person sees it."""

from pathlib import Path

from agent_tui.engine import commands, events
from agent_tui.engine.costs import Costs
from context.items import Usage
from tests.tui.driving import driven
from tests.tui.fake_engine import Play


def answer(body: commands.CommandBody) -> Play:
    costs = Costs()
    usage = Usage(input_tokens=12_000, output_tokens=340, cache_read_tokens=9_000, cache_write_tokens=500)
    costs.add("anthropic/big", usage, 0.42, 1)
    costs.new_turn()
    costs.add("ollama/small", Usage(input_tokens=10, output_tokens=1), None, 2)
    asked = isinstance(body, commands.Inspect) and body.subject is commands.Subject.COST
    return [events.Inspected(command_id="", data=costs.shown())] if asked else ()


async def test_cost_is_told_by_step_newest_last_and_whole_at_every_width(tmp_path: Path) -> None:
    async with driven(tmp_path, on=answer, size=(80, 24)) as it:
        await it.type("/cost")
        await it.press("escape", "enter")
        for columns, rows in ((80, 24), (60, 15)):
            await it.resize(columns, rows)
            await it.press("g")
            shown = it.screen
            for _ in range(3):
                await it.press("space")
                shown += "\n" + it.screen
            said = " ".join(shown.split())
            assert (
                "session price unknown · 2 requests 12,010 in, 9,000 of them cached, 500 cached anew, 341"
                in said
            )
            first = said.index(
                "step 1 $0.42 12,000 in, 9,000 of them cached, 500 cached anew, 340 out, by anthropic"
            )
            assert said.index("step 2 price unknown 10 in, 1 out, by ollama/small") > first


async def test_cost_is_told_by_turn_session_and_model(tmp_path: Path) -> None:
    async with driven(tmp_path, on=answer, size=(120, 24)) as it:
        await it.type("/cost")
        await it.press("escape", "enter")
        rows = {
            line.split()[0]: " ".join(line.split()[1:]) for line in it.screen.splitlines() if line.strip()
        }
    assert rows["turn"] == "price unknown · 1 request 10 in, 1 out"
    assert (
        rows["session"]
        == "price unknown · 2 requests 12,010 in, 9,000 of them cached, 500 cached anew, 341 out"
    )
    assert rows["anthropic/big"].startswith("$0.42 · 1 request 12,000 in")
    assert rows["ollama/small"].startswith("price unknown")
