"""Blocking file work away from the event loop, in threads that never hold up the end of the process.

The executor of asyncio joins its threads at exit; a read that hangs on a network file system would
then keep the process alive. These threads are daemons, and a caller may stop waiting for one.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


def always() -> bool:
    """Work that only looks may be left behind at any time."""
    return True


async def in_thread(
    work: Callable[[], T], *, abandon: Callable[[], bool] = always, timeout_s: float | None = None
) -> T:
    """Run `work` in a thread of its own; a timeout leaves it behind. `abandon` is asked whether a
    cancellation does so, too; else it waits for the result and is over then. Raises TimeoutError and what
    `work` raises."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if done.done():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]  # None only where T is None

    def run() -> None:
        result, error = None, None
        try:
            result = work()
        except BaseException as raised:  # handed to the caller
            error = raised
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, daemon=True, name="agent-tui-files").start()
    try:
        return await asyncio.wait_for(asyncio.shield(done), timeout_s)
    except TimeoutError:
        done.cancel()  # what comes of it is nobody's any more
        raise
    except asyncio.CancelledError:
        if abandon():
            done.cancel()
            raise
        result = await asyncio.wait_for(done, timeout_s)
        task = asyncio.current_task()
        assert task is not None
        task.uncancel()
        return result
