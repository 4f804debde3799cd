"""The question about one call, as the stored event: what is shown, what could be answered."""

from dataclasses import replace

from agent_tui.engine.digest import digest_of, files_digest
from agent_tui.engine.events import ApprovalAsked
from agent_tui.engine.grants import apply_grant, grant_steps, smallest
from agent_tui.engine.judgement import Facts, cwd_of, is_bare, needed_keys
from agent_tui.engine.ports import GatedCall
from agent_tui.engine.rule_scope import breadth, describe, widenings
from agent_tui.engine.rules import UNKNOWN_WORD, Action, Rule
from agent_tui.engine.types import Decision
from agent_tui.engine.words import sandbox_in_short, sandbox_words, session_words
from agent_tui.frozen import frozen
from tools.types import Grant

MOST_WHY = 300  # characters; what a model can lengthen stands whole in the reason of the assessment
_WITH_RULES = ("command", "network", "tool")  # edits and reads are granted for a session at most
_DENIED_BY_RULE = ("run", "line", "edit", "read", "write", "host", "tool")
_ONE_HOST = "unchanged; only this host becomes reachable"


@frozen
class Question:
    """Why somebody is asked, and how far an answer may reach."""

    why: str
    may_repeat: bool = True
    first_attempt: str = ""  # set: the call ran in the sandbox and was denied there


def ask_about(
    call: GatedCall, facts: Facts, question: Question, *, approval_id: str, expires_at: float
) -> ApprovalAsked:
    """The whole question; `call.assessment` holds the grant that is asked for."""
    step = smallest(call.assessment)
    repeats = question.may_repeat and not is_bare(call.assessment, facts) and step != Grant.NO_SANDBOX
    rules = saved_rules(call, facts) if repeats and not question.first_attempt else ()
    sandbox = apply_grant(facts.policy, call.assessment, step)
    return ApprovalAsked(
        approval_id=approval_id,
        call_id=call.call_id,
        tool=call.tool,
        assessment=call.assessment,
        cwd=cwd_of(call.assessment, facts),
        why=question.why if len(question.why) <= MOST_WHY else f"{question.why[:MOST_WHY]}…",
        sandbox=_ONE_HOST if call.during else sandbox_words(sandbox, facts),
        sandbox_short=_ONE_HOST if call.during else sandbox_in_short(sandbox, facts),
        digest=call_digest(call, facts),
        choices=_choices(
            call, repeats, bool(rules), bool(question.first_attempt), bool(denying_rules(call, facts))
        ),
        session_key=session_words(call.assessment, step) if repeats else "",
        rule="\n".join(rule.pattern for rule in rules),
        rule_allows="\n".join(describe(rule) for rule in rules),
        deny_rule="".join(rule.pattern for rule in denying_rules(call, facts)),
        wider_rules=widenings(rules[0].pattern) if len(rules) == 1 else (),
        first_attempt=question.first_attempt,
        diff=call.diff,
        expires_at=expires_at,
        policy=facts.version,
        during=call.during,
        grants=() if is_bare(call.assessment, facts) else grant_steps(call.assessment),
    )


def call_digest(call: GatedCall, facts: Facts) -> str:
    """What the answer is bound to; reads the files that the call names."""
    return digest_of(
        tool=call.tool,
        arguments=call.arguments,
        cwd=cwd_of(call.assessment, facts),
        sandbox=facts.policy,
        files=files_digest(call.assessment.files),
        policy=facts.version,
    )


def saved_rules(call: GatedCall, facts: Facts) -> tuple[Rule, ...]:
    """The rules that `save a rule` would write; none where one of them would be too broad."""
    assessment = call.assessment
    keys = needed_keys(assessment.keys)
    if assessment.action not in _WITH_RULES or f"in {UNKNOWN_WORD}" in assessment.keys:
        return ()
    if any(breadth(key) for key in keys):
        return ()
    is_command = assessment.action == "command"
    return tuple(
        Rule(
            action=Action.ALLOW,
            pattern=key,
            workspace=str(facts.policy.workspace),
            directory=cwd_of(assessment, facts) if is_command else "",
            grant=assessment.grant if is_command else Grant.NONE,
            grant_detail=assessment.grant_detail if is_command else "",
        )
        for key in dict.fromkeys(keys)
    )


def denying_rules(call: GatedCall, facts: Facts) -> tuple[Rule, ...]:
    """The rule that `deny for good` would write. None for a call of several parts, of which one alone may
    be meant, and none where a way out of the sandbox is what is refused."""
    keys = needed_keys(call.assessment.keys)
    if len(keys) != 1 or call.assessment.grant is not Grant.NONE or UNKNOWN_WORD in keys[0]:
        return ()
    rule = Rule(action=Action.DENY, pattern=keys[0], workspace=str(facts.policy.workspace))
    return (rule,) if rule.kind in _DENIED_BY_RULE and rule.body else ()


def varied(rules: tuple[Rule, ...], pattern: str) -> tuple[Rule, ...]:
    """The rules with the offered pattern in place of the one that was shown."""
    if not pattern or len(rules) != 1 or pattern not in widenings(rules[0].pattern):
        return rules
    return (replace(rules[0], pattern=pattern),)


def _choices(
    call: GatedCall, repeats: bool, has_rules: bool, ran: bool, may_end: bool
) -> tuple[Decision, ...]:
    can_edit = call.assessment.action in ("command", "edit") and not ran
    offered = (
        (Decision.ONCE, True),
        (Decision.SESSION, repeats),
        (Decision.RULE, has_rules),
        (Decision.EDIT, can_edit),
        (Decision.DENY, True),
        (Decision.DENY_RULE, may_end and not ran),
        (Decision.DENY_AND_PAUSE, True),
    )
    return tuple(decision for decision, possible in offered if possible)
