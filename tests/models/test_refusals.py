"""What is read of an answer that is an error, however it is sent."""

import asyncio

import pytest

from agent_tui.models import transport
from agent_tui.models.base import ErrorKind
from agent_tui.models.transport import Endpoint, Transport, TransportError
from tests.waiting import WAIT_S

HEAD = b"HTTP/1.1 503 Busy\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"


async def test_a_body_that_drips_for_ever_is_left_and_the_error_told_by_what_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transport, "REFUSAL_S", 0.2)
    was_left = asyncio.Event()

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(HEAD + b"9\r\ncome back\r\n")
        try:
            while True:
                writer.write(b"1\r\n.\r\n")
                await writer.drain()
                await asyncio.sleep(0.01)
        except ConnectionError:
            was_left.set()
        finally:
            writer.close()

    async with await asyncio.start_server(drip, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        asked = Transport(
            Endpoint(sdk="openai", base_url=f"http://127.0.0.1:{port}/v1", path="/chat/completions")
        )
        async with asyncio.timeout(WAIT_S):
            with pytest.raises(TransportError) as caught:
                async with asked.post(b"{}", idle_timeout_s=WAIT_S):
                    pass
            await was_left.wait()
        await asked.aclose()
    error = caught.value.error
    assert (error.kind, error.http_status) == (ErrorKind.UNAVAILABLE, 503)
    assert "come back" in error.message
