"""A limit is reached and a person is there: whether the run goes on with a higher one (screens 3.8)."""

import math
import re
from collections.abc import Mapping

from agent_tui.engine.asking import ask_question
from agent_tui.engine.events import LimitFacts, QuestionAsked, SettingChanged
from agent_tui.engine.fold import Fold
from agent_tui.engine.framing import budget_of
from agent_tui.engine.limits import COST, LIMITS, NONE, TIME, TOKENS, TOOLS, TURNS, Limit
from agent_tui.engine.report import NO_CHECK, last_check
from agent_tui.engine.scope import Scope
from agent_tui.engine.types import EndReason
from agent_tui.figures import count

STOP, WITHOUT = "stop here", "go on without a cost limit"
STOPS = (STOP, "stop")
_REACHED: Mapping[EndReason, Limit] = {
    EndReason.BUDGET_TURNS: TURNS,
    EndReason.BUDGET_TOOLS: TOOLS,
    EndReason.BUDGET_TIME: TIME,
    EndReason.BUDGET_TOKENS: TOKENS,
    EndReason.BUDGET_COST: COST,
    EndReason.COST_UNKNOWN: COST,
}
_AMOUNT = r"(?:raise to )?\$?(\d[\d,_]*(?:\.\d+)?) ?(turns|calls|tokens|s|m|h|k|M)?"
_TIMES = {"m": 60, "h": 3_600, "k": 1_000, "M": 1_000_000}


async def may_go_on(scope: Scope, reason: EndReason) -> bool:
    """Ask, and wait without counting the time; the desk has stored the new limit when this returns.

    False for a reason that is no limit, with nobody to ask, and for an answer that ends the run.
    Raises StoppedError, also when the question is left without an answer.
    """
    limit = _REACHED.get(reason)
    if limit is None or not scope.config.interactive:
        return False
    answer = await ask_question(scope, _question(scope, limit, reason))
    if answer is None:
        scope.stop.pause("you left the question open")
        scope.stop.check()
    return answer not in STOPS


def _question(scope: Scope, limit: Limit, reason: EndReason) -> QuestionAsked:
    budget, fold = budget_of(scope), scope.session.fold
    allowed, used = getattr(budget.limits, limit.field), budget.used(limit.name)
    state = _state(fold)
    raised: float | None = None
    text = f"cost is limited to {_shown(limit, allowed)} and the price of `{fold.model}` is not known"
    if reason is not EndReason.COST_UNKNOWN:
        raised = _above(used, allowed, places=2 if limit is COST else 0)
        text = f"{_shown(limit, used, bare=True)} of {_shown(limit, allowed)}, after step {fold.steps}"
    return QuestionAsked(
        question_id=f"q{fold.asked + 1}",
        call_id="",
        text=f"Limit reached: {text}. {state}",
        options=(WITHOUT if raised is None else f"raise to {_shown(limit, raised)}", STOP),
        free_text=True,
        limit=LimitFacts(
            name=limit.name, used=used, allowed=allowed, raised=raised, step=fold.steps, state=state
        ),
    )


def _above(used: float, allowed: float, places: int) -> float:
    """The limit to offer: doubled until there is room, as it is shown: the option is read back."""
    raised = 2 * allowed or 1.0
    while round(raised, places) <= used:
        raised *= 2
    return round(raised, places)


def problem_with(facts: LimitFacts, answer: str) -> str:
    """Why an answer to the question cannot be taken; '' when it can."""
    if answer in STOPS or _wanted(answer) > facts.used:
        return ""
    return f"`{answer[:40]}` is no amount above {facts.used:g}; type a number, `{NONE}` or `{STOP}`"


def raised_by(facts: LimitFacts, answer: str) -> list[SettingChanged]:
    """The new limit that an answer gives; nothing for one that ends the run."""
    if answer in STOPS:
        return []
    limit = next(one for one in LIMITS if one.name == facts.name)
    wanted = _wanted(answer)
    return [limit.changed(None if math.isinf(wanted) else wanted)]


def _wanted(answer: str) -> float:
    """The amount in an answer; infinite for no limit, -1 for none that can be read."""
    said = answer.strip()
    if said in (NONE, WITHOUT):
        return math.inf
    found = re.fullmatch(_AMOUNT, said)
    return float(re.sub("[,_]", "", found[1])) * _TIMES.get(found[2], 1) if found else -1.0


def _shown(limit: Limit, amount: float, *, bare: bool = False) -> str:
    """An amount with its unit; `bare` leaves out one that stands behind it."""
    if limit.unit == "$":
        return f"${amount:,.2f}"
    return f"{amount:,.0f}" if bare else f"{amount:,.0f} {limit.unit}"


def _state(fold: Fold) -> str:
    """What is not checked yet, and how much has changed."""
    changed = len(fold.run.changes) if fold.run else 0
    check = last_check(fold.facts.values())
    return f"Last check: {check or NO_CHECK}; {count(changed, 'file')} changed in this turn"
