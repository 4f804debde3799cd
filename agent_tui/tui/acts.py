"""What keys and slash commands do, by name. The app forwards; this is where the session is moved."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.events import Key

from agent_tui.engine import commands
from agent_tui.engine.types import InputKind
from agent_tui.tui import slash, words
from agent_tui.tui.transcript.blocks import Block, Card, Notice, Reasoning
from agent_tui.tui.widgets.arming import Arming

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp

TWICE_S = 2.0  # a second Esc or Ctrl+C within this means more


class Acts:
    """One method for each act."""

    def __init__(self, app: "AgentApp") -> None:
        self._app = app
        self._escaped_at = -10.0
        self._cancelled_at = -10.0
        self._interrupted_at = -10.0
        self._enters = Arming(-10.0)  # in an empty editor; a key that is held down goes on with nothing
        self.table: dict[str, Callable[[], None]] = {
            "typed": self._app.typed,
            "send": self._send,
            "queue": self._queue,
            "steer_now": self._steer_now,
            "escape": self._escape,
            "cancel": self._cancel,
            "quit": self.quit,
            "quit_now": self._quit_now,
            "answer_prompt": self._app.prompt.turn_to,
            "edit_pending": self._app.pending_list.up,
            "edit_pending_or_history": self._edit_pending_or_history,
            "page_up": lambda: self._page(-1),
            "page_down": lambda: self._page(1),
            "oldest": self._app.transcript.to_oldest,
            "newest": self._app.transcript.follow,
            "fold": self._fold,
            "redraw": self._redraw,
            "suspend": self._suspend,
            "help": self._app.views.help,
            "transcript": self._app.views.transcript,
            "find": lambda: self._app.views.transcript(find=True),
            "rewind": self._app.views.rewind,
            "terminals": self._app.views.terminals,
            "prompt_full_view": self._app.views.command,
            "search_history": self._app.searching.begin,
            "external_editor": self._external_editor,
            "paste_image": self._app.attaching.clipboard,
            "mouse": self._mouse,
            "pick_previous": lambda: self._app.picking.move(-1),
            "pick_next": lambda: self._app.picking.move(1),
        }

    def do(self, name: str) -> None:
        """Run an act; unknown names are lists and views that are not open."""
        if name.startswith("list_"):
            self._app.completing.key(name[5:])
            return
        act = self.table.get(name)
        if act is not None:
            act()

    def lead_away(self, event: Key) -> bool:
        """A key at a prompt that does what it does anywhere does it at once, before what is typed behind it
        can answer: that is for where it leads. Whether it was one."""
        app = self._app
        if event.is_forwarded or app.focused is not app.prompt or not app.prompt.lets_by(event.key):
            return False
        act = app.keymap.anywhere.get(event.key, "")
        self.do(act)
        return bool(act)

    # --- messages ------------------------------------------------------------------------------

    def _send(self) -> None:
        app = self._app
        text = app.editor.draft
        if not text.strip():
            now = app.clock.steady()
            stands_alone = self._enters.is_armed(now, draft=False)
            self._enters.key(now)
            if app.session.open_questions or not stands_alone:
                return  # the prompt has its own keys, so that no Enter typed ahead goes on past it
            if app.session.paused or app.session.retry is not None:
                app.link.send(commands.Continue())
            elif offered := app.offering.take():
                self._submit(offered, InputKind.PROMPT)
            return
        kind = InputKind.STEER if app.session.busy else InputKind.PROMPT
        self._submit(text, kind)

    def _queue(self) -> None:
        app = self._app
        text = app.editor.draft
        if text.strip() and app.session.busy:
            self._submit(text, InputKind.QUEUE)

    def _steer_now(self) -> None:
        app = self._app
        text = app.editor.draft
        if text.strip():
            self._submit(text, InputKind.STEER if app.session.busy else InputKind.PROMPT, now=True)
            return
        steers = [each for each in app.session.pending if each.kind is not InputKind.QUEUE]
        if steers:
            app.session.dropped.add(steers[-1].input_id)
            app.link.send(commands.EditPending(input_id=steers[-1].input_id, text=None))
            self._say(
                commands.Submit(
                    text=steers[-1].text, images=steers[-1].images, kind=InputKind.STEER, now=True
                )
            )

    def _submit(self, text: str, kind: InputKind, *, now: bool = False) -> None:
        app = self._app
        app.editor.past.add(app.editor.draft)
        app.editor.clear_draft()
        app.asking.drafted()
        app.completing.close()
        if slash.run(app, text):
            return
        if text.startswith("!"):
            quiet = text.startswith("!!")
            command = text.lstrip("!").strip()
            if command:
                sent = app.link.send(commands.RunShell(command=command, to_context=not quiet))
                app.session.sent[sent] = (text, ())
            return
        app.offering.take()
        self._say(commands.Submit(text=text, images=app.attaching.take(), kind=kind, now=now))
        app.transcript.follow()

    def _say(self, body: commands.Submit) -> None:
        self._app.session.sent[self._app.link.send(body)] = (body.text, tuple(body.images))

    def _edit_pending_or_history(self) -> None:
        if self._app.session.pending:
            self._app.pending_list.up()
        else:
            self._app.editor.history_older()

    def take_returned(self) -> None:
        """Messages that came back undelivered: into the editor, in their order, one paragraph each."""
        app, session = self._app, self._app.session
        if session.returned:
            app.editor.add_paragraph("\n\n".join(session.returned))
            session.returned.clear()
        app.attaching.give_back(session.images_back)
        session.images_back.clear()
        if session.given_back:
            back = words.count(session.given_back, "message")
            session.given_back = 0
            app.feed.add(Notice(text=f"{back} returned to the editor"))

    # --- stopping ------------------------------------------------------------------------------

    def _escape(self) -> None:
        app = self._app
        now = app.clock.steady()
        if app.completing.close():
            return
        if app.session.open_questions:
            app.prompt.dismiss()
            return
        if app.session.is_stoppable:
            self.interrupt()
            return
        if now - self._escaped_at < TWICE_S and now - self._interrupted_at >= TWICE_S:
            self._escaped_at = -10.0
            self.do("rewind")
            return
        self._escaped_at = now

    def interrupt(self) -> None:
        """Stop the run; a second time within two seconds kills what it started."""
        app, now = self._app, self._app.clock.steady()
        app.link.send(commands.Interrupt(force=now - self._interrupted_at < TWICE_S))
        self._interrupted_at = now
        app.session.stopping_at = app.session.stopping_at or app.clock.wall()
        app.draw_fixed()

    def _cancel(self) -> None:
        """Ctrl+C: clears the draft, else interrupts, else quits when pressed again."""
        app = self._app
        now = app.clock.steady()
        if app.editor.text:
            app.editor.past.add(app.editor.draft)
            app.editor.clear_draft()
            app.completing.close()
        elif app.session.is_stoppable:
            self.interrupt()
        elif now - self._cancelled_at < TWICE_S:
            self.quit()
        else:
            self._cancelled_at = now
            app.say("Ctrl+C again to quit", TWICE_S)

    def quit(self) -> None:
        """Leave; asks first while terminals are live."""
        if self._app.session.live_terminals:
            self._app.asking.leave()
        else:
            self._quit_now()

    def end_by_signal(self, code: int) -> None:
        """SIGTERM, SIGHUP or SIGINT from outside; the second one does not wait for the engine."""
        if self._app.exit_code:
            self._app.exit(code)
            return
        self._app.exit_code = code
        self._quit_now()

    def _quit_now(self) -> None:
        app = self._app
        app.link.send(commands.Shutdown())
        app.set_timer(2.5, lambda: app.exit(app.exit_code))
        if not app.session.ready:
            app.exit(app.exit_code)

    def _redraw(self) -> None:
        self._app.refresh(layout=True, repaint=True)

    def _mouse(self) -> None:
        app = self._app
        app.mouse_on = not app.mouse_on
        app.set_mouse(app.mouse_on)
        app.say(f"mouse {'on' if app.mouse_on else 'off'}")

    def _external_editor(self) -> None:
        app = self._app
        text = app.outside.edit(app.editor.draft)
        if text is not None:
            app.editor.clear_draft()
            app.editor.insert_paste(text)

    def _suspend(self) -> None:
        self._app.stop()
        self._app.call_later(self._app.say, "suspended and back; Ctrl+_ is the key that undoes", 4.0)

    # --- looking -------------------------------------------------------------------------------

    def _page(self, direction: int) -> None:
        transcript = self._app.transcript
        transcript.scroll_lines(direction * max(transcript.size.height - 2, 1))

    def on_clicked(self, block: Block, row: str) -> None:
        """A click folds a card, on its changed-files line it opens the diff."""
        mark = self._app.glyphs.changes
        if isinstance(block, Card) and row.strip().startswith(f"{mark} "):
            self._app.views.diff_of(block)
        elif isinstance(block, Card | Reasoning):
            self._turn(block)

    def copy(self, text: str) -> None:
        """To the clipboard, by the terminal (OSC 52)."""
        if text:
            self._app.copy_to_clipboard(text)
            self._app.say(f"copied {words.count(text.count(chr(10)) + 1, 'line')}")

    def _fold(self) -> None:
        view = self._app.transcript
        block: Block | None
        if view.picked is not None:
            block = view.blocks[view.picked]
        else:
            block = next((each for each in reversed(view.blocks) if isinstance(each, Card | Reasoning)), None)
        if block is not None:
            self._turn(block)

    def _turn(self, block: Block) -> None:
        """Show more or less of it."""
        block.expanded = not block.expanded
        block.touch()
        self._app.transcript.changed(block)
