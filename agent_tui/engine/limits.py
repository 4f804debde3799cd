"""The limits that hold: those of the configuration, and over them what a person said in this session.

What was said, at a start or when a limit was reached, is a setting of the session, `limit.NAME`, and
holds for later processes until it is said anew.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from agent_tui.engine.events import SettingChanged
from agent_tui.engine.types import Budgets, Config
from agent_tui.frozen import frozen

Name = Literal["turns", "tools", "time", "tokens", "cost"]
NONE = "none"  # the stored form of no limit


@frozen
class Limit:
    """One dimension: its names in a setting, in `Budgets`, in the configuration and for people."""

    name: Name
    field: str
    key: str
    unit: str  # `$` stands before an amount, the others behind it

    @property
    def setting(self) -> str:
        """The key of the setting that holds what was said."""
        return f"limit.{self.name}"

    def changed(self, amount: float | None) -> SettingChanged:
        """The record of a new amount; None is no limit."""
        return SettingChanged(key=self.setting, value=NONE if amount is None else f"{amount:.15g}")

    def read(self, value: str) -> float | int | None:
        """A stored amount."""
        if value == NONE:
            return None
        return float(value) if self.field in ("timeout_s", "max_cost_usd") else int(float(value))


TURNS = Limit(name="turns", field="max_turns", key="max_turns", unit="turns")
TOOLS = Limit(name="tools", field="max_tool_calls", key="max_tool_calls", unit="calls")
TIME = Limit(name="time", field="timeout_s", key="timeout", unit="s")
TOKENS = Limit(name="tokens", field="max_tokens", key="max_tokens", unit="tokens")
COST = Limit(name="cost", field="max_cost_usd", key="max_cost", unit="$")
LIMITS = (TURNS, TOOLS, TIME, TOKENS, COST)


def limits_of(budgets: Budgets, settings: Mapping[str, str]) -> Budgets:
    """The limits that hold now."""
    said = [limit for limit in LIMITS if limit.setting in settings]
    changes: dict[str, Any] = {limit.field: limit.read(settings[limit.setting]) for limit in said}
    return replace(budgets, **changes)


def named_limits(config: Config, settings: Mapping[str, str]) -> list[SettingChanged]:
    """What a start says of limits by flag or environment, where the session does not hold it yet."""
    named = [limit for limit in LIMITS if config.names(limit.key)]
    found = [limit.changed(getattr(config.budgets, limit.field)) for limit in named]
    return [one for one in found if settings.get(one.key) != one.value]
