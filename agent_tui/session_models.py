"""The models of a session: the chosen one, those beside it, those that may take over, those on offer."""

import os
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING

from agent_tui.config.layers import Settings
from agent_tui.config.providers import (
    DEMO,
    KEY_VARIABLE,
    REPLAY,
    base_url_of,
    choose,
    provider_table,
    route_to,
)
from agent_tui.engine.types import Config, ModelChoice
from agent_tui.errors import AgentError, UsageError
from agent_tui.models.base import Model
from agent_tui.short_path import long_path

if TYPE_CHECKING:
    from agent_tui.models.offers import Offers


def preload_sdk(choice: ModelChoice) -> None:
    """Load the SDK that this model needs in a thread, while other things are opened."""
    if choice.api != "demo":
        from agent_tui.models.router import sdk_of
        from agent_tui.models.transport import preload

        preload(sdk_of(choice.api))


def open_model(
    choice: ModelChoice, settings: Settings, stack: AsyncExitStack, *, ahead: bool = False
) -> Model:
    """The model of a choice, closed with `stack`. `ahead`: its first request is about to come.

    Raises UsageError."""
    if choice.provider == DEMO:
        from agent_tui.models.demo import demo_model

        return demo_model()
    if choice.provider == REPLAY:
        return _replayed(choice.model)
    from agent_tui.models import router

    variable = choice.api_key_env
    key = os.environ.get(variable, "")
    model = router.open_model(route_to(choice.name, settings), api_key=key, key_name=variable)
    if ahead:
        model.prepare()
    stack.push_async_callback(model.aclose)
    return model


def _replayed(file: str) -> Model:
    from agent_tui.models.replay import ReplayError, replay_file

    try:
        return replay_file(long_path(file).absolute())
    except ReplayError as error:
        raise UsageError(str(error)) from error


class Roles:
    """The models beside the chosen one; what cannot be had is a problem to be told, and is done without."""

    def __init__(self, config: Config, main: Model, model_called: Callable[[str], Model]) -> None:
        self.problems: list[str] = []
        self._model_called = model_called
        self.fast = self._opened("fast_model", config.fast_model)
        self.planner = self._opened("planner_model", config.planner_model)
        own = config.summary_model == "main"
        self.summariser = main if own else self._opened("summary_model", config.summary_model) or self.fast

    def _opened(self, role: str, name: str | None) -> Model | None:
        if not name:
            return None
        try:
            return self._model_called(name)
        except AgentError as error:
            self.problems.append(f"`{role}` is not used: {error}")
            return None


def usable_fallback(config: Config, settings: Settings) -> tuple[tuple[str, ...], list[str]]:
    """The models that may take over, and why others cannot: better said now than when they are needed."""
    usable, problems = [], []
    for name in config.fallback:
        try:
            choose(name, settings, os.environ)
        except AgentError as error:
            problems.append(f"`fallback` leaves a model out: {error}")
        else:
            usable.append(name)
    return tuple(usable), problems


def offers_of(settings: Settings) -> Callable[[], Awaitable[list[dict[str, object]]]]:
    """As `Subject.MODELS` has it; local servers are asked when somebody looks, never before."""

    @cache
    def offers() -> "Offers":
        from agent_tui.models.offers import Offers

        table, name = provider_table(settings), settings.text("model") or ""
        if address := base_url_of(name, settings):  # it was given with the model
            provider = name.partition("/")[0]
            table = {**table, provider: {**table.get(provider, {}), "base_url": address}}
        return Offers(table, os.environ, any_key=KEY_VARIABLE)

    async def listed() -> list[dict[str, object]]:
        return [asdict(offer) for offer in await offers().list()]

    return listed
