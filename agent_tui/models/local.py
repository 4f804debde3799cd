"""Finds model servers that run on this machine, and asks a server which models it has.

Plain HTTP from the standard library: it runs at first start, when no SDK is loaded yet.
"""

import asyncio
import http.client
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from agent_tui.frozen import frozen
from agent_tui.models.catalog import readable_providers

LOOK_S = 0.5  # loopback answers in a millisecond or not at all
MAX_BYTES = 4 * 1024 * 1024
MAX_MODELS = 500  # of one server


class ListingError(Exception):
    """A server gave no list of models; the text is one line and says why."""


@frozen
class LocalServer:
    """A server that answered, and the models it names."""

    provider: str
    base_url: str
    models: tuple[str, ...]


async def find_local_servers(providers: Mapping[str, Any] | None = None) -> tuple[LocalServer, ...]:
    """Ask every local provider of the catalogue, at once; `providers` is the user's table.

    Servers that do not answer within half a second are left out. Two providers may share a port.
    """
    wanted = [
        (provider.name, provider.base_url) for provider in readable_providers(providers) if provider.local
    ]
    tried = (asyncio.to_thread(_try_server, name, url) for name, url in wanted)
    return tuple(server for server in await asyncio.gather(*tried) if server is not None)


def _try_server(provider: str, base_url: str) -> LocalServer | None:
    try:
        models = list_models(base_url, timeout_s=LOOK_S)
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
    """Names from `BASE/models`, as every dialect's vendors have it. Blocks, at most about twice `timeout_s`:
    that long for the connection, and that long for the answer. Raises ListingError."""
    try:
        url = urlsplit(base_url)
        make = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
        connection = make(url.hostname or "", url.port, timeout=timeout_s)
    except (http.client.InvalidURL, ValueError) as error:
        raise ListingError(f"`{base_url}` is no address: {error}") from error
    sent = {"Accept": "application/json", **(headers or {})}
    if api_key:
        sent |= {"Authorization": f"Bearer {api_key}", "x-api-key": api_key}
    try:
        connection.connect()
        with _hung_up(connection.sock, timeout_s):
            connection.request("GET", f"{url.path.rstrip('/')}/models", headers=sent)
            answer = connection.getresponse()
            body = answer.read(MAX_BYTES)
    except (OSError, http.client.HTTPException) as error:
        cause = (error.strerror if isinstance(error, OSError) else None) or error
        raise ListingError(f"`{base_url}` does not answer: {cause}") from error
    finally:
        connection.close()
    if answer.status != 200:
        raise ListingError(f"`{base_url}/models` answered {answer.status}")
    return names_in(body, base_url)


@contextmanager
def _hung_up(connected: socket.socket, after_s: float) -> Iterator[None]:
    """Ends a conversation that takes longer: the timeout of a socket begins anew with each byte."""

    def hang_up() -> None:
        with suppress(OSError):
            connected.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(after_s, hang_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def names_in(body: bytes, base_url: str) -> tuple[str, ...]:
    """Names in a list of models, in any of the shapes in use. Raises ListingError."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ListingError(f"`{base_url}/models` is not JSON") from error
    listed = document.get("data", document.get("models")) if isinstance(document, dict) else document
    entries = listed if isinstance(listed, list) else []
    names = [entry.get("id") or entry.get("name") for entry in entries if isinstance(entry, dict)]
    return tuple(name for name in names if isinstance(name, str) and name)[:MAX_MODELS]
