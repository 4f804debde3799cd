"""Runs one started call to its outcome, and carries the orders to stop to it."""

import asyncio
import hashlib
import json
from collections.abc import Mapping

from agent_tui.engine.asking import ask_question
from agent_tui.engine.connecting import Connecting
from agent_tui.engine.events import (
    CallOutput,
    CallSpawned,
    InputAwaited,
    PlanChanged,
    QuestionAnswered,
    QuestionAsked,
)
from agent_tui.engine.framing import window_of
from agent_tui.engine.prepare import Prepared
from agent_tui.engine.scope import Scope
from agent_tui.engine.stop import StoppedError
from agent_tui.engine.types import PlanStep
from agent_tui.engine.words import network_state
from sandbox.policy import Mode, Policy
from tools.types import Arguments, Invocation, Outcome, OutcomeStatus, Spawned

ASK_TOOL, PLAN_TOOL = "request_user_input", "update_plan"  # handled here, not by the toolbox


class Sink:
    """What a running call tells: processes durably, output for display."""

    def __init__(self, scope: Scope, call_id: str, connecting: Connecting) -> None:
        self._scope = scope
        self._call_id = call_id
        self.connects = connecting.connects

    async def spawned(self, process: Spawned) -> None:
        """On disk when it returns, or owed to the store where it refuses."""
        await self._scope.session.settle(
            CallSpawned(call_id=self._call_id, process=process), cause=self._call_id
        )

    def output(self, text: str) -> None:
        """Show live output."""
        self._scope.session.show(CallOutput(call_id=self._call_id, text=text), cause=self._call_id)

    def awaits_input(self, waits: bool) -> None:
        """Show that it waits."""
        self._scope.session.show(InputAwaited(call_id=self._call_id, waits=waits), cause=self._call_id)


async def execute(scope: Scope, call: Prepared, policy: Policy, timeout_s: float | None) -> Outcome:
    """Run a call that is stored as started. An interrupt, or "steer now", cancels it once: the
    toolbox stops what it started and still gives an outcome; force cancels it again."""
    if call.tool == ASK_TOOL:
        return await _ask(scope, call)
    if call.tool == PLAN_TOOL:
        return await _plan(scope, call.arguments)
    invocation = invocation_of(scope, call, policy, timeout_s)
    connecting = Connecting(scope, call)
    task = asyncio.ensure_future(scope.ports.toolbox.run(invocation, Sink(scope, call.call_id, connecting)))
    for order in ((scope.stop.now, scope.stop.skipping), (scope.stop.force,)):
        waiters = [asyncio.ensure_future(event.wait()) for event in order]
        await asyncio.wait({task, *waiters}, return_when=asyncio.FIRST_COMPLETED)
        for waiter in waiters:
            waiter.cancel()
        if task.done():
            break
        task.cancel()
    await asyncio.wait({task})
    await connecting.end()
    if task.cancelled():
        return Outcome(
            status=OutcomeStatus.INTERRUPTED, text="The call was interrupted; effects may be partial"
        )
    return task.result()


def invocation_of(scope: Scope, call: Prepared, policy: Policy, timeout_s: float | None = None) -> Invocation:
    """The call as the toolbox takes it."""
    return Invocation(
        call_id=call.call_id,
        tool=call.tool,
        arguments=call.arguments,
        policy=policy,
        spool=scope.artifacts / f"{call.call_id}.out",
        max_output_tokens=window_of(scope).result,
        timeout_s=timeout_s,
        artifacts=scope.session.fold.artifacts,
    )


async def _ask(scope: Scope, call: Prepared) -> Outcome:
    question = _question(f"q{scope.session.fold.asked + 1}", call)
    if not scope.config.interactive:
        answer = scope.answers.popleft() if scope.answers else None
        given = QuestionAnswered(question_id=question.question_id, text=answer)
        await scope.session.commit(question, given)
        return _answered(answer, "no user is available; decide yourself and say what you assumed")
    try:
        answer = await ask_question(scope, question)
    except StoppedError:
        answer = None
    if answer is None:
        scope.stop.pause("you left the question open")
    return _answered(answer, "the user left the question open")


def _question(question_id: str, call: Prepared) -> QuestionAsked:
    options = call.arguments.get("options") or ()
    return QuestionAsked(
        question_id=question_id,
        call_id=call.call_id,
        text=str(call.arguments.get("question", "")),
        options=tuple(_option(option) for option in options),
        free_text=bool(call.arguments.get("free_text", True)),
    )


def _option(option: object) -> str:
    """An option is a text, or a label with a description."""
    if not isinstance(option, Mapping):
        return str(option)
    label, description = str(option.get("label", "")), str(option.get("description", ""))
    return f"{label}: {description}" if description else label


def _answered(answer: str | None, otherwise: str) -> Outcome:
    text = f"No answer: {otherwise}" if answer is None else answer
    return Outcome(status=OutcomeStatus.SUCCEEDED, text=text, data={"answer": answer})


async def _plan(scope: Scope, arguments: Arguments) -> Outcome:
    steps = tuple(
        PlanStep(
            text=str(step.get("step", "")),
            status=step.get("status", "pending"),
            note=str(step.get("note", "")) if step.get("status") == "dropped" else "",
        )
        for step in arguments.get("plan", ())
    )
    await scope.session.commit(PlanChanged(steps=steps, explanation=str(arguments.get("explanation") or "")))
    return Outcome(status=OutcomeStatus.SUCCEEDED, text="Plan updated")


def arguments_sha256(arguments: Arguments) -> str:
    """Hash of the canonical form, for `CallStarted`."""
    text = json.dumps(arguments, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()


def profile(policy: Policy) -> str:
    """The sandbox in words, for a card."""
    if policy.mode is Mode.OFF:
        return "no sandbox"
    reach = "read-only" if policy.mode is Mode.READ_ONLY else "workspace"
    extra = "".join(f" + {path}" for path in policy.writable)
    lane = ", git lane" if policy.git_lane else ""
    return f"{reach}{extra}, net {network_state(policy)}{lane}"
