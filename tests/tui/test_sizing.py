from pathlib import Path

from agent_tui.tui.sizing import RESIZED_S
from tests.tui import scenes
from tests.tui.driving import driven


async def test_a_terminal_that_was_too_small_takes_keys_then_and_afterwards(tmp_path: Path) -> None:
    async with driven(tmp_path) as it:
        await it.type("ab")
        await it.resize(40, 10)
        assert "terminal too small (40×10)" in it.screen and "--plain" in it.screen
        await it.type("cd")
        await it.resize(80, 24)
        await it.pilot.pause(RESIZED_S + 0.05)
        await it.type("ef")
        assert it.app.editor.text == "abcdef"


async def test_a_prompt_waits_while_the_terminal_is_too_small(tmp_path: Path) -> None:
    async with driven(tmp_path, scenes.asks()) as it:
        await it.wait_for_arming()
        await it.resize(52, 12)
        assert "━━ approval" not in it.screen
        await it.resize(80, 24)
        assert "·  once" in it.screen, "it was just drawn"
        await it.wait_for_arming()
        assert "y  once" in it.screen
        assert it.engine.sent == []
