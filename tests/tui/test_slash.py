from pathlib import Path

from agent_tui.engine import commands, events
from agent_tui.engine.types import InputKind
from tests.tui import scenes
from tests.tui.driving import driven


async def test_a_session_that_gets_a_name_says_so(tmp_path: Path) -> None:
    async with driven(tmp_path) as it:
        await it.act("/rename the slug work")
        assert commands.Set(key="title", value="the slug work") in it.engine.sent
        assert "named `the slug work`" in it.screen


async def test_the_word_of_the_command_line_for_other_sessions_works_too(tmp_path: Path) -> None:
    async with driven(tmp_path) as it:
        await it.act("/sessions")
        assert "no command" not in it.screen
        assert len(it.app.screen_stack) == 2


async def test_a_steer_says_what_it_waits_for(tmp_path: Path) -> None:
    steer = events.InputAccepted(input_id="i9", kind=InputKind.STEER, text="less")
    async with driven(tmp_path, [*scenes.message("go"), *scenes.turn(), *scenes.step(1), steer]) as it:
        assert "after this answer" in it.screen
