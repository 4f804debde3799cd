"""Time as the interface sees it; tests put a still one in its place."""

import time


class Clock:
    """The machine's clocks."""

    def wall(self) -> float:
        """UTC seconds."""
        return time.time()

    def steady(self) -> float:
        """Seconds that never jump."""
        return time.monotonic()
