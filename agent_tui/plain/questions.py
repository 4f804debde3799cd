"""Approvals and questions as numbered lists: what is printed, and what an answer means."""

import json
import time
from collections.abc import Sequence
from typing import Any

from agent_tui import granted
from agent_tui.engine.commands import Answer, CommandBody, Decide, Settle
from agent_tui.engine.events import ApprovalAsked, LostResultAsked, QuestionAsked
from agent_tui.engine.types import Decision
from agent_tui.frozen import frozen
from agent_tui.plain.facts import spoken
from agent_tui.plain.words import changes_text
from agent_tui.safe_text import one_line, visible, warnings
from agent_tui.short_path import short_path
from tools.types import Grant

PAGE_LINES = 40

Question = ApprovalAsked | QuestionAsked | LostResultAsked

_LABELS = {
    Decision.ONCE: "Allow once",
    Decision.SESSION: "Allow for this session",
    Decision.RULE: "Save a rule",
    Decision.EDIT: "Edit the command",
    Decision.DENY: "Deny",
    Decision.DENY_RULE: "Deny for good",
    Decision.DENY_AND_PAUSE: "Deny and pause",
}
_KINDS = {"command": "Command", "edit": "Edit", "network": "Network", "read": "Read", "input": "Input"}
OTHER_GRANT = "\0grant"  # value of the choice that leads to a list of grants
EDIT_FILES = "\0edit"  # of the one that leads to an editor
_NO_ANSWER = "\0none"
_AGAIN = "Type yes to run it again: it may act twice"
_BACK = "Type yes to roll back"


@frozen
class Choice:
    """One numbered line; `needs` is the prompt of a second question, empty for none."""

    label: str
    value: str
    needs: str = ""
    prefill: str = ""
    sure: str = ""  # what is said before a yes must be typed; empty: it counts at once


def question_id(question: Question) -> str:
    """The id its answer names."""
    return question.approval_id if isinstance(question, ApprovalAsked) else question.question_id


def parts(
    question: Question, number: int, total: int, *, is_spoken: bool = False
) -> tuple[str, list[str], list[str]]:
    """The heading, the object, which is paged when long, and the facts under it; `is_spoken` is for a screen
    reader."""
    place = f"{number} of {total}"
    match question:
        case ApprovalAsked():
            shown = question.diff or question.assessment.shown
            lines = visible(shown, strict=True).splitlines() or [""]
            body = [f"  {spoken(line) if is_spoken and question.diff else line}" for line in lines]
            facts = [f"Beware: {said}." for said in warnings(_named(question, shown))] + _as_parsed(question)
            where = question.during or short_path(question.cwd)
            facts.append(f"In: {one_line(where, strict=True)}")
            facts.append(f"Why: {one_line(question.why)}.")
            if question.assessment.reason.casefold() not in question.why.casefold():
                facts.append(f"Because: {one_line(question.assessment.reason)}.")
            if question.first_attempt:
                facts.append(f"Changes: {one_line(question.first_attempt)}.")
            facts += grant_facts(question, grants(question)[0])
            return f"Approval needed, {place}. {_kind(question)}:", body, facts
        case LostResultAsked():
            body = [f"  {line}" for line in visible(question.shown, strict=True).splitlines()]
            return "A result was lost. This call may have run:", body, _lost_facts(question)
        case QuestionAsked():
            return f"Question, {place}:", visible(question.text).splitlines(), []


def _named(question: ApprovalAsked, shown: str) -> str:
    """All that a lookalike may stand in."""
    assessment = question.assessment
    return f"{shown}\n{assessment.grant_detail}" if assessment.grant is Grant.HOST else shown


def _as_parsed(question: ApprovalAsked) -> list[str]:
    """How a command of several lines was understood, and what a person should see in it."""
    assessment = question.assessment
    if "\n" not in assessment.shown or not assessment.parsed:
        return []
    notes = [f"Line {number}: {one_line(said)}." for number, said in assessment.notes]
    return [f"As parsed: {one_line(assessment.parsed.replace(' · ', ', '), strict=True)}", *notes]


