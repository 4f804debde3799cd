"""The Textual application: wiring and keys, nothing else. `entry.run` starts it."""

import asyncio
import signal
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events as toolkit
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.worker import WorkerFailed

from agent_tui.engine import commands, events
from agent_tui.engine.types import Config
from agent_tui.errors import AgentError
from agent_tui.history import History, history_file
from agent_tui.tui import cutting, themes
from agent_tui.tui.acts import Acts
from agent_tui.tui.asking import Asking
from agent_tui.tui.attaching import Attaching
from agent_tui.tui.chosen import Chosen
from agent_tui.tui.clock import Clock
from agent_tui.tui.completion import Completing
from agent_tui.tui.driver import AgentDriver
from agent_tui.tui.earlier import rebuild
from agent_tui.tui.feed import Feed
from agent_tui.tui.fixed import Fixed
from agent_tui.tui.glyphs import ASCII, UNICODE
from agent_tui.tui.keymap import keymap_of
from agent_tui.tui.link import Link, RefusedError, Start
from agent_tui.tui.notify import Notifier
from agent_tui.tui.offering import Offering
from agent_tui.tui.outside import Outside
from agent_tui.tui.pace import Pace
from agent_tui.tui.pending_list import PendingList
from agent_tui.tui.picking import Picking
from agent_tui.tui.searching import Searching
from agent_tui.tui.sizing import Sizing
from agent_tui.tui.state import State, status_of
from agent_tui.tui.transcript import blocks
from agent_tui.tui.transcript.lines import Span
from agent_tui.tui.transcript.look import Look
from agent_tui.tui.transcript.view import Transcript
from agent_tui.tui.views import Views
from agent_tui.tui.welcoming import Welcoming
from agent_tui.tui.widgets.editor import Editor
from agent_tui.tui.widgets.pane import Pane
from agent_tui.tui.widgets.prompt import Prompt
from context.items import Image

if TYPE_CHECKING:
    from agent_tui.guardian import Guardian


