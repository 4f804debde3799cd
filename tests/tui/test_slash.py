from contextlib import nullcontext
from pathlib import Path

import pytest

from agent_tui.engine import commands, events
from agent_tui.engine.types import InputKind
from agent_tui.tui.app import AgentApp
from checkpoints.types import Cause, Checkpoint, Phase
from context.codec import encode
from tests.tui import gallery, scenes
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


async def test_the_doctor_is_asked_about_the_model_of_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[list[str]] = []
    async with driven(tmp_path) as it:
        monkeypatch.setattr(it.app.outside, "_in_front", lambda argv, then: ran.append(argv))
        await it.act("/doctor")
        [argv] = ran
        assert argv[argv.index("doctor") :][1:3] == ["-m", it.app.session.status.model]


async def test_an_editor_that_is_no_command_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "vim 'a")
    async with driven(tmp_path, scenes.turn()) as it:
        await it.press("ctrl+g")
        assert "`vim 'a` is no command; mend $VISUAL or $EDITOR" in it.screen


async def test_an_editor_that_takes_its_file_away_leaves_the_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISUAL", "rm --")
    monkeypatch.setattr(AgentApp, "suspend", lambda app: nullcontext())
    async with driven(tmp_path, scenes.turn(), workspace=tmp_path) as it:
        await it.type("half")
        await it.press("ctrl+g")
        assert "`rm --` left no file to read: No such file or directory" in it.screen
        assert it.app.editor.text == "half"


async def test_the_transcript_is_put_beside_the_sessions_or_where_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    workspace = tmp_path / "project"
    workspace.mkdir()
    async with driven(tmp_path, scenes.finished(), size=(200, 24), workspace=workspace) as it:
        await it.act("/export")
        [file] = (tmp_path / "state" / "exports").iterdir()
        assert "the transcript is in `~/state/exports/" in it.screen
        assert file.name.startswith("7f3a-")
        assert "make empty input safe" in file.read_text()
        assert list(workspace.iterdir()) == []
        await it.type("/export said.txt\r")
        assert (workspace / "said.txt").read_text().startswith(file.read_text())
        await it.type("/export said.txt\r")
        assert "names another" in it.screen


async def test_nothing_of_a_session_that_is_not_stored_is_exported_unasked(tmp_path: Path) -> None:
    async with driven(tmp_path, ephemeral=True) as it:
        await it.act("/export")
        assert "/export FILE says where it may go" in it.screen


async def test_a_mode_without_a_checkpoint_opens_the_list(tmp_path: Path) -> None:
    async with driven(tmp_path, on=gallery.Scene().on) as it:
        await it.type("/rollback files\r")
        assert "checkpoints · this workspace" in it.screen
        await it.press("escape")
        await it.type("/rollback 7f3a/17 files\r")
        assert "rollback · files · to" in it.screen