def _lost_facts(question: LostResultAsked) -> list[str]:
    started = time.strftime("%H:%M:%S", time.localtime(question.started_at))
    printed = visible(question.output).splitlines()
    facts = [f"In: {one_line(short_path(question.cwd), strict=True)}"] if question.cwd else []
    facts.append(f"Started: {started}; {one_line(question.facts)}.")
    facts += ["Output, its last lines:", *(f"  {line}" for line in printed)] if printed else ["Output: none."]
    return facts + ([f"Changes: {changes_text(question.changes)}"] if question.changes else [])


def _kind(question: ApprovalAsked) -> str:
    kind = _KINDS.get(question.assessment.action, "Call")
    asked = grants(question)[0].partition(" ")[0]
    if kind != "Command" or asked in ("", "git_lane"):
        return kind
    return f"Command that {'needs the network' if asked in ('network', 'host') else 'leaves the sandbox'}"


def grants(question: ApprovalAsked) -> list[str]:
    """The grant that is asked for, empty for none, and the others that could be given; the widest last."""
    assessment = question.assessment
    kind = "" if assessment.grant is Grant.NONE else assessment.grant.value
    asked = f"{kind} {assessment.grant_detail}".strip() if kind else ""
    return [asked, *(grant for grant in question.grants if grant != asked)]


def grant_words(grant: str) -> str:
    """A grant in words."""
    return one_line(granted.in_words(grant), strict=True) or "nothing beyond the sandbox"


def grant_facts(question: ApprovalAsked, grant: str) -> list[str]:
    """What the call would run with."""
    sandbox = f"Sandbox: {one_line(question.sandbox, strict=True)}."
    if not grant:
        return [sandbox]
    if grant.startswith(Grant.NO_SANDBOX):
        return [f"Grant: {grant_words(grant)}.", "Sandbox: none for this command."]
    if grant != grants(question)[0]:
        sandbox = f"Sandbox: {granted.under_wider(grants(question)[0])}."
    return [f"Grant: {grant_words(grant)}, for this command.", sandbox]


def choices(question: Question, grant: str = "", waiting: int = 1) -> list[Choice]:
    """The numbered lines of a question; `grant` is the one that would be given, `waiting` counts the
    approvals that are open."""
    match question:
        case ApprovalAsked():
            return _approval_choices(question, grant or grants(question)[0], waiting)
        case LostResultAsked():
            return _lost_choices(question)
        case QuestionAsked():
            found = [Choice(label=visible(option), value=option) for option in question.options]
            if question.free_text or not found:
                found.append(Choice(label="Answer in your own words", value="", needs="answer"))
            return [*found, Choice(label="No answer, and pause", value=_NO_ANSWER)]


def _lost_choices(question: LostResultAsked) -> list[Choice]:
    found = [Choice(label="Keep what it did: the model is told and looks before repeating", value="keep")]
    if question.checkpoint_id:
        where = f"rollback to {one_line(question.checkpoint_id, strict=True)}, with preview"
        found.append(Choice(label=f"Go back to before it: {where}", value="rollback", sure=_BACK))
    again = Choice(label="Run it again: after you confirm; it may act twice", value="again", sure=_AGAIN)
    stop = Choice(label="Stop here: decide later; the session stays as it is", value="stop")
    return [*found, again, stop]


def _approval_choices(question: ApprovalAsked, grant: str, waiting: int) -> list[Choice]:
    """Nothing lasting goes with no sandbox, and what allows more than was asked for is chosen last."""
    found: list[Choice] = []
    is_open = grant.startswith(Grant.NO_SANDBOX)
    for decision in question.choices:
        label = _LABELS[decision]
        if decision in (Decision.SESSION, Decision.RULE) and is_open:
            continue
        if decision is Decision.EDIT:
            found.append(_edit(question))
            continue
        if decision is Decision.ONCE:
            label = _once(question, grant) + (", while this command runs" if question.during else "")
        if decision is Decision.SESSION and question.session_key:
            label += f": {one_line(question.session_key, strict=True)}"
        if decision in (Decision.RULE, Decision.DENY_RULE):
            label += ": shows the rule before it is saved"
        if decision is Decision.DENY and question.during:
            label += ": the connection is refused, the command goes on"
        if decision is Decision.DENY_AND_PAUSE and waiting > 1:
            label = f"Deny all {waiting} that wait, and pause"
        found.append(Choice(label=label, value=decision))
        if decision is Decision.DENY:
            found.append(
                Choice(label="Deny and say what to do instead", value=decision, needs="deny, and say")
            )
    if len(grants(question)) > 1:
        found.append(Choice(label="Choose another grant; the widest is the last of them", value=OTHER_GRANT))
    return found


