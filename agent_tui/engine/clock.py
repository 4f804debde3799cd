"""The clock of a real session."""

import time


class SystemClock:
    """See `agent_tui.engine.ports.Clock`."""

    def now(self) -> float:
        """UTC seconds."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds of a clock that never jumps."""
        return time.monotonic()
