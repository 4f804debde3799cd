"""The models that can be used in place of the present one."""

import re
from pathlib import Path

from agent_tui.engine import commands, events
from tests.tui.driving import driven
from tests.tui.fake_engine import Play

OFFERS = [
    {
        "name": "anthropic/big",
        "where": "ANTHROPIC_API_KEY",
        "context_window": 200_000,
        "price_input": 3.0,
        "price_output": 15.0,
        "reasoning": True,
    },
    {
        "name": "mistral/plain",
        "where": "MISTRAL_API_KEY",
        "context_window": 128_000,
        "price_input": 0.4,
        "price_output": 2.0,
        "reasoning": False,
    },
    {
        "name": "ollama/loaded",
        "where": "127.0.0.1:1234",
        "context_window": None,
        "price_input": 0.0,
        "price_output": 0.0,
        "state": "not loaded",
    },
    {
        "name": "ollama/small\x1b[2J",
        "where": "127.0.0.1:11434",
        "context_window": None,
        "price_input": 0.0,
        "price_output": 0.0,
    },
]


def answer(body: commands.CommandBody) -> Play:
    asked = isinstance(body, commands.Inspect) and body.subject is commands.Subject.MODELS
    return [events.Inspected(command_id="", data=OFFERS)] if asked else ()


async def test_the_picker_shows_what_can_be_used_and_what_is_known_of_it(tmp_path: Path) -> None:
    async with driven(tmp_path, on=answer) as it:
        await it.type("/model")
        await it.press("escape", "enter")
        screen = it.screen
    assert "openai/gpt-5.1" in screen
    assert re.search(r"anthropic/big +200k +\$3.00 / \$15.00 +effort ‹ high ›", screen)
    assert re.search(r"mistral/plain +128k +\$0.40 / \$2.00 +MISTRAL_API_KEY", screen)
    assert re.search(r"ollama/loaded +no price +not loaded", screen)
    assert "ollama/small" in screen and "127.0.0.1:11434" in screen and "\x1b" not in screen


async def test_a_picked_model_is_set_for_the_session(tmp_path: Path) -> None:
    async with driven(tmp_path, on=answer) as it:
        await it.type("/model")
        await it.press("escape", "enter", "down", "enter")
        assert it.engine.sent_of(commands.Set) == [commands.Set(key="model", value="anthropic/big")]


async def test_each_row_has_its_own_effort_and_minimal_is_one(tmp_path: Path) -> None:
    async with driven(tmp_path, on=answer) as it:
        await it.type("/model")
        await it.press("escape", "enter", "down", "right")
        assert "anthropic/big" in it.screen and "effort ‹ minimal ›" in it.screen
        assert it.screen.count("effort ‹ high ›") == 0, "of the row that is not picked nothing is known"
        await it.press("down", "left")
        assert "← → effort" not in it.screen, "this one takes none"
        await it.press("up", "enter")
        assert it.engine.sent_of(commands.Set) == [
            commands.Set(key="model", value="anthropic/big"),
            commands.Set(key="effort", value="minimal"),
        ]


async def test_without_an_answer_the_present_model_is_there(tmp_path: Path) -> None:
    async with driven(tmp_path) as it:
        await it.type("/model")
        await it.press("escape", "enter")
        assert "openai/gpt-5.1" in it.screen
