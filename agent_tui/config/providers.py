"""The choice of one model: what is known of providers, what settings say of them, and its key."""

from collections.abc import Mapping
from typing import Any

from agent_tui.config.layers import ENVIRONMENT, FLAG, SESSION, Settings
from agent_tui.engine.types import ModelChoice
from agent_tui.errors import UsageError
from agent_tui.models.catalog import find_provider, header_secrets, provider_names
from agent_tui.models.example import EXAMPLE_MODEL
from agent_tui.models.route import CatalogError, Route, find_route

KEY_VARIABLE = "AGENT_TUI_API_KEY"  # a key for whatever provider is chosen
DEMO = "demo"
REPLAY = "replay"  # `replay/FILE`: a saved session, without a network
DEMO_WINDOW = 128_000  # tokens

HOW_TO_CHOOSE = (
    f"no model is configured; shortest ways: `export OPENAI_API_KEY=… AGENT_TUI_MODEL={EXAMPLE_MODEL}`, "
    "`-m ollama/MODEL` for a local server, or `-m compatible/MODEL --base-url URL`"
)


def provider_table(settings: Settings) -> Mapping[str, Any]:
    """The `[providers]` table of all layers together, nested as in the file."""
    table: dict[str, Any] = {}
    for key, value in settings.below("providers").items():
        inner = table
        for segment in key[:-1]:
            inner = inner.setdefault(segment, {})
        inner[key[-1]] = value
    return table


def route_to(name: str, settings: Settings) -> Route:
    """Where the model called `PROVIDER/MODEL` is. Raises UsageError."""
    try:
        return find_route(name, base_url=base_url_of(name, settings), providers=provider_table(settings))
    except CatalogError as error:
        raise UsageError(str(error)) from error


def base_url_of(name: str, settings: Settings) -> str:
    """`--base-url` is the address of the model that was chosen with it, not of other providers."""
    provider, chosen = name.partition("/")[0], (settings.text("model") or "").partition("/")[0]
    if chosen in ("", provider):
        return settings.text("base_url") or ""
    own = settings.below("providers").get((provider, "base_url"))
    is_explicit = settings.layer("model") in (FLAG, ENVIRONMENT, SESSION)
    return "" if own or is_explicit else settings.text("base_url") or ""


def key_variable(route: Route, environ: Mapping[str, str]) -> str:
    """The variable that holds the key for a route. Raises UsageError where a key is needed and not there."""
    if environ.get(KEY_VARIABLE):
        return KEY_VARIABLE
    variable = route.api_key_env or KEY_VARIABLE
    if route.needs_key and not environ.get(variable) and not route.has_key_source:
        raise UsageError(f"model `{route.name}`: no key; set `{variable}`")
    return variable


def keys_in(settings: Settings, environ: Mapping[str, str]) -> list[str]:
    """The keys of all providers in environment and headers, to be masked in what leaves the machine.

    Raises UsageError where a provider's entry cannot be read: its key would not be known.
    """
    table = provider_table(settings)
    try:
        providers = [find_provider(name, table) for name in provider_names(table)]
    except CatalogError as error:
        raise UsageError(str(error)) from error
    variables = sorted({KEY_VARIABLE, *(provider.api_key_env for provider in providers)})
    keys = [key for name in variables if (key := environ.get(name, ""))]
    return [*keys, *(secret for provider in providers for secret in header_secrets(provider.headers))]


def choose(name: str, settings: Settings, environ: Mapping[str, str]) -> ModelChoice:
    """The model called `PROVIDER/MODEL`. Raises UsageError where it cannot be reached as configured."""
    provider, _, model = name.partition("/")
    if provider == REPLAY and model:
        return ModelChoice(provider=REPLAY, model=model, api="demo", context_window=DEMO_WINDOW)
    if provider == DEMO and model:
        return ModelChoice(provider=DEMO, model=model, api="demo", context_window=DEMO_WINDOW)
    route = route_to(name, settings)
    return ModelChoice(
        provider=route.info.provider,
        model=route.info.model,
        api=route.api,
        base_url=route.base_url,
        api_key_env=key_variable(route, environ),
        headers=route.headers,
        context_window=route.info.context_window,
        max_output=route.info.max_output,
        effort=settings.text("effort"),
    )
