"""Calls that the person or the contract makes: the same sandbox, checkpoint and records as any other.

They pass no gate, since the person wrote them, and no result of them is owed to the model.
"""

import json
from collections.abc import Mapping
from typing import Any, Literal

from agent_tui.engine.authorise import ChangedError, authorised, in_force
from agent_tui.engine.events import CallChanged, CallProposed
from agent_tui.engine.prepare import Prepared, assessed, ended, prepare
from agent_tui.engine.scope import Scope
from agent_tui.engine.stop import StoppedError
from agent_tui.engine.types import CallState
from agent_tui.engine.wave import Wave
from tools.types import Outcome, OutcomeStatus

WAIT_MS = 120_000  # longest wait of one look at a command
By = Literal["person", "contract"]


async def run_own(
    scope: Scope, wave: Wave, tool: str, arguments: Mapping[str, Any], by: By, *, to_model: bool = True
) -> Outcome:
    """Run one call of our own to its outcome. Raises StoppedError when a stop came before its start."""
    call_id = f"{by[0]}{scope.session.fold.own_calls + 1}"
    text = json.dumps(arguments)
    ready = prepare(scope.ports.toolbox, scope.ports.gate.policy(), call_id, tool, text)
    shown = str(arguments.get("cmd") or tool)
    proposed = CallProposed(
        call_id=call_id, step_id="", tool=tool, arguments=text, shown=shown, by=by, to_model=to_model
    )
    if ready.answer is not None:
        await scope.session.commit(proposed, ended(ready, ready.answer))
        return ready.answer
    await scope.session.commit(proposed, CallChanged(call_id=call_id, state=CallState.VALIDATED))
    try:
        await _run(scope, wave, ready, by)
    except StoppedError:  # nobody else answers it: it is owed to no model
        if scope.session.fold.calls[call_id].ended is None:
            stopped = Outcome(status=OutcomeStatus.SKIPPED, text="Not run: stopped before it began")
            await scope.session.settle(ended(ready, stopped))
        raise
    done = scope.session.fold.calls[call_id].outcome
    return done or Outcome(
        status=OutcomeStatus.SKIPPED, text="Not run: no checkpoint could be taken before it"
    )


async def _run(scope: Scope, wave: Wave, ready: Prepared, by: By) -> None:
    while True:
        under = in_force(scope)
        call = assessed(scope.ports.toolbox, under.policy, ready)
        try:
            await wave.run_allowed([authorised(call, under.policy, under, f"by {by}")])
        except ChangedError:
            continue
        return


async def run_to_end(scope: Scope, wave: Wave, command: str, by: By) -> Outcome:
    """Run a command and look at it until it has ended; the text is that of the last look."""
    outcome = await run_own(scope, wave, "exec_command", {"cmd": command, "yield_ms": WAIT_MS}, by)
    while outcome.status is OutcomeStatus.YIELDED and outcome.terminal:
        look = {"session": outcome.terminal, "chars": "", "yield_ms": WAIT_MS}
        outcome = await run_own(scope, wave, "write_stdin", look, by)
    return outcome
