"""The choice of one model: what is known of providers, what settings say of them, and its key."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from agent_tui.config.layers import Settings
from agent_tui.engine.types import ModelChoice
from agent_tui.errors import UsageError
from agent_tui.models.catalog import CatalogError, Provider, find_model, find_provider

KEY_VARIABLE = "AGENT_TUI_API_KEY"  # a key for whatever provider is chosen
DEMO = "demo"

HOW_TO_CHOOSE = (
    "no model is configured; shortest ways: `export OPENAI_API_KEY=… AGENT_TUI_MODEL=openai/gpt-6-sol`, "
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


def choose(name: str, settings: Settings, environ: Mapping[str, str]) -> ModelChoice:
    """The model called `PROVIDER/MODEL`. Raises UsageError where it cannot be reached as configured."""
    provider_name, slash, model = name.partition("/")
    if not slash or not model:
        raise UsageError(f"model `{name}`: must be PROVIDER/MODEL, such as `openai/gpt-6-sol`")
    if provider_name == DEMO:
        return ModelChoice(provider=DEMO, model=model, api="demo", context_window=128_000)
    try:
        provider = find_provider(provider_name, provider_table(settings))
        info, _ = find_model(provider, model)
    except CatalogError as error:
        raise UsageError(f"model `{name}`: {error}") from error
    base_url = _address(name, provider, settings)
    return ModelChoice(
        provider=provider_name,
        model=model,
        api=provider.api,
        base_url=base_url,
        api_key_env=_key_variable(name, provider, base_url, environ),
        headers=provider.headers,
        context_window=info.context_window,
        max_output=info.max_output,
        effort=settings.text("effort"),
    )


def _address(name: str, provider: Provider, settings: Settings) -> str:
    base_url = settings.text("base_url") or provider.base_url
    if not base_url and provider.needs_base_url:
        raise UsageError(
            f"model `{name}`: provider `{provider.name}` needs an address; give `--base-url URL`"
        )
    url = urlsplit(base_url)
    if base_url and (url.scheme not in ("http", "https") or not url.hostname):
        raise UsageError(f"model `{name}`: `{base_url}` is no address; such as `http://127.0.0.1:8000/v1`")
    return base_url


def _key_variable(name: str, provider: Provider, base_url: str, environ: Mapping[str, str]) -> str:
    from agent_tui.models.transport import is_loopback

    if environ.get(KEY_VARIABLE):
        return KEY_VARIABLE
    variable = provider.api_key_env or KEY_VARIABLE
    if environ.get(variable) or is_loopback(base_url):
        return variable
    raise UsageError(f"model `{name}`: no key; export the one of {provider.name} as `{variable}`")
