"""Limits of a session: what is used, what is left, what ends a run (design d.1-d.3).

Turns, tool calls and time count for the task, over all its runs; tokens and money for the session.
"""

from dataclasses import dataclass

from agent_tui.models.base import ModelInfo
from context.items import Usage


@dataclass(slots=True)
class Spent:
    """What the records say was used; part of the fold."""

    turns: int = 0
    requests: int = 0
    tool_calls: int = 0  # reserved and not given back
    active_s: float = 0.0  # of ended runs
    tokens: int = 0
    cost_usd: float | None = 0.0  # None: the price of some response is unknown

    def new_task(self) -> None:
        """Start counting what counts for a task."""
        self.turns = self.requests = self.tool_calls = 0
        self.active_s = 0.0

    def add(self, usage: Usage, cost_usd: float | None, reserved: int) -> None:
        """Count one response and the calls reserved with it."""
        self.turns += 1
        self.tool_calls += reserved
        self.tokens += usage.input_tokens + usage.output_tokens
        if self.cost_usd is not None:
            self.cost_usd = None if cost_usd is None else self.cost_usd + cost_usd


def cost_of(usage: Usage, info: ModelInfo) -> float | None:
    """USD of one response, None where a price is unknown. Cached tokens are part of the input."""
    if info.price_input is None or info.price_output is None:
        return None
    read_price = info.price_input if info.price_cache_read is None else info.price_cache_read
    write_price = info.price_input if info.price_cache_write is None else info.price_cache_write
    plain = usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens
    total = (
        max(0, plain) * info.price_input
        + usage.cache_read_tokens * read_price
        + usage.cache_write_tokens * write_price
        + usage.output_tokens * info.price_output
    )
    return total / 1_000_000
