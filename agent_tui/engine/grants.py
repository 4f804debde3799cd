"""Grants turned into the sandbox of one call, and the steps from the smallest to the widest."""

from dataclasses import replace
from pathlib import Path

from sandbox.policy import Mode, Policy
from tools.types import Assessment, Grant

_WIDER: dict[Grant, tuple[Grant, ...]] = {
    Grant.NONE: (),
    Grant.READ_PATH: (Grant.READ_PATH, Grant.WRITE_PATH, Grant.NO_SANDBOX),
    Grant.WRITE_PATH: (Grant.WRITE_PATH, Grant.NO_SANDBOX),
    Grant.HOST: (Grant.HOST, Grant.NETWORK, Grant.NO_SANDBOX),
    Grant.GIT_LANE: (Grant.GIT_LANE, Grant.NETWORK, Grant.NO_SANDBOX),
    Grant.NETWORK: (Grant.NETWORK, Grant.NO_SANDBOX),
    Grant.NO_SANDBOX: (Grant.NO_SANDBOX,),
}


_WITH_DETAIL = (Grant.READ_PATH, Grant.WRITE_PATH, Grant.HOST)


def step_text(grant: Grant, detail: str = "") -> str:
    """A step as events carry it: `write_path /x`, `network`; empty for no grant."""
    if grant is Grant.NONE:
        return ""
    return f"{grant} {detail}" if grant in _WITH_DETAIL and detail else str(grant)


def parse_step(text: str) -> tuple[Grant, str]:
    """The grant and its detail; raises ValueError for a name that is none."""
    name, _, detail = text.partition(" ")
    return (Grant(name), detail) if name else (Grant.NONE, "")


def grant_steps(assessment: Assessment) -> tuple[str, ...]:
    """What could be granted for a call, smallest first. Only commands can leave the sandbox."""
    steps = _WIDER[assessment.grant]
    if assessment.action != "command":
        steps = steps[:1]
    return tuple(step_text(step, assessment.grant_detail) for step in steps)


def smallest(assessment: Assessment) -> str:
    """The step that is asked for first; empty when nothing beyond the sandbox is needed."""
    return next(iter(grant_steps(assessment)), "")


def apply_grant(policy: Policy, assessment: Assessment, step: str) -> Policy:
    """The sandbox of one call with everything up to `step`; reads run in the read-only mode.

    A step that a person gave for this very call before it was known to need it counts by itself.
    Raises ValueError for a step that was not on offer.
    """
    policy = _without_grant(policy, assessment)
    if not step:
        return policy
    steps = grant_steps(assessment) or (step,)
    for each in steps[: steps.index(step) + 1]:
        policy = _add(policy, assessment, *parse_step(each))
    return policy


def _without_grant(policy: Policy, assessment: Assessment) -> Policy:
    if assessment.read_only and policy.mode is Mode.WORKSPACE_WRITE:
        return replace(policy, mode=Mode.READ_ONLY)
    return policy


def _add(policy: Policy, assessment: Assessment, grant: Grant, detail: str) -> Policy:
    paths = (Path(detail),) if detail and grant is not Grant.HOST else ()
    if grant is Grant.READ_PATH:
        return replace(policy, readable=policy.readable + paths)
    if grant is Grant.WRITE_PATH:
        named = assessment.files if assessment.action == "edit" else ()
        return replace(policy, writable=tuple(dict.fromkeys((*policy.writable, *paths, *named))))
    if grant is Grant.GIT_LANE:
        return replace(policy, mode=_writing(policy.mode), git_lane=True)
    if grant is Grant.HOST:
        return replace(policy, hosts=(*policy.hosts, detail)) if detail else policy
    if grant is Grant.NETWORK:
        return replace(policy, network=True)
    return replace(policy, mode=Mode.OFF) if grant is Grant.NO_SANDBOX else policy


def _writing(mode: Mode) -> Mode:
    return Mode.WORKSPACE_WRITE if mode is Mode.READ_ONLY else mode
