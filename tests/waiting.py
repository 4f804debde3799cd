"""How tests wait for others: until it is so, with a limit that only a failure meets."""

import time
from collections.abc import Callable

WAIT_S = 60.0  # what takes a moment here may take many on a slow machine with other work


def until(
    condition: Callable[[], object], what: Callable[[], object] = lambda: "it did not come to be"
) -> None:
    """Look again and again; `what` says what was found instead when the time is over."""
    end = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end, what()
        time.sleep(0.01)
