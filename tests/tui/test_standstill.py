import json
from dataclasses import replace
from pathlib import Path

import pytest

from agent_tui.engine import commands, events
from agent_tui.engine.types import Decision, EndReason
from tests.tui import gallery, scenes
from tests.tui.driving import driven
from tests.tui.fake_engine import Play
from tools.types import Grant

LIMIT = events.LimitFacts(
    name="cost", used=10.02, allowed=10.0, raised=20.0, step=84, state="tests not run since the last change"
)


def question(**values: object) -> events.QuestionAsked:
    given: dict[str, object] = {
        "question_id": "q1", "call_id": "", "text": "", "options": ("raise to $20.00", "stop here"),
        "free_text": True,
    }  # fmt: skip
    return events.QuestionAsked(**(given | values))  # type: ignore[arg-type]  # the fields of one


CIRCLES = question(
    kind="no_progress", text="No progress: pytest -q 3 times, same failure", options=("continue", "stop")
)
NO_CHECKPOINT = question(
    kind="no_checkpoint", call_id="c1", text="No checkpoint before this call: the disk is busy",
    options=("wait 30 s more", "run without undo", "deny"), free_text=False,
)  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "shown", "keys", "answer"),
    [
        (question(limit=LIMIT), "cost     $10.02 of $10.00, after step 84", "r", "raise to $20.00"),
        (question(limit=LIMIT), "state    tests not run since the last change", "x", "stop here"),
        (question(limit=LIMIT), "limit reached", "o35", "35"),
        (CIRCLES, "    pytest -q 3 times, same failure", "c", "continue"),
        (CIRCLES, "no progress", "tuse mocks", "use mocks"),
        (CIRCLES, "stop the run", "x", "stop"),
        (NO_CHECKPOINT, "    make deploy", "w", "wait 30 s more"),
        (NO_CHECKPOINT, "why       the disk is busy", "r", "run without undo"),
        (NO_CHECKPOINT, "no checkpoint", "n", "deny"),
    ],
)
async def test_a_question_of_the_runtime_takes_its_letters(
    tmp_path: Path, asked: events.QuestionAsked, shown: str, keys: str, answer: str
) -> None:
    play = [*scenes.turn(), *scenes.proposed("c1", "exec_command", "make deploy"), asked]
    async with driven(tmp_path, play) as it:
        assert shown in it.screen
        await it.wait_for_arming()
        await it.type(keys)
        if len(keys) > 1:
            await it.press("enter")
        assert it.engine.sent_of(commands.Answer) == [commands.Answer(question_id="q1", text=answer)]


async def test_an_answer_that_is_refused_leaves_the_question_open(tmp_path: Path) -> None:
    async with driven(tmp_path, [*scenes.turn(), question(limit=LIMIT)]) as it:
        await it.wait_for_arming()
        await it.type("o1")
        await it.press("enter")
        command_id = next(iter(it.app.session.answers))
        it.engine.emit(events.Refused(command_id=command_id, reason="`1` is no amount above 10.02"))
        await it.settle()
        assert "no amount above" in it.screen
        assert "r  raise to $20.00" in it.screen or "·  raise to $20.00" in it.screen
        await it.wait_for_arming()
        await it.type("r")
        assert len(it.engine.sent_of(commands.Answer)) == 2


async def test_a_session_that_cannot_be_written_is_said_once_and_tried_again(tmp_path: Path) -> None:
    end = next(each for each in scenes.end() if isinstance(each, events.TurnEnded))
    unwritable = events.TurnEnded(
        run_id=end.run_id, reason=EndReason.STATE_UNWRITABLE, sentence="the session cannot be written",
        exit_code=5, usage=end.usage, cost_usd=None, steps=1, duration_s=1.0,
    )  # fmt: skip
    async with driven(tmp_path, [*scenes.turn(), unwritable]) as it:
        assert "cannot write the session" in it.screen
        assert "try again" in it.screen
        await it.wait_for_arming()
        await it.type("r")
        assert it.engine.sent_of(commands.Continue) == [commands.Continue()]
        assert "cannot write the session ━" not in it.screen


def two_approvals() -> Play:
    return [*scenes.turn(), *scenes.approval(1, "make a"), *scenes.approval(2, "make b")]


