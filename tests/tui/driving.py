"""Drives the app without a terminal: keys in, the screen as text out."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from agent_tui.engine import commands
from agent_tui.tui.app import AgentApp
from agent_tui.tui.chosen import Chosen
from agent_tui.tui.clock import Clock
from tests.tui import scenes
from tests.tui.fake_engine import FakeEngine, Play

NOW = 1_007.0  # seven seconds after every event of a `FakeEngine`


class FakeClock(Clock):
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.at = 100.0

    def wall(self) -> float:
        return NOW

    def steady(self) -> float:
        return self.at


@dataclass
class Driven:
    """A running app and its engine."""

    app: AgentApp
    pilot: Pilot[int]
    engine: FakeEngine
    clock: FakeClock

    async def settle(self) -> None:
        """Until every event is on the screen."""
        for _ in range(400):
            await self.pilot.pause()
            if self.engine.is_quiet and not self.app.is_behind:
                await self.pilot.pause()
                return
            await self.pilot.pause(0.005)
        raise AssertionError("the screen never settled")

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.pilot.press(key)
        await self.settle()

    async def type(self, text: str) -> None:
        await self.press(*(_KEYS.get(char, char) for char in text))

    async def wait_for_arming(self) -> None:
        """The pause after which a prompt takes keys."""
        self.clock.at += 0.6
        self.app.prompt.check()
        await self.settle()

    @property
    def screen(self) -> str:
        """The rows, blanks at the right cut off."""
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)


_KEYS = {
    " ": "space",
    "/": "slash",
    "@": "at",
    "!": "exclamation_mark",
    "\n": "ctrl+j",
    ".": "full_stop",
    "-": "minus",
    "?": "question_mark",
}


@asynccontextmanager
async def driven(
    tmp: Path,
    play: Play = (),
    *,
    size: tuple[int, int] = (80, 24),
    on: Callable[[commands.CommandBody], Play] | None = None,
    look: Chosen | None = None,
    **config: Any,
) -> AsyncIterator[Driven]:
    """An app over a `FakeEngine` that plays `play` after the start of a session."""
    engine = FakeEngine([*scenes.started(), *play], on=on)
    clock = FakeClock()
    app = AgentApp(engine.start, scenes.config(tmp, **config), look=look or Chosen(), clock=clock)
    async with app.run_test(size=size) as pilot:
        it = Driven(app, pilot, engine, clock)
        await it.settle()
        yield it
