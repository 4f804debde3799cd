"""Takes the calls of a wave through the gate: allowed with a policy, answered as denied, or asked.

Asked calls of a wave are shown together. What was allowed is checked again right before its use, so that
a setting that was changed meanwhile holds for it.
"""

import json
from collections.abc import Sequence
from dataclasses import replace

from agent_tui.engine.asking import ask_approvals
from agent_tui.engine.events import ApprovalAsked, ApprovalDecided, CallEnded
from agent_tui.engine.ports import GatedCall, Verdict
from agent_tui.engine.prepare import Prepared, ended, prepare
from agent_tui.engine.scope import Scope
from agent_tui.engine.types import ApprovalPolicy, Decision
from agent_tui.frozen import frozen
from sandbox.policy import Mode, Policy
from tools.types import Effects, Outcome, OutcomeStatus


@frozen
class InForce:
    """The settings that calls are judged by."""

    policy: Policy
    approval: ApprovalPolicy


def in_force(scope: Scope) -> InForce:
    """The settings that calls are judged by, as set now."""
    return InForce(policy=scope.ports.gate.policy(), approval=scope.ports.gate.approval())


class ChangedError(Exception):
    """Nothing of the wave has started, and the settings that it was judged by have changed meanwhile: it is
    to be cut and judged anew."""

    def __init__(self, calls: Sequence[Prepared]) -> None:
        super().__init__()
        self.calls = tuple(calls)  # what is left of it, in order, with the edits of a person


@frozen
class Authorised:
    """A call that may run in `policy`."""

    call: Prepared
    policy: Policy
    under: InForce  # what allowed it; under other settings it is judged anew
    why: str = ""  # who or what allowed it, for the record


def authorised(call: Prepared, policy: Policy, under: InForce, why: str) -> Authorised:
    """The call with leave to run in `policy`. A command that was understood to read only may write where its
    sandbox does not keep it from that, so it has a checkpoint like any other."""
    assessment = call.assessment
    if assessment is not None and call.is_command and assessment.read_only and _opens(policy):
        may_write = replace(assessment, read_only=False, effects=Effects())
        # judged anew, it is assessed anew
        call = replace(call, assessment=may_write, policy=None)
    return Authorised(call=call, policy=policy, under=under, why=why)


def _opens(policy: Policy) -> bool:
    """Whether something outside its private directories can be written in a sandbox."""
    return policy.mode is not Mode.READ_ONLY or bool(policy.writable)


@frozen
class _Decided:
    call: Prepared
    verdict: Verdict
    under: InForce
    digest: str = ""  # of what a person allowed
    answer: Outcome | None = None  # a denial that is none of the gate's


async def authorise(scope: Scope, calls: Sequence[Prepared]) -> list[Authorised]:
    """The calls that may run; the others have been ended as denied. Raises StoppedError, and ChangedError
    where the sandbox has changed, since what a call may touch is another then."""
    decided: dict[str, _Decided] = {}
    sandbox = scope.ports.gate.policy()
    waiting = list(calls)
    while waiting:
        asked: dict[str, tuple[Prepared, ApprovalAsked]] = {}
        for call in waiting:
            early = scope.early.pop(call.call_id, None)
            if early is not None:
                decided[call.call_id] = await _settle(scope, call, *early)
                continue
            under, again = in_force(scope), decided.get(call.call_id)
            if again is not None and again.verdict.kind == "ask":  # by `settle`, with what differs
                verdict = again.verdict
            else:
                verdict = await _judge(scope, call, f"a{scope.session.fold.asked + len(asked) + 1}")
            if verdict.kind == "ask" and (refused := await _refused(scope, call)) is not None:
                decided[call.call_id] = refused
            elif verdict.kind == "ask" and verdict.asked is not None:
                asked[verdict.asked.approval_id] = (call, verdict.asked)
            else:
                decided[call.call_id] = _Decided(call=call, verdict=verdict, under=under)
        if asked:
            await _ask(scope, asked, decided)
        if scope.ports.gate.policy() != sandbox:
            break
        waiting = [one.call for one in decided.values() if await _is_stale(scope, one)]
    await _deny(scope, [one for one in decided.values() if one.verdict.kind == "deny"])
    if waiting:
        left = [decided[call.call_id] for call in calls]
        raise ChangedError([one.call for one in left if one.verdict.kind != "deny"])
    return [
        authorised(
            one.call,
            one.verdict.policy or one.under.policy,
            one.under,
            ", ".join(filter(None, (f"by {one.verdict.by}", one.verdict.scope))),
        )
        for one in decided.values()
        if one.verdict.kind == "allow"
    ]


