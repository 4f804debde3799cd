"""Looks a call up, checks its arguments and assesses it, before anything is stored or asked."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from agent_tui.engine.events import Body, CallChanged, CallEnded, CallProposed
from agent_tui.engine.ports import GatedCall, Toolbox
from agent_tui.engine.types import CallState
from agent_tui.frozen import frozen
from context.items import CallPart, StopReason, ToolSchema
from sandbox.policy import Policy
from tools.types import READS_NOTHING, Arguments, Assessment, Effects, Outcome, OutcomeStatus

MAX_CARD_CHARS = 2_000
MAX_RAW_BYTES = 2_048  # of invalid arguments, in the answer to them


@frozen
class Prepared:
    """One call of a batch: ready for the gate, or answered already."""

    call_id: str
    tool: str
    arguments: Arguments
    assessment: Assessment | None  # None: answered already
    answer: Outcome | None = None
    named: str = ""  # what its card names, where an answer took the place of the assessment
    edited: str = ""  # arguments of a person in place of the model's
    policy: Policy | None = None  # the sandbox of the session that it was assessed for

    @property
    def effects(self) -> Effects:
        """What it may do; a call that does not run does nothing."""
        return self.assessment.effects if self.assessment else READS_NOTHING

    @property
    def is_command(self) -> bool:
        """Whether it starts a command."""
        return self.assessment is not None and self.assessment.action == "command"

    def gated(self, diff: str = "") -> GatedCall:
        """The form the gate takes."""
        assert self.assessment is not None
        return GatedCall(
            call_id=self.call_id,
            tool=self.tool,
            arguments=self.arguments,
            assessment=self.assessment,
            diff=diff,
        )


def prepare(toolbox: Toolbox, policy: Policy, call_id: str, tool: str, arguments: str) -> Prepared:
    """Check and assess one call; an invalid one carries its answer."""
    checked = toolbox.check(tool, arguments)
    if isinstance(checked, str):
        raw = arguments.encode("utf-8", errors="replace")[:MAX_RAW_BYTES].decode("utf-8", errors="ignore")
        text = f"{checked}\nThe call was not run. Arguments as sent:\n{raw}"
        outcome = Outcome(status=OutcomeStatus.INVALID, text=text)
        return Prepared(call_id=call_id, tool=tool, arguments={}, assessment=None, answer=outcome)
    assessment = toolbox.assess(tool, checked, policy)
    return Prepared(call_id=call_id, tool=tool, arguments=checked, assessment=assessment, policy=policy)


def assessed(toolbox: Toolbox, policy: Policy, ready: Prepared) -> Prepared:
    """The call as it is under this sandbox, where the session has another one since it was prepared."""
    if ready.assessment is None or ready.policy == policy:
        return ready
    return replace(ready, assessment=toolbox.assess(ready.tool, ready.arguments, policy), policy=policy)


@lru_cache(maxsize=1)  # of one session at a time
def tool_schemas(toolbox: Toolbox) -> tuple[ToolSchema, ...]:
    """The tools as the model is told of them; the bytes of a schema never change in a session."""
    return tuple(
        ToolSchema(
            name=spec.name,
            description=spec.description,
            parameters=json.dumps(spec.parameters, sort_keys=True, ensure_ascii=False, separators=(",", ":")),
        )
        for spec in toolbox.schemas()
    )


def refuse_cut(ready: Prepared, stop: StopReason) -> Prepared:
    """A call of a response that was cut, at the output limit or by a filter: never run, whatever it
    looks like."""
    if stop is StopReason.REFUSAL:
        text = "Not run: a content filter cut your response; go on another way"
    else:
        text = "Not run: your response was cut at the output limit; send it again in smaller parts"
    return _answered(ready, Outcome(status=OutcomeStatus.INVALID, text=text))


def refuse_repeated(ready: Prepared) -> Prepared:
    """A call that progress detection has blocked."""
    text = (
        "Blocked: this repeats an earlier call with the same result; change something, or do something else"
    )
    outcome = Outcome(status=OutcomeStatus.SKIPPED, text=text, data={"blocked": True, "why": "repeated"})
    return _answered(ready, outcome)


def _answered(ready: Prepared, outcome: Outcome) -> Prepared:
    return replace(ready, named=card_text(ready, ""), assessment=None, answer=outcome)


def prepare_part(toolbox: Toolbox, policy: Policy, part: CallPart) -> Prepared:
    """`prepare` for a call part of a response."""
    return prepare(toolbox, policy, part.call_id, part.tool, part.arguments)


def card_text(prepared: Prepared, arguments: str) -> str:
    """What a card names: the command, the files, or the arguments; cut to a bound."""
    assessment = prepared.assessment
    if assessment is None:
        return (prepared.named or arguments)[:MAX_CARD_CHARS]
    if assessment.action != "edit" or not assessment.files:
        return assessment.shown[:MAX_CARD_CHARS]
    names = ", ".join(_inside(path, prepared.policy) for path in assessment.files)
    counted = f"{len(assessment.files)} files: " if len(assessment.files) > 1 else ""
    return f"{counted}{names}"[:MAX_CARD_CHARS]


def _inside(path: Path, policy: Policy | None) -> str:
    """Relative to the workspace, where it lies in it: one name in two directories is two files."""
    if policy is None or not path.is_relative_to(policy.workspace):
        return str(path)
    return str(path.relative_to(policy.workspace))


def proposals(step_id: str, parts: Sequence[CallPart], prepared: Sequence[Prepared]) -> list[Body]:
    """The events of the transaction that stores a response: each call as proposed, then what is
    known of it at once."""
    bodies: list[Body] = []
    for part, ready in zip(parts, prepared, strict=True):
        bodies.append(
            CallProposed(
                call_id=part.call_id,
                step_id=step_id,
                tool=part.tool,
                arguments=part.arguments,
                shown=card_text(ready, part.arguments),
            )
        )
        if ready.answer is not None:
            bodies.append(ended(ready, ready.answer))
        else:
            bodies.append(CallChanged(call_id=part.call_id, state=CallState.VALIDATED))
    return bodies


def ended(ready: Prepared, outcome: Outcome) -> CallEnded:
    """The end of a call that did not run."""
    return CallEnded(
        call_id=ready.call_id, tool=ready.tool, outcome=outcome, changes=(), external=(), duration_s=0.0
    )
