"""The way out of one command that may reach single hosts: HTTP, HTTP CONNECT and SOCKS5 on one socket.

Everything that comes in is hostile. A connection carries one request to one target: it is judged as it is
spelled (`sandbox.targets`), the name is resolved once, and the address that was checked is the one that is
dialled. What cannot be understood exactly is refused. Nothing here opens a host: `listed` was granted, and
`ask` decides about the others.
"""

import asyncio
import contextlib
import ipaddress
import re
import socket
import struct
from collections.abc import Awaitable, Callable, Mapping, Sequence

from agent_tui.frozen import frozen
from sandbox import targets
from sandbox.listener import PORT
from sandbox.targets import Target

_Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Ask = Callable[[Target], Awaitable[str]]  # '' lets it be reached, anything else says why not

_MOST_CONNECTIONS = 64
_MOST_HEAD = 16 * 1024
_HEAD_S = 30.0
_DIAL_S = 15.0
_MOST_ADDRESSES = 4
_MOST_TOLD = 20
_PIECE = 64 * 1024
_SHUT_S = 1.0
_ESTABLISHED = b"\1"  # first byte of TCP_INFO
_REQUEST = re.compile(rb"([A-Z]{1,20}) ([\x21-\x7e]{1,8192}) (HTTP/1\.[01])")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t\x20-\x7e\x80-\xff]*)")
_URL = re.compile(r"http://([^/?#]+)([/?][^#]*)?", re.IGNORECASE)
_LENGTH = re.compile(rb"\d{1,15}")
# of one hop, or set by us
_DROPPED = frozenset(
    b"host connection proxy-connection keep-alive te trailer upgrade expect proxy-authorization".split()
)
_SOCKS_NO_METHOD = b"\5\xff"
_SOCKS_REFUSED, _SOCKS_UNREACHABLE, _SOCKS_UNKNOWN = 2, 4, 7


class RefusedError(Exception):
    """The request goes nowhere; the text is the answer to the command."""

    def __init__(self, text: str, status: int = 403, code: int = _SOCKS_REFUSED) -> None:
        super().__init__(text)
        self.status = status  # of HTTP
        self.code = code  # of SOCKS


@frozen
class _Request:
    """What is to be sent on first, and how much of what follows; None: everything."""

    target: Target
    head: bytes = b""
    length: int | None = None


def environment(listed: Sequence[str]) -> dict[str, str]:
    """The variables by which programs find their way out. What is local stays so, unless it is listed."""
    place = f"http://127.0.0.1:{PORT}"
    names = [name for name in ("localhost", "127.0.0.1", "::1") if not _names_any(name, listed)]
    found = {"http_proxy": place, "https_proxy": place, "all_proxy": place, "no_proxy": ",".join(names)}
    return found | {name.upper(): value for name, value in found.items()}


def _names_any(name: str, listed: Sequence[str]) -> bool:
    return any(targets.parse(one).name == name for one in listed)


