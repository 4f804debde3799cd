"""The clock of a real session."""

import time


class SystemClock:
    """See `agent_tui.engine.ports.Clock`.

    Somebody may set the machine's clock while a session runs. Its records count time by their
    differences, so they go on from what the clock said when the process began.
    """

    def __init__(self) -> None:
        self._ahead_s = time.time() - _since_boot_s()

    def now(self) -> float:
        """UTC seconds; time in which the machine slept is counted."""
        return _since_boot_s() + self._ahead_s

    def monotonic(self) -> float:
        """Seconds of a clock that never jumps."""
        return time.monotonic()


def _since_boot_s() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)
