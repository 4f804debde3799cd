"""Finds model servers that run on this machine, and asks a server which models it has.

Plain HTTP from the standard library: it runs at first start, when no SDK is loaded yet.
"""

import asyncio
import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from agent_tui.models.catalog import find_provider, provider_names

CONNECT_TIMEOUT_S = 0.5  # loopback answers in a millisecond or not at all
MAX_BYTES = 4 * 1024 * 1024


class ListingError(Exception):
    """A server gave no list of models; the text is one line and says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalServer:
    """A server that answered, and the models it names."""

    provider: str
    base_url: str
    models: tuple[str, ...]


async def find_local_servers(providers: Mapping[str, Any] | None = None) -> tuple[LocalServer, ...]:
    """Ask every local provider of the catalogue, at once; `providers` is the user's table.

    Servers that do not answer within half a second are left out. Two providers may share a port.
    """
    known = [find_provider(name, providers) for name in provider_names(providers)]
    wanted = [(provider.name, provider.base_url) for provider in known if provider.local]
    tried = (asyncio.to_thread(_try_server, name, url) for name, url in wanted)
    return tuple(server for server in await asyncio.gather(*tried) if server is not None)


def _try_server(provider: str, base_url: str) -> LocalServer | None:
    try:
        models = list_models(base_url, timeout_s=CONNECT_TIMEOUT_S)
    except ListingError:
        return None
    return LocalServer(provider=provider, base_url=base_url, models=models) if models else None


def list_models(
    base_url: str,
    *,
    api_key: str = "",
    headers: Mapping[str, str] | None = None,
    timeout_s: float = 5.0,
) -> tuple[str, ...]:
    """Names from `BASE/models`, as every dialect's vendors have it. Blocks. Raises ListingError."""
    url = urlsplit(base_url)
    is_tls = url.scheme == "https"
    make = http.client.HTTPSConnection if is_tls else http.client.HTTPConnection
    try:
        connection = make(url.hostname or "", url.port, timeout=timeout_s)
    except (http.client.InvalidURL, ValueError) as error:
        raise ListingError(f"`{base_url}` is no address: {error}") from error
    sent = {"Accept": "application/json", **(headers or {})}
    if api_key:
        sent |= {"Authorization": f"Bearer {api_key}", "x-api-key": api_key}
    try:
        connection.request("GET", f"{url.path.rstrip('/')}/models", headers=sent)
        answer = connection.getresponse()
        body = answer.read(MAX_BYTES)
    except (OSError, http.client.HTTPException) as error:
        raise ListingError(f"`{base_url}` does not answer: {error}") from error
    finally:
        connection.close()
    if answer.status != 200:
        raise ListingError(f"`{base_url}/models` answered {answer.status}")
    return _names(body, base_url)


def _names(body: bytes, base_url: str) -> tuple[str, ...]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ListingError(f"`{base_url}/models` is not JSON") from error
    listed = document.get("data", document.get("models")) if isinstance(document, dict) else document
    entries = listed if isinstance(listed, list) else []
    names = [entry.get("id") or entry.get("name") for entry in entries if isinstance(entry, dict)]
    return tuple(name for name in names if isinstance(name, str) and name)
