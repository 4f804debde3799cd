"""How a turn is told to stop: at the next boundary, now, or with force.

The turn itself is never cancelled, so no commit is cut in two; what it waits for is.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class StoppedError(Exception):
    """The turn ends here because somebody asked for it."""


class Stop:
    """The orders given to one turn; each only grows stronger."""

    def __init__(self) -> None:
        self.now = asyncio.Event()  # interrupt: nothing starts from here on
        self.force = asyncio.Event()  # kill what still runs
        self.cancelling = False  # the task is given up with it
        self.closing = False  # the program leaves: nobody told this work to stop
        self.pausing = False  # stop at the next boundary
        self.skipping = asyncio.Event()  # steer now: running calls are told to stop, the rest skipped
        self.why = ""

    def interrupt(
        self, why: str, *, force: bool = False, cancel: bool = False, closing: bool = False
    ) -> None:
        """Stop now; a second time with force."""
        self.why = self.why or why
        self.cancelling = self.cancelling or cancel
        self.closing = self.closing or closing
        self.now.set()
        if force:
            self.force.set()

    def pause(self, why: str) -> None:
        """Stop at the next boundary."""
        self.pausing = True
        self.why = self.why or why

    def check(self) -> None:
        """A boundary: raise StoppedError when an order was given."""
        if self.now.is_set() or self.pausing:
            raise StoppedError(self.why)

    async def guard(self, work: Coroutine[Any, Any, T], over: asyncio.Event | None = None) -> T:
        """Await `work`; on an interrupt, or when it is over with what it is for, cancel it, wait for its end
        and raise StoppedError."""
        task = asyncio.ensure_future(work)
        orders = [asyncio.ensure_future(event.wait()) for event in (self.now, over) if event is not None]
        try:
            await asyncio.wait({task, *orders}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            task.cancel()
            await asyncio.wait({task})
            raise StoppedError(self.why)
        finally:
            for order in orders:
                order.cancel()
            task.cancel()
