"""Limits of a session: what is used, what is left, what ends a run.

Turns, tool calls and time count for the task, over all its runs; tokens and money for the session.
"""

from collections.abc import Iterator

from agent_tui.engine.costs import add_cost
from agent_tui.engine.types import Budgets, EndReason
from agent_tui.frozen import frozen, mutable
from agent_tui.models.base import ModelInfo, cost_usd
from context.items import Usage

WARN_SHARE = 0.8
MAX_REQUESTS_PER_TURN = 3  # requests, retries included, for each turn of a turn limit
GRACE_RESERVE_S = 15.0  # kept from a time limit for the grace call, at most a tenth of it


@mutable
class Spent:
    """What the records say was used; part of the fold."""

    turns: int = 0
    tool_calls: int = 0  # reserved and not given back
    active_s: float = 0.0  # of ended runs
    tokens: int = 0
    cost_usd: float | None = 0.0  # None: the price of some response is unknown

    def new_task(self) -> None:
        """Start counting what counts for a task."""
        self.turns = self.tool_calls = 0
        self.active_s = 0.0

    def add_step(self, reserved: int) -> None:
        """Count one response and the calls reserved with it."""
        self.turns += 1
        self.tool_calls += reserved

    def add(self, usage: Usage, cost_usd: float | None) -> None:
        """Count the tokens and the money of a request, also of one that is no step."""
        self.tokens += usage.input_tokens + usage.output_tokens
        self.cost_usd = add_cost(self.cost_usd, cost_usd)


@frozen
class Budget:
    """The limits against what is used at one moment; `active_s` includes the open run."""

    limits: Budgets
    spent: Spent
    active_s: float
    requests: int = 0  # of this run, retries included

    def over(self) -> EndReason | None:
        """The limit that does not allow another request; None: all do."""
        limits, spent = self.limits, self.spent
        if limits.max_turns is not None and spent.turns >= limits.max_turns:
            return EndReason.BUDGET_TURNS
        if self.requests_left() == 0:
            return EndReason.BUDGET_TURNS
        if (left := self.time_left_s()) is not None and left <= 0:
            return EndReason.BUDGET_TIME
        if limits.max_tokens is not None and spent.tokens >= limits.max_tokens:
            return EndReason.BUDGET_TOKENS
        if limits.max_cost_usd is not None and (spent.cost_usd or 0.0) > limits.max_cost_usd:
            return EndReason.BUDGET_COST  # at the limit only what costs nothing is sent: see `too_dear`
        return None

    def too_dear(self, tokens: int, reserved_output: int, info: ModelInfo) -> EndReason | None:
        """Whether a request of so many tokens, with its answer, could pass a limit: then it is not sent."""
        limits, spent = self.limits, self.spent
        if limits.max_tokens is not None and spent.tokens + tokens + reserved_output > limits.max_tokens:
            return EndReason.BUDGET_TOKENS
        if limits.max_cost_usd is None:
            return None
        price = cost_usd(Usage(input_tokens=tokens, output_tokens=reserved_output), info)
        if price is None or spent.cost_usd is None:
            return EndReason.COST_UNKNOWN
        return EndReason.BUDGET_COST if spent.cost_usd + price > limits.max_cost_usd else None

    @property
    def most_requests(self) -> int | None:
        """Requests that a run may send, retries included; None: no limit."""
        turns = self.limits.max_turns
        return None if turns is None else MAX_REQUESTS_PER_TURN * turns

    def requests_left(self) -> int | None:
        """Requests that this run may still send, retries included; None: no limit."""
        most = self.most_requests
        return None if most is None else max(0, most - self.requests)

    def calls_left(self) -> int | None:
        """Tool calls that may still be reserved; None: no limit."""
        limit = self.limits.max_tool_calls
        return None if limit is None else max(0, limit - self.spent.tool_calls)

    def time_left_s(self) -> float | None:
        """Active seconds until the grace call must begin; None: no limit."""
        limit = self.limits.timeout_s
        if limit is None:
            return None
        return limit - min(GRACE_RESERVE_S, limit / 10) - self.spent.active_s - self.active_s

    def used(self, name: str) -> float:
        """How much of a limit is used, in its unit; names as in `limits`."""
        spent = self.spent
        return {
            "turns": spent.turns,
            "tools": spent.tool_calls,
            "time": spent.active_s + self.active_s,
            "tokens": spent.tokens,
            "cost": spent.cost_usd or 0.0,
        }[name]

    def warnings(self) -> Iterator[tuple[str, str]]:
        """Key and line of each limit that is four fifths used; a raised limit has a key of its own."""
        limits = self.limits
        lines = (
            ("turns", limits.max_turns, "{:.0f} of {:.0f} turn{} used"),
            ("tools", limits.max_tool_calls, "{:.0f} of {:.0f} tool call{} used"),
            ("time", limits.timeout_s, "{:.0f} s of {:.0f} s used"),
            ("tokens", limits.max_tokens, "{:,.0f} of {:,.0f} token{} used"),
            ("cost", limits.max_cost_usd or None, "${:.2f} of ${:.2f} used"),  # 0: free models only
        )
        for name, limit, line in lines:
            if limit is not None and self.used(name) >= WARN_SHARE * limit:
                plural = "" if limit == 1 else "s"
                yield f"budget.{name}.{limit:.15g}", f"{name}: {line.format(self.used(name), limit, plural)}"
