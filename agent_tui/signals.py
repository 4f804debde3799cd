"""Signals that end the process, for those parts that have no handlers of their own."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ends_by_signal() -> Iterator[None]:
    """Within a task: SIGTERM and SIGHUP cancel it, and it ends with SystemExit as a process does that
    they end. A front end that takes them itself replaces this; what is to be ignored still is (nohup)."""
    loop, task, told = asyncio.get_running_loop(), asyncio.current_task(), list[int]()

    def tell(number: int) -> None:
        told.append(number)
        if task is not None:
            task.cancel()

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, tell, number)
    try:
        yield
    except asyncio.CancelledError:
        if told:
            raise SystemExit(128 + told[0]) from None
        raise
