"""The fixed parts of the screen: pending list, activity line, status line, and the one spinner."""

from typing import TYPE_CHECKING

from textual.timer import Timer

from agent_tui.tui.widgets import activity, pending, status

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp

TICK_S = 0.25  # of the spinner; times change with every fourth tick


class Fixed:
    """Draws from the session's state; ticks only while something moves."""

    def __init__(self, app: "AgentApp") -> None:
        self._app = app
        self._tick: Timer | None = None
        self._frame = 0
        self._passing = ""  # words that go by themselves

    def begin(self) -> None:
        """The app is mounted."""
        self._tick = self._app.set_interval(TICK_S, self._on_tick, pause=True)

    def draw(self) -> None:
        """All of them."""
        app = self._app
        width = app.size.width
        app.pending.show(
            pending.lines(
                app.session, width, app.glyphs, low=app.size.height < 20, selected=app.pending_list.at
            )
        )
        self.draw_activity()
        app.status.show([status.line(app.session.status, width, app.glyphs)])
        self._set_ticking()

    def draw_activity(self) -> None:
        """The activity line alone."""
        app = self._app
        moment = activity.Moment(
            width=app.size.width, now=app.clock.wall(), frame=self._frame if app.pace.moves else 0,
            editor_focused=not app.prompt.has_keys, draft=bool(app.editor.text), left=app.prompt.is_left,
            new_lines=app.transcript.new_lines, scrolled=not app.transcript.following,
            notice=self._passing or app.searching.title or app.completing.title,
            hints=app.searching.hints or app.completing.hints or app.pending_list.hints or app.offering.hints,
        )  # fmt: skip
        app.activity.show([activity.line(app.session, moment, app.glyphs)])
        app.asking.fit(app.size.height)

    def say(self, text: str, seconds: float) -> None:
        """A passing word on the activity line."""
        self._passing = text
        self.draw_activity()
        self._app.set_timer(seconds, self._unsay)

    def _unsay(self) -> None:
        self._passing = ""
        self.draw_activity()

    def _set_ticking(self) -> None:
        if self._tick is None:
            return
        state = self._app.session
        moves = (
            state.is_stoppable or state.going_back is not None or state.stopping_at or state.live_terminals
        )
        self._tick.resume() if moves else self._tick.pause()

    def _on_tick(self) -> None:
        self._frame += 1
        seconds_each = 1 if self._app.pace.moves else 5
        if self._frame % (4 * seconds_each) == 0:
            self._count_on_cards()
        elif not self._app.pace.moves or self._app.notifier.focused is False:  # nobody looks
            return
        self.draw_activity()

    def _count_on_cards(self) -> None:
        live = self._app.feed.calls.live_cards()
        for block in live:
            block.touch()
        if live:
            self._app.transcript.update_view()
