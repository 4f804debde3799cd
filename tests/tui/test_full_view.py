from pathlib import Path

import pytest

from agent_tui.engine import commands, events
from agent_tui.engine.types import Decision
from tests.tui import gallery, scenes
from tests.tui.driving import Driven, driven
from tools.types import Grant

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


WIDER = {
    "grants": ("write_path /home/you/.cache", "network", "no_sandbox"),
    "first_attempt": "it left 1 file",
}


async def everything(it: Driven) -> str:
    """All of a view, scrolled through."""
    seen = it.screen
    for _ in range(12):
        await it.press("pagedown")
        seen += "\n" + it.screen
    return seen


async def test_the_full_view_tells_the_grant_that_is_chosen(tmp_path: Path) -> None:
    play = [*scenes.turn(), *scenes.approval(1, "pip wheel .", **WIDER)]
    async with driven(tmp_path, play) as it:
        for _ in range(3):
            await it.wait_for_arming()
            await it.press("g")
        await opened(it)
        assert "grant       NO SANDBOX: your files, your keys and the network, as you" in it.screen
        assert "sandbox     none for this command" in it.screen
        assert "y run again without a sandbox" in it.screen
        assert "writes in" not in it.screen and "g first" not in it.screen
        assert "exactly this" not in it.screen and "would allow" not in it.screen, (
            "nothing lasting goes with it"
        )
        await it.press("escape")
        await it.wait_for_arming()
        await it.press("g")  # the one that was asked for, which is none
        await opened(it)
        assert "sandbox  writes in ~/src/slugkit, network off" in it.screen
        assert "NO SANDBOX" not in it.screen


@pytest.mark.parametrize("size", [(60, 15), (80, 24)])
async def test_all_that_is_known_can_be_read_whole_in_the_full_view(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    far = " ".join(f"why-{number}" for number in range(60))
    scope = "edits of " + ", ".join(f"file-{number}" for number in range(40))
    play = scenes.approval(
        1, "make", {"reason": "because it is so", "parsed": "make"}, why=far, session_key=scope, **WIDER
    )
    async with driven(tmp_path, [*scenes.turn(), *play], size=size) as it:
        assert "v shows all" in it.screen
        await opened(it)
        seen = await everything(it)
    for word in [*far.split(), *scope.split(), "changes", "it left 1 file", "because it is so", "as parsed"]:
        assert word in seen, word


async def test_a_grant_that_has_no_room_is_allowed_only_once_it_was_seen_whole(tmp_path: Path) -> None:
    path = "/srv/" + "far/" * 200 + "end"
    asked = {"grant": Grant.WRITE_PATH, "grant_detail": path}
    play = [*scenes.turn(), *scenes.approval(1, "make", asked, grants=(f"write_path {path}", "network"))]
    async with driven(tmp_path, play) as it:
        await it.wait_for_arming()
        assert "locked until v showed all" in it.screen
        await it.press("y", "s")
        assert not await decided(it)
        await opened(it)
        assert path[-9:] in await everything(it)
        await it.press("escape")
        await it.wait_for_arming()
        await it.press("g")
        await it.wait_for_arming()
        assert "locked" not in it.screen
        await it.press("g")  # back to what was read, which is drawn anew
        await it.wait_for_arming()
        assert "locked" in it.screen
        await opened(it)
        await everything(it)
        await it.press("escape")
        await it.wait_for_arming()
        await it.press("y")
        assert [body.decision for body in await decided(it)] == [Decision.ONCE]


async def test_options_and_facts_of_other_questions_are_whole_there_too(tmp_path: Path) -> None:
    options = tuple(f"option {number}: " + f"means-{number} " * 30 for number in range(9))
    asked = events.QuestionAsked(
        question_id="q1", call_id="c1", text="Which?", options=options, free_text=True
    )
    async with driven(tmp_path, [*scenes.turn(), asked], size=(60, 15)) as it:
        assert "v shows all" not in it.screen
        await it.wait_for_arming()
        assert "v shows all" in it.screen
        await opened(it)
        assert (await everything(it)).count("means-8") >= 30
        await it.press("9")
        assert it.engine.sent == [commands.Answer(question_id="q1", text=options[8])]
    async with driven(tmp_path, gallery.lost(), size=(60, 15)) as it:
        await opened(it)
        assert "2 lines kept: INFO Running upgrade 3fa1 ->" in await everything(it)
        await it.press("k")
        assert it.engine.sent == [commands.Settle(question_id="l1", choice="keep")]
