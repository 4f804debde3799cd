"""All that is kept of what a call or a terminal wrote."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent_tui.engine.commands import Subject
from agent_tui.safe_text import one_line
from agent_tui.tui import words
from agent_tui.tui.link import RefusedError
from agent_tui.tui.screens.view import View
from agent_tui.tui.transcript.lines import Line, Span, untrusted, wrap
from agent_tui.tui.transcript.look import Look

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp


class OutputView(View):
    """The spool, which outlives its process, as it was when the view was opened."""

    keys_first = "j k line · space b page · g G ends · / find · n N"
    keys_second = "y copy · q or Esc close"

    def __init__(self, agent: "AgentApp", title: str, ref: str) -> None:
        super().__init__(agent)
        self._title = one_line(title)
        self._ref = ref
        self._text: str | None = None
        self._failure = ""

    async def load(self) -> None:
        try:
            self._text = str(await self.agent.link.ask(Subject.OUTPUT, ref=self._ref))
        except RefusedError as error:
            self._failure = str(error)
        self.draw()
        self.body.scroll(10**9)

    @property
    def awaits_data(self) -> bool:
        return self._text is None and not self._failure

    def hints(self) -> tuple[str, str]:
        return super().hints() if self._text else ("", "q or Esc close")

    def title_words(self) -> tuple[str, str]:
        count = words.count(len(self._text.splitlines()), "line") if self._text else ""
        return f"output · {self._title}", count

    def content(self, look: Look) -> Sequence[Line]:
        if self._text is None:
            said = self._failure or f"loading {look.glyphs.more}"
            return [(Span("  "), *untrusted(said, "error" if self._failure else "muted"))]
        if not self._text:
            return [(Span("  It wrote nothing", "muted"),)]
        return [
            row
            for text in self._text.splitlines()
            for row in wrap(untrusted(text), look.width, first=(Span("  "),), rest=(Span("  "),))
        ]

    def press(self, key: str, character: str) -> bool:
        if character != "y" or not self._text:
            return False
        self.agent.copy_to_clipboard(self._text)
        self.say(f"copied {words.count(len(self._text.splitlines()), 'line')}")
        return True
