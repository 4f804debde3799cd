"""Providers and models: addresses, windows, prices, and how a server departs from its dialect.

Facts are in `catalog.toml`; what a user configures is laid over them. An unknown model gets a safe
default and says so (`ModelInfo.known`).
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from agent_tui.frozen import frozen
from agent_tui.models.base import ModelInfo
from agent_tui.models.keys import as_argv
from context.items import Api

SAFE_WINDOW = 32_000  # small enough for most local servers, large enough to work in
SAFE_OUTPUT = 4_096
MIN_SECRET_CHARS = 8  # a shorter header value, such as `true`, is a word of every sentence
_DATED = re.compile(r"-(?:\d{8}|\d{4}-\d{2}-\d{2}|latest)\Z")
_NOT_SETTABLE = ("provider", "model", "known")


class CatalogError(ValueError):
    """A provider is unknown or a configured value is of the wrong kind; the text is one line."""


@frozen
class Quirks:
    """Where a server departs from its dialect's first vendor; the defaults suit most."""

    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    system_role: Literal["system", "developer"] = "system"
    stream: bool = True  # False: ask for one document, for servers that cannot stream
    stream_usage: bool = True  # `stream_options.include_usage` is understood
    effort: Literal["reasoning_effort", "reasoning_object", "adaptive", "budget"] = "reasoning_effort"
    reasoning_back: Literal["", "reasoning_content", "reasoning", "reasoning_details"] = ""
    call_ids: Literal["any", "alnum9"] = "any"
    bridge: bool = False  # no user message may follow tool results: say a word for the model
    cache_key: bool = False  # `prompt_cache_key` is understood
    tool_choice_none: bool = True


@frozen
class Provider:
    """One entry of the provider table."""

    name: str
    api: Api
    base_url: str = ""  # empty: the SDK's own, or `needs_base_url`
    api_key_env: str = ""
    api_key_command: tuple[str, ...] = ()  # prints the key
    api_key_keyring: str = ""  # `SERVICE/USER`
    needs_base_url: bool = False
    local: bool = False  # runs on the user's machine and costs nothing
    headers: Mapping[str, str]
    table: Mapping[str, Any]  # its raw entry: defaults, models, quirks


@lru_cache(maxsize=1)
def _builtin() -> dict[str, Any]:
    text = (Path(__file__).parent / "catalog.toml").read_text(encoding="utf-8")
    table: dict[str, Any] = tomllib.loads(text)["providers"]
    return table


def provider_names(overrides: Mapping[str, Any] | None = None) -> tuple[str, ...]:
    """Built-in providers in the order of the catalogue, then configured ones; `demo` is not among them."""
    return tuple({**_builtin(), **(overrides or {})})


def find_provider(name: str, overrides: Mapping[str, Any] | None = None) -> Provider:
    """`overrides` is the user's `[providers]` table. Raises CatalogError."""
    built, own = _builtin().get(name, {}), (overrides or {}).get(name, {})
    if not built and not own:
        known = ", ".join(provider_names(overrides))
        raise CatalogError(f"unknown provider `{name}`; known are {known}, demo")
    table = _merged(built, own)
    api = table.get("api")
    if api not in ("responses", "chat", "messages"):
        found = f"not `{api}`" if api is not None else f"and is not set; add it to `[providers.{name}]`"
        raise CatalogError(f"providers.{name}: `api` must be `responses`, `chat` or `messages`, {found}")
    return Provider(
        name=name,
        api=api,
        base_url=str(table.get("base_url", "")),
        api_key_env=str(table.get("api_key_env", "")),
        api_key_command=_argv(table.get("api_key_command", ()), name),
        api_key_keyring=str(table.get("api_key_keyring", "")),
        needs_base_url=bool(table.get("needs_base_url", not built and "base_url" not in table)),
        local=bool(table.get("local", False)),
        headers={str(key): str(value) for key, value in table.get("headers", {}).items()},
        table=table,
    )


def header_secrets(headers: Mapping[str, str]) -> tuple[str, ...]:
    """What of configured headers may be a key: longer values, and their words, as in `Bearer KEY`."""
    words = {word for value in headers.values() for word in (value, *value.split())}
    return tuple(sorted((word for word in words if len(word) >= MIN_SECRET_CHARS), key=len, reverse=True))


def readable_providers(providers: Mapping[str, Any] | None = None) -> Iterator[Provider]:
    """Every provider but those whose entry is wrong, which is told when one is chosen and by `doctor`."""
    for name in provider_names(providers):
        with suppress(CatalogError):
            yield find_provider(name, providers)


def _argv(command: Any, name: str) -> tuple[str, ...]:
    try:
        return as_argv((command,) if isinstance(command, str) else tuple(map(str, command)))
    except (TypeError, ValueError) as error:
        raise CatalogError(f"providers.{name}: `api_key_command` cannot be read: {error}") from error


def find_model(provider: Provider, model: str) -> tuple[ModelInfo, Quirks]:
    """What is known of a model of the provider. Raises CatalogError for a value of the wrong kind."""
    models: Mapping[str, Any] = provider.table.get("models", {})
    exact = models.get(model)
    entry = exact if exact is not None else models.get(_DATED.sub("", model))
    defaults = provider.table.get("defaults", {}) if entry is not None else {}
    known = {**defaults, **(entry or {})}
    info = ModelInfo(
        provider=provider.name,
        model=model,
        context_window=SAFE_WINDOW,
        max_output=SAFE_OUTPUT,
        known="context_window" in known,
    )
    if provider.local:
        info = replace(info, price_input=0.0, price_output=0.0)
    values = {key: value for key, value in known.items() if key != "quirks"}
    quirks = {
        **provider.table.get("defaults", {}).get("quirks", {}),
        **provider.table.get("quirks", {}),
        **(entry or {}).get("quirks", {}),
    }
    where = f"providers.{provider.name}.models.{model}"
    return _checked(info, values, where), _checked(Quirks(), quirks, f"{where}.quirks")


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        is_nested = isinstance(value, Mapping) and isinstance(below, Mapping)
        merged[key] = _merged(below or {}, value) if is_nested else value
    return merged


def _checked(record: Any, values: Mapping[str, Any], where: str) -> Any:
    """`record` with `values` in it, each of the kind the field has."""
    hints = get_type_hints(type(record))
    for key, value in values.items():
        if key not in hints or key in _NOT_SETTABLE:
            raise CatalogError(f"{where}: unknown key `{key}`")
        choices = get_args(hints[key]) if get_origin(hints[key]) is Literal else ()
        wanted: tuple[type, ...] = (
            (int, float) if hints[key] in (float, float | None) else (str, bool) if choices else (int,)
        )
        wanted = (bool,) if hints[key] is bool else wanted
        is_wrong_kind = not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted)
        if is_wrong_kind or (choices and value not in choices):
            raise CatalogError(f"{where}: `{key}` cannot be `{value}`")
        if not isinstance(value, str) and value < 0:
            raise CatalogError(f"{where}: `{key}` cannot be negative")
    return replace(record, **values)