async def gated(scope: Scope, call: Prepared) -> GatedCall:
    """The call as the gate sees it, with the diff of an edit. Raises StoppedError."""
    diff = ""
    if call.assessment is not None and call.assessment.action == "edit":
        look = scope.ports.toolbox.preview(call.tool, call.arguments, scope.ports.gate.policy())
        diff = await scope.stop.guard(look)
    return call.gated(diff)


async def _judge(scope: Scope, call: Prepared, approval_id: str) -> Verdict:
    """The gate's verdict, or the question that an earlier process put to a person and that still holds."""
    shown = await gated(scope, call)
    for asked in scope.session.fold.approvals.values() if scope.config.interactive else ():
        if asked.call_id == call.call_id and asked.digest == scope.ports.gate.digest(shown):
            return Verdict(kind="ask", asked=asked)
    return scope.ports.gate.judge(shown, approval_id)


async def _refused(scope: Scope, call: Prepared) -> _Decided | None:
    """The answer to a call that could not be carried out whatever a person says."""
    look = scope.ports.toolbox.refusal(call.tool, call.arguments, scope.ports.gate.policy())
    text = await scope.stop.guard(look)
    if not text:
        return None
    outcome = Outcome(status=OutcomeStatus.INVALID, text=text)
    verdict = Verdict(kind="deny", text=text)
    return _Decided(call=call, verdict=verdict, under=in_force(scope), answer=outcome)


async def _ask(
    scope: Scope, asked: dict[str, tuple[Prepared, ApprovalAsked]], decided: dict[str, _Decided]
) -> None:
    answers = await ask_approvals(scope, [question for _, question in asked.values()])
    for approval_id, (call, question) in asked.items():
        decided[call.call_id] = await _settle(scope, call, question, answers[approval_id])


async def _settle(scope: Scope, call: Prepared, asked: ApprovalAsked, answer: ApprovalDecided) -> _Decided:
    if answer.decision is Decision.DENY_AND_PAUSE:
        scope.stop.pause("you denied a call and paused")
    edited = edit(scope, call, answer)
    if edited.answer is not None:
        verdict = Verdict(kind="deny", text=edited.answer.text)
        return _Decided(call=edited, verdict=verdict, under=in_force(scope))
    shown = await gated(scope, edited)
    under, verdict = in_force(scope), scope.ports.gate.settle(shown, asked, answer)
    digest = scope.ports.gate.digest(shown) if verdict.kind == "allow" else ""
    return _Decided(call=edited, verdict=verdict, under=under, digest=digest)


def edit(scope: Scope, call: Prepared, answer: ApprovalDecided) -> Prepared:
    """The call with a person's arguments in place of the model's; the original never runs then."""
    if answer.decision is not Decision.EDIT:
        return call
    toolbox, policy = scope.ports.toolbox, scope.ports.gate.policy()
    text = answer.edited
    if call.is_command and not text.lstrip().startswith("{"):
        text = json.dumps({**call.arguments, "cmd": text}, ensure_ascii=False)
    edited = prepare(toolbox, policy, call.call_id, call.tool, text)
    if edited.answer is not None:
        said = f"The user edited this call, but the edit cannot be used: {edited.answer.text}"
        return replace(edited, answer=Outcome(status=OutcomeStatus.DENIED, text=said))
    return replace(edited, edited=text)


async def _is_stale(scope: Scope, one: _Decided) -> bool:
    """Whether it is to be judged again: asked anew, or what was allowed, or allowed it, has changed
    meanwhile. What was denied stays so."""
    if one.verdict.kind == "ask":
        return True
    if one.digest:
        return scope.ports.gate.digest(await gated(scope, one.call)) != one.digest
    return one.verdict.kind == "allow" and one.under != in_force(scope)


async def _deny(scope: Scope, denied: Sequence[_Decided]) -> None:
    bodies: list[CallEnded] = []
    for one in denied:
        data = {"by": one.verdict.by, "detail": one.verdict.detail, "unavailable": one.verdict.unavailable}
        outcome = Outcome(status=OutcomeStatus.DENIED, text=one.verdict.text, data=data)
        bodies.append(ended(one.call, one.answer or outcome))
    if bodies:
        await scope.session.commit(*bodies)