class AgentApp(App[int], inherit_bindings=False):
    """The screen of one session."""

    AUTO_FOCUS = "Editor"  # at once: each move of the focus styles the screen anew
    ENABLE_COMMAND_PALETTE = False
    ALLOW_SELECT = False  # the transcript does it itself, without gutters
    session: State
    link: Link
    acts: Acts
    views: Views
    outside: Outside
    CSS = """
    Screen { background: $background; color: $foreground; layers: base; overflow: hidden; }
    #input { height: auto; max-height: 33vh; }
    #mark { width: 2; height: 1; }
    #activity, #status { height: 1; }
    #small { display: none; height: 1fr; }
    .-small > * { display: none; }
    .-small > #small { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(
        self, start: Start, config: Config, *, initial_prompt: str | None = None,
        images: Sequence[Image] = (), offered: str = "", look: Chosen | None = None,
        clock: Clock | None = None,
    ) -> None:  # fmt: skip
        chosen = look or Chosen()
        super().__init__(driver_class=AgentDriver)
        self.keymap = keymap_of(config.interface, config.config_dir / "config.toml")
        for key, name in self.keymap.anywhere.items():
            self.bind(key, f"act('{name}')", show=False)
        self.config = config
        self.guardian: Guardian | None = None
        self.session = State(status=status_of(config))
        self.feed = Feed(self.session, is_start=True)
        self.link = Link(start, self._apply)
        self.glyphs = ASCII if chosen.ascii_only else UNICODE
        self.look_theme, self.keys_told, self.is_dark = chosen.theme, chosen.keys_told, chosen.is_dark
        self.clock = clock or Clock()
        self.failure: Exception | None = None
        self.exit_code = 0
        settings = config.interface
        progress = settings.get("progress") == "true"
        self.notifier = Notifier(
            config.workspace.name, self.write_terminal, self.set_timer, progress=progress
        )
        self._initial = (initial_prompt, tuple(images), chosen.typed)
        self.offering = Offering(self, offered)
        self.pace = Pace(self)
        self.output = settings.get("output", "auto")
        self._rebuilt = False
        self.sides = True  # side by side diffs where they fit
        self.mouse_on = settings.get("mouse", "true") != "false"
        self.spoken = settings.get("screen_reader") == "true"
        self.moving = settings.get("motion", "true") != "false" and not self.spoken
        for each in themes.toolkit_themes():
            self.register_theme(each)
        self.theme = f"agent-{chosen.theme}"
        self.stylesheet.set_variables(self.get_css_variables())
        self._is_theme_new = False  # what is parsed from now on knows it

    # --- layout --------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        state_dir = None if self.config.ephemeral else self.config.state_dir
        path = history_file(state_dir, self.config.workspace) if state_dir else None
        self.transcript = Transcript(self.look, self.theme_name)
        self.prompt = Prompt(self.look, self.theme_name, self.clock.steady)
        self.editor = Editor(History(path), self.do, self.keymap)
        self.pending = Pane(id="pending")
        self.list = Pane(id="list")
        self.activity = Pane(id="activity")
        self.status = Pane(id="status")
        self.mark = Pane(id="mark")
        self.small = Pane(id="small")
        self.asking = Asking(self)
        self.completing = Completing(self)
        self.searching = Searching(self)
        self.pending_list = PendingList(self)
        self.picking = Picking(self)
        self.welcoming = Welcoming(self)
        self.attaching = Attaching(self)
        self.outside = Outside(self)
        self.views = Views(self)
        self.fixed = Fixed(self)
        self.sizing = Sizing(self)
        self.acts = Acts(self)
        yield self.small
        yield self.transcript
        yield self.pending
        yield self.prompt
        yield self.list
        yield self.activity
        with Horizontal(id="input"):
            yield self.mark
            yield self.editor
        yield self.status

    def on_load(self) -> None:
        """What tells us to end while the screen is made would be lost, or leave half of it: it waits."""
        self._take_signals(self._remember_end)

    def on_mount(self) -> None:
        self.offering.begin()
        self.editor.focus()
        self.set_look()
        self.fixed.begin()
        self.draw_fixed()
        self._take_signals(self.acts.end_by_signal)
        if self.exit_code:
            self.exit(self.exit_code)
        else:
            self.call_after_refresh(self._connect)

    def _connect(self) -> None:
        """After the first paint."""
        if self.guardian is not None:
            self.guardian.watch()
        self.run_worker(self._run_link(), exclusive=False, exit_on_error=True)
        self.run_worker(self.outside.look_at_multiplexer())

    async def _run_link(self) -> None:
        prompt, images, typed = self._initial
        if typed:
            self.editor.insert_paste(typed)
        if prompt:
            self.link.send(commands.Submit(text=prompt, images=images))
        try:
            await self.link.run()
        except AgentError as error:
            self.failure = error
        self.notifier.close()
        self.exit(self.exit_code)

    def _take_signals(self, end: Callable[[int], None]) -> None:
        """End cleanly where the default would leave the terminal in our modes."""
        if self.is_headless:
            return
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            loop.add_signal_handler(number, end, 128 + number)

    def _remember_end(self, code: int) -> None:
        self.exit_code = code

    def _handle_exception(self, error: Exception) -> None:
        """Leave the screen first; the command line says what happened, with a traceback on `--debug`."""
        if self.is_headless:
            super()._handle_exception(error)
            return
        cause = error.error if isinstance(error, WorkerFailed) else error
        self.failure = self.failure or (cause if isinstance(cause, Exception) else error)
        self._return_code = 1
        self._close_messages_no_wait()

    def stop(self) -> None:
        """Ctrl+Z."""
        if isinstance(self._driver, AgentDriver):
            self._driver.stop(group=True)

    def set_mouse(self, on: bool) -> None:
        """Mouse reports, at once."""
        if isinstance(self._driver, AgentDriver):
            self._driver.set_mouse(on)

    def write_terminal(self, sequence: str) -> None:
        """Bytes that are not part of the picture: title, notification."""
        if self._driver is not None and not self.is_headless:
            self._driver.write(sequence)

    # --- look ----------------------------------------------------------------------------------

    def theme_name(self) -> str:
        """Our name of the current theme."""
        return self.look_theme

    def look(self, width: int) -> Look:
        """How blocks of this width are to be drawn now."""
        return Look(
            width=width, glyphs=self.glyphs, output=self.output,  # type: ignore[arg-type]  # checked by the configuration
            now=self.clock.wall(), low=self.size.height < 20, spoken=self.spoken,
        )  # fmt: skip

    def refresh_css(self, animate: bool = True) -> None:
        """Parse again, but not for the first theme: nothing was parsed before it."""
        if self._is_theme_new:
            super().refresh_css(animate)
        self._is_theme_new = True

    def set_look(self) -> None:
        """Theme or glyphs changed: paint everything again."""
        self.theme = f"agent-{self.look_theme}"
        for pane in self.query(Pane):
            pane.set_theme(self.look_theme)
        self.mark.show([(Span(self.glyphs.user + " ", "accent"),)])
        self.transcript.repaint()

    def on_resize(self, event: toolkit.Resize) -> None:
        self.sizing.changed(*event.size)

    async def on_event(self, event: toolkit.Event) -> None:
        """Every key comes by here first, whoever takes it."""
        if isinstance(event, toolkit.Key | toolkit.Paste):
            self.notifier.key_at = self.clock.wall()
        if isinstance(event, toolkit.Key) and (self.acts.lead_away(event) or self._sent_on(event)):
            return
        await super().on_event(event)

    def _sent_on(self, event: toolkit.Key) -> bool:
        """A key that nothing would take, as in too small a terminal, goes to the editor; not later, when the
        focus may be back and it would be lost."""
        if event.is_forwarded or len(self.screen_stack) != 1 or event.key in self.keymap.anywhere:
            return False
        self.app_focus = True  # as the toolkit does with a key, which gives the focus back
        return self.focused is None and self.editor.post_message(toolkit.Key(event.key, event.character))

    # --- events of the engine ------------------------------------------------------------------

    def _apply(self, event: events.Event) -> None:
        self.feed.apply(event)
        if self.guardian is not None and self.session.session_id and not self.config.ephemeral:
            self.guardian.name(self.session.session_id)
        self.pace.came(event.body)

    def flush(self) -> None:
        """Draw what changed since the last time."""
        self.pace.drawn()
        for cut in self.feed.cuts:
            self.session.images_back += cutting.pictures(self.transcript.blocks, cut)
            self.show_instead(cutting.apply(self.transcript.blocks, cut))
        self.feed.cuts.clear()
        self.acts.take_returned()
        added, changed = self.feed.drain()
        for block in added:
            if not isinstance(block, blocks.Notice):
                self.welcoming.drop()
            self.transcript.add(block)
        for block in changed:
            self.transcript.changed(block)
        if self.session.resumed_at and not self._rebuilt:
            self._rebuilt = True
            self.run_worker(self._show_earlier())
        self.welcoming.refresh()
        self.asking.update()
        self.views.session_changed()
        self.draw_fixed()
        self.notifier.update(self.session, self.clock.wall())

    async def _show_earlier(self) -> None:
        """The stored part of a session that is continued."""
        try:
            stored = await self.link.ask(commands.Subject.TRANSCRIPT, after="0")
        except RefusedError as error:
            self.transcript.add(blocks.Notice(text=f"the earlier part cannot be shown: {error}"))
            return
        earlier, before = await rebuild(stored, self.session.resumed_at)
        self.feed.take_over(before)
        self.welcoming.drop()
        self.show_instead([*earlier, *self.transcript.blocks])
        self.flush()

    def show_instead(self, shown: list[blocks.Block]) -> None:
        """Other blocks than so far, of which none is picked."""
        self.picking.leave()
        self.transcript.replace_all(shown)

    def draw_fixed(self) -> None:
        """Pending list, activity line and status line."""
        self.fixed.draw()

    def say(self, text: str, seconds: float = 2.0) -> None:
        """A passing word on the activity line."""
        self.fixed.say(text, seconds)

    # --- messages of the widgets ---------------------------------------------------------------

    def do(self, name: str) -> None:
        """An act, at once."""
        self.acts.do(name)

    action_act = do  # by a key that works anywhere

    def typed(self) -> None:
        """A key or a paste went to the draft."""
        self.prompt.typed(draft=bool(self.editor.text))
        self.completing.update()
        self.fixed.draw_activity()

    def on_text_area_changed(self) -> None:
        self.asking.drafted()
        self.fixed.draw_activity()

    def on_transcript_clicked(self, message: Transcript.Clicked) -> None:
        self.acts.on_clicked(message.block, message.row)

    def on_transcript_selected(self, message: Transcript.Selected) -> None:
        self.acts.copy(message.text)

    def on_pane_clicked(self, message: Pane.Clicked) -> None:
        if message.pane is self.pending:
            self.pending_list.open()
        elif message.pane is self.list:
            self.completing.take_row(message.row)

    def on_transcript_scrolled(self) -> None:
        self.fixed.draw_activity()

    def on_prompt_armed(self) -> None:
        if self.prompt.armed:
            self.picking.leave()
        self.asking.armed()
        self.fixed.draw_activity()

    def on_prompt_answered(self, message: Prompt.Answered) -> None:
        self.asking.answered(message.effect)

    def on_prompt_step(self, message: Prompt.Step) -> None:
        self.asking.step(message.by)

    def on_prompt_to_editor(self, message: Prompt.ToEditor) -> None:
        self.editor.focus()
        if message.typed:
            self.editor.insert(message.typed)
            self.typed()
        self.fixed.draw_activity()

    def on_app_focus(self) -> None:
        self.notifier.focused = True
        self.pace.focused()

    def on_app_blur(self) -> None:
        self.notifier.focused = False

    def on_mouse_scroll_up(self) -> None:
        self.transcript.scroll_lines(-3)

    def on_mouse_scroll_down(self) -> None:
        self.transcript.scroll_lines(3)

    def on_paste(self, event: toolkit.Paste) -> None:
        """A paste that no input took goes to the draft, never to a prompt."""
        if len(self.screen_stack) == 1:
            self.editor.focus()
            self.editor.insert_paste(event.text)
