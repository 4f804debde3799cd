"""When a prompt takes keys: typed text can never answer it. Pure, clock passed in."""

DELAY_S = 0.5


class Arming:
    """Unarmed when drawn; armed by a pause with an empty editor, or by a deliberate Shift+Tab."""

    def __init__(self, now: float) -> None:
        self._quiet_since = now
        self._asked_for = False

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

    def leave(self, now: float) -> None:
        """Tab: the person turned to the editor; only `ask` arms again while it holds a draft."""
        self.key(now)

    def is_armed(self, now: float, *, draft: bool) -> bool:
        """Whether keys may answer now."""
        if self._asked_for:
            return True
        return not draft and now - self._quiet_since >= DELAY_S

    def due_in(self, now: float) -> float:
        """Seconds until the pause is over."""
        return max(self._quiet_since + DELAY_S - now, 0.0)
