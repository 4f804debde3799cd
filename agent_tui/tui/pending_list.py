"""Moving in the pending list: edit, remove, steer now, turn into queue or steer."""

from typing import TYPE_CHECKING

from agent_tui.engine import commands
from agent_tui.engine.types import InputKind

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp

HINTS = ("Enter edit", "Del remove", "s steer now", "Esc leave")
TWICE_S = 2.0


class PendingList:
    """Open after Alt+Up twice or a click; takes every key of the editor then."""

    def __init__(self, app: "AgentApp") -> None:
        self._app = app
        self._asked_at = -TWICE_S

    def up(self) -> None:
        """Alt+Up: the newest into the editor; pressed again, the list."""
        app, now = self._app, self._app.clock.steady()
        again, self._asked_at = now - self._asked_at < TWICE_S, now
        if not app.session.pending:
            return
        if again:
            self.open()
        else:
            self._take_back(len(app.session.pending) - 1)

    def open(self) -> None:
        """Mark the newest."""
        app = self._app
        if app.session.pending:
            app.editor.lend_keys(self)
            self._mark(len(app.session.pending) - 1)

    def leave(self) -> None:
        """Close it."""
        self._app.editor.captor = None
        self._mark(None)

    def _mark(self, index: int | None) -> None:
        app = self._app
        app.pending_at = index
        app.pending_hints = HINTS if index is not None else ()
        app.draw_fixed()

    def _take_back(self, index: int) -> None:
        pending = self._app.session.pending[index]
        self._app.link.send(commands.EditPending(input_id=pending.input_id, text=None))

    def key(self, key: str, _: str | None) -> bool:
        """A key of the open list; any other leaves it."""
        app, entries = self._app, self._app.session.pending
        at = min(app.pending_at or 0, len(entries) - 1)
        if entries and key in ("up", "alt+up"):
            self._mark(max(at - 1, 0))
            return True
        if entries and key in ("down", "alt+down"):
            self._mark(min(at + 1, len(entries) - 1))
            return True
        self.leave()
        if entries and key == "enter":
            self._take_back(at)
        elif entries and key in ("delete", "s", "q", "t"):
            self._change(at, key)
        else:
            return key == "escape"
        return True

    def _change(self, at: int, key: str) -> None:
        app, entry = self._app, self._app.session.pending[at]
        if key in ("q", "t"):
            kind = InputKind.QUEUE if key == "q" else InputKind.STEER
            app.link.send(commands.EditPending(input_id=entry.input_id, text=entry.text, kind=kind))
            return
        app.session.dropped.add(entry.input_id)
        app.link.send(commands.EditPending(input_id=entry.input_id, text=None))
        if key == "s":
            again = commands.Submit(text=entry.text, images=entry.images, kind=InputKind.STEER, now=True)
            app.link.send(again)