async def test_esc_denies_all_that_wait(tmp_path: Path) -> None:
    async with driven(tmp_path, two_approvals()) as it:
        assert "Esc  deny all 2 that wait, and pause" in it.screen
        await it.press("escape")
        sent = [body for body in it.engine.sent_of(commands.Decide) if isinstance(body, commands.Decide)]
    assert [body.decision.value for body in sent] == ["deny", "deny_and_pause"]


@pytest.mark.parametrize(
    ("grant", "title"), [("network", "approval · network"), ("write_path", "approval · leave the sandbox")]
)
async def test_the_title_says_what_is_asked_for(tmp_path: Path, grant: str, title: str) -> None:
    asked = scenes.approval(1, "pip wheel .", {"grant": Grant(grant), "grant_detail": "/x"})
    async with driven(tmp_path, [*scenes.turn(), *asked]) as it:
        assert title in it.screen


async def test_a_patch_is_edited_outside_and_runs_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    diff = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\n"
    asked = next(
        each
        for each in scenes.approval(1, "a.py", {"action": "edit"}, diff=diff)
        if isinstance(each, events.ApprovalAsked)
    )
    proposed = events.CallProposed(
        call_id=asked.call_id, step_id="s1", tool="apply_patch", arguments='{"patch": "old"}', shown="a.py"
    )
    async with driven(tmp_path, [*scenes.turn(), proposed, asked]) as it:
        monkeypatch.setattr(
            it.app.outside,
            "edit_files",
            lambda files: {name: f"{text} and new\n" for name, text in files.items()},
        )
        await it.wait_for_arming()
        await it.type("e")
        (sent,) = it.engine.sent_of(commands.Decide)
    assert isinstance(sent, commands.Decide)
    assert (sent.decision.value, sent.edited) == ("edit", '{"patch": "old and new\\n"}')


async def test_a_card_says_what_was_answered_and_what_the_model_does_not_see(tmp_path: Path) -> None:
    own = events.CallProposed(
        call_id="p1", step_id="", tool="exec_command", arguments="{}", shown="cat .env", by="person",
        to_model=False,
    )  # fmt: skip
    asked = question(call_id="c1", text="Which database?", options=("SQLite",))
    play = [
        *scenes.turn(), *scenes.proposed("c1", "request_user_input", "Which database?"), asked,
        events.QuestionAnswered(question_id="q1", text="SQLite"), *scenes.ended("c1", "request_user_input"),
        own, *scenes.running("p1"), *scenes.ended("p1", "exec_command", exit_code=0),
    ]  # fmt: skip
    async with driven(tmp_path, play) as it:
        assert "↳ you said: SQLite" in it.screen
        assert "not shown to the model · exit 0" in it.screen


async def test_an_answer_that_is_refused_after_another_was_taken_leaves_its_question_open(
    tmp_path: Path,
) -> None:
    async with driven(tmp_path, two_approvals()) as it:
        await it.press("escape")
        refused = next(sent for sent, asked in it.app.session.answers.items() if asked == "ap2")
        taken = events.ApprovalDecided(approval_id="ap1", call_id="c21", decision=Decision.DENY, by="person")
        it.engine.emit(taken)
        it.engine.emit(events.Refused(command_id=refused, reason="it changed since it was shown"))
        await it.settle()
        assert [each.id for each in it.app.session.open_questions] == ["ap2"]
        assert "make b" in it.screen


@pytest.mark.parametrize(
    ("patch", "after", "decided"),
    [
        ("a\r\nb\ud800\n", None, None),
        ("a\r\nb\n", b"a\r\nc\n", "a\r\nc\n"),
    ],
)
async def test_a_patch_that_the_editor_left_alone_is_not_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patch: str, after: bytes | None, decided: str | None
) -> None:
    monkeypatch.setenv("VISUAL", "edit")
    proposed, *rest = scenes.approval(1, "patch 1 file", {"action": "edit"}, diff=gallery.DIFF)
    assert isinstance(proposed, events.CallProposed)
    play = [replace(proposed, arguments=json.dumps({"patch": patch})), *rest]
    async with driven(tmp_path, [*scenes.turn(), *play]) as it:

        def edit(argv: list[str]) -> int:
            if after is not None:
                Path(argv[1]).write_bytes(after)
            return 0

        monkeypatch.setattr(it.app.outside, "_in_front", edit)
        await it.wait_for_arming()
        await it.type("e")
        sent = [body for body in it.engine.sent_of(commands.Decide) if isinstance(body, commands.Decide)]
    assert [json.loads(body.edited)["patch"] for body in sent] == ([decided] if decided else [])
