"""From `PROVIDER/MODEL` and the user's provider table to a model that can be asked."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from agent_tui.models.base import ModelInfo
from agent_tui.models.catalog import CatalogError, Quirks, find_model, find_provider
from agent_tui.models.example import EXAMPLE_MODEL
from agent_tui.models.keys import find_key
from agent_tui.models.remote import Dialect, RemoteModel
from agent_tui.models.transport import Endpoint, Sdk, Transport, is_loopback
from context.items import Api

__all__ = ["CatalogError", "Route", "dialect_of", "find_route", "open_model", "sdk_of"]

_PATHS: Mapping[Api, str] = {
    "chat": "/chat/completions",
    "responses": "/responses",
    "messages": "/v1/messages",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Which model, reached how, and what is known of it. Holds the name of the key, never the key."""

    info: ModelInfo
    api: Api
    base_url: str  # empty: the vendor's own address
    api_key_env: str
    needs_key: bool  # False on loopback
    api_key_command: tuple[str, ...] = ()
    api_key_keyring: str = ""
    quirks: Quirks = Quirks()
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """`PROVIDER/MODEL`."""
        return f"{self.info.provider}/{self.info.model}"

    @property
    def has_key_source(self) -> bool:
        """A key can be had that is not in the environment."""
        return bool(self.api_key_command or self.api_key_keyring)


def find_route(name: str, *, base_url: str = "", providers: Mapping[str, Any] | None = None) -> Route:
    """Look a `PROVIDER/MODEL` up; `base_url` is `--base-url`, `providers` the user's table.

    Raises CatalogError with one line for people. `demo` is no provider here: see `scripted`.
    """
    provider_name, slash, model = name.partition("/")
    if not slash or not provider_name or not model:
        raise CatalogError(f"model `{name}` must be written as PROVIDER/MODEL, such as `{EXAMPLE_MODEL}`")
    provider = find_provider(provider_name, providers)
    address = base_url or provider.base_url
    if not address and provider.needs_base_url:
        raise CatalogError(
            f"provider `{provider_name}` needs an address: give `--base-url http://HOST:PORT/v1`"
        )
    if "@" in urlsplit(address).netloc:  # it would be shown and stored with the address
        raise CatalogError(
            f"the base URL of `{provider_name}` holds a name or a password; give the key by `api_key_env`"
        )
    if address and (urlsplit(address).scheme not in ("http", "https") or not urlsplit(address).hostname):
        raise CatalogError(f"base URL `{address}` must begin with http:// or https:// and name a host")
    info, quirks = find_model(provider, model)
    return Route(
        info=info,
        api=provider.api,
        base_url=_rooted(address, provider.api),
        api_key_env=provider.api_key_env,
        needs_key=not is_loopback(address),
        api_key_command=provider.api_key_command,
        api_key_keyring=provider.api_key_keyring,
        quirks=quirks,
        headers=provider.headers,
    )


def _rooted(address: str, api: Api) -> str:
    """The address as the SDK wants it: Anthropic's leaves the version out, the others have it in."""
    address = address.rstrip("/")
    return address.removesuffix("/v1") if api == "messages" else address


def sdk_of(api: Api) -> Sdk:
    """The SDK that carries a dialect, for `transport.preload`."""
    return "anthropic" if api == "messages" else "openai"


def open_model(route: Route, *, api_key: str = "", key_name: str = "", strict: bool = False) -> RemoteModel:
    """The model of a route; connects on its first request, and fetches the key then where none is given
    and the route says where it is. `key_name` is what a refused key is to be looked for in; `strict`:
    see `RemoteModel`."""
    key: str | Callable[[], str] = api_key.strip()  # a line end comes along easily
    if not key and route.has_key_source:
        key = partial(find_key, route.api_key_command, route.api_key_keyring)
        key_name = "api_key_command" if route.api_key_command else "api_key_keyring"
    endpoint = Endpoint(
        sdk=sdk_of(route.api),
        base_url=route.base_url,
        path=_PATHS[route.api],
        api_key=key,
        key_name=key_name or route.api_key_env,
        headers=route.headers,
    )
    return RemoteModel(
        info=route.info,
        quirks=route.quirks,
        dialect=dialect_of(route.api),
        transport=Transport(endpoint),
        strict=strict,
    )


def dialect_of(api: Api) -> Dialect:
    """Both directions of an API; its module is imported on first use."""
    match api:
        case "chat":
            from agent_tui.models.chat import ChatDialect

            return ChatDialect()
        case "responses":
            from agent_tui.models.responses import ResponsesDialect

            return ResponsesDialect()
        case "messages":
            from agent_tui.models.messages import MessagesDialect

            return MessagesDialect()
