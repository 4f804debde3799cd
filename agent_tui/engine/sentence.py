"""How a run ended, in the one sentence that every front end shows: its reason, and the facts of this run."""

from agent_tui.engine.framing import budget_of
from agent_tui.engine.rejection import Rejection
from agent_tui.engine.report import Check, last_check
from agent_tui.engine.scope import Scope
from agent_tui.engine.types import END_FACTS, Budgets, EndReason
from agent_tui.figures import clock, count, money, time_of_day, tokens
from agent_tui.frozen import frozen


@frozen
class Trouble:
    """What the last request that failed came to."""

    tries: int = 0
    seconds: float = 0.0  # from the first try to the end of the last one
    rejection: Rejection | None = None


@frozen
class Facts:
    """What a sentence may name; each reason takes its own."""

    limits: Budgets = Budgets()
    requests: int | None = None  # retries included; where these, and not the turns, reached the limit
    check: Check | None = None
    finding: str = ""  # what is not met, or what repeats itself
    provider: str = ""
    trouble: Trouble = Trouble()
    crashed_at: float = 0.0
    is_cut: bool = False  # a call was stopped midway


def facts_of(scope: Scope, finding: str = "", trouble: Trouble | None = None) -> Facts:
    """Those of the run that is open."""
    budget, fold = budget_of(scope), scope.session.fold
    turns = budget.limits.max_turns
    by_requests = turns is not None and budget.spent.turns < turns
    return Facts(
        limits=budget.limits,
        requests=budget.most_requests if by_requests else None,
        check=last_check(fold.facts.values()),
        finding=finding,
        provider=scope.relay.info.provider,
        trouble=trouble or Trouble(),
        is_cut=fold.run is not None and fold.run.is_cut,
    )


def sentence(reason: EndReason, facts: Facts) -> str:
    """The sentence, without a full stop."""
    if reason is EndReason.MODEL_REJECTED and facts.trouble.rejection is not None:
        return facts.trouble.rejection.sentence
    limits, trouble = facts.limits, facts.trouble
    turns = count(limits.max_turns or 0, "turn")
    values = {
        "check": facts.check.lacks if facts.check else "",
        "finding": facts.finding,
        "time": time_of_day(facts.crashed_at),
        "turns": turns if facts.requests is None else f"{facts.requests:,} requests, retries included",
        "calls": count(limits.max_tool_calls or 0, "tool call"),
        "span": _span(limits.timeout_s or 0.0),
        "tokens": f"{tokens(limits.max_tokens or 0)} tokens",
        "amount": money(limits.max_cost_usd or 0.0),
        "provider": facts.provider or "the provider",
        "tries": f"{count(trouble.tries, 'try')}, {clock(trouble.seconds)}",
    }
    words = END_FACTS[reason].sentence.format_map(values)
    is_partial = reason is EndReason.INTERRUPTED and facts.is_cut
    return f"{words}; effects may be partial" if is_partial else words


def _span(seconds: float) -> str:
    return f"{seconds:g} s" if seconds < 60 else clock(seconds)
