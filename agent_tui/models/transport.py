"""Sends bytes and gives bytes back, through the official SDKs; knows keys, timeouts and loopback.

The SDKs are imported on first use only (`preload` does it ahead of time in a thread, and
`Transport.prepare` makes the client there): they cost 0.1 s and 0.6 s, a client 0.03 s. Their generic
`post` is used rather than their typed resources: the body goes out byte for byte as built, and no model
of every event has to be made (0.4 s on a first Responses call).
"""

import asyncio
import gc
import importlib
import os
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import Future
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import field, replace
from functools import partial
from http import HTTPStatus
from typing import Any, Literal

from agent_tui.frozen import frozen
from agent_tui.models.base import ErrorKind, ModelError
from agent_tui.models.catalog import header_secrets
from agent_tui.models.keys import KeyUnavailableError, find_key
from agent_tui.models.line import one_line
from agent_tui.models.route import is_loopback

Sdk = Literal["openai", "anthropic"]

CONNECT_TIMEOUT_S = 15.0
REST_S = 0.05  # for the end of a response that was read to its end mark
MAX_CAUSES = 10  # of an error, which may be its own cause
MAX_REFUSAL_BYTES = 256 * 1024  # what is read of the body of an error
REFUSAL_S = 5.0  # for that, however slowly it comes
NO_KEY = "none"  # the SDKs insist on a key; servers on loopback do not look at it
_HEADERS = "http11.receive_response_headers"  # a span in the trace of the library below the SDKs
_IMPORTING = threading.Lock()
# Half of openai's import is types that no request of ours uses; anthropic uses most of its own at once.
_DEFERRED: Mapping[str, str] = {"openai": "openai.types"}


class TransportError(Exception):
    """The request failed; `error` says how."""

    def __init__(self, error: ModelError) -> None:
        super().__init__(error.message)
        self.error = error


@frozen
class Endpoint:
    """Where requests go. `api_key` is the value or finds it, never shown: not in a repr, not in an error."""

    sdk: Sdk
    base_url: str  # empty: the SDK's own
    path: str
    api_key: str | Callable[[], str] = field(default="", repr=False)
    key_name: str = ""  # the variable or setting it comes from
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def is_loopback(self) -> bool:
        """The server is on this machine."""
        return is_loopback(self.base_url)


def load_sdk(sdk: Sdk) -> Any:
    """The imported SDK. Blocks while it is imported; safe from any thread."""
    with _IMPORTING:
        if sdk not in sys.modules:
            _import_without_collection(sdk)
        return sys.modules[sdk]


def _import_without_collection(sdk: Sdk) -> None:
    # Thousands of new classes trigger full collections that free nothing: 15 % of the import.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        _import_deferred(sdk)
    finally:
        if was_enabled:
            gc.enable()


def _import_deferred(sdk: Sdk) -> None:
    from agent_tui.models.deferred import deferring

    before = set(sys.modules)
    try:
        with deferring(_DEFERRED[sdk]) if sdk in _DEFERRED else nullcontext():
            importlib.import_module(sdk)
    except (ImportError, AttributeError):
        # A version that cannot be imported in this order is imported in its own.
        for name in set(sys.modules) - before:
            if name == sdk or name.startswith(f"{sdk}."):
                del sys.modules[name]
        importlib.import_module(sdk)


def _do_ahead() -> None:
    """What the first request would do: import the event loop's side of the library below the SDKs, and find
    out for their headers what this system is."""
    import platform

    platform.platform()  # runs a program, and keeps the answer
    with suppress(ImportError):
        import anyio.lowlevel

        anyio.run(anyio.lowlevel.checkpoint)


def preload(sdk: Sdk) -> threading.Thread:
    """Start importing in a thread, and return it; the first request waits for what is left."""
    thread = threading.Thread(target=load_sdk, args=(sdk,), name=f"import-{sdk}", daemon=True)
    thread.start()
    return thread


def _in_thread(make: Callable[[], Any]) -> "Future[Any]":
    """Start `make` in a thread that nobody has to wait for."""
    made: Future[Any] = Future()
    made.set_running_or_notify_cancel()

    def work() -> None:
        try:
            made.set_result(make())
        except BaseException as error:  # raised again where the result is wanted
            made.set_exception(error)

    threading.Thread(target=work, name="make-client", daemon=True).start()
    return made


