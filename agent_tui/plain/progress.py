"""Says what still goes on: after 10 seconds of the same, after 30, and then every minute."""

import time
from collections.abc import Callable

from agent_tui.plain.calls import Calls
from agent_tui.plain.words import seconds

AT_S = (10.0, 30.0)
EVERY_S = 60.0
MODEL = "the model"


class Progress:
    """Asked about once a second while a turn runs."""

    def __init__(self, calls: Calls, say: Callable[[str], None]) -> None:
        self._calls = calls
        self._say = say
        self._known: object = None  # what went on at the last look
        self._since = 0.0
        self._told = 0

    def look(self, *, is_held: bool) -> None:
        """Print what is due; nothing goes on while a question or a retry holds it up."""
        under_way = {} if is_held else self._calls.under_way()
        words = {name: word for name, (word, _) in under_way.items()}
        known = None if is_held else words or MODEL
        now = time.monotonic()
        if known != self._known:
            self._known, self._since = known, now
            self._told = 0
        due = AT_S[self._told] if self._told < len(AT_S) else EVERY_S * (self._told - 1)
        if known is None or now - self._since < due:
            return
        self._told += 1
        passed = seconds(round(due))
        for word, rest in under_way.values():
            self._say(f"Still {word}: {passed}, {rest}.")
        if not under_way:
            self._say(f"Still waiting: {passed}, for {MODEL}.")
