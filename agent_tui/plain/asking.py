"""Puts one question: its object in pages, its facts, its numbered choices, and what a choice needs."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from agent_tui.engine.commands import CommandBody, Subject
from agent_tui.engine.events import ApprovalAsked, LostResultAsked
from agent_tui.engine.types import Decision
from agent_tui.external_editor import EditorError, NoEditorError
from agent_tui.plain import facts, questions
from agent_tui.plain.choosing import index_of
from agent_tui.plain.questions import Choice, Question
from agent_tui.safe_text import one_line


class Terms(Protocol):
    """What a question needs of the line-mode interface."""

    def say(self, *lines: str) -> None:
        """Print lines."""

    async def read(self, prompt: str, draft: str = "") -> str | None:
        """A line; None when it was set aside. Raises Interrupted, also at the end of the input."""

    async def facts(self, subject: Subject, **args: str) -> Any | None:
        """What an `Inspect` gives; None after its refusal was printed."""

    async def edit(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Those of the texts, by path, that the person's own editor changed. Raises EditorError."""


class Asking:
    """One question, from its first line to its answer."""

    def __init__(
        self, terms: Terms, question: Question, *, arguments: str, waiting: int, is_spoken: bool, rules: str
    ) -> None:
        self._terms = terms
        self._question = question
        self._arguments = arguments  # of its call
        self._waiting = waiting  # approvals that are open
        self._is_spoken = is_spoken  # for a screen reader
        self._rules = rules  # the file that a saved rule goes to, as it is shown
        self._grant = ""  # other than the one that is asked for

    async def answer(self, number: int, total: int) -> CommandBody | None:
        """The command that answers it; None where it was set aside. Raises Interrupted."""
        heading, body, known = questions.parts(self._question, number, total, is_spoken=self._is_spoken)
        self._terms.say(heading)
        if not await self._show_pages(body):
            return None
        self._terms.say(*known)
        while (choice := await self._choice()) is not None:
            if choice.value == questions.OTHER_GRANT:
                if not await self._other_grant():
                    return None
                continue
            text = await self._text(choice)
            if text is None:
                return None
            if choice.value == questions.EDIT_FILES and not text:
                continue
            if choice.sure and not await self._is_sure(choice):
                continue
            saves = choice.value in (Decision.RULE, Decision.DENY_RULE)
            rule = await self._which_rule(choice.value) if saves else ""
            if rule is not None:
                return questions.answer(self._question, choice, text, rule=rule, grant=self._grant)
        return None

    async def _text(self, choice: Choice) -> str | None:
        """What goes with a choice; None where the line was set aside."""
        if choice.value == questions.EDIT_FILES:
            return await self._edited()
        return await self._terms.read(f"{choice.needs}> ", choice.prefill) if choice.needs else ""

    async def _edited(self) -> str | None:
        """The arguments of an edit after the person changed what it would leave; empty goes back."""
        call, patch = self._question.call_id, questions.patch_of(self._arguments)
        texts = await self._terms.facts(Subject.EDIT, call=call) or {}
        files = {path: text for path, text in texts.items() if text is not None}
        try:
            if files:
                changed = json.dumps(await self._terms.edit(files), ensure_ascii=False)
                return await self._terms.facts(Subject.EDITED, call=call, texts=changed) or ""
            if patch:
                (again,) = (await self._terms.edit({"edit.patch": patch})).values()
                return questions.with_patch(self._arguments, again)
        except EditorError as error:
            self._terms.say(f"Not edited: {one_line(str(error))}.")
            if patch and isinstance(error, NoEditorError):  # a line holds it too
                line = await self._terms.read("edit> ", patch)
                return line and questions.with_patch(self._arguments, line)
        return ""

    async def _choice(self) -> Choice | None:
        offered = questions.choices(self._question, self._grant, self._waiting)
        self._terms.say(*facts.numbered([choice.label for choice in offered]))
        at = await self._number(f"answer 1 to {len(offered)}> ", len(offered))
        return None if at is None else offered[at]

    async def _number(self, prompt: str, count: int) -> int | None:
        """Index of a line that is typed by its number."""
        while (typed := await self._terms.read(prompt)) is not None:
            if (at := index_of(typed, count)) is not None:
                return at
            self._terms.say(f"Type a number from 1 to {count}; commands such as /quit come after it.")
        return None

    async def _show_pages(self, lines: Sequence[str]) -> bool:
        parts = questions.pages(lines)
        done = 0
        for part in parts[:-1]:
            self._terms.say(*part)
            done += len(part)
            place = f"Line {done - len(part) + 1} to {done} of {len(lines)}"
            if await self._terms.read(f"{place}. Enter for more> ") is None:
                return False
        self._terms.say(*parts[-1])
        return True

    async def _other_grant(self) -> bool:
        assert isinstance(self._question, ApprovalAsked)
        offered = questions.grants(self._question)
        self._terms.say(
            "Grants, the widest last:", *facts.numbered([questions.grant_words(each) for each in offered])
        )
        at = await self._number(f"grant 1 to {len(offered)}> ", len(offered))
        if at is None:
            return False
        self._grant = offered[at] if at else ""
        self._terms.say(*questions.grant_facts(self._question, offered[at]))
        return True

    async def _is_sure(self, choice: Choice) -> bool:
        goes_back = isinstance(self._question, LostResultAsked) and choice.value == "rollback"
        if goes_back and not await self._show_plan():
            return False
        self._terms.say(f"{choice.sure}, anything else to go back.")
        return await self._terms.read("roll back> " if goes_back else "run it again> ") == "yes"

    async def _show_plan(self) -> bool:
        """What a rollback to before the lost call would do; False where that cannot be told."""
        assert isinstance(self._question, LostResultAsked)
        target = self._question.checkpoint_id
        plan = await self._terms.facts(Subject.ROLLBACK_PLAN, id=target)
        if plan is not None:
            self._terms.say(f"Rollback to before {one_line(target, strict=True)}:", *facts.plan(plan))
        return plan is not None

    async def _which_rule(self, decision: str) -> str | None:
        """The rule to save; None goes back."""
        assert isinstance(self._question, ApprovalAsked)
        denies = decision == Decision.DENY_RULE
        rules = [""] if denies else [self._question.rule, *self._question.wider_rules]
        self._terms.say(*questions.rule_lines(self._question, decision, self._rules))
        typed = await self._terms.read("save it> ") or ""
        at = 0 if typed == "yes" else index_of(typed, len(rules))
        return None if at is None else rules[at]
