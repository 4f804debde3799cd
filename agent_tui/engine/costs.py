"""What requests cost: of the session, of the turn at hand, of each model and step; part of the fold."""

from dataclasses import field
from typing import Any

from agent_tui.frozen import mutable
from context.items import Usage


def add_usage(one: Usage, other: Usage) -> Usage:
    """Sum of two usages."""
    return Usage(
        input_tokens=one.input_tokens + other.input_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
        cache_read_tokens=one.cache_read_tokens + other.cache_read_tokens,
        cache_write_tokens=one.cache_write_tokens + other.cache_write_tokens,
        reasoning_tokens=one.reasoning_tokens + other.reasoning_tokens,
        estimated=one.estimated or other.estimated,
    )


def add_cost(one: float | None, other: float | None) -> float | None:
    """Sum in USD; unknown where one of them is."""
    return None if one is None or other is None else one + other


@mutable
class Tally:
    """Requests, tokens and money of one kind."""

    requests: int = 0
    usage: Usage = Usage()
    cost_usd: float | None = 0.0  # None: some of it is unknown

    def add(self, usage: Usage, cost_usd: float | None) -> None:
        """Count one request."""
        self.requests += 1
        self.usage = add_usage(self.usage, usage)
        self.cost_usd = add_cost(self.cost_usd, cost_usd)

    def shown(self) -> dict[str, Any]:
        """As `Subject.COST` has it; `input_tokens` includes those read from and written to a cache."""
        usage = self.usage
        return {
            "requests": self.requests,
            "input_tokens": usage.input_tokens,
            "cache_read_tokens": usage.cache_read_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
            "output_tokens": usage.output_tokens,
            "cost_usd": self.cost_usd,
        }


@mutable
class Costs:
    """What was asked of models so far."""

    session: Tally = field(default_factory=Tally)
    turn: Tally = field(default_factory=Tally)  # over all runs of its task
    run: Tally = field(default_factory=Tally)
    models: dict[str, Tally] = field(default_factory=dict)
    steps: list[tuple[int, str, Tally]] = field(
        default_factory=list
    )  # number and model of each, oldest first

    def new_turn(self) -> None:
        """Another task begins."""
        self.turn = Tally()

    def new_run(self) -> None:
        """Another run begins."""
        self.run = Tally()

    def add(self, model: str, usage: Usage, cost_usd: float | None, step: int | None = None) -> None:
        """Count one request to a model, of the step with this number where it was one."""
        for tally in (self.session, self.turn, self.run, self.models.setdefault(model, Tally())):
            tally.add(usage, cost_usd)
        if step is not None:
            self.steps.append((step, model, Tally(requests=1, usage=usage, cost_usd=cost_usd)))

    def shown(self) -> dict[str, Any]:
        """As `Subject.COST` has it."""
        return {
            "turn": self.turn.shown(),
            "run": self.run.shown(),
            "session": self.session.shown(),
            "models": {name: tally.shown() for name, tally in self.models.items()},
            "steps": [{"step": step, "model": model, **tally.shown()} for step, model, tally in self.steps],
        }
