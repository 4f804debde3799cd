from pathlib import Path

from agent_tui.engine import commands
from agent_tui.engine.types import Decision
from tests.tui import scenes
from tests.tui.driving import Driven, driven

LONG = "\n".join(f"echo {number}" for number in range(60))


async def opened(it: Driven) -> None:
    await it.wait_for_arming()
    await it.type("v")
    it.clock.at += 0.6


async def decided(it: Driven) -> list[commands.Decide]:
    await it.settle()
    return [body for body in it.engine.sent_of(commands.Decide) if isinstance(body, commands.Decide)]


async def test_what_allows_works_in_the_full_view_only_after_the_end(tmp_path: Path) -> None:
    async with driven(tmp_path, [*scenes.turn(), *scenes.approval(1, LONG)]) as it:
        await opened(it)
        assert "lines below" in it.screen and "y s p after the end" in it.screen
        await it.type("y")
        assert not await decided(it)
        assert "y works after the end was on the screen" in it.screen
        await it.press("end")
        assert "y once · s this session · p save a rule" in it.screen
        await it.type("y")
        assert not await decided(it), "not before the pause is over"
        it.clock.at += 0.6
        await it.type("y")
        assert [body.decision for body in await decided(it)] == [Decision.ONCE]
        assert "lines below" not in it.screen


async def test_deny_works_at_once_and_words_go_with_it(tmp_path: Path) -> None:
    async with driven(tmp_path, [*scenes.turn(), *scenes.approval(1, LONG)]) as it:
        await opened(it)
        await it.type("f")
        await it.type("no")
        assert "› no" in it.screen
        await it.press("enter")
        (body,) = await decided(it)
    assert (body.decision, body.feedback) == (Decision.DENY, "no")


async def test_keys_in_flight_answer_nothing_in_the_full_view(tmp_path: Path) -> None:
    async with driven(tmp_path, [*scenes.turn(), *scenes.approval(1, "make publish")]) as it:
        await it.wait_for_arming()
        await it.type("vyn")
        assert not await decided(it)


async def test_keys_answer_again_after_the_full_view_was_left(tmp_path: Path) -> None:
    async with driven(tmp_path, scenes.asks()) as it:
        await opened(it)
        await it.wait_for_arming()
        await it.press("escape")
        assert "·  once" in it.screen
        await it.wait_for_arming()
        assert "y  once" in it.screen
        await it.press("y")
        assert [body.decision for body in await decided(it)] == [Decision.ONCE]
        assert it.app.editor.text == ""


async def test_a_burst_of_text_answers_nothing_in_the_full_view(tmp_path: Path) -> None:
    async with driven(tmp_path, scenes.asks()) as it:
        await opened(it)
        await it.feed(b"yes please")
        assert not await decided(it)
        assert "typed text answers nothing" in it.screen
        await it.press("y")
        assert [body.decision for body in await decided(it)] == [Decision.ONCE]
