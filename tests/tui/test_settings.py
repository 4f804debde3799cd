from pathlib import Path

from agent_tui.engine import commands, events
from tests.tui.driving import driven
from tests.tui.fake_engine import Play

SETTINGS = {
    "model": {"value": "openai/gpt-5.1", "origin": "flag"},
    "sandbox": {"value": "workspace-write", "origin": "default"},
    "network": {"value": False, "origin": "default"},
    "theme": {"value": "dark", "origin": "user"},
}


def answer(body: commands.CommandBody) -> Play:
    asked = isinstance(body, commands.Inspect) and body.subject is commands.Subject.SETTINGS
    return [events.Inspected(command_id="", data=SETTINGS)] if asked else ()


async def test_a_stricter_sandbox_is_set_at_once_and_a_looser_one_asks_once_more(tmp_path: Path) -> None:
    async with driven(tmp_path, on=answer) as it:
        await it.type("/settings")
        await it.press("escape", "enter", "down", "enter")
        assert "now workspace-write" in it.screen
        await it.press("down", "enter")
        assert "this session only: sandbox off?" in it.screen and "Enter again" not in it.screen
        await it.press("enter", "enter")  # the key is held down
        assert "this session only: sandbox off?" in it.screen
        await it.act("arm")
        assert "this session only: sandbox off? Enter again" in it.screen
        assert not it.engine.sent_of(commands.Set)
        await it.press("up", "up", "enter")
        assert it.engine.sent_of(commands.Set) == [commands.Set(key="sandbox", value="read-only")]
        assert "── settings" in it.screen
        await it.press("down", "enter", "down", "enter")
        await it.act("arm")
        await it.press("enter")
        assert it.engine.sent_of(commands.Set)[1:] == [commands.Set(key="network", value="on")]


async def test_what_a_session_cannot_change_says_where_it_is_set(tmp_path: Path) -> None:
    async with driven(tmp_path, on=answer) as it:
        await it.type("/settings")
        await it.press("escape", "enter", "end", "enter")
        assert "set in the settings file" in it.screen


async def test_a_switch_is_on_or_off(tmp_path: Path) -> None:
    async with driven(tmp_path, on=answer) as it:
        await it.type("/settings")
        await it.press("escape", "enter")
        assert "network                  off " in it.screen