class Proxy:
    """Serves the command behind one listening socket until it is closed."""

    def __init__(self, listed: Sequence[str], ask: Ask, resolve: targets.Resolve | None = None) -> None:
        self._listed = frozenset(listed)
        self._ask = ask
        self._resolve = resolve or targets.resolve
        self._server: asyncio.Server | None = None
        self._is_closed = False
        self._open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}  # oldest first
        self._answers: dict[str, asyncio.Task[str]] = {}  # by target: asked once
        self._told: dict[str, str] = {}

    @property
    def decisions(self) -> Mapping[str, str]:
        """What was tried: target → '' where it was let through, else what became of it: `refused: …`."""
        return self._told

    async def serve(self, listener: socket.socket) -> None:
        """Begin to accept; the socket is closed with the proxy."""
        self._server = await asyncio.start_server(self._accept, sock=listener, limit=_MOST_HEAD)

    async def close(self) -> None:
        """End every connection; those that wait for an answer need none any more."""
        self._is_closed = True
        if self._server is not None:
            self._server.close()
        waiting: list[asyncio.Task[None] | asyncio.Task[str]] = [*self._open, *self._answers.values()]
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # one that was accepted before the end may be told of after it; among the open are those being ended
        if self._is_closed or len(self._open) >= 2 * _MOST_CONNECTIONS:
            writer.transport.abort()
            return
        has_room = len(self._open) < _MOST_CONNECTIONS or self._make_room()
        serve = self._serve if has_room else _turn_away
        task = asyncio.create_task(_until_it_fails(serve, reader, writer))
        self._open[task] = writer
        task.add_done_callback(self._open.pop)

    def _make_room(self) -> bool:
        """End the oldest connection whose client has closed: it may be gone, or only read on."""
        for task, writer in self._open.items():
            if not task.cancelling() and _has_closed(writer):
                return task.cancel()
        return False

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_HEAD_S):
                first = await reader.readexactly(1)
                is_socks = first == b"\5"
                request = await (_socks(reader, writer) if is_socks else _http(first, reader))
            connected = await self._dial(request.target, writer)
        except RefusedError as refused:
            answer = _socks_answer(refused.code) if is_socks else _http_answer(refused.status, str(refused))
            writer.write(answer)
            await writer.drain()
            return
        there, away = connected
        try:
            if is_socks:
                writer.write(_socks_answer(0))
            elif request.length is None:
                writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
            away.write(request.head)
            await _relay(reader, away, there, writer, request.length)
        finally:
            await _shut(away)

    async def _dial(
        self, target: Target, client: asyncio.StreamWriter
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        why = await self._judged(target, client)
        if why:
            raise RefusedError(f"{target} is refused: {why}")
        try:
            async with asyncio.timeout(_DIAL_S):
                found = await self._addresses(target)
        except TimeoutError as error:
            self._tell(target, "not reached: its name was not found in time")
            raise RefusedError(f"{target} cannot be found in time", 504, _SOCKS_UNREACHABLE) from error
        except (OSError, UnicodeError) as error:
            self._tell(target, "not reached: its name was not found")
            raise RefusedError(f"{target} cannot be found", 502, _SOCKS_UNREACHABLE) from error
        allowed = [one for one in found if self._may_dial(one, target.port)]
        if not allowed:
            self._tell(target, "refused: it leads to an address that is not public")
            raise RefusedError(f"{target} is refused: it leads to an address that is not public")
        for address in allowed[:_MOST_ADDRESSES]:
            with contextlib.suppress(OSError):
                async with asyncio.timeout(_DIAL_S):
                    return await asyncio.open_connection(address, target.port, limit=_PIECE)
        self._tell(target, "not reached: it could not be connected to")
        raise RefusedError(f"{target} cannot be connected to", 502, _SOCKS_UNREACHABLE)

    async def _addresses(self, target: Target) -> Sequence[str]:
        if target.address is not None:
            return [target.name]
        return await self._resolve(target.name, target.port)

    async def _judged(self, target: Target, client: asyncio.StreamWriter) -> str:
        """Why a target may not be reached, or ''; a question about it is put once."""
        name, waited = str(target), False
        if name in self._listed:
            why = ""
        elif target.address is not None:
            why = "an address is reached only where the call was granted it"
        else:
            asked = self._answers.get(name)
            if asked is None:
                if len(self._answers) >= _MOST_CONNECTIONS:
                    return "this command has tried too many hosts"
                asked = self._answers[name] = asyncio.create_task(self._asked(target))
            waited = not asked.done()
            why = await asyncio.shield(asked)
        self._tell(target, why and f"refused: {why}")
        if waited and not why and _has_closed(client):
            raise RefusedError(f"{target} is not connected to: its client closed before the answer", 408)
        return why

    async def _asked(self, target: Target) -> str:
        return await self._ask(target)

    def _may_dial(self, text: str, port: int) -> bool:
        try:
            address = ipaddress.ip_address(text)
        except ValueError:  # with a zone, which only link-local ones have
            return False
        return targets.may_be_dialled(address, port, self._listed)

    def _tell(self, target: Target, why: str) -> None:
        if str(target) in self._told or len(self._told) < _MOST_TOLD:
            self._told[str(target)] = why


async def _until_it_fails(serve: _Serve, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        await serve(reader, writer)
    except (OSError, EOFError):  # of either side, at any point; TimeoutError is one
        pass
    finally:
        await _shut(writer)


async def _turn_away(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    async with asyncio.timeout(_SHUT_S):
        first = await reader.read(_PIECE)  # what is unread when it is closed would cost it the answer
    is_socks = first.startswith(b"\5")
    writer.write(_SOCKS_NO_METHOD if is_socks else _http_answer(503, "too many connections at once"))


def _has_closed(writer: asyncio.StreamWriter) -> bool:
    """Whether the other side sends no more, also where some of what it sent is unread."""
    connection: socket.socket = writer.get_extra_info("socket")
    try:
        return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1) != _ESTABLISHED
    except OSError:  # it is closed on this side too
        return True


async def _http(first: bytes, reader: asyncio.StreamReader) -> _Request:
    try:
        head = first + await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError as error:
        raise RefusedError("the head of the request is too long", 431) from error
    line, *lines = head[:-4].split(b"\r\n")
    found = _REQUEST.fullmatch(line)
    headers = [_HEADER.fullmatch(each) for each in lines]
    if found is None or not all(headers):
        raise RefusedError("the request cannot be understood", 400)
    fields = [(each[1], each[2].strip(b" \t")) for each in headers if each]
    method, text = found[1], found[2].decode("ascii")
    if method == b"CONNECT":
        return _Request(target=_target(text, None))
    url = _URL.fullmatch(text)
    if url is None:
        raise RefusedError("only CONNECT and http:// are known", 400)
    target = _target(url[1], 80)
    path = url[2] or "/"
    start = b"%s %s %s" % (method, (path if path.startswith("/") else f"/{path}").encode("ascii"), found[3])
    shown = str(target).removesuffix(":80").encode("ascii")
    kept = [b"%s: %s" % each for each in fields if each[0].lower() not in _DROPPED]
    words = [start, b"Host: " + shown, *kept, b"Connection: close", b"", b""]
    return _Request(target=target, head=b"\r\n".join(words), length=_length(fields))


def _length(fields: Sequence[tuple[bytes, bytes]]) -> int:
    """How much of a body follows; said once and in one way, so that nothing hides behind it."""
    lengths = [value for name, value in fields if name.lower() == b"content-length"]
    if any(name.lower() == b"transfer-encoding" for name, _ in fields):
        raise RefusedError("send a Content-Length", 411)
    if len(lengths) > 1 or not all(map(_LENGTH.fullmatch, lengths)):
        raise RefusedError("the request cannot be understood", 400)
    return int(lengths[0]) if lengths else 0


async def _socks(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> _Request:
    """SOCKS5 (RFC 1928) without authentication; CONNECT only."""
    methods = await reader.readexactly((await reader.readexactly(1))[0])
    if 0 not in methods:
        writer.write(_SOCKS_NO_METHOD)
        raise EOFError
    writer.write(b"\5\0")
    await writer.drain()
    version, command, _, kind = await reader.readexactly(4)
    if version != 5 or command != 1 or kind not in (1, 3, 4):
        raise RefusedError("only CONNECT is known", code=_SOCKS_UNKNOWN)
    size = {1: 4, 4: 16}.get(kind) or (await reader.readexactly(1))[0]
    place = await reader.readexactly(size)
    (port,) = struct.unpack("!H", await reader.readexactly(2))
    if kind == 3:
        name = place.decode("latin-1")
    else:
        address = ipaddress.ip_address(place)
        name = f"[{address}]" if address.version == 6 else str(address)
    return _Request(target=_target(f"{name}:{port}", None))


def _target(text: str, port: int | None) -> Target:
    try:
        return targets.parse(text, port)
    except ValueError as error:
        raise RefusedError(f"the host is refused: {error}") from error


def _http_answer(status: int, text: str) -> bytes:
    text = re.sub(r"[^ -~]", "?", text)
    body = f"agent-tui sandbox: {text}\n"
    head = (f"HTTP/1.1 {status} {text}", "Content-Type: text/plain", f"Content-Length: {len(body)}")
    return "\r\n".join((*head, "Connection: close", "", body)).encode("ascii")


def _socks_answer(code: int) -> bytes:
    return b"\5%c\0\1\0\0\0\0\0\0" % code


async def _relay(
    reader: asyncio.StreamReader,
    away: asyncio.StreamWriter,
    there: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    length: int | None,
) -> None:
    """Both ways until both ends have said all or one is lost; of a request with a length not a byte more."""
    try:
        async with asyncio.TaskGroup() as ways:
            sending = ways.create_task(_pump(reader, away, length))
            await _pump(there, writer, None)
            if length is not None:
                sending.cancel()
    except* OSError:
        pass


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, length: int | None) -> None:
    left = length
    while left != 0:
        data = await reader.read(_PIECE if left is None else min(_PIECE, left))
        if not data:
            break
        left = None if left is None else left - len(data)
        writer.write(data)
        await writer.drain()
    if length is None and writer.can_write_eof():
        writer.write_eof()
    while await reader.read(_PIECE):  # sent on to nobody; raises once the client is gone
        pass


async def _shut(writer: asyncio.StreamWriter) -> None:
    writer.close()
    try:
        async with asyncio.timeout(_SHUT_S):
            await writer.wait_closed()
    except OSError:
        pass
    finally:
        writer.transport.abort()  # it would wait for whoever does not read
