"""When a prompt takes keys: typed text can never answer it. Pure, clock passed in."""

DELAY_S = 0.5


class Arming:
    """Unarmed when drawn; armed by a pause with an empty editor, or by a deliberate Shift+Tab."""

    def __init__(self, now: float) -> None:
        self._quiet_since = now
        self._asked_for = False
        self.is_left = False  # for the editor, until the person turns back

    def opened(self, now: float) -> None:
        """Another prompt, which nobody has turned away from."""
        self.is_left = False
        self.drawn(now)

    def drawn(self, now: float) -> None:
        """What is on the screen changed: unarmed for the pause again, however it was armed."""
        self._quiet_since = now
        self._asked_for = False

    def key(self, now: float) -> None:
        """A key went to the editor."""
        self._quiet_since = max(self._quiet_since, now)
        self._asked_for = False

    def ask(self) -> None:
        """Shift+Tab or a click: the person turned to the prompt."""
        self._asked_for = True
        self.is_left = False

    def leave(self) -> None:
        """Tab: the person turned to the editor; only `ask` arms again, also while it is empty."""
        self._asked_for = False
        self.is_left = True

    def is_armed(self, now: float, *, draft: bool) -> bool:
        """Whether keys may answer now."""
        if self._asked_for:
            return True
        return not (draft or self.is_left) and now - self._quiet_since >= DELAY_S

    def due_in(self, now: float) -> float:
        """Seconds until the pause is over."""
        return max(self._quiet_since + DELAY_S - now, 0.0)
