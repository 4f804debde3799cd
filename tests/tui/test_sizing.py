from pathlib import Path

from agent_tui.tui.sizing import RESIZED_S
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
