"""All that one call printed, as far as it is kept."""

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
    """Text of the spool of a call, which outlives its process."""

    keys_first = "j k scroll · space b page · g G ends"

    def __init__(self, agent: "AgentApp", call_id: str, shown: str) -> None:
        super().__init__(agent)
        self._call_id = call_id
        self._shown = shown
        self._text: str | None = None
        self._failure = ""

    async def load(self) -> None:
        try:
            self._text = await self.agent.link.ask(Subject.OUTPUT, ref=f"out/{self._call_id}")
        except RefusedError as error:
            self._failure = str(error)
        self.draw()

    def title_words(self) -> tuple[str, str]:
        count = words.count(self._text.count("\n") + 1, "line") if self._text else ""
        return f"output · {one_line(self._shown, strict=True)}", count

    def content(self, look: Look) -> Sequence[Line]:
        if self._text is None:
            waits = self._failure or f"loading {look.glyphs.more}"
            return [(Span("  "), *untrusted(waits, "muted"))]
        bar = (Span("  "), Span(look.glyphs.output + " ", "rule"))
        rows: list[Line] = []
        for text in self._text.split("\n"):
            rows += wrap(untrusted(text), look.width, first=bar, rest=bar) or [bar]
        return rows
