"""The judgement of one call: allow, ask or refuse, as plain data from plain data.

The order is fixed and each step may only be stricter than the ones after it: what never runs, deny
rules, a missing sandbox, the hard line, what a person granted, ask rules, saved rules, the policy.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

from agent_tui.engine.digest import short
from agent_tui.engine.grants import grant_steps, parse_step, smallest, step_text
from agent_tui.engine.rules import Action, Match, Rule, concerns, covers
from agent_tui.engine.types import RULES_FILE, ApprovalPolicy
from agent_tui.frozen import frozen
from sandbox.policy import Mode, Policy
from tools.types import Assessment, CallClass, Grant

By = Literal["person", "rule", "grant", "policy"]


@frozen
class Facts:
    """What is known beside the call itself."""

    policy: Policy  # the session's sandbox, without grants of single calls
    approval: ApprovalPolicy
    interactive: bool  # a person can be asked
    sandbox_available: bool

    @property
    def version(self) -> str:
        """The policy in one line; part of every digest, and stored with every question."""
        network = "net" if self.policy.network else "no-net"
        boxed = "boxed" if self.sandbox_available else "bare"
        return f"1 {self.approval} {self.policy.mode} {network} {boxed}"


@frozen
class SessionGrant:
    """What a person allowed for the rest of the session: exactly these keys, there, with this."""

    id: str  # the approval that gave it
    keys: tuple[str, ...]
    cwd: str
    step: str  # what it may do beyond the sandbox (see `engine.grants`)
    version: str  # `Facts.version` it was given under
    files: str = ""  # part of the digest for the scripts that the call names; empty: it names none
    words: str = ""  # what it covers, as the person read it


@frozen
class Allow:
    """The call may run, with this grant."""

    by: By
    step: str = ""  # what it may do beyond the sandbox (see `engine.grants`)
    scope: str = ""  # which rule or grant


@frozen
class Ask:
    """A person must decide."""

    why: str
    may_repeat: bool = True  # an answer may hold for the session or as a rule


@frozen
class Refuse:
    """The call does not run; `text` is the answer to the model."""

    text: str
    detail: str = ""  # for the card
    unavailable: bool = False  # it only needed somebody to say yes


Judgement = Allow | Ask | Refuse


def judge(
    assessment: Assessment,
    facts: Facts,
    *,
    rules: Sequence[Rule] = (),
    grants: Sequence[SessionGrant] = (),
    files: str = "",
) -> Judgement:
    """The judgement of a call; `files` is the digest of the files it names (see `SessionGrant`)."""
    if assessment.call_class is CallClass.REJECT:
        return Refuse(text=f"not run: {assessment.reason}", detail=assessment.reason)
    here = [rule for rule in rules if rule.holds_in(str(facts.policy.workspace), cwd_of(assessment, facts))]
    denied = _concerning(here, Action.DENY, _ruled_keys(assessment))
    if denied and denied[1] is Match.YES:
        return _refused_by(denied[0])
    answer = _before_policy(assessment, facts, here, grants, files)
    if answer is None and denied:
        answer = Ask(why=f"a rule of yours may deny it: {denied[0].body}; not all of the line is known")
    if answer is None:
        answer = _by_policy(assessment, facts, here, grants)
    return _unasked(answer, assessment, facts) if isinstance(answer, Ask) else answer


def cwd_of(assessment: Assessment, facts: Facts) -> str:
    return assessment.cwd or str(facts.policy.workspace)


def _before_policy(
    assessment: Assessment,
    facts: Facts,
    rules: Sequence[Rule],
    grants: Sequence[SessionGrant],
    files: str,
) -> Allow | Ask | None:
    if is_bare(assessment, facts):
        return Ask(why="no sandbox on this machine", may_repeat=False)
    if assessment.hard_line:
        return Ask(why=assessment.reason, may_repeat=False)
    granted = _by_grants(assessment, facts, grants, files)
    if granted:
        return granted
    allowed = _by_rules(assessment, rules)
    asking = _concerning(rules, Action.ASK, _ruled_keys(assessment))
    if asking and not (allowed and _is_closer(assessment, rules, asking[0])):
        return _asked_by(*asking)
    return allowed


def _ruled_keys(assessment: Assessment) -> tuple[str, ...]:
    """What deny and ask rules are held against: the host that a command wants, too."""
    return (*assessment.keys, *_host_key(assessment))


def _host_key(assessment: Assessment) -> tuple[str, ...]:
    return (f"host {assessment.grant_detail}",) if assessment.grant is Grant.HOST else ()


def is_bare(assessment: Assessment, facts: Facts) -> bool:
    """Whether the call runs a process on a machine that cannot sandbox it."""
    runs = assessment.action in ("command", "input")
    return runs and not facts.sandbox_available and facts.policy.mode is not Mode.OFF


def _concerning(rules: Iterable[Rule], action: Action, keys: Sequence[str]) -> tuple[Rule, Match] | None:
    """The rule of this action that concerns the call, a sure one before a possible one."""
    maybe = None
    for rule in rules:
        if rule.action is not action:
            continue
        found = {concerns(rule, key) for key in keys}
        if Match.YES in found:
            return rule, Match.YES
        if Match.MAYBE in found and maybe is None:
            maybe = rule, Match.MAYBE
    return maybe


def _refused_by(rule: Rule) -> Refuse:
    where = f"{RULES_FILE}, line {rule.line}" if rule.line else RULES_FILE
    return Refuse(
        text=f"not run: a rule of the user denies `{rule.body}`; do it another way or ask the user",
        detail=f"by rule, {where}",
    )


def _asked_by(rule: Rule, match: Match) -> Ask:
    where = f" ({RULES_FILE}, line {rule.line})" if rule.line else ""
    if match is Match.MAYBE:
        return Ask(why=f"your rule may ask: {rule.body}{where}; not all of the line is known")
    return Ask(why=f"your rule asks: {rule.body}{where}")


def needed_keys(keys: Sequence[str]) -> tuple[str, ...]:
    """The keys that must be covered; `in` keys only tell ask and deny rules what runs inside."""
    return tuple(key for key in keys if not key.startswith("in "))


def _by_grants(
    assessment: Assessment, facts: Facts, grants: Sequence[SessionGrant], files: str
) -> Allow | None:
    fitting = [
        grant
        for grant in grants
        if grant.cwd == cwd_of(assessment, facts)
        and not is_stricter(facts.version, than=grant.version)
        and grant.files in ("", short(files))
    ]
    offers = [(grant.step, grant.keys, grant.words) for grant in fitting]
    for step in _steps(assessment, [grant.step for grant in fitting]):
        keys = {key: words for given, keys, words in offers if given == step for key in keys}
        needed = needed_keys(assessment.keys)
        if needed and all(key in keys for key in needed):
            return Allow(by="grant", step=step, scope=keys[needed[0]])
    return None


def _by_rules(assessment: Assessment, rules: Sequence[Rule]) -> Allow | None:
    allowing = [rule for rule in rules if rule.action is Action.ALLOW]
    for step in _steps(assessment, [step_text(rule.grant, rule.grant_detail) for rule in allowing]):
        same = [rule for rule in allowing if step_text(rule.grant, rule.grant_detail) == step]
        needed = needed_keys(assessment.keys)
        used = [next((rule for rule in same if covers(rule, key)), None) for key in needed]
        if used and used[0] is not None and all(used):
            return Allow(by="rule", step=step, scope=used[0].pattern)
    return None


def _steps(assessment: Assessment, given: Sequence[str]) -> list[str]:
    """The given steps that are enough for the call, widest first. All of a line runs in one sandbox,
    so its parts are never put together from different steps."""
    ranks = {grant: rank for rank, grant in enumerate(Grant)}
    enough = set(given) if assessment.grant is Grant.NONE else set(given) & set(grant_steps(assessment))
    return sorted(enough, key=lambda step: ranks[parse_step(step)[0]], reverse=True)


def _is_closer(assessment: Assessment, rules: Sequence[Rule], asking: Rule) -> bool:
    """An allow rule for exactly this beats an ask rule for things like it."""
    exact = [rule for rule in rules if rule.action is Action.ALLOW and rule.is_exact]
    return asking.pattern not in {rule.pattern for rule in exact} and all(
        any(covers(rule, key) for rule in exact) for key in needed_keys(assessment.keys)
    )


def _by_policy(
    assessment: Assessment, facts: Facts, rules: Sequence[Rule], grants: Sequence[SessionGrant]
) -> Allow | Ask:
    if facts.approval is ApprovalPolicy.UNTRUSTED:
        return _untrusted(assessment)
    if facts.policy.mode is Mode.OFF and assessment.action in ("command", "input"):
        # `-s off` is the person's word that nothing holds a command back, `never` that none asks
        if facts.approval is ApprovalPolicy.NEVER or assessment.call_class is CallClass.AUTO:
            return Allow(by="policy")
        return Ask(why=assessment.reason)
    if assessment.grant is not Grant.NONE:
        return _by_host(assessment, facts, rules, grants) or _grant_by_policy(assessment, facts)
    if assessment.action == "edit" and facts.policy.mode is Mode.READ_ONLY:
        return Ask(why="the workspace is read-only in this session")
    if assessment.action == "network" and facts.policy.network:  # switched on since the command began
        return Allow(by="policy")
    if assessment.action in ("tool", "network") and assessment.call_class is CallClass.ASK:
        return Ask(why=assessment.reason)
    return Allow(by="policy")


def _untrusted(assessment: Assessment) -> Allow | Ask:
    if assessment.call_class is CallClass.AUTO and assessment.grant is Grant.NONE:
        return Allow(by="policy")
    if assessment.action == "edit" and assessment.grant is Grant.NONE:
        return Ask(why="`untrusted`: edits ask first")
    return Ask(why=assessment.reason)


def _by_host(
    assessment: Assessment, facts: Facts, rules: Sequence[Rule], grants: Sequence[SessionGrant]
) -> Allow | None:
    """A command that only needs a host which a person has allowed runs with it, and with nothing else."""
    if assessment.action != "command" or assessment.needs_more:
        return None
    for key in _host_key(assessment):
        for grant in grants:
            if key in grant.keys and not is_stricter(facts.version, than=grant.version):
                return Allow(by="grant", step=smallest(assessment), scope=grant.words)
        for rule in rules:
            if rule.action is Action.ALLOW and covers(rule, key):
                return Allow(by="rule", step=smallest(assessment), scope=rule.pattern)
    return None


def _grant_by_policy(assessment: Assessment, facts: Facts) -> Allow | Ask:
    if assessment.grant_is_automatic and facts.policy.mode is Mode.WORKSPACE_WRITE:
        return Allow(by="policy", step=smallest(assessment))
    return Ask(why=assessment.reason)


def _unasked(ask: Ask, assessment: Assessment, facts: Facts) -> Ask | Refuse:
    """Under `never`, or with nobody there, what would ask is refused, and says so."""
    if facts.interactive and facts.approval is not ApprovalPolicy.NEVER:
        return ask
    who = "approvals are off in this session" if facts.interactive else "nobody can be asked in this run"
    return Refuse(
        text=f"approval unavailable: {ask.why}. It was not run: {who}. {_instead(assessment)}",
        detail=ask.why,
        unavailable=not facts.interactive,
    )


def _instead(assessment: Assessment) -> str:
    if assessment.grant is Grant.GIT_LANE:
        return (
            "Run git write commands by themselves, as plain words without substitutions: add, commit, "
            "branch, checkout, switch, stash, tag, merge, rebase and worktree need no approval that way"
        )
    if assessment.hard_line:
        return "Do not try it in another form; tell the user what should be run and why"
    if assessment.grant is Grant.NONE:  # it needs nothing beyond the sandbox, so nothing inside it is left
        return "Go on without it, and tell the user what was not done"
    return "Go on without it, or do it inside the workspace and the sandbox"


_APPROVAL = {"untrusted": 0, "on-request": 1, "never": 2}
_MODE = {"read-only": 0, "workspace-write": 1, "off": 2}


def is_stricter(version: str, *, than: str) -> bool:
    """Whether one policy version allows less than another in any respect, or is unlike it."""
    new, old = version.split(), than.split()
    if len(new) != len(old) or new[:1] != old[:1]:
        return True
    ranks = ({"1": 0}, _APPROVAL, _MODE, {"no-net": 0, "net": 1}, {"bare": 0, "boxed": 1})
    return any(rank[a] < rank[b] for rank, a, b in zip(ranks, new, old, strict=True))
