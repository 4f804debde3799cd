"""Tells one deliberate key from typed text, by what comes right behind it."""

from collections.abc import Callable

from textual.message_pump import MessagePump
from textual.timer import Timer

BURST_S = 0.05  # a pasted or typed-ahead word comes closer than this, two deliberate keys do not
_REPEATING = frozenset("jk ")  # held down they scroll


class Burst:
    """Holds a printable key until it is clear that it stands alone; then `alone` gets its name and all
    it typed, which is more than one character where it was held down."""

    def __init__(
        self, owner: MessagePump, alone: Callable[[str, str], None], text: Callable[[str], None]
    ) -> None:
        self._owner = owner
        self._alone = alone
        self._text = text
        self._keys: list[tuple[str, str]] = []
        self._timer: Timer | None = None

    @property
    def is_open(self) -> bool:
        """Whether keys are held."""
        return bool(self._keys)

    def add(self, key: str, character: str) -> None:
        """A printable key."""
        if self._keys == [(key, character)] and character in _REPEATING:
            self._release()
        self._keys.append((key, character))
        self._stop()
        self._timer = self._owner.set_timer(BURST_S, self._release)

    def end_as_text(self) -> None:
        """Another kind of key came close behind: what is held was typed."""
        keys, self._keys = self._keys, []
        self._stop()
        if keys:
            self._text("".join(character for _, character in keys))

    def _release(self) -> None:
        if len(set(self._keys)) == 1:  # a key held down is one key
            keys, self._keys = self._keys, []
            self._stop()
            self._alone(keys[0][0], "".join(character for _, character in keys))
        else:
            self.end_as_text()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
