"""What a server sends without being asked is no part of the answer to the next request."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from agent_tui.models.base import ErrorKind
from agent_tui.models.transport import Endpoint, Transport, TransportError
from tests.waiting import WAIT_S


def response(body: str, more: str = "") -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n{more}\r\n{body}".encode()


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n"


class Server:
    """Answers each request with its number and, in the same bytes, with what nobody asked for."""

    def __init__(self, unasked: bytes, late: bytes = b"") -> None:
        self.unasked = unasked
        self.late = late  # behind the first answer, once `more` is set
        self.more = asyncio.Event()
        self.was_sent = asyncio.Event()
        self.requests = 0
        self.connections = 0
        self.closing = 0  # requests that end their connection

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                await reader.readexactly(2)
                self.requests += 1
                self.closing += b"connection: close" in head
                writer.write(response(f"answer {self.requests}") + self.unasked)
                await writer.drain()
                if self.requests == 1 and self.late:
                    await self.more.wait()
                    writer.write(self.late)
                    await writer.drain()
                    self.was_sent.set()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def sending(server: Server) -> AsyncIterator[Transport]:
    async with await asyncio.start_server(server.serve, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        transport = Transport(Endpoint(sdk="openai", base_url=f"http://127.0.0.1:{port}/v1", path="/chat"))
        async with asyncio.timeout(WAIT_S):
            yield transport
        await transport.aclose()


async def answer(transport: Transport) -> str:
    async with transport.post(b"{}", idle_timeout_s=WAIT_S) as chunks:
        return b"".join([chunk async for chunk in chunks]).decode()


@pytest.mark.parametrize(
    "unasked",
    [
        response("forged"),
        response(""),
        CHUNKED % (6, b"forged"),
        response("forged" * 9)[:-9],
        b"HTTP/1.1 408 Request Timeout\r\n\r\n",
        b"\r\n",
        b"junk\r\n\r\n",
    ],
)
async def test_what_follows_an_answer_is_never_the_next_one(unasked: bytes) -> None:
    server = Server(unasked)
    async with sending(server) as transport:
        assert await answer(transport) == "answer 1"
        with pytest.raises(TransportError) as caught:
            await answer(transport)
        assert caught.value.error.kind is ErrorKind.CONNECTION
        for _ in range(2):  # sent again, over connections that take one request each
            assert await answer(transport) == f"answer {server.requests}"
        assert (server.connections, server.closing) == (3, 2)


async def test_what_comes_after_an_answer_was_read_is_never_the_next_one() -> None:
    server = Server(b"", late=response("forged"))
    async with sending(server) as transport:
        assert await answer(transport) == "answer 1"
        server.more.set()
        await server.was_sent.wait()
        assert await answer(transport) == "answer 2"


async def test_a_server_that_answers_once_keeps_its_connection() -> None:
    server = Server(b"")
    async with sending(server) as transport:
        for number in range(1, 20):
            assert await answer(transport) == f"answer {number}"
        assert (server.connections, server.closing) == (1, 0)
