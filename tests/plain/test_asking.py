"""One question in line mode: its numbered choices, other grants, and what must be confirmed."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from agent_tui.engine.commands import CommandBody, Decide, Settle, Subject
from agent_tui.engine.events import ApprovalAsked, LostResultAsked
from agent_tui.engine.types import Decision
from agent_tui.plain import questions
from agent_tui.plain.asking import Asking
from agent_tui.plain.questions import Question
from tools.types import READS_NOTHING, Assessment, CallClass, Grant

APPROVAL = ApprovalAsked(
    approval_id="a1",
    call_id="c1",
    tool="exec_command",
    assessment=Assessment(
        action="command", call_class=CallClass.ASK, reason="r", shown="make", effects=READS_NOTHING
    ),
    cwd="/w",
    why="r",
    sandbox="writes in /w, network off",
    digest="d1",
    choices=(
        Decision.ONCE, Decision.SESSION, Decision.RULE, Decision.EDIT, Decision.DENY, Decision.DENY_AND_PAUSE,
    ),
    session_key="exactly this command in this directory",
    grants=("write_path /cache", "network", "no_sandbox"),
)  # fmt: skip
DENIED = replace(
    APPROVAL,
    assessment=replace(APPROVAL.assessment, grant=Grant.WRITE_PATH, grant_detail="/cache"),
    first_attempt="the first attempt left 1 file",
)
LOST = LostResultAsked(
    question_id="q1", call_id="c1", tool="exec_command", shown="alembic upgrade head", cwd="/w",
    started_at=0.0, ended_at=1.0, facts="its process is gone", output="", changes=(), checkpoint_id="7f3a/31",
)  # fmt: skip


PLAN = {"conflicts": [{"path": "a.py", "reason": "changed by you"}], "operations": []}


class Person:
    """Types lines; keeps what was printed."""

    def __init__(self, typed: Sequence[str]) -> None:
        self.said: list[str] = []
        self._typed = list(typed)

    def say(self, *lines: str) -> None:
        self.said += lines

    async def read(self, prompt: str, draft: str = "") -> str | None:
        self.said.append(prompt + draft)
        return self._typed.pop(0) if self._typed else None

    async def facts(self, subject: Subject, **args: str) -> Any | None:
        self.said.append(f"{subject} {args}")
        return PLAN


def asked(question: Question, *typed: str) -> tuple[CommandBody | None, list[str]]:
    """The answer and what was printed."""
    person = Person(typed)
    asking = Asking(person, question, arguments="", waiting=1, is_spoken=True)
    return asyncio.run(asking.answer(1, 1)), person.said


def test_what_allows_more_than_was_asked_for_comes_last() -> None:
    _, said = asked(APPROVAL)
    assert said[-9:-1] == [
        "  1. Allow once",
        "  2. Allow for this session: exactly this command in this directory",
        "  3. Save a rule: shows the rule before it is saved",
        "  4. Edit the command",
        "  5. Deny",
        "  6. Deny and say what to do instead",
        "  7. Deny and pause",
        "  8. Choose another grant; the widest is the last of them",
    ]


def test_a_wider_grant_is_chosen_from_a_list_whose_last_is_the_widest() -> None:
    decided, said = asked(APPROVAL, "8", "4", "1")
    at = said.index("Grants, the widest last:")
    assert said[at + 1 : at + 5] == [
        "  1. nothing beyond the sandbox",
        "  2. write /cache",
        "  3. network on",
        "  4. NO SANDBOX: your files, your keys and the network, as you",
    ]
    assert said[at + 6 : at + 10] == [
        "Grant: NO SANDBOX: your files, your keys and the network, as you.",
        "Sandbox: none for this command.",
        "  1. Allow once WITHOUT A SANDBOX",
        "  2. Edit the command",
    ]
    assert decided == Decide(approval_id="a1", decision=Decision.ONCE, digest="d1", grant="no_sandbox")
    decided, said = asked(APPROVAL, "8", "2", "2")
    assert decided == Decide(
        approval_id="a1", decision=Decision.SESSION, digest="d1", grant="write_path /cache"
    )
    assert "Sandbox: everything else as before." in said


def test_a_command_that_leaves_the_sandbox_says_with_what_it_runs_again() -> None:
    decided, said = asked(DENIED, "1")
    assert said[0] == "Approval needed, 1 of 1. Command that leaves the sandbox:"
    assert "Grant: write /cache, for this command." in said
    assert "  1. Run again with this grant" in said
    assert decided == Decide(approval_id="a1", decision=Decision.ONCE, digest="d1")


def test_a_diff_that_is_asked_about_says_what_is_added_and_removed() -> None:
    _, said = asked(replace(APPROVAL, diff="--- a/x\n+++ b/x\n-old\n+new\n same"))
    assert said[1:6] == ["  --- a/x", "  +++ b/x", "  removed: old", "  added: new", "   same"]


def test_several_that_wait_are_denied_together() -> None:
    labels = [choice.label for choice in questions.choices(APPROVAL, waiting=3)]
    assert "Deny all 3 that wait, and pause" in labels


@pytest.mark.parametrize(
    ("typed", "settled"),
    [(["3", "no", "1"], "keep"), (["3", "yes"], "again"), (["²", " 2 ", "yes"], "rollback")],
)
def test_a_call_whose_result_was_lost_runs_again_only_once_that_is_confirmed(
    typed: list[str], settled: str
) -> None:
    answer, said = asked(LOST, *typed)
    assert answer == Settle(question_id="q1", choice=settled)  # type: ignore[arg-type]  # one of its words
    assert ("Type yes to run it again: it may act twice, anything else to go back." in said) == ("3" in typed)


def test_going_back_to_before_a_lost_call_shows_what_that_does_and_asks() -> None:
    answer, said = asked(LOST, "2", "no", "2", "yes")
    at = said.index("rollback_plan {'id': '7f3a/31'}")
    assert said[at + 1 : at + 4] == [
        "Rollback to before 7f3a/31:",
        "  Conflict: a.py, changed by you; yours stays unless you choose",
        "Type yes to roll back, anything else to go back.",
    ]
    assert said.count("Rollback to before 7f3a/31:") == 2
    assert answer == Settle(question_id="q1", choice="rollback")


def test_without_a_checkpoint_nothing_goes_back_to_before_a_lost_call() -> None:
    assert [choice.value for choice in questions.choices(replace(LOST, checkpoint_id=""))] == [
        "keep", "again", "stop",
    ]  # fmt: skip
    assert questions.no_answer(LOST) == Settle(question_id="q1", choice="stop")
