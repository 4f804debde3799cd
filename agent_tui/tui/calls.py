"""The tool cards: which block shows which call, and what each event changes in it."""

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from agent_tui.engine import events
from agent_tui.engine.types import CallState
from agent_tui.tui import words
from agent_tui.tui.transcript import blocks
from agent_tui.tui.transcript.card import FOLDABLE, shown_arguments
from tools.types import Outcome, OutcomeStatus

_WAITING = {
    CallState.PROPOSED: "",
    CallState.VALIDATED: "",
    CallState.AWAITING_APPROVAL: "for your approval",
    CallState.AUTHORISED: "",
}

_SKIPPED: dict[str, tuple[blocks.CardState, str]] = {  # why the engine did not run a call
    "not run: interrupted by the user": ("not_run", "you interrupted"),
    "not run: the user paused the run": ("not_run", "you paused"),
    "skipped: the user sent a message": ("skipped", "you steered first"),
}
_ENDED_BY = r"not run: the run end(?:s|ed) \((?:budget_)?(\w+)\)"
_BUDGETS = {"turns": "turn", "tools": "tool", "tokens": "token", "time": "time", "cost": "cost"}

_DECIDERS = {"person": "by you", "rule": "by rule", "grant": "by grant", "policy": "by policy"}


class Calls:
    """Finds the card of a call id; calls that are over and forgotten stay as blocks only."""

    def __init__(self, add: Callable[[blocks.Block], None], touch: Callable[[blocks.Block], None]) -> None:
        self._add = add
        self._touch = touch
        self._cards: dict[str, tuple[blocks.Card, blocks.Call]] = {}
        self._terminals: dict[str, tuple[blocks.Card, blocks.Call]] = {}
        self.after = ""  # newest checkpoint taken after a call since the last one started
        # ends of calls and terminals of the earlier part, until that is there
        self._early: list[Callable[[], None]] = []

    def take_over(self, earlier: "Calls") -> None:
        """Cards of the part before a resume whose call has no end yet. What ran in a process that is gone
        does not run any more, until it is started again."""
        for card, call in earlier._cards.values():
            if call.state == "running":
                call.state, card.live = "outcome_unknown", False
                self._touch(card)
        self._cards = earlier._cards | self._cards
        self._terminals = earlier._terminals | self._terminals
        early, self._early = self._early, []
        for end in early:
            end()

    def find(self, call_id: str) -> blocks.Call | None:
        """The call, as long as it is kept."""
        found = self._cards.get(call_id)
        return found[1] if found else None

    def arguments(self, call_id: str) -> Mapping[str, Any]:
        """What the model gave to a call that has no outcome yet; empty when it is no JSON object."""
        found = self._cards.get(call_id)
        try:
            data = json.loads(found[1].arguments) if found else {}
        except (ValueError, RecursionError):
            return {}
        return data if isinstance(data, dict) else {}

    def live_cards(self) -> list[blocks.Card]:
        """Cards whose time counts."""
        cards = [card for card, call in self._cards.values() if call.state == "running"]
        return cards + [card for card, call in self._terminals.values() if call.state == "yielded"]

    def proposed(self, body: events.CallProposed, newest: blocks.Block | None) -> None:
        """A card for the call, or a place in the card of the reads beside it."""
        shown = body.shown or shown_arguments(body.tool, body.arguments)
        if body.tool == "update_plan":  # the plan has a block of its own
            shown = words.count(shown.count("\n") + 1, "step")
        call = blocks.Call(
            call_id=body.call_id, tool=body.tool, shown=shown, step_id=body.step_id,
            by_person=body.by == "person", to_model=body.to_model,
            arguments=body.arguments,
        )  # fmt: skip
        before = newest.calls[-1] if isinstance(newest, blocks.Card) else None
        same_step = before is not None and before.step_id == body.step_id and bool(body.step_id)
        if (
            isinstance(newest, blocks.Card)
            and before is not None
            and same_step
            and body.tool in FOLDABLE
            and before.tool == body.tool
        ):
            newest.calls.append(call)
            self._cards[body.call_id] = (newest, call)
            self._touch(newest)
            return
        card = blocks.Card(calls=[call], tight=before is not None)
        self._cards[body.call_id] = (card, call)
        self._add(card)

    def changed(self, body: events.CallChanged) -> None:
        """A state before the start, or in the run."""
        if body.state in _WAITING:
            self.waits(body.call_id, body.detail or _WAITING[body.state])
        elif body.state is CallState.STARTED:
            self._goes_on(body.call_id)

    def _goes_on(self, call_id: str) -> None:
        """A command that waited for an answer runs on."""
        found = self._cards.get(call_id)
        if found is not None and not found[1].is_over:
            found[1].state, found[1].detail = "running", ""
            self._touch(found[0])

    def waits(self, call_id: str, detail: str) -> None:
        """The call waits, and for what."""
        found = self._cards.get(call_id)
        if found is not None and not found[1].is_over:
            found[1].state, found[1].detail = "waiting", detail
            self._touch(found[0])
            if detail:
                self._wait_behind(found[1])

    def started(self, body: events.CallStarted, at: float) -> None:
        """It is about to run."""
        self.after = ""
        found = self._cards.get(body.call_id)
        if found is not None:
            card, call = found
            call.state, call.started_at, call.sandbox, call.checkpoint_id = (
                "running",
                at,
                body.sandbox,
                body.checkpoint_id,
            )
            card.live = True
            self._touch(card)
            self._wait_behind(call)

    def _wait_behind(self, first: blocks.Call) -> None:
        """Calls behind it in its step that have no reason of their own wait for it."""
        is_behind = False
        for card, call in self._cards.values():
            if is_behind and call.state == "waiting" and not call.detail and call.step_id == first.step_id:
                call.detail = "for the call before it"
                self._touch(card)
            is_behind = is_behind or call is first

    def output(self, body: events.CallOutput, at: float) -> None:
        """Live output of a call or of the terminal it became."""
        found = self._terminals.get(body.terminal) or self._cards.get(body.call_id)
        if found is not None:
            found[1].output.feed(body.text)
            found[1].last_output_at = at
            self._touch(found[0])

    def awaited(self, body: events.InputAwaited) -> None:
        """A call, or the terminal it became, waits for input, or no longer does."""
        found = self._terminals.get(body.terminal) or self._cards.get(body.call_id)
        if found is not None:
            found[1].awaits_input = body.waits
            self._touch(found[0])

    def decided(self, body: events.ApprovalDecided) -> None:
        """Who decided, and what was said."""
        found = self._cards.get(body.call_id)
        if found is None:
            return
        card, call = found
        call.feedback = body.feedback
        if body.decision.startswith("deny"):
            call.denied_by = _DECIDERS[body.by] + (
                f", {body.scope}" if body.by == "rule" and body.scope else ""
            )
        elif not call.is_over:
            call.detail = ""
        self._touch(card)

    def answered(self, call_id: str, text: str | None) -> None:
        """The person answered the question of a call, or left it."""
        found = self._cards.get(call_id)
        if found is not None:
            found[1].feedback = "" if text is None else text
            found[1].detail = "no answer" if text is None else ""
            self._touch(found[0])

    def ended(self, body: events.CallEnded) -> None:
        """The final outcome."""
        found = self._cards.pop(body.call_id, None)
        if found is None:
            self._early.append(partial(self.ended, body))
            return
        card, call = found
        outcome = body.outcome
        call.state, call.detail = _state(outcome)
        call.outcome, call.duration_s, call.arguments = outcome, body.duration_s, ""
        total = outcome.data.get("total_lines")
        if isinstance(total, int) and call.output.total:  # pieces of live output may be dropped
            call.output.total = max(call.output.total, total)
        call.changes, call.external, call.uncovered = body.changes, body.external, body.uncovered
        call.checkpoint_id = body.checkpoint_id or call.checkpoint_id
        call.after_id = self.after if call.checkpoint_id else ""
        if body.edited and body.tool == "apply_patch":
            call.edited = "another patch"  # of the same files
        elif body.edited:
            call.edited, call.shown = call.shown, shown_arguments(body.tool, body.edited)
        if outcome.status is OutcomeStatus.YIELDED and outcome.terminal:
            call.terminal = outcome.terminal
            self._terminals[outcome.terminal] = (card, call)
        card.live = any(not each.is_over for each in card.calls)
        self._touch(card)

    def terminal(self, body: events.TerminalChanged, at: float) -> None:
        """A terminal ended: its card says so."""
        if body.state == "live":
            return
        found = self._terminals.pop(body.terminal, None)
        if found is None:
            self._early.append(partial(self.terminal, body, at))
            return
        card, call = found
        call.state = "ended"
        call.detail = (
            f"signal {body.signal}"
            if body.signal
            else f"exit {body.exit_code}"
            if body.exit_code is not None
            else "lost"
        )
        call.duration_s = max(at - call.started_at, 0.0)
        self._touch(card)


def _state(outcome: Outcome) -> tuple[blocks.CardState, str]:
    """The state of the card, and what its right end says of it."""
    state: blocks.CardState = outcome.status.value
    if state != "skipped":
        return state, "bad arguments" if state == "invalid" else ""
    why = str(outcome.data.get("why") or outcome.text.strip().split("\n")[0])
    if why in _SKIPPED:
        return _SKIPPED[why]
    ended = re.search(_ENDED_BY, why, re.IGNORECASE)
    if ended is None:
        return "skipped", why[:60]
    budget = _BUDGETS.get(ended[1])
    return "not_run", f"{budget} budget, 0 left" if budget else "the run ended"
