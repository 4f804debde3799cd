"""From `PROVIDER/MODEL` and the user's provider table to what is known of a model and its address."""

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any
from urllib.parse import urlsplit

from agent_tui.frozen import frozen
from agent_tui.models.base import ModelInfo
from agent_tui.models.catalog import CatalogError, Quirks, find_model, find_provider
from agent_tui.models.example import EXAMPLE_MODEL
from context.items import Api

__all__ = ["CatalogError", "Route", "find_route", "is_loopback"]

_LOOPBACK = re.compile(r"127(?:\.\d{1,3}){3}")


@frozen
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


def is_loopback(url: str) -> bool:
    """The address is this machine's own: no key is needed and no proxy is asked."""
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or _LOOPBACK.fullmatch(host) is not None
