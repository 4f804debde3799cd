"""A session that another process has open: what is said there, printed as it comes."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from agent_tui.engine.commands import Subject
from agent_tui.engine.events import Event, Inspected, Refused, SessionClosed
from agent_tui.plain.retelling import Retelling
from agent_tui.safe_text import one_line

REFRESH_S = 1.0  # another process writes the store and tells nobody


class Terms(Protocol):
    """What watching needs of the line-mode interface."""

    def say(self, *lines: str) -> None:
        """Print lines."""

    async def ask(self, prompt: str) -> str | None:
        """One line; None when the person turned away from it, or it was set aside."""

    def set_aside(self) -> None:
        """End the line that is asked for."""

    async def reply(self, subject: Subject, **args: str) -> Inspected | Refused:
        """The answer to an `Inspect`."""


@dataclass(slots=True)
class _Other:
    """What was printed of another session."""

    retelling: Retelling = field(default_factory=Retelling)
    read: int = 0  # number of the last record
    failure: str = ""  # said once
    is_closed: bool = False


class Watching:
    """Prints from where it was left, also when a session is watched again."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._others: dict[str, _Other] = {}

    async def watch(self, name: str) -> bool:
        """Until the person leaves, a question of this session comes, or the other one is closed; whether a
        copy of it is to be continued."""
        other = self._others.setdefault(name, _Other())
        if not await self._look(name, other):
            return False
        shown = one_line(name, strict=True)
        self._terms.say("", f"Watching {shown} as it goes on. An empty line leaves it, f continues a copy.")
        following = asyncio.create_task(self._follow(name, other))
        try:
            while (typed := await self._terms.ask(f"watching {shown}> ")) and typed.strip() not in ("", "f"):
                self._terms.say("An empty line leaves it, f continues a copy.")
        finally:
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following
        return typed is not None and typed.strip() == "f"

    async def _follow(self, name: str, other: _Other) -> None:
        while not other.is_closed:
            await asyncio.sleep(REFRESH_S)
            await self._look(name, other)
        self._terms.set_aside()

    async def _look(self, name: str, other: _Other) -> bool:
        """Print what is new; False where there is nothing to wait for."""
        found = await self._terms.reply(Subject.WATCH, id=name, read=str(other.read))
        if isinstance(found, Refused):
            if found.reason != other.failure:
                self._terms.say(f"Refused: {one_line(found.reason)}")
            other.failure = found.reason
            return False
        other.failure, other.read = "", found.data["read"]
        events: Sequence[Event] = found.data["events"]
        self._terms.say(*other.retelling.lines(events))
        if events:
            other.is_closed = isinstance(events[-1].body, SessionClosed)
        if other.is_closed:
            self._terms.say(f"Session {one_line(name, strict=True)} is closed.")
        return not other.is_closed
