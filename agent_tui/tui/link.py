"""The interface's end of the engine: commands out, events in, answers to `Inspect` matched by id."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

from agent_tui.engine import commands, events

Start = Callable[[], Awaitable[commands.Engine]]


class RefusedError(Exception):
    """An `Inspect` was refused; the text is the engine's reason."""


class Link:
    """Commands sent before the engine is up are kept and sent in order once it is."""

    def __init__(self, start: Start, apply: Callable[[events.Event], None]) -> None:
        self._start = start
        self._apply = apply
        self._engine: commands.Engine | None = None
        self._early: list[commands.Command] = []
        self._asked: dict[str, asyncio.Future[Any]] = {}
        self.closed = asyncio.Event()

    async def run(self) -> None:
        """Start the engine and read its events until the last one; raises what the start raises."""
        engine = await self._start()
        stream = engine.events()
        self._engine = engine
        early, self._early = self._early, []
        for command in early:
            engine.send(command)
        async for event in stream:
            self._take(event)
            if isinstance(event.body, events.SessionClosed):
                break
        self.closed.set()

    def _take(self, event: events.Event) -> None:
        body = event.body
        if isinstance(body, events.Inspected | events.Refused):
            future = self._asked.pop(body.command_id, None)
            if future is not None and not future.done():
                if isinstance(body, events.Inspected):
                    future.set_result(body.data)
                else:
                    future.set_exception(RefusedError(body.reason))
                return
        self._apply(event)

    def send(self, body: commands.CommandBody) -> str:
        """Send a command; returns its id."""
        command = commands.Command(id=uuid4().hex, body=body)
        if self._engine is None:
            self._early.append(command)
        else:
            self._engine.send(command)
        return command.id

    async def ask(self, subject: commands.Subject, **args: str) -> Any:
        """Facts from the engine. Raises `RefusedError` with its reason."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        command = commands.Command(id=uuid4().hex, body=commands.Inspect(subject=subject, args=args))
        self._asked[command.id] = future
        if self._engine is None:
            self._early.append(command)
        else:
            self._engine.send(command)
        return await future
