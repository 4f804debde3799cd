"""The open pending list: edit, remove, steer now, turn into queue or steer, move."""

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
        self._marked = ""  # id of a message: rows come and go

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

    @property
    def at(self) -> int | None:
        """The marked row; None while it is closed, and once its message waits no more."""
        ids = [each.input_id for each in self._app.session.pending]
        return ids.index(self._marked) if self._marked in ids else None

    @property
    def hints(self) -> tuple[str, ...]:
        """The keys, while it is open."""
        return HINTS if self.at is not None else ()

    def open(self) -> None:
        """Mark the newest."""
        app = self._app
        if app.session.pending:
            app.editor.lend_keys(self)
            self._mark(len(app.session.pending) - 1)

    def leave(self) -> None:
        """Close it."""
        self._marked = ""
        self._app.editor.captor = None
        self._app.draw_fixed()

    def _mark(self, index: int) -> None:
        self._marked = self._app.session.pending[index].input_id
        self._app.draw_fixed()

    def _take_back(self, index: int) -> None:
        pending = self._app.session.pending[index]
        self._app.link.send(commands.EditPending(input_id=pending.input_id, text=None))

    def key(self, key: str, _: str | None) -> bool:
        """A key of the open list; any other leaves it."""
        at, last = self.at, len(self._app.session.pending) - 1
        if at is not None and key in ("up", "down"):
            self._mark(max(at - 1, 0) if key == "up" else min(at + 1, last))
            return True
        if at is not None and key in ("alt+up", "alt+down"):
            self._move(at, max(at - 1, 0) if key == "alt+up" else min(at + 1, last))
            return True
        self.leave()
        if at is not None and key == "enter":
            self._take_back(at)
        elif at is not None and key in ("delete", "s", "q", "t"):
            self._change(at, key)
        else:
            return key == "escape"
        return True

    def _move(self, at: int, to: int) -> None:
        """Before the message that is there or, further down, before the next; here at once, so that the
        next key finds it there."""
        entries = self._app.session.pending
        if to == at:
            return
        entry, behind = entries[at], entries[to if to < at else to + 1 :]
        before = behind[0].input_id if behind else ""
        self._app.session.move_pending(entry.input_id, before)
        self._app.link.send(commands.EditPending(input_id=entry.input_id, text=entry.text, before=before))
        self._app.draw_fixed()

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
