"""A picked block of the transcript: its keys, until one of another kind leaves it."""

from typing import TYPE_CHECKING

from agent_tui.tui.transcript import render
from agent_tui.tui.transcript.blocks import Block, Card
from agent_tui.tui.transcript.lines import plain

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp


class Picking:
    """Takes its keys from the editor, which keeps the focus: so none overtakes another."""

    def __init__(self, app: "AgentApp") -> None:
        self._app = app

    def move(self, by: int) -> None:
        """Pick the next block, or the one before; the newest at first."""
        app, view = self._app, self._app.transcript
        if not view.blocks:
            return
        at = len(view.blocks) if view.picked is None else view.picked
        view.pick(max(min(at + by, len(view.blocks) - 1), 0))
        app.editor.lend_keys(self)
        app.set_focus(app.editor)  # at once: the next key is for the block
        app.prompt.turn_away(True)

    def leave(self) -> None:
        """Nothing is picked any more."""
        app = self._app
        if app.editor.captor is self:
            app.editor.captor = None
            app.transcript.pick(None)
            app.prompt.turn_away(False)

    def key(self, key: str, _: str | None) -> bool:
        """A key of the picked block; one that works anywhere lets it stay picked."""
        view = self._app.transcript
        if view.picked is not None and self._act(key, view.blocks[view.picked]):
            return True
        if key not in self._app.keymap.anywhere:
            self.leave()
        return False

    def _act(self, key: str, block: Block) -> bool:
        """Whether it is one of its keys."""
        app = self._app
        if key == "d":
            if isinstance(block, Card):
                app.views.diff_of(block)
        elif key == "enter":
            app.acts.do("fold")
        elif key == "y":
            rows = render.render(block, app.look(app.size.width))
            app.acts.copy(getattr(block, "text", "") or "\n".join(plain(row) for row in rows))
        elif key == "b":
            if isinstance(block, Card) and block.calls[-1].checkpoint_id:
                app.views.rollback(block.calls[-1].checkpoint_id)
        elif key == "escape":
            self.leave()
        else:
            return False
        return True
