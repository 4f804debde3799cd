"""The gate: the one judge of every call, with the session's grants, rules and policy.

How to call it (`engine.ports.Gate` has the contract): `judge` before a call. On `ask` store
`verdict.asked`, wait, store the decision, then `settle`; on `ask` again put the new question. After a
run whose outcome names a denial, `escalate`. At resume `restore` each stored decision in order. An
`allow` carries the policy to run in; nothing else may widen it. Three `unavailable` answers in a row
(`UNAVAILABLE_LIMIT`) end a run as `approval_unavailable`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent_tui.engine.digest import difference, files_digest, files_part
from agent_tui.engine.events import ApprovalAsked, ApprovalDecided
from agent_tui.engine.grants import apply_grant, parse_step, smallest
from agent_tui.engine.judgement import (
    Allow,
    Ask,
    By,
    Judgement,
    Refuse,
    SessionGrant,
    is_bare,
    is_stricter,
    judge,
    needed_keys,
)
from agent_tui.engine.ports import GatedCall, Verdict
from agent_tui.engine.question import Question, ask_about, call_digest, denying_rules, saved_rules, varied
from agent_tui.engine.rule_scope import describe
from agent_tui.engine.rules_file import load_rules, remove_rule, save_rules
from agent_tui.engine.session_policy import session_facts, with_setting
from agent_tui.engine.types import RULES_FILE, ApprovalPolicy, Config, Decision
from agent_tui.engine.words import denial_text, left_behind
from agent_tui.errors import AgentError
from agent_tui.granted import in_words
from checkpoints.types import FileChange
from sandbox.policy import Mode, Policy
from tools.types import Assessment, Grant, Outcome

UNAVAILABLE_LIMIT = 3
EXPIRY_S = 24 * 3600.0  # a question left open longer is asked afresh

_DENIALS = (Decision.DENY, Decision.DENY_RULE, Decision.DENY_AND_PAUSE)


class SessionGate:
    """`engine.ports.Gate` for one session; raises UsageError when the rules file is unreadable."""

    def __init__(self, config: Config, *, sandbox_available: bool, now: Callable[[], float]) -> None:
        self._now = now
        self._rules_path = config.config_dir / RULES_FILE
        self._rules = load_rules(self._rules_path)
        self._grants: dict[str, SessionGrant] = {}
        self._facts = session_facts(config, sandbox_available=sandbox_available)

    def policy(self) -> Policy:
        """The sandbox of the session as set now."""
        return self._facts.policy

    def approval(self) -> ApprovalPolicy:
        """When a call asks, as set now."""
        return self._facts.approval

    def judge(self, call: GatedCall, approval_id: str) -> Verdict:
        """Allow, ask or deny before a person is asked."""
        match self._judged(call.assessment):
            case Allow() as judgement:
                return self._allowed(call, judgement.step, by=judgement.by, scope=judgement.scope)
            case Refuse() as judgement:
                return Verdict(
                    kind="deny",
                    by="rule" if judgement.detail.startswith("by rule") else "policy",
                    text=judgement.text,
                    detail=judgement.detail,
                    unavailable=judgement.unavailable,
                )
            case Ask() as judgement:
                question = Question(why=judgement.why, may_repeat=judgement.may_repeat)
                return self._ask(call, question, approval_id)

    def _judged(self, assessment: Assessment) -> Judgement:
        return judge(
            assessment,
            self._facts,
            rules=self._rules,
            grants=tuple(self._grants.values()),
            files=files_digest(assessment.files),
        )

    def settle(self, call: GatedCall, asked: ApprovalAsked, decided: ApprovalDecided) -> Verdict:
        """What a decision comes to; nothing is allowed that is not what was shown."""
        if decided.decision in _DENIALS:
            detail = "by you"
            if decided.decision is Decision.DENY_RULE:
                detail = f"by you, {self._save_denial(call, asked)}"
            return Verdict(kind="deny", by=decided.by, text=denial_text(decided), detail=detail)
        if decided.decision is Decision.EDIT:
            return self._settle_edit(call, asked)
        shown = replace(call, assessment=asked.assessment)
        stale = self._stale(call, asked, decided)
        if stale:
            return self._again(shown, asked, stale)
        step = decided.grant or smallest(asked.assessment)
        scope = ""
        if decided.decision is Decision.SESSION:
            scope = self._grant_session(asked, step)
        elif decided.decision is Decision.RULE:
            scope = self._save(shown, decided.scope)
        return self._allowed(shown, step, by="person", scope=scope)

    def _stale(self, call: GatedCall, asked: ApprovalAsked, decided: ApprovalDecided) -> str:
        """Why the answer no longer holds; empty when it does."""
        if decided.decision not in asked.choices or (decided.grant and decided.grant not in asked.grants):
            return "that answer was not on offer"
        if asked.expires_at is not None and self._now() > asked.expires_at:
            return "the question was open for too long"
        return difference(asked.digest, call_digest(call, self._facts))

    def _settle_edit(self, call: GatedCall, asked: ApprovalAsked) -> Verdict:
        """The person wrote the new call, so it runs, unless it is more than what was asked about."""
        again = self.judge(call, _next_id(asked.approval_id))
        if again.kind != "ask":
            return replace(again, by="person") if again.kind == "allow" else again
        wanted = smallest(call.assessment)
        more = wanted not in ("", smallest(asked.assessment))
        if more or (call.assessment.hard_line and not asked.assessment.hard_line):
            return again
        return self._allowed(call, wanted, by="person", scope="")

    def escalate(
        self, call: GatedCall, outcome: Outcome, changes: Sequence[FileChange], approval_id: str
    ) -> ApprovalAsked | None:
        """The question after the sandbox denied a call; None where nothing known would help."""
        nobody = not self._facts.interactive or self._facts.approval is ApprovalPolicy.NEVER
        if outcome.denied_grant is Grant.NONE or nobody:
            return None
        wider = replace(
            call.assessment,
            grant=outcome.denied_grant,
            grant_detail=outcome.denied_detail,
            grant_is_automatic=False,
            read_only=False,
        )
        if isinstance(self._judged(wider), Refuse):  # a rule denies that host
            return None
        question = Question(
            why=f"it ran in the sandbox and failed: {outcome.denial}",
            may_repeat=not wider.hard_line,
            first_attempt=left_behind(changes),
        )
        return self._ask(replace(call, assessment=wider), question, approval_id).asked

    def digest(self, call: GatedCall) -> str:
        """See `engine.digest`."""
        return call_digest(call, self._facts)

    def restore(self, asked: ApprovalAsked, decided: ApprovalDecided) -> None:
        """Rebuild a session grant; one given under a looser policy than now stays dead."""
        is_offered = decided.decision is Decision.SESSION and Decision.SESSION in asked.choices
        if is_offered and not is_stricter(self._facts.version, than=asked.policy):
            self._grant_session(asked, decided.grant or smallest(asked.assessment))

    def setting(self, key: str, value: str) -> Callable[[], None]:
        """What puts a setting in force; grants given under a looser policy end then. Raises ValueError."""
        facts = with_setting(self._facts, key, value)

        def enforce() -> None:
            self._facts = facts
            self._grants = {
                id_: grant
                for id_, grant in self._grants.items()
                if not is_stricter(facts.version, than=grant.version)
            }

        return enforce

    def grants(self) -> Sequence[Mapping[str, Any]]:
        """Session grants, then saved rules: id, scope, action, rule, allows; of a grant what it adds, too."""
        self._rules = load_rules(self._rules_path)
        session = [
            {
                "id": grant.id,
                "scope": "session",
                "action": "allow",
                "rule": "\n".join(grant.keys),
                "allows": f"{grant.words}: {grant.cwd}",
                "grant": in_words(grant.step),
            }
            for grant in self._grants.values()
        ]
        saved = [
            {
                "id": rule.id,
                "scope": "workspace" if rule.workspace else "user",
                "action": str(rule.action),
                "rule": rule.pattern,
                "allows": describe(rule) if rule.action == "allow" else "",
            }
            for rule in self._rules
            if rule.workspace in ("", str(self._facts.policy.workspace))
        ]
        return session + saved

    def revoke(self, grant_id: str) -> bool:
        """Take back a session grant or a saved rule. Raises AgentError when the rules file cannot be used."""
        if self._grants.pop(grant_id, None) is not None:
            return True
        removed = remove_rule(self._rules_path, grant_id)
        self._rules = load_rules(self._rules_path)
        return removed

    def _ask(self, call: GatedCall, question: Question, approval_id: str) -> Verdict:
        asked = ask_about(
            call, self._facts, question, approval_id=approval_id, expires_at=self._now() + EXPIRY_S
        )
        return Verdict(kind="ask", asked=asked)

    def _again(self, call: GatedCall, asked: ApprovalAsked, why: str) -> Verdict:
        question = Question(
            why=f"{why}; asked again: {asked.why}",
            may_repeat=Decision.SESSION in asked.choices,
            first_attempt=asked.first_attempt,
        )
        return self._ask(call, question, _next_id(asked.approval_id))

    def _allowed(self, call: GatedCall, step: str, *, by: By, scope: str) -> Verdict:
        policy = apply_grant(self._facts.policy, call.assessment, step)
        if is_bare(call.assessment, self._facts):
            policy = replace(policy, mode=Mode.OFF)
        if call.assessment.action == "edit" and policy.mode is Mode.READ_ONLY:
            policy = replace(policy, mode=Mode.WORKSPACE_WRITE)  # only a person's answer gets here
        return Verdict(kind="allow", policy=policy, by=by, scope=scope)

    def _grant_session(self, asked: ApprovalAsked, step: str) -> str:
        if parse_step(step)[0] is Grant.NO_SANDBOX:
            return ""  # never for longer than one call
        named = asked.assessment.action == "command" and asked.assessment.files
        self._grants[asked.approval_id] = SessionGrant(
            id=asked.approval_id,
            keys=needed_keys(asked.assessment.keys),
            cwd=asked.cwd,
            step=step,
            version=asked.policy,
            files=files_part(asked.digest) if named else "",
            words=asked.session_key,
        )
        return asked.session_key

    def _save_denial(self, call: GatedCall, asked: ApprovalAsked) -> str:
        """Save what was shown; the call is denied in any case, and the words say for how long."""
        rules = denying_rules(call, self._facts)
        if [rule.pattern for rule in rules] != [asked.deny_rule]:
            return "once; the rule was not saved: the call has changed since it was shown"
        try:
            save_rules(self._rules_path, rules)
            self._rules = load_rules(self._rules_path)
        except AgentError as error:  # it cannot be written, or holds what cannot be read
            return f"once; the rule was not saved: {error}"
        return "for good"

    def _save(self, call: GatedCall, pattern: str) -> str:
        """Save the rule; when that fails the call is still allowed once, and the scope says so."""
        rules = varied(saved_rules(call, self._facts), pattern)
        try:
            save_rules(self._rules_path, rules)
            self._rules = load_rules(self._rules_path)
        except AgentError as error:
            return f"once; the rule was not saved: {error}"
        return "; ".join(rule.pattern for rule in rules)


def _next_id(approval_id: str) -> str:
    """`a7`, `a7.2`, `a7.3` …: a question asked again is another question."""
    base, _, number = approval_id.partition(".")
    return f"{base}.{int(number or 1) + 1}"