class Transport:
    """One endpoint; the client and its connections are kept between requests."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._sdk: Any = None  # once it is imported
        self._made: Future[Any] | None = None  # the client
        self._http: Any = None  # what it sends through: the connections
        self._key = ""
        self._secrets = header_secrets(endpoint.headers)  # never repeated in an error
        self._keeps_connections = True

    def prepare(self) -> None:
        """Make the client ahead of the first request, in a thread; what fails is told by the request.
        A key that has to be fetched first is left to the request as well."""
        if self._made is None and isinstance(self._endpoint.api_key, str):
            self._made = _in_thread(self._make_client)

    @asynccontextmanager
    async def post(self, body: bytes, *, idle_timeout_s: float) -> AsyncIterator[AsyncIterator[bytes]]:
        """Send `body` and give what comes back; leaving the block closes the response.

        Raises TransportError, also from the chunks.
        """
        response = await self._send(body, idle_timeout_s)
        chunks = self._chunks(response)
        try:
            yield chunks
            await _read_the_rest(chunks)
        finally:
            await response.aclose()

    @asynccontextmanager
    async def get(self, path: str, *, idle_timeout_s: float) -> AsyncIterator[AsyncIterator[bytes]]:
        """Ask for a page of the same provider; otherwise as `post`."""
        response = await self._send(None, idle_timeout_s, path)
        try:
            yield self._chunks(response)
        finally:
            await response.aclose()

    async def _send(self, body: bytes | None, idle_timeout_s: float, path: str = "") -> Any:
        """`path` without a body is asked for, the endpoint's own is sent to."""
        if self._sdk is None:
            self._sdk = await asyncio.to_thread(load_sdk, self._endpoint.sdk)
        sdk = self._sdk
        import httpx2

        timeout = httpx2.Timeout(idle_timeout_s, connect=min(CONNECT_TIMEOUT_S, idle_timeout_s))
        options = {
            "headers": {"Content-Type": "application/json"},
            "timeout": timeout,
            "follow_redirects": False,  # a key goes to the address that was configured, nowhere else
        }
        try:
            client = await self._ready()
            ask = client.get if body is None else partial(client.post, content=body)
            return await ask(
                path or self._endpoint.path,
                cast_to=httpx2.Response,
                options=options,
                stream=True,
                stream_cls=sdk.AsyncStream[object],
            )
        except TransportError as refused:
            self._forget_key(refused.error)
            raise
        except KeyUnavailableError as error:
            raise TransportError(ModelError(kind=ErrorKind.AUTH, message=str(error))) from error
        except sdk.APITimeoutError as error:
            raise TransportError(self._silent(error, idle_timeout_s)) from error
        except sdk.APIConnectionError as error:
            if isinstance(error.__cause__, TransportError):  # as one of the SDKs gives that
                self._forget_key(error.__cause__.error)
                raise error.__cause__ from None
            raise TransportError(self._unreachable(error)) from error
        except (sdk.APIError, httpx2.InvalidURL, ValueError, OSError) as error:
            # A key that no header can carry, an address that is none, certificates that cannot be read.
            message = one_line(f"the request cannot be sent: {error}", self._secrets)
            failed = ModelError(kind=ErrorKind.BAD_REQUEST, message=message)
            raise TransportError(failed) from error

    def _forget_key(self, error: ModelError) -> None:
        """One that was fetched and refused is fetched anew for the next request."""
        if error.kind is ErrorKind.AUTH and not isinstance(self._endpoint.api_key, str):
            find_key.cache_clear()
            self._made = None  # the connections stay, for what else goes on over them

    async def _ready(self) -> Any:
        """The client, which is made anew where it could not be made before."""
        if self._made is None:
            self._made = _in_thread(self._make_client)
        try:
            return await asyncio.shield(asyncio.wrap_future(self._made))
        except Exception:  # told by whoever sends; a cancelled wait leaves the making alone
            self._made = None
            raise

    async def _chunks(self, response: Any) -> AsyncIterator[bytes]:
        import httpx2

        try:
            async for chunk in response.aiter_bytes():
                yield chunk
        except httpx2.TimeoutException as error:
            failed = ModelError(kind=ErrorKind.STALLED, message="the stream went silent")
            raise TransportError(failed) from error
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            failed = ModelError(kind=ErrorKind.CUT, message="the connection ended before the response did")
            raise TransportError(failed) from error

    def _make_client(self) -> Any:
        sdk = load_sdk(self._endpoint.sdk)
        endpoint = self._endpoint
        self._key = endpoint.api_key if isinstance(endpoint.api_key, str) else endpoint.api_key()
        self._secrets = (self._key, *header_secrets(endpoint.headers))
        if not (self._key.isascii() and self._key.isprintable()):
            # Said here, because the libraries below would repeat the key in their error.
            raise ValueError("the API key holds characters that a header cannot carry")
        client_class = sdk.AsyncOpenAI if endpoint.sdk == "openai" else sdk.AsyncAnthropic
        options: dict[str, Any] = {"api_key": self._key or NO_KEY, "max_retries": 0}
        if endpoint.base_url:
            options["base_url"] = endpoint.base_url
        self._http = self._http or self._make_connections(sdk)
        client = client_class(default_headers=self._headers(), http_client=self._http, **options)
        _do_ahead()
        return client

    def _make_connections(self, sdk: Any) -> Any:
        hooks: dict[str, list[Callable[..., Any]]] = {"request": [self._watch], "response": [self._refuse]}
        if self._endpoint.is_loopback and self._endpoint.base_url.startswith("http://"):
            import httpx2

            # No proxy stands between a machine and itself, and loading certificates costs 15 ms.
            return httpx2.AsyncClient(verify=False, trust_env=False, event_hooks=hooks)
        return sdk.DefaultAsyncHttpxClient(event_hooks=hooks)

    def _headers(self) -> dict[str, str]:
        headers = dict(self._endpoint.headers)
        if self._endpoint.sdk == "anthropic" and self._endpoint.base_url and self._key:
            headers.setdefault("x-api-key", self._key)  # what gateways expect
        return headers

    async def _watch(self, request: Any) -> None:
        """Raise TransportError for a response that was there before its request: what a server sends behind
        an answer is read with it, and would be taken for the next one. From then on each connection takes one
        request.

        The libraries below tell when they begin and end to take a response, and not what they hold already.
        What has to be read is not there before the event loop has turned.
        """
        if not self._keeps_connections:
            request.headers["Connection"] = "close"
        has_turned = asyncio.Event()

        async def trace(name: str, _info: Mapping[str, Any]) -> None:
            if name == f"{_HEADERS}.started":
                asyncio.get_running_loop().call_soon(has_turned.set)
            elif name in (f"{_HEADERS}.complete", f"{_HEADERS}.failed") and not has_turned.is_set():
                self._keeps_connections = False
                if name == f"{_HEADERS}.complete":
                    message = f"{self._where} sent more than its answer; the connection was closed"
                    raise TransportError(ModelError(kind=ErrorKind.CONNECTION, message=message))

        request.extensions["trace"] = trace

    async def _refuse(self, response: Any) -> None:
        """Raise TransportError for a response that is an error, from the start of its body alone: the SDKs
        would read and unpack all of it."""
        if response.is_success:
            return
        if target := response.headers.get("location"):
            message = one_line(
                f"`{self._endpoint.base_url}` redirects to `{target}`; configure that address", self._secrets
            )
            raise TransportError(
                ModelError(kind=ErrorKind.BAD_REQUEST, message=message, http_status=response.status_code)
            )
        body = bytearray()
        with suppress(TimeoutError):  # what came until then says enough
            async with asyncio.timeout(REFUSAL_S):
                async for chunk in response.aiter_bytes():
                    body += chunk
                    if len(body) >= MAX_REFUSAL_BYTES:
                        break
        from agent_tui.models.errors import from_response

        error = from_response(
            response.status_code,
            bytes(body[:MAX_REFUSAL_BYTES]).decode(response.encoding or "utf-8", "replace").strip(),
            response.headers,
            now=time.time(),
            secrets=self._secrets,
        )
        if response.status_code == HTTPStatus.NOT_FOUND and self._endpoint.base_url:
            question = f"are the address `{self._endpoint.base_url}` and the name of the model right?"
            error = replace(error, message=f"{error.message}; {one_line(question, self._secrets)}")
        raise TransportError(self._placed(error))

    def _placed(self, error: ModelError) -> ModelError:
        """The error with what only this end knows: where the key is from, and where the server is."""
        if error.kind is ErrorKind.AUTH:
            return replace(error, key_name=self._endpoint.key_name, is_key_sent=bool(self._key))
        if error.kind is ErrorKind.NO_MODEL:
            return replace(error, is_local=self._endpoint.is_loopback)
        return error

    @property
    def _where(self) -> str:
        return f"`{self._endpoint.base_url}`" if self._endpoint.base_url else "the provider"

    def _silent(self, error: Exception, idle_timeout_s: float) -> ModelError:
        if type(error.__cause__).__name__ == "ConnectTimeout":
            return self._unreachable(error)
        message = f"no answer from {self._where} within {idle_timeout_s:g} s"
        return ModelError(kind=ErrorKind.TIMEOUT, message=message)

    def _unreachable(self, error: Exception) -> ModelError:
        cause = _of_system(error) or str(error.__cause__ or error) or type(error.__cause__).__name__
        what_to_do = "is this machine online?"
        if self._endpoint.base_url:
            what_to_do = "does the server run, and is the address (`--base-url`) right?"
        message = one_line(f"cannot connect to {self._where}: {cause}; {what_to_do}", self._secrets)
        return ModelError(kind=ErrorKind.CONNECTION, message=message)

    def redacted(self, error: ModelError) -> ModelError:
        """The error of a stream without keys, which a server may repeat in what it says."""
        return self._placed(replace(error, message=one_line(error.message, self._secrets)))

    async def aclose(self) -> None:
        """Close the connections."""
        self._made, http, self._http = None, self._http, None
        if http is not None:
            await http.aclose()


async def _read_the_rest(chunks: AsyncIterator[bytes]) -> None:
    """Only a connection whose response was read whole takes the next request; a new one costs a handshake.
    The end mark was seen, so whatever comes of it is no matter."""
    with suppress(TimeoutError, TransportError):
        async with asyncio.timeout(REST_S):
            async for _ in chunks:
                pass


def _of_system(error: BaseException) -> str:
    """What the system says at the root of an error, such as `Connection refused`; '' for nothing."""
    said = ""
    at: BaseException | None = error
    for _ in range(MAX_CAUSES):
        if (type(at) is OSError or isinstance(at, ConnectionError)) and at.errno:
            said = os.strerror(at.errno)  # the text of the error itself is of the event loop
        elif isinstance(at, socket.gaierror):
            said = at.strerror or said
        at = at and (at.__cause__ or at.__context__)
    return said
