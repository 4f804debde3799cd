"""The block of the start: its facts follow the session until something else is there."""

from typing import TYPE_CHECKING

from agent_tui.tui.transcript.blocks import Welcome

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp


class Welcoming:
    """Knows the block by its place, the first."""

    def __init__(self, app: "AgentApp") -> None:
        self._app = app

    def refresh(self) -> None:
        """Its facts may have changed."""
        block, status = self._block, self._app.session.status
        if block is not None and (block.branch, block.changed_files) != (status.branch, status.changed_files):
            block.branch, block.changed_files = status.branch, status.changed_files
            block.touch()
            self._app.transcript.changed(block)

    def drop(self) -> None:
        """Something else is there."""
        if self._block is not None:
            self._app.show_instead(self._app.transcript.blocks[1:])

    @property
    def _block(self) -> Welcome | None:
        shown = self._app.transcript.blocks
        return shown[0] if shown and isinstance(shown[0], Welcome) else None
