from pathlib import Path

import pytest

from agent_tui.engine import commands, events
from agent_tui.engine.types import InputKind
from checkpoints.types import Cause, Checkpoint, Phase
from context.codec import encode
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


async def test_the_menu_keeps_its_columns_beside_a_long_usage(tmp_path: Path) -> None:
    async with driven(tmp_path) as it:
        await it.type("/co")
        rows = [row for row in it.screen.split("\n") if row.endswith(("now", "when idle")) and "/co" in row]
        helps = ("make the view", "what fills", "copy the last", "tokens")
        assert len({row.index(help) for row, help in zip(rows, helps, strict=True)}) == 1


async def test_help_says_how_much_is_below(tmp_path: Path) -> None:
    async with driven(tmp_path) as it:
        await it.press("f1", "2")
        assert "more lines" in it.screen
        await it.press("end")
        assert "more line" not in it.screen


async def test_a_point_after_which_nothing_was_said_hides_nothing(tmp_path: Path) -> None:
    cause = Cause(phase=Phase.BEFORE_ROLLBACK, session="7f3a", summary="rename")
    checkpoint = Checkpoint(id="7f3a/1", session="7f3a", seq=1, created_at=9.0, cause=cause, tree="t")

    def answer(body: commands.CommandBody) -> list[events.Body]:
        if isinstance(body, commands.Inspect) and body.subject is commands.Subject.CHECKPOINTS:
            return [events.Inspected(command_id="", data=[encode(checkpoint)])]
        return []

    play = [*scenes.message("rename"), events.CheckpointTaken(checkpoint=checkpoint)]
    async with driven(tmp_path, play, on=answer) as it:
        await it.act("/rollback")
        await it.press("c")
        assert "nothing of the conversation came after this point" in it.screen


async def test_steering_now_says_that_an_answer_comes_to_its_end(tmp_path: Path) -> None:
    async with driven(tmp_path, [*scenes.message("go"), *scenes.turn(), *scenes.step(1)]) as it:
        await it.type("less")
        await it.press("ctrl+s")
        assert commands.Submit(text="less", kind=InputKind.STEER, now=True) in it.engine.sent
        assert "steer now: after this answer, without its calls" in it.screen


async def test_the_doctor_is_asked_about_the_model_of_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[list[str]] = []
    async with driven(tmp_path) as it:
        monkeypatch.setattr(it.app.outside, "_run", lambda argv, then: ran.append(argv))
        await it.act("/doctor")
        [argv] = ran
        assert argv[argv.index("doctor") :][1:3] == ["-m", it.app.session.status.model]


async def test_an_editor_that_is_no_command_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "vim 'a")
    async with driven(tmp_path, scenes.turn()) as it:
        await it.press("ctrl+g")
        assert "`vim 'a` is no command; mend $VISUAL or $EDITOR" in it.screen
