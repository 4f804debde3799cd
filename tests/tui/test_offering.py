"""The demo begins when the person says so."""

from pathlib import Path

import pytest

from agent_tui.cli.questions import health_of
from agent_tui.engine import commands
from sandbox.policy import Mode
from tests.tui import scenes
from tests.tui.driving import driven

OFFERED = "Make the failing test pass"


async def test_enter_on_an_empty_editor_sends_the_offered_message_once(tmp_path: Path) -> None:
    async with driven(tmp_path, offered=OFFERED) as it:
        assert "You work on a copy" in it.screen
        assert "Enter begin · Ctrl+D leave the demo" in it.screen
        assert it.engine.sent == []
        await it.press("enter", "enter")
        assert [body for body in it.engine.sent if isinstance(body, commands.Submit)] == [
            commands.Submit(text=OFFERED)
        ]
        assert "press Enter to begin" not in it.screen
        assert "You work on a copy" in it.screen


async def test_another_message_takes_the_place_of_the_offered_one(tmp_path: Path) -> None:
    async with driven(tmp_path, offered=OFFERED) as it:
        await it.type("hello")
        assert "Enter begin" not in it.screen
        await it.press("enter")
        await it.press("enter")
        assert [body.text for body in it.engine.sent if isinstance(body, commands.Submit)] == ["hello"]
        assert "press Enter to begin" not in it.screen


@pytest.mark.parametrize(
    ("values", "has_sandbox", "sandbox", "undo"),
    [
        ({}, True, "ok    commands write in this directory only, network off", "ok"),
        ({"network": True}, True, "ok    commands write in this directory only, network on", "ok"),
        ({"sandbox": Mode.READ_ONLY}, True, "ok    commands change no file, network off", "ok"),
        ({"sandbox": Mode.OFF}, False, "OFF", "ok"),
        ({"checkpoints": False}, False, "none", "OFF"),
    ],
)
def test_the_first_screen_tells_sandbox_and_undo(
    tmp_path: Path, values: dict[str, object], has_sandbox: bool, sandbox: str, undo: str
) -> None:
    said = dict(health_of(scenes.config(tmp_path, **values), has_sandbox=has_sandbox))
    assert said["Sandbox"].startswith(sandbox)
    assert said["Undo"].startswith(undo)
