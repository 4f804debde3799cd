"""Opens the full-screen views; each module is imported when it is first needed."""

from typing import TYPE_CHECKING

from textual import events as toolkit

from agent_tui.engine.commands import Subject
from agent_tui.tui import slash, words
from agent_tui.tui.transcript.blocks import Card

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp
    from agent_tui.tui.screens.rollback import RollbackMode, Settle
    from agent_tui.tui.screens.view import View


class Views:
    """What the acts and commands open."""

    def __init__(self, app: "AgentApp") -> None:
        self._app = app
        app.editor.onward = self.take_key

    def _open(self, view: "View") -> None:
        self._app.push_screen(view)

    def take_key(self, event: toolkit.Key) -> bool:
        """A key that was typed behind the one that opened a view: it is for the view."""
        if len(self._app.screen_stack) == 1:
            return False
        from agent_tui.tui.screens.view import View

        view = self._app.screen
        return isinstance(view, View) and view.take_key(event)

    def session_changed(self) -> None:
        """Events of the session were applied."""
        for view in self._opened():
            view.session_changed()

    def returned(self) -> None:
        """The screen was away: what a key confirms is to be read again first."""
        for view in self._opened():
            view.disarm()
            view.draw_frame()

    def _opened(self) -> "list[View]":
        if len(self._app.screen_stack) == 1:
            return []
        from agent_tui.tui.screens.view import View

        return [screen for screen in self._app.screen_stack if isinstance(screen, View)]

    def close_all(self) -> None:
        """Back to the session."""
        while len(self._app.screen_stack) > 1:
            self._app.pop_screen()

    def help(self) -> None:
        """F1."""
        from agent_tui.tui.screens.help import HelpView

        self._open(HelpView(self._app))

    def transcript(self, *, find: bool = False) -> None:
        """Ctrl+T; Ctrl+F begins with a search."""
        from agent_tui.tui.screens.pager import PagerView

        self._open(PagerView(self._app, find=find))

    def rewind(self) -> None:
        """Esc Esc."""
        self.checkpoints(everywhere=False)

    def checkpoints(self, *, everywhere: bool = True) -> None:
        """Restore points."""
        from agent_tui.tui.screens.checkpoints import CheckpointsView

        self._open(CheckpointsView(self._app, everywhere=everywhere))

    def rollback(self, target: str, mode: "RollbackMode" = "both", paths: tuple[str, ...] = ()) -> None:
        """The preview."""
        from agent_tui.tui.screens.rollback import PreviewView

        self._open(PreviewView(self._app, target, mode, paths))

    def back_to_before(self, target: str, settle: "Settle") -> None:
        """The preview of what settles a lost result: files alone, and `settle` does it."""
        from agent_tui.tui.screens.rollback import PreviewView

        self._open(PreviewView(self._app, target, "files", settle=settle))

    def redo(self) -> None:
        """`/redo`: the same preview, towards where the last rollback began."""
        from agent_tui.tui.screens.rollback import PreviewView

        last = self._app.session.last_rollback
        if last is None:
            slash.notice(self._app, "Nothing to redo")
            return
        undo, mode = (last.files.undo if last.files else ""), last.mode
        at = words.time_of_day(self._app.session.rolled_back_at)
        self._open(PreviewView(self._app, undo, mode if undo else "conversation", redo_at=at))

    def diff(
        self,
        title: str,
        args: dict[str, str],
        *,
        before: str = "before",
        after: str = "after",
        path: str = "",
    ) -> None:
        """A diff of a call, turn, session, or since a checkpoint; at the file `path`, where it is in it."""
        from agent_tui.tui.screens.diff import DiffView

        self._open(DiffView(self._app, title=title, args=args, before=before, after=after, path=path))

    def diff_of(self, card: Card) -> None:
        """The diff of a card's last call."""
        call = card.calls[-1]
        args = {"call": call.call_id}
        if call.checkpoint_id:
            args["from"] = call.checkpoint_id
        self.diff(
            f"call {call.call_id} `{call.tool}`",
            args,
            before=call.checkpoint_id,
            after=f"call {call.call_id}",
        )

    def sessions(self) -> None:
        """`/resume`."""
        from agent_tui.tui.screens.sessions import SessionsView

        self._open(SessionsView(self._app))

    def watch(self, session_id: str) -> None:
        """A session that another process has open."""
        from agent_tui.tui.screens.watching import WatchView

        self._open(WatchView(self._app, session_id))

    def terminals(self) -> None:
        """F3."""
        from agent_tui.tui.screens.terminals import TerminalsView

        self._open(TerminalsView(self._app))

    def model(self) -> None:
        """`/model`."""
        from agent_tui.tui.screens.models import ModelView

        self._open(ModelView(self._app))

    def settings(self) -> None:
        """`/settings`."""
        from agent_tui.tui.screens.choosing import SettingsView

        self._open(SettingsView(self._app))

    def facts(self, title: str, subject: Subject) -> None:
        """Settings, context, cost."""
        from agent_tui.tui.screens.settings import FactsView

        self._open(FactsView(self._app, title, subject))

    def output(self, title: str, ref: str) -> None:
        """All that is kept of an output."""
        from agent_tui.tui.screens.output import OutputView

        self._open(OutputView(self._app, title, ref))

    def grants(self) -> None:
        """`/approvals`."""
        from agent_tui.tui.screens.grants import GrantsView

        self._open(GrantsView(self._app))

    def command(self) -> None:
        """What the open prompt asks, whole."""
        from agent_tui.tui.forms.form import is_inline
        from agent_tui.tui.screens.command import CommandView

        form = self._app.prompt.form
        if form is not None and not is_inline(form):
            self._open(CommandView(self._app, form))
