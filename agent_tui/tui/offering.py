"""The first block of the screen; of the demo also its message, which nothing sends but the person."""

from typing import TYPE_CHECKING

from agent_tui.tui.transcript import blocks
from agent_tui.tui.words import home

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp

_ABOUT = (
    "Demo: the model is scripted and knows only this task. The loop, the sandbox, the approvals and the "
    "checkpoints are real. You work on a copy: {}"
)


class Offering:
    """Holds `text` until Enter on an empty editor sends it, or another message takes its place."""

    def __init__(self, app: "AgentApp", text: str) -> None:
        self._app = app
        self._text = text
        self._block: blocks.UserMessage | None = None

    def begin(self) -> None:
        """The words that go with the first message, or those of the demo that stay and its message."""
        place = home(self._app.config.workspace)
        if not self._text:
            self._app.transcript.add(blocks.Welcome(place=place, branch=self._app.session.status.branch))
            return
        self._app.transcript.add(blocks.Notice(text=_ABOUT.format(place)))
        self._block = blocks.UserMessage(text=f"{self._text} (press Enter to begin)")
        self._app.transcript.add(self._block)

    @property
    def hints(self) -> tuple[str, ...]:
        """While it can be sent."""
        is_open = self._block is not None and not self._app.editor.text and not self._app.session.busy
        return ("Enter begin", "Ctrl+D leave the demo") if is_open else ()

    def take(self) -> str:
        """The message, from the screen too; empty when there is none any more."""
        if self._block is None:
            return ""
        transcript = self._app.transcript
        transcript.replace_all([block for block in transcript.blocks if block is not self._block])
        self._block = None
        return self._text
