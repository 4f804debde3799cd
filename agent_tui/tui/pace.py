"""How often the screen is drawn: by what came, whether anybody looks, and whether the terminal can follow."""

from typing import TYPE_CHECKING

from textual.timer import Timer

from agent_tui.engine import events
from agent_tui.tui.driver import AgentDriver

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp

STREAM_S = 0.1  # streamed text is drawn at 10 Hz
AWAY_S = 1.0  # the same where the terminal has no focus
EVENT_S = 1 / 60
_STREAMED = (events.TextStreamed, events.ReasoningStreamed, events.CallOutput, events.CallDrafted)


class Pace:
    """Calls `flush` of the app when it is time."""

    def __init__(self, app: "AgentApp") -> None:
        self._app = app
        self._due: Timer | None = None
        self._is_slow = False

    @property
    def is_due(self) -> bool:
        """Whether something waits to be drawn."""
        return self._due is not None

    @property
    def moves(self) -> bool:
        """Whether the spinner turns and times count each second: not while the terminal cannot follow."""
        driver = self._app._driver
        return self._app.moving and not (isinstance(driver, AgentDriver) and driver.is_behind)

    def came(self, body: events.Body) -> None:
        """An event is to be drawn."""
        is_streamed = isinstance(body, _STREAMED)
        is_away = is_streamed and self._app.notifier.focused is False
        if self._due is None or (self._is_slow and not is_streamed):
            self._flush_in(AWAY_S if is_away else STREAM_S if is_streamed else EVENT_S)

    def focused(self) -> None:
        """Somebody looks again: what waits is drawn."""
        if self._due is not None:
            self._flush_in(EVENT_S)

    def _flush_in(self, seconds: float) -> None:
        self.drawn()
        self._is_slow = seconds == AWAY_S
        self._due = self._app.set_timer(seconds, self._app.flush)

    def drawn(self) -> None:
        """Nothing waits any more."""
        if self._due is not None:
            self._due.stop()
        self._due = None