def _once(question: ApprovalAsked, grant: str) -> str:
    start = "Run again" if question.first_attempt else _LABELS[Decision.ONCE]
    if grant.startswith(Grant.NO_SANDBOX):
        return f"{start} WITHOUT A SANDBOX"
    return f"{start} with this grant" if grant else start


def _edit(question: ApprovalAsked) -> Choice:
    if question.diff:
        return Choice(label="Edit the result: opens $EDITOR with the patched files", value=EDIT_FILES)
    shown = question.assessment.shown
    return Choice(label="Edit the command", value=Decision.EDIT, needs="edit", prefill=shown)


def patch_of(arguments: str) -> str:
    """The patch among the arguments of a call; empty where there is none."""
    patch = _loaded(arguments).get("patch")
    return patch if isinstance(patch, str) else ""


def with_patch(arguments: str, patch: str) -> str:
    """The arguments with another patch."""
    ended = patch if patch.endswith("\n") else patch + "\n"
    return json.dumps({**_loaded(arguments), "patch": ended}, ensure_ascii=False)


def _loaded(arguments: str) -> dict[str, Any]:
    try:
        data = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def no_answer(question: Question) -> CommandBody:
    """The answer that allows nothing."""
    match question:
        case ApprovalAsked():
            value: str = Decision.DENY_AND_PAUSE
        case LostResultAsked():
            value = "stop"
        case QuestionAsked():
            value = _NO_ANSWER
    return answer(question, Choice(label="", value=value), "")


def rule_lines(question: ApprovalAsked, decision: str, kept_in: str) -> list[str]:
    """What saving a rule in that file would mean, one that allows or one that denies; printed before it is
    confirmed."""
    kept = f"Kept for this workspace, in {one_line(kept_in, strict=True)}."
    if decision == Decision.DENY_RULE:
        rule = one_line(question.deny_rule, strict=True)
        kind, _, body = rule.partition(" ")
        more = ", and all that begins like it" if kind in ("run", "edit", "read", "write") else ""
        lines = [f"Rule: deny {rule}", f"Would deny: {body}{more}."]
        return [*lines, f"{kept} Type yes to save and deny, anything else to go back."]
    lines = [
        f"Rule: {one_line(question.rule, strict=True)}",
        f"Would allow: {one_line(question.rule_allows, strict=True)}",
    ]
    if refused := granted.NOT_BY_RULE.get(question.rule.partition(" ")[0]):
        lines.append(f"Would not allow: {refused}.")
    for number, rule in enumerate(question.wider_rules, 2):
        lines.append(f"{number}. With one word that may vary: {one_line(rule, strict=True)}")
    wider = ", a number for a wider one" if question.wider_rules else ""
    return [*lines, f"{kept} Type yes to save and run{wider}, anything else to go back."]


def answer(question: Question, choice: Choice, text: str, *, rule: str = "", grant: str = "") -> CommandBody:
    """The command for a choice, the text typed for it, and a grant other than the one asked for."""
    match question:
        case ApprovalAsked():
            edited = choice.value in (Decision.EDIT, EDIT_FILES)
            return Decide(
                approval_id=question.approval_id,
                decision=Decision.EDIT if edited else Decision(choice.value),
                digest=question.digest,
                feedback="" if edited else text,
                edited=text if edited else "",
                grant=grant,
                rule=rule if rule != question.rule else "",
            )
        case LostResultAsked():
            return _settle(question, choice.value)
        case QuestionAsked():
            if choice.value == _NO_ANSWER:
                return Answer(question_id=question.question_id, text=None)
            return Answer(question_id=question.question_id, text=text or choice.value)


def _settle(question: LostResultAsked, value: str) -> Settle:
    for known in ("keep", "rollback", "again", "stop"):
        if value == known:
            return Settle(question_id=question.question_id, choice=known)
    raise ValueError(f"unknown choice {value!r}")


def pages(lines: Sequence[str]) -> list[list[str]]:
    """A long object in parts; one part for a short one."""
    return [list(lines[at : at + PAGE_LINES]) for at in range(0, len(lines), PAGE_LINES)] or [[]]
