"""Shows one sheet of `start` on the terminal; has no editor, so nothing typed can end up in a message.

Nothing typed answers it either: as a prompt, it takes a key that stands alone, after a pause.
"""

import asyncio
import signal
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.geometry import Offset

from agent_tui.tui import smallest, themes
from agent_tui.tui.chosen import Chosen
from agent_tui.tui.driver import AgentDriver, guarded
from agent_tui.tui.glyphs import ASCII, UNICODE, own_words
from agent_tui.tui.screens.body import Body
from agent_tui.tui.transcript.lines import BLANK, Span, plain, ruled, width_of, wrap
from agent_tui.tui.widgets.arming import DELAY_S, Arming
from agent_tui.tui.widgets.burst import Burst
from agent_tui.tui.widgets.pane import Pane

if TYPE_CHECKING:
    from agent_tui.guardian import Guardian
    from agent_tui.tui.start import Sheet


OTHER_ROWS = 2  # the rule with the keys, and the foot
ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
STOPPING = (signal.SIGTSTP, signal.SIGCONT)  # which the toolkit takes and keeps


class SheetApp(App[str], inherit_bindings=False):
    """Shows one sheet."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = []
    CSS = """
    Screen { background: $background; color: $foreground; }
    Pane { height: 1; }
    #small { display: none; height: 1fr; }
    .-small > * { display: none; }
    .-small > #small { display: block; }
    """

    def __init__(
        self, sheet: "Sheet", look: Chosen | None = None, clock: Callable[[], float] = monotonic
    ) -> None:
        super().__init__(driver_class=AgentDriver)
        chosen = look or Chosen()
        theme = chosen.theme
        self._sheet = sheet
        self._guardian: Guardian | None = None
        self._ended_by = 0  # number of the signal
        self._at = sheet.preselected
        self._scrolled = False  # by the person
        self._clock = clock
        self._arming = Arming(clock())
        self._burst = Burst(self, self._key_alone, self._typed)
        self._is_armed = False
        self._theme_name = theme
        self._glyphs = ASCII if chosen.ascii_only else UNICODE
        for each in themes.toolkit_themes():
            self.register_theme(each)
        self.theme = f"agent-{theme}"

    def answer(self, descriptor: int) -> str:
        """Run it on the terminal; the value chosen, empty when the person left. Raises SystemExit, with the
        code of a process that a signal ended, once the terminal is as it was."""
        before = {number: signal.getsignal(number) for number in ENDING + STOPPING}
        try:
            with guarded(descriptor) as self._guardian:
                chosen = self.run(mouse=False)
        finally:
            for number, handler in before.items():  # what follows ends and stops as what came before
                signal.signal(number, handler)
        if self._ended_by:
            raise SystemExit(128 + self._ended_by)
        return chosen or ""

    def on_load(self) -> None:
        if self.is_headless:
            return
        loop = asyncio.get_running_loop()
        for number in ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
                loop.add_signal_handler(number, self._end, number)

    def _end(self, number: int) -> None:
        self._ended_by = number
        self.exit("")

    def _came_back(self) -> None:
        """The screen was away: a key that was typed meanwhile decides nothing."""
        self._typed()
        self.refresh(layout=True, repaint=True)

    def compose(self) -> ComposeResult:
        self._body = Body(self._theme_name)
        self._rule = Pane(theme=self._theme_name)
        self._foot = Pane(theme=self._theme_name)
        self._small = Pane(theme=self._theme_name, id="small")
        yield self._small
        yield self._body
        yield self._rule
        yield self._foot

    def on_mount(self) -> None:
        self.app_resume_signal.subscribe(self, lambda _: self._came_back(), immediate=True)
        self._draw()
        self.call_after_refresh(self._wait)
        if self._guardian is not None:
            self.call_after_refresh(self._guardian.watch)

    def on_resize(self) -> None:
        if self._is_small or self.screen.has_class("-small"):
            self._wait()  # what was not to be seen is read first
        self.call_later(self._draw)

    @property
    def _is_small(self) -> bool:
        return smallest.is_too_small(self.size)

    def _draw(self) -> None:
        self.screen.set_class(self._is_small, "-small")
        if self._is_small:
            self._small.show(smallest.said(self.size, self._glyphs))
            return
        width = self.size.width
        lines = self._sheet.lines(self._at, width, self._glyphs)
        foot = (Span("  " + own_words(self._sheet.foot, self._glyphs), "muted"),)
        room = self.size.height - OTHER_ROWS
        above = len(lines) - room
        if above > 0 or width_of(foot) > width:  # it is the last to be read then
            lines += [BLANK, *wrap(foot, width, rest=(Span("  "),))]
            foot = (Span("  PgUp PgDn scroll" if len(lines) > room else "", "muted"),)
        self._body.show(lines)
        keys = own_words(self._keys() if self._is_armed else "keys work in a moment", self._glyphs)
        self._rule.show([ruled((), (Span(keys, "muted"),), width, self._glyphs.rule)])
        picked = [number for number, row in enumerate(lines) if plain(row).startswith("  > ")]
        if not self._scrolled:  # the options are at the end, and the picked one is never out of sight
            self._body.top = min([max(above, 0), *picked])
        if picked:  # screen readers and magnifiers follow the terminal's cursor
            self.cursor_position = Offset(2, max(picked[0] - self._body.top, 0))
        self._foot.show([foot])

    @property
    def _keeps(self) -> bool:
        return self._at >= 0 and self._sheet.options[self._at].keeps

    def _keys(self) -> str:
        """Those that work with what is picked."""
        named = self._sheet.keys.split(" · ")
        return " · ".join(key for key in named if self._keeps or key[:2] != f"{self._sheet.extra} ")

    def on_key(self, event: events.Key) -> None:
        if event.key == "ctrl+c":  # where the terminal is not ours it sends that signal
            self._end(signal.SIGINT)
        elif event.key == "escape":
            self.exit("")
        elif self._is_small:
            return
        elif event.key in ("up", "down"):
            self._move(1 if event.key == "down" else -1)
        elif event.key in ("pageup", "pagedown"):
            self._scrolled = True
            self._body.scroll((-1 if event.key == "pageup" else 1) * max(self._body.size.height - 2, 1))
        elif event.is_printable and event.character:
            self._burst.add(event.key, event.character)
        elif event.key == "enter":
            if self._burst.is_open:
                self._burst.end_as_text()
            elif not self._is_armed:
                self._typed()
            elif self._at >= 0:
                self.exit(self._sheet.options[self._at].value)

    def _move(self, by: int) -> None:
        count = len(self._sheet.options)
        self._at = (self._at + by) % count if self._at >= 0 else (0 if by > 0 else count - 1)
        self._scrolled = False
        self._draw()

    def _key_alone(self, _: str, typed: str) -> None:
        """A key that nothing followed at once."""
        key, options = typed[0], self._sheet.options
        if key in "jk":
            self._move(1 if key == "j" else -1)
        elif not self._is_armed:
            self._typed()
        elif (chosen := next((option for option in options if option.key == key), None)) is not None:
            self.exit(chosen.value)
        elif key == self._sheet.extra and self._keeps:
            self.exit(options[self._at].value + "+")
        elif key == "q":
            self.exit("")

    def _typed(self, _: str = "") -> None:
        """What was not meant for it: the pause begins again."""
        self._wait()
        self._draw()

    def _wait(self) -> None:
        self._is_armed = False
        self._arming.drawn(self._clock())
        self.set_timer(DELAY_S + 0.01, self.check)

    def check(self) -> None:
        """Take keys when the pause is over."""
        if not self._is_armed and self._arming.is_armed(self._clock(), draft=False):
            self._is_armed = True
            self._draw()
