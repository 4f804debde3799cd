"""Providers: the built-in ones, those of `[providers.NAME]`, and the choice of one model."""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, cast
from urllib.parse import urlsplit

from agent_tui.config.layers import Settings
from agent_tui.config.options import Value
from agent_tui.engine.types import ModelChoice
from agent_tui.errors import UsageError

Api = Literal["responses", "chat", "messages", "demo"]
KEY_VARIABLE = "AGENT_TUI_API_KEY"  # a key for whatever provider is chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """Where models are reached, in which dialect."""

    name: str
    api: Api
    base_url: str = ""  # empty: must be given
    api_key_env: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


BUILT_IN: Mapping[str, Provider] = {
    provider.name: provider
    for provider in (
        Provider(
            name="openai", api="responses", base_url="https://api.openai.com/v1", api_key_env="OPENAI_API_KEY"
        ),
        Provider(
            name="anthropic",
            api="messages",
            base_url="https://api.anthropic.com",
            api_key_env="ANTHROPIC_API_KEY",
        ),
        Provider(name="compatible", api="chat"),
        Provider(name="ollama", api="chat", base_url="http://127.0.0.1:11434/v1"),
        Provider(name="lmstudio", api="chat", base_url="http://127.0.0.1:1234/v1"),
        Provider(name="llamacpp", api="chat", base_url="http://127.0.0.1:8080/v1"),
        Provider(
            name="deepseek", api="chat", base_url="https://api.deepseek.com", api_key_env="DEEPSEEK_API_KEY"
        ),
        Provider(
            name="openrouter",
            api="chat",
            base_url="https://openrouter.ai/api/v1",
            api_key_env="OPENROUTER_API_KEY",
        ),
        Provider(
            name="mistral", api="chat", base_url="https://api.mistral.ai/v1", api_key_env="MISTRAL_API_KEY"
        ),
        Provider(name="demo", api="demo"),
    )
}

HOW_TO_CHOOSE = (
    "no model is configured; shortest ways: `export OPENAI_API_KEY=… AGENT_TUI_MODEL=openai/gpt-5.1`, "
    "`-m ollama/MODEL` for a local server, or `-m compatible/MODEL --base-url URL`"
)


def providers(settings: Settings) -> Mapping[str, Provider]:
    """Built-in and configured providers by name. Raises UsageError for an incomplete one."""
    found = dict(BUILT_IN)
    for name in dict.fromkeys(key[0] for key in settings.below("providers")):
        found[name] = _configured(name, settings.below("providers", name))
    return found


def choose(name: str, settings: Settings, environ: Mapping[str, str]) -> ModelChoice:
    """The model called `PROVIDER/MODEL`. Raises UsageError where it cannot be reached as configured."""
    known = providers(settings)
    provider_name, slash, model = name.partition("/")
    provider = known.get(provider_name)
    if not slash or not model:
        raise UsageError(f"model `{name}`: must be PROVIDER/MODEL, such as `{_example(name, known)}`")
    if provider is None:
        raise UsageError(
            f"model `{name}`: unknown provider `{provider_name}`; there are: {', '.join(sorted(known))}"
        )
    provider = _addressed(name, provider, settings)
    key_variable = KEY_VARIABLE if environ.get(KEY_VARIABLE) else provider.api_key_env
    if provider.api != "demo" and not is_loopback(provider.base_url) and not environ.get(key_variable):
        raise UsageError(
            f"model `{name}`: no key; export the one of {provider_name} as `{key_variable or KEY_VARIABLE}`"
        )
    overrides = {
        key[0]: value for key, value in settings.below("providers", provider_name, "models", model).items()
    }
    sizes = {field: overrides[field] for field in ("context_window", "max_output") if field in overrides}
    return ModelChoice(
        provider=provider_name,
        model=model,
        api=provider.api,
        base_url=provider.base_url,
        api_key_env=key_variable,
        headers=provider.headers,
        effort=settings.text("effort"),
        overrides=overrides,
        **cast("dict[str, int]", sizes),
    )


def is_loopback(url: str) -> bool:
    """Whether an address stays on this machine, where no key is needed."""
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _configured(name: str, values: Mapping[tuple[str, ...], Value]) -> Provider:
    base = BUILT_IN.get(name)
    api = values.get(("api",))
    if base is None and api is None and any(key[0] != "models" for key in values):
        raise UsageError(
            f"provider `{name}`: `providers.{name}.api` is missing; one of responses, chat, messages"
        )
    provider = base or Provider(name=name, api=cast(Api, api or "chat"))
    headers = {key[1]: str(value) for key, value in values.items() if key[0] == "headers"}
    return replace(
        provider,
        api=cast(Api, api) if api else provider.api,
        base_url=str(values.get(("base_url",)) or provider.base_url),
        api_key_env=str(values.get(("api_key_env",)) or provider.api_key_env),
        headers={**provider.headers, **headers},
    )


def _addressed(name: str, provider: Provider, settings: Settings) -> Provider:
    """The provider at its final address. Raises UsageError where that is none."""
    provider = replace(provider, base_url=settings.text("base_url") or provider.base_url)
    if provider.api == "demo":
        return provider
    url = urlsplit(provider.base_url)
    if not provider.base_url:
        raise UsageError(
            f"model `{name}`: provider `{provider.name}` needs an address; give `--base-url URL`"
        )
    if url.scheme not in ("http", "https") or not url.hostname:
        raise UsageError(
            f"model `{name}`: `{provider.base_url}` is no address; such as `http://127.0.0.1:8000/v1`"
        )
    return provider


def _example(name: str, known: Mapping[str, Provider]) -> str:
    return f"{name}/MODEL" if name in known else f"openai/{name}"
