"""Finds model servers that run on this machine, and asks a server which models it has and has loaded.

Plain HTTP from the standard library: it runs at first start, when no SDK is loaded yet.
"""

import asyncio
import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from agent_tui.frozen import frozen
from agent_tui.models.catalog import readable_providers
from agent_tui.models.route import is_loopback

LOOK_S = 0.5  # loopback answers in a millisecond or not at all
MAX_BYTES = 4 * 1024 * 1024
MAX_MODELS = 500  # of one server


class ListingError(Exception):
    """A server gave no list of models; the text is one line and says why."""


@frozen
class LocalServer:
    """A server that answered, the models it names, and which of them are in memory: None where it does
    not say."""

    provider: str
    base_url: str
    models: tuple[str, ...]
    loaded: frozenset[str] | None = None

    def state_of(self, model: str) -> str:
        """`loaded`, `not loaded`, or nothing."""
        if self.loaded is None:
            return ""
        return "loaded" if model in self.loaded else "not loaded"


async def find_local_servers(providers: Mapping[str, Any] | None = None) -> tuple[LocalServer, ...]:
    """Ask every local provider of the catalogue, and each with an address of this machine, at once;
    `providers` is the user's table.

    Servers that do not answer within half a second are left out. Two providers may share a port.
    """
    wanted = [
        (provider.name, provider.base_url)
        for provider in readable_providers(providers)
        if provider.local or is_loopback(provider.base_url)
    ]
    tried = (_try_server(name, url) for name, url in wanted)
    return tuple(server for server in await asyncio.gather(*tried) if server is not None)


async def _try_server(provider: str, base_url: str) -> LocalServer | None:
    """Its list of models, and what says which are loaded, both at once."""
    page, read = _LOADED.get(provider, ("", None))
    root = base_url.rstrip("/").removesuffix("/v1")
    says = read is not None and is_loopback(base_url)
    wanted = ((base_url, "/models"), (root, page))[: 1 + says]
    body, *more = await asyncio.gather(*(asyncio.to_thread(_try_page, *each) for each in wanted))
    try:
        names = names_in(body, base_url)
    except ListingError:
        return None
    loaded = None
    if read is not None and any(more):
        with suppress(ValueError, RecursionError, LookupError, TypeError, AttributeError):  # another server
            loaded = frozenset(names) & frozenset(read(json.loads(body), json.loads(more[0])))
    return LocalServer(provider=provider, base_url=base_url, models=names, loaded=loaded) if names else None


def _try_page(base_url: str, page: str) -> bytes:
    try:
        return _page(base_url, page, {}, LOOK_S)
    except ListingError:
        return b""


def _in_ollama(_: Any, running: Any) -> list[str]:
    return [each["name"] for each in running["models"]]


def _in_lmstudio(_: Any, listed: Any) -> list[str]:
    return [each["id"] for each in listed["data"] if each["state"] == "loaded"]


def _in_llamacpp(listed: Any, properties: Any) -> list[str]:
    """One that serves a single model answers once that is loaded; a router says it of each model."""
    if properties.get("role") == "router":
        return [each["id"] for each in listed["data"] if each["status"]["value"] == "loaded"]
    is_awake = properties["default_generation_settings"] and not properties.get("is_sleeping", False)
    return [each["id"] for each in listed["data"]] if is_awake else []


# Of a kind of server: the page that tells what is in memory, and the names in the list of models and in it.
_LOADED: Mapping[str, tuple[str, Callable[[Any, Any], list[str]]]] = {
    "ollama": ("/api/ps", _in_ollama),
    "lmstudio": ("/api/v0/models", _in_lmstudio),
    "llamacpp": ("/props", _in_llamacpp),
}


def list_models(
    base_url: str,
    *,
    api_key: str = "",
    headers: Mapping[str, str] | None = None,
    timeout_s: float = 5.0,
) -> tuple[str, ...]:
    """Names from `BASE/models`, as every dialect's vendors have it. Blocks, at most about twice `timeout_s`:
    that long for the connection, and that long for the answer. Raises ListingError."""
    sent = dict(headers or {})
    if api_key:
        sent |= {"Authorization": f"Bearer {api_key}", "x-api-key": api_key}
    return names_in(_page(base_url, "/models", sent, timeout_s), base_url)


def _page(base_url: str, page: str, headers: Mapping[str, str], timeout_s: float) -> bytes:
    """What a server answers to a GET; blocks and raises as `list_models` does."""
    try:
        url = urlsplit(base_url)
        make = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
        connection = make(url.hostname or "", url.port, timeout=timeout_s)
    except (http.client.InvalidURL, ValueError) as error:
        raise ListingError(f"`{base_url}` is no address: {error}") from error
    try:
        connection.connect()
        with _hung_up(connection.sock, timeout_s):
            sent = {"Accept": "application/json", **headers}
            connection.request("GET", f"{url.path.rstrip('/')}{page}", headers=sent)
            answer = connection.getresponse()
            body = answer.read(MAX_BYTES)
    except (OSError, http.client.HTTPException) as error:
        cause = (error.strerror if isinstance(error, OSError) else None) or error
        raise ListingError(f"`{base_url}` does not answer: {cause}") from error
    finally:
        connection.close()
    if answer.status != 200:
        raise ListingError(f"`{base_url}{page}` answered {answer.status}")
    return body


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
