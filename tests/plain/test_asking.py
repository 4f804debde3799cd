"""One question in line mode: its numbered choices, other grants, and what must be confirmed."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from agent_tui.engine.commands import CommandBody, Decide, Settle, Subject
from agent_tui.engine.events import ApprovalAsked, LostResultAsked
from agent_tui.engine.types import Decision
from agent_tui.external_editor import EditorError, NoEditorError
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


Edit = Callable[[Mapping[str, str]], dict[str, str]]
TEXTS = {"a.py": "new\n", "gone.py": None}
PATCH = '{"patch": "*** Begin"}'
PLAN = {"conflicts": [{"path": "a.py", "reason": "changed by you"}], "operations": []}


class Person:
    """Types lines; keeps what was printed."""

    def __init__(self, typed: Sequence[str], edit: Edit | None = None) -> None:
        self.said: list[str] = []
        self._typed = list(typed)
        self._edit = edit

    def say(self, *lines: str) -> None:
        self.said += lines

    async def read(self, prompt: str, draft: str = "") -> str | None:
        self.said.append(prompt + draft)
        return self._typed.pop(0) if self._typed else None

    async def facts(self, subject: Subject, **args: str) -> Any | None:
        self.said.append(f"{subject} {args}")
        if subject is Subject.EDIT:
            return TEXTS
        if subject is Subject.EDITED:
            return f"made of {args['texts']}"
        return PLAN

    async def edit(self, texts: Mapping[str, str]) -> dict[str, str]:
        if self._edit is None:
            raise NoEditorError("no editor: set $VISUAL or $EDITOR")
        return self._edit(texts)


def asked(
    question: Question, *typed: str, arguments: str = "", edit: Edit | None = None
) -> tuple[CommandBody | None, list[str]]:
    """The answer and what was printed."""
    person = Person(typed, edit)
    asking = Asking(person, question, arguments=arguments, waiting=1, is_spoken=True, rules="~/c/rules.toml")
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
    git = replace(APPROVAL, assessment=replace(APPROVAL.assessment, grant=Grant.GIT_LANE))
    _, said = asked(git, "8", "3", "1")
    assert "Sandbox: commit to git too, everything else as before." in said


def test_a_command_that_leaves_the_sandbox_says_with_what_it_runs_again() -> None:
    decided, said = asked(DENIED, "1")
    assert said[0] == "Approval needed, 1 of 1. Command that leaves the sandbox:"
    assert "Grant: write /cache, for this command." in said
    assert "  1. Run again with this grant" in said
    assert decided == Decide(approval_id="a1", decision=Decision.ONCE, digest="d1")


def test_a_host_is_asked_about_for_the_command_that_waits() -> None:
    assessment = replace(APPROVAL.assessment, action="network", shown="xn--pypi-5ve.org  port 443  (https)")
    choices = (Decision.ONCE, Decision.SESSION, Decision.DENY, Decision.DENY_RULE)
    question = replace(
        APPROVAL, assessment=assessment, during="pip download x", choices=choices, session_key="h:443",
        sandbox="unchanged; only this host becomes reachable", grants=(),
    )  # fmt: skip
    _, said = asked(question)
    assert said[:2] == ["Approval needed, 1 of 1. Network:", "  xn--pypi-5ve.org  port 443  (https)"]
    assert said[2].startswith("Beware: xn--pypi-5ve.org reads ") and said[2].endswith("Cyrillic and Latin.")
    assert "In: pip download x" in said
    assert "Sandbox: unchanged; only this host becomes reachable." in said
    assert [line for line in said if line.startswith("  ")][1:] == [
        "  1. Allow once, while this command runs",
        "  2. Allow for this session: h:443",
        "  3. Deny: the connection is refused, the command goes on",
        "  4. Deny and say what to do instead",
        "  5. Deny for good: shows the rule before it is saved",
    ]


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


def long_command(lines: int) -> ApprovalAsked:
    shown = "\n".join(f"make step{number}" for number in range(lines))
    return replace(APPROVAL, assessment=replace(APPROVAL.assessment, shown=shown))


def test_the_lines_of_a_command_are_counted_without_what_is_above_it() -> None:
    _, said = asked(long_command(61), "", "1")
    assert [line for line in said if line.startswith("Line ")] == ["Line 1 to 40 of 61. Enter for more> "]
    assert said[1] == "  make step0"
    _, said = asked(long_command(40), "1")
    assert not [line for line in said if line.startswith("Line ")]
    _, said = asked(replace(LOST, shown=long_command(41).assessment.shown), "", "1")
    assert [line for line in said if line.startswith("Line ")] == ["Line 1 to 40 of 41. Enter for more> "]


def test_a_rule_that_allows_says_what_it_does_not_and_where_it_is_kept() -> None:
    question = replace(
        APPROVAL, rule="run make x", rule_allows="`make x` and nothing after it", wider_rules=()
    )
    decided, said = asked(question, "3", "yes")
    at = said.index("Rule: run make x")
    assert said[at + 1 : at + 4] == [
        "Would allow: `make x` and nothing after it",
        "Would not allow: any other word, `;` or `&&` after it, a way out of the sandbox.",
        "Kept for this workspace, in ~/c/rules.toml. Type yes to save and run, anything else to go back.",
    ]
    assert decided == Decide(approval_id="a1", decision=Decision.RULE, digest="d1")


def test_denying_for_good_shows_its_rule_before_it_is_saved() -> None:
    question = replace(
        APPROVAL, choices=(Decision.DENY, Decision.DENY_RULE, Decision.DENY_AND_PAUSE), deny_rule="run make x"
    )
    decided, said = asked(question, "3", "no", "3", "yes")
    assert "  3. Deny for good: shows the rule before it is saved" in said
    at = said.index("Rule: deny run make x")
    assert said[at + 1 : at + 4] == [
        "Would deny: make x, and all that begins like it.",
        "Kept for this workspace, in ~/c/rules.toml. Type yes to save and deny, anything else to go back.",
        "save it> ",
    ]
    assert decided == Decide(approval_id="a1", decision=Decision.DENY_RULE, digest="d1")


EDIT = replace(APPROVAL, diff="--- a/a.py\n+++ b/a.py\n-old\n+new", grants=())


def test_an_edit_is_edited_by_its_files() -> None:
    def edit(texts: Mapping[str, str]) -> dict[str, str]:
        assert texts == {"a.py": "new\n"}
        return {"a.py": "mine\n"}

    for arguments in (PATCH, '{"path": "a.py", "old": "old", "new": "new"}'):
        decided, said = asked(EDIT, "4", arguments=arguments, edit=edit)
        assert "  4. Edit the result: opens $EDITOR with the patched files" in said
        assert decided == Decide(
            approval_id="a1", decision=Decision.EDIT, digest="d1", edited='made of {"a.py": "mine\\n"}'
        )


def test_nothing_edited_goes_back_to_the_choices() -> None:
    def edit(texts: Mapping[str, str]) -> dict[str, str]:
        raise EditorError("nothing was edited; the call waits as it was")

    decided, said = asked(EDIT, "4", "5", arguments=PATCH, edit=edit)
    assert "Not edited: nothing was edited; the call waits as it was." in said
    assert decided == Decide(approval_id="a1", decision=Decision.DENY, digest="d1")


def test_without_an_editor_the_patch_is_edited_in_the_line() -> None:
    decided, said = asked(EDIT, "4", "*** Mine", arguments=PATCH)
    assert "edit> *** Begin" in said
    assert isinstance(decided, Decide)
    assert decided.edited == '{"patch": "*** Mine\\n"}'
    decided, _ = asked(EDIT, "4", "5", arguments='{"path": "a.py"}')
    assert decided == Decide(approval_id="a1", decision=Decision.DENY, digest="d1")
