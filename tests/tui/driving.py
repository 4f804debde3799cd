"""Drives the app without a terminal: keys in, the screen as text out."""

import asyncio
import time
import unicodedata
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textual import events as toolkit
from textual._styles_cache import StylesCache
from textual.drivers.headless_driver import HeadlessDriver
from textual.geometry import Size
from textual.keys import REPLACED_KEYS, _character_to_key, _get_unicode_name_from_key
from textual.pilot import Pilot

from agent_tui.engine import commands
from agent_tui.tui.app import AgentApp
from agent_tui.tui.chosen import Chosen
from agent_tui.tui.clock import Clock
from agent_tui.tui.driver import InputParser, add_keys
from agent_tui.tui.screens.view import View
from tests.tui import scenes
from tests.tui.fake_engine import FakeEngine, Play
from tests.tui.pictures import rows
from tests.waiting import WAIT_S

ROUNDS = 3  # looks in a row at which nothing was left to do
NOW = 1_007.0  # seven seconds after every event of a `FakeEngine`


class FakeClock(Clock):
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.at = 100.0
        self.wall_at = NOW

    def wall(self) -> float:
        return self.wall_at

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
        """Until every event is on the screen.

        The toolkit's own waits look at the processor's time, 20 ms a look, which is most of a test's time.
        """
        rounds, end = 0, time.monotonic() + WAIT_S
        while time.monotonic() < end:
            if self.app._exit:
                return
            await self.pilot._wait_for_screen()
            self.app.screen._on_timer_update()  # lay out and paint, which may ask for more
            rounds = rounds + 1 if self._is_idle else 0
            if rounds == ROUNDS:
                return
            await asyncio.sleep(0 if rounds else 0.002)
        raise AssertionError("the screen never settled")

    async def until(self, text: str) -> None:
        """Wait for what a timer brings to the screen."""
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            await self.settle()
            if text in self.screen:
                return
            await asyncio.sleep(0.005)
        raise AssertionError(f"{text!r} did not come:\n{self.screen}")

    @property
    def _is_idle(self) -> bool:
        busy = [worker for worker in self.app.workers if not worker.is_finished]
        if self.app.prompt.burst.is_open or getattr(self.app.screen, "is_holding", False):
            return False
        return self.engine.is_quiet and not self.app.pace.is_due and len(busy) <= 1  # the one reads events

    async def press(self, *keys: str) -> None:
        for key in keys:
            name = _character_to_key(key) if len(key) == 1 and not key.isalnum() else key
            event = toolkit.Key(name, _character(name))
            event.set_sender(self.app)
            driver = self.app._driver
            assert driver is not None
            driver.send_message(event)
            await self.settle()

    async def feed(self, data: bytes) -> None:
        """Bytes as a terminal sends them, through our parser, and then a pause as long as Esc needs."""
        self.send(data)
        await self.settle()

    def send(self, data: bytes) -> None:
        """As `feed`, without waiting for what they do."""
        add_keys()
        parser = InputParser()
        driver = self.app._driver
        assert driver is not None
        messages = list(parser.feed(data.decode()))
        if parser._timeout_time is not None:
            parser._timeout_time = 0.0
        for message in [*messages, *parser.tick()]:
            message.set_sender(self.app)
            driver.send_message(message)

    async def resize(self, columns: int, height: int) -> None:
        size = Size(columns, height)
        assert isinstance(self.app._driver, HeadlessDriver)
        self.app._driver._size = size
        self.app.post_message(toolkit.Resize(size, size))
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:  # the toolkit takes several sizes in a row for one
            await self.settle()
            if self.app._resize_event is None and self.app.screen._compositor.size == size:
                break
            await asyncio.sleep(0.002)
        await self.settle()

    async def act(self, key: str) -> None:
        """A key, `arm`, a slash command to type and run, or `=` and a text to wait for."""
        if key == "arm":
            await self.wait_for_arming()
        elif key.startswith("="):
            await self.until(key[1:])
        elif len(key) > 1 and key.startswith("/"):
            await self.type(key)
            await self.press("escape", "enter")
        else:
            await self.press(key)

    async def type(self, text: str) -> None:
        await self.press(*(_KEYS.get(char, char) for char in text))

    async def wait_for_arming(self) -> None:
        """The pause after which a prompt takes keys, and a view those that confirm."""
        self.clock.at += 0.6
        self.app.prompt.check()
        if isinstance(self.app.screen, View):
            self.app.screen.draw_frame()
        await self.settle()

    @property
    def screen(self) -> str:
        """The rows, blanks at the right cut off."""
        return "\n".join(rows(self.app))


def _character(key: str) -> str | None:
    """What the key types, as the toolkit's parser of a terminal would have it."""
    try:
        return unicodedata.lookup(_get_unicode_name_from_key(REPLACED_KEYS.get(key, key)))
    except KeyError:
        return key if len(key) == 1 else None


_KEYS = {
    " ": "space",
    "/": "slash",
    "@": "at",
    "!": "exclamation_mark",
    "\n": "ctrl+j",
    "\r": "enter",
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
    offered: str = "",
    start: Play | None = None,
    **config: Any,
) -> AsyncIterator[Driven]:
    """An app over a `FakeEngine` that plays `play` after the start of a session, the usual one or `start`."""
    engine = FakeEngine([*(scenes.started() if start is None else start), *play], on=on)
    clock = FakeClock()
    app = AgentApp(
        engine.start, scenes.config(tmp, **config), look=look or Chosen(), clock=clock, offered=offered
    )
    async with app.run_test(size=size) as pilot:
        it = Driven(app, pilot, engine, clock)
        await it.settle()
        yield it
    # what the toolkit keeps over the end of an app: keys with their app, and widgets with all they drew,
    # which each garbage collection of the tests that follow would look over
    InputParser._parse_extended_key.cache_clear()
    StylesCache.get_inner_outer.cache_clear()
