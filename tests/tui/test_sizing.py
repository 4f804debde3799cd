from pathlib import Path

import pytest

from agent_tui.engine import commands, events
from agent_tui.tui.sizing import RESIZED_S
from tests.tui import gallery, scenes
from tests.tui.driving import Driven, driven
from tests.tui.fake_engine import Play


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


QUESTION = events.QuestionAsked(
    question_id="q1", call_id="c1", text="Which database?", options=("SQLite",), free_text=True
)


async def laid_out(it: Driven) -> None:
    await it.pilot.pause(RESIZED_S + 0.05)
    await it.settle()


@pytest.mark.parametrize("drawn_before", [True, False])
async def test_no_key_answers_a_prompt_that_is_not_shown(tmp_path: Path, drawn_before: bool) -> None:
    def on(body: commands.CommandBody) -> Play:
        return scenes.asks() if isinstance(body, commands.Submit) else []

    async with driven(tmp_path, on=on) as it:
        await it.type("go")
        if drawn_before:
            await it.press("enter")
            await it.wait_for_arming()
        await it.resize(50, 12)
        if not drawn_before:
            await it.press("enter")
        await laid_out(it)
        await it.wait_for_arming()
        await it.press("shift+tab")
        assert not it.app.prompt.armed and it.screen.strip().startswith("terminal too small")
        await it.type("y1")
        await it.press("down")
        assert not it.engine.sent_of(commands.Decide)
        assert it.app.editor.text == "y1"
        await it.press("backspace", "backspace")
        await it.resize(80, 24)
        assert "·  once" in it.screen, "it was just drawn"
        await laid_out(it)
        await it.wait_for_arming()
        await it.press("y")
        assert len(it.engine.sent_of(commands.Decide)) == 1


@pytest.mark.parametrize(
    ("play", "key", "sent"),
    [
        (scenes.asks(), "e", commands.Decide),
        (scenes.asks(), "f", commands.Decide),
        ([*scenes.turn(), QUESTION], "2", commands.Answer),
    ],
)
async def test_a_text_in_a_prompt_that_is_not_shown_waits_as_it_was(
    tmp_path: Path, play: Play, key: str, sent: type
) -> None:
    async with driven(tmp_path, play) as it:
        await it.wait_for_arming()
        await it.press(key)
        await it.type("ab")
        written = it.app.prompt.written
        assert written.endswith("ab")
        await it.resize(50, 12)
        await laid_out(it)
        await it.wait_for_arming()
        await it.press("enter")
        await it.type("c")
        assert not it.engine.sent_of(sent)
        assert (it.app.prompt.written, it.app.editor.text) == (written, "c")
        await it.press("backspace")
        await it.resize(80, 24)
        await laid_out(it)
        assert it.app.focused is it.app.editor, "it was just drawn"
        await it.wait_for_arming()
        await it.type("d\r")
        assert len(it.engine.sent_of(sent)) == 1
        assert it.app.editor.text == ""


async def in_view(it: Driven, *keys: str) -> None:
    """Open a view and let the pause before it go by."""
    for key in keys:
        await it.act(key)
    await it.settle()
    it.clock.at += 0.6


@pytest.mark.parametrize(
    ("play", "opening", "key", "sent", "shown"),
    [
        (scenes.asks(), ["arm", "v"], "y", commands.Decide, "━━ approval · command"),
        (gallery.renamed(), ["escape", "escape", "enter"], "enter", commands.Rollback, "━━ rollback"),
        ([], ["f3"], "x", commands.TerminalInput, "── terminals"),
        ([], ["f3", "enter"], "x", commands.TerminalInput, "you type here"),
    ],
)
@pytest.mark.parametrize("size", [(30, 4), (120, 14), (59, 40)])
async def test_a_view_takes_no_key_while_the_terminal_is_too_small(
    tmp_path: Path, play: Play, opening: list[str], key: str, sent: type, shown: str, size: tuple[int, int]
) -> None:
    async with driven(tmp_path, play, on=gallery.Scene().on) as it:
        await in_view(it, *opening)
        assert shown in it.screen
        await it.resize(*size)
        assert "terminal too small" in it.screen and shown not in it.screen
        before = len(it.engine.sent_of(sent))
        await it.press(key, "tab", "down")
        await it.type("jk")
        assert len(it.engine.sent_of(sent)) == before
        await it.resize(80, 24)
        assert shown in it.screen
        before = len(it.engine.sent_of(sent))
        if sent is not commands.TerminalInput:  # what a key decides is read first
            await it.press(key)
            assert len(it.engine.sent_of(sent)) == before
            it.clock.at += 0.6
        await it.press(key)
        await it.settle()
        assert len(it.engine.sent_of(sent)) == before + 1


async def test_a_long_draft_takes_a_third_of_the_screen_and_nothing_below_it(tmp_path: Path) -> None:
    async with driven(tmp_path) as it:
        await it.type("\n".join(f"line {number}" for number in range(14)))
        rows = it.screen.split("\n")
        assert rows[-2] == "  line 13" and rows[-8] == "› line 7"


@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
async def test_a_view_can_be_left_while_the_terminal_is_too_small(tmp_path: Path, key: str) -> None:
    async with driven(tmp_path, scenes.asks()) as it:
        await in_view(it, "arm", "v")
        await it.resize(30, 4)
        await it.press(key)
        await it.resize(80, 24)
        assert "publish" in it.screen and "y once · s this session" not in it.screen
        assert not it.engine.sent_of(commands.Decide)


async def test_the_end_of_a_long_command_was_not_seen_where_nothing_is_shown(tmp_path: Path) -> None:
    play = [*scenes.turn(), *scenes.approval(1, "\n".join(f"echo {number}" for number in range(60)))]
    async with driven(tmp_path, play) as it:
        await in_view(it, "arm", "v")
        await it.resize(30, 4)
        await it.press("end", "space")
        await it.resize(80, 24)
        assert "lines below" in it.screen and "y s p after the end" in it.screen
