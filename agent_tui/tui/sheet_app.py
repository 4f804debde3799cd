"""Shows one sheet of `start` on the terminal; has no editor, so nothing typed can end up in a message."""

from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import App, ComposeResult
from textual.binding import BindingType

from agent_tui.tui import themes
from agent_tui.tui.chosen import Chosen
from agent_tui.tui.driver import AgentDriver
from agent_tui.tui.glyphs import ASCII, UNICODE, own_words
from agent_tui.tui.screens.view import Body
from agent_tui.tui.transcript.lines import Span, clip, ruled
from agent_tui.tui.widgets.pane import Pane

if TYPE_CHECKING:
    from agent_tui.tui.start import Sheet


OTHER_ROWS = 2  # the rule with the keys, and the foot


class SheetApp(App[str], inherit_bindings=False):
    """Shows one sheet."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = []
    CSS = "Screen { background: $background; color: $foreground; } Pane { height: 1; }"

    def __init__(self, sheet: "Sheet", look: Chosen | None = None) -> None:
        super().__init__(driver_class=AgentDriver)
        chosen = look or Chosen()
        theme = chosen.theme
        self._sheet = sheet
        self._at = sheet.preselected
        self._scrolled = False  # by the person
        self._theme_name = theme
        self._glyphs = ASCII if chosen.ascii_only else UNICODE
        for each in themes.toolkit_themes():
            self.register_theme(each)
        self.theme = f"agent-{theme}"

    def compose(self) -> ComposeResult:
        self._body = Body(self._theme_name)
        self._rule = Pane(theme=self._theme_name)
        self._foot = Pane(theme=self._theme_name)
        yield self._body
        yield self._rule
        yield self._foot

    def on_mount(self) -> None:
        self._draw()

    def on_resize(self) -> None:
        self.call_later(self._draw)

    def _draw(self) -> None:
        width = self.size.width
        self._body.show(self._sheet.lines(self._at, width))
        keys = own_words(self._sheet.keys, self._glyphs)
        self._rule.show([ruled((), (Span(keys, "muted"),), width, self._glyphs.rule)])
        foot = self._sheet.foot
        above = len(self._body.lines) - (self.size.height - OTHER_ROWS)
        if above > 0:
            foot = "PgUp shows what is above · " + foot
        if not self._scrolled:
            self._body.top = max(above, 0)  # the options are at the end, and are never out of sight
        self._foot.show([clip([Span("  " + own_words(foot, self._glyphs), "muted")], width)])

    def on_key(self, event: events.Key) -> None:
        options = self._sheet.options
        character = event.character or ""
        if event.key in ("ctrl+c", "escape"):
            self.exit("")
        elif event.key in ("up", "down", "j", "k"):
            step = 1 if event.key in ("down", "j") else -1
            self._at = (
                (self._at + step) % len(options) if self._at >= 0 else (0 if step > 0 else len(options) - 1)
            )
            self._scrolled = False
            self._draw()
        elif event.key in ("pageup", "pagedown"):
            self._scrolled = True
            self._body.scroll((-1 if event.key == "pageup" else 1) * max(self._body.size.height - 2, 1))
        elif event.key == "enter" and self._at >= 0:
            self.exit(options[self._at].value)
        elif character and character == self._sheet.extra and self._at >= 0:
            self.exit(options[self._at].value + "+")
        else:
            chosen = next((option for option in options if option.key == character), None)
            if chosen is not None:
                self.exit(chosen.value)
