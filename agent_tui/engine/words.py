"""The words of an approval: what the sandbox will allow, what an answer would cover, what was denied."""

from collections.abc import Sequence

from agent_tui.engine.events import ApprovalDecided
from agent_tui.engine.judgement import Facts
from agent_tui.engine.types import Decision
from agent_tui.figures import count
from agent_tui.short_path import short_path
from checkpoints.types import FileChange
from sandbox.policy import Mode, Policy
from tools.types import Assessment


def sandbox_words(policy: Policy, facts: Facts) -> str:
    """What the sandbox will allow, for the line `sandbox` of a question."""
    if policy.mode is Mode.OFF:
        return "none for this command" if facts.policy.mode is not Mode.OFF else "none: you switched it off"
    if not facts.sandbox_available:
        return "NONE ON THIS MACHINE: runs as you, see agent-tui doctor"
    network = f"network {network_state(policy)}"
    if policy.mode is Mode.READ_ONLY:
        return f"writes nothing, {network}"
    roots = (policy.workspace, *policy.extra_roots, *policy.writable)
    return f"writes in {', '.join(short_path(str(root)) for root in roots)}, {network}"


def sandbox_in_short(policy: Policy, facts: Facts) -> str:
    """The same as the status line has it, where there is a sandbox: `workspace+1, net off`."""
    if policy.mode is Mode.OFF or not facts.sandbox_available:
        return sandbox_words(policy, facts)
    roots = len(policy.extra_roots) + len(policy.writable)
    reach = "read-only" if policy.mode is Mode.READ_ONLY else f"workspace+{roots}" if roots else "workspace"
    return f"{reach}, net {network_state(policy)}"


def network_state(policy: Policy) -> str:
    """What of the network a sandbox reaches: `off`, `on`, `only pip.test:443`."""
    if policy.has_proxy:
        return f"only {' and '.join(policy.hosts)}"
    return "on" if policy.network else "off"


def session_words(assessment: Assessment, step: str) -> str:
    """What an answer for this session would cover."""
    bodies = [key.partition(" ")[2] for key in assessment.keys if not key.startswith("in ")]
    if assessment.action == "command":
        return "exactly this command " + ("with this grant" if step else "in this directory")
    if assessment.action == "edit":
        return "edits of " + _joined(bodies)
    if assessment.action == "read":
        return "reading " + _joined(bodies)
    return _joined(bodies)


def _joined(words: Sequence[str]) -> str:
    return ", ".join(words[:-1]) + f" and {words[-1]}" if len(words) > 1 else "".join(words)


def left_behind(changes: Sequence[FileChange]) -> str:
    """What the first attempt in the sandbox changed, in one line."""
    if not changes:
        return "the first attempt changed no file"
    names = ", ".join(f"{change.kind} {change.path}" for change in changes[:4])
    more = ", …" if len(changes) > 4 else ""
    return f"the first attempt left {count(len(changes), 'file')}: {names}{more}"


def denial_text(decided: ApprovalDecided) -> str:
    """What the model is told of a denial."""
    if decided.by != "person":
        return "The call was denied by policy and was not run"
    paused = " and paused the run" if decided.decision is Decision.DENY_AND_PAUSE else ""
    if decided.decision is Decision.DENY_RULE:
        paused = " for good"
    said = f'; the user says: "{decided.feedback}"' if decided.feedback else ""
    return f"The user denied this call{paused}; it was not run{said}"
