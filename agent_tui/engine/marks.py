"""Where in the store to begin for the events after a number, so that nobody reads a long store twice."""

from bisect import bisect_right

EVERY = 256  # records between two marks


class Marks:
    """Pairs of an event's `seq` and the place of a record behind which only later events lie."""

    def __init__(self) -> None:
        self._events = [0]
        self._records = [0]

    def note(self, event: int, record: int) -> None:
        """The newest event and the newest record, as they are now."""
        if record - self._records[-1] >= EVERY:
            self._events.append(event)
            self._records.append(record)

    def before(self, event: int) -> int:
        """The `seq` of a record before every event above that number, at most `EVERY` too early and what
        one commit holds."""
        return self._records[bisect_right(self._events, event) - 1]
