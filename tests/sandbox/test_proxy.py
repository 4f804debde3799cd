"""A command that may reach single hosts reaches those, and nothing else."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.sandbox.conftest import Shell

HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"


@asynccontextmanager
async def server(seen: list[bytes]) -> AsyncIterator[int]:
    """An HTTP server on the host's loopback that keeps what it was sent; gives its port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.read(65536))
        writer.write(HELLO)
        await writer.drain()
        writer.close()

    made = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with made:
        yield made.sockets[0].getsockname()[1]


async def test_a_granted_host_is_reached_and_no_other(shell: Shell) -> None:
    seen: list[bytes] = []
    async with server(seen) as port, server(other := []) as closed:
        script = (
            f"curl -sS http://127.0.0.1:{port}/a; echo; "
            f"curl -sS -o /dev/null -w '%{{http_code}}\\n' --noproxy '' http://127.0.0.1:{closed}/; "
            f"curl -sS --noproxy '*' http://127.0.0.1:{port}/"
        )
        ended, said = await shell.run(script, policy={"hosts": (f"127.0.0.1:{port}",)})
    print(said)
    assert said.startswith("hello\n403\n") and "Failed to connect" in said
    assert ended.code == 7
    assert len(seen) == 1 and not other
