"""How often a stream is read: text that comes fast gathers, what somebody waits for does not."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from agent_tui.models import remote
from agent_tui.models.base import Completed, TextDelta
from agent_tui.models.remote import RemoteModel
from agent_tui.models.route import find_route
from agent_tui.models.router import dialect_of
from tests.models.test_streams import FakeTransport
from tests.models.views import request, user
from tests.waiting import WAIT_S

PIECES = 100
NEVER_S = 10 * WAIT_S


def event(delta: object, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return f"data: {json.dumps({'id': 'c', 'choices': [choice]})}\n\n".encode()


def text() -> list[bytes]:
    return [event({"content": "word "})] * PIECES


def call() -> list[bytes]:
    opened = {"index": 0, "id": "a", "function": {"name": "t", "arguments": '"'}}
    more = [{"index": 0, "function": {"arguments": "x"}}] * PIECES
    return [
        event({"tool_calls": [piece]})
        for piece in (opened, *more, {"index": 0, "function": {"arguments": '"'}})
    ]


class Line(FakeTransport):
    """Gives at each read what came meanwhile, or one piece a turn of the loop."""

    def __init__(self, pieces: list[bytes], gap_s: float | None) -> None:
        super().__init__([*pieces, event({}, "stop"), b"data: [DONE]\n\n"])
        self.gap_s = gap_s
        self.reads = 0

    @asynccontextmanager
    async def post(self, body: bytes, *, idle_timeout_s: float) -> AsyncIterator[AsyncIterator[bytes]]:
        yield self._turning() if self.gap_s is None else self._gathering(self.gap_s)

    async def _turning(self) -> AsyncIterator[bytes]:
        for chunk in self.chunks:
            await asyncio.sleep(0)
            yield chunk

    async def _gathering(self, gap_s: float) -> AsyncIterator[bytes]:
        arrived: list[bytes] = []
        some = asyncio.Event()

        async def arrive() -> None:
            for chunk in self.chunks:
                arrived.append(chunk)
                some.set()
                await asyncio.sleep(gap_s)

        task = asyncio.create_task(arrive())
        while not task.done() or arrived:
            await some.wait()
            await asyncio.sleep(0)  # as to read takes a turn of the loop, whatever is there
            some.clear()
            self.reads += 1
            read = b"".join(arrived)
            arrived.clear()
            yield read


async def said(transport: FakeTransport) -> tuple[str, Completed]:
    route = find_route("test/m", providers={"test": {"api": "chat", "base_url": "http://127.0.0.1:1/v1"}})
    model = RemoteModel(
        info=route.info, quirks=route.quirks, dialect=dialect_of(route.api), transport=transport
    )
    async with asyncio.timeout(WAIT_S):
        parts = [part async for part in model.stream(request(user("go")))]
    assert isinstance(parts[-1], Completed)
    return "".join(part.text for part in parts if isinstance(part, TextDelta)), parts[-1]


async def test_text_that_comes_fast_gathers_between_reads() -> None:
    line = Line(text(), gap_s=remote.GATHER_S / 4)
    assert (await said(line))[0] == "word " * PIECES
    assert line.reads < PIECES / 2


async def test_text_that_comes_slowly_is_read_as_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "GATHER_S", 0.0001)
    line = Line(text(), gap_s=0.001)
    assert (await said(line))[0] == "word " * PIECES
    assert line.reads >= PIECES


async def test_what_is_there_already_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "GATHER_S", NEVER_S)
    chunks = [*text(), event({}, "stop"), b"data: [DONE]\n\n"]
    assert (await said(FakeTransport(chunks)))[0] == "word " * PIECES


async def test_a_call_is_read_as_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "GATHER_S", NEVER_S)
    _, completed = await said(Line(call(), gap_s=None))
    assert len(completed.parts) == 1
