"""A session that is open in another terminal: its transcript as it grows, to be read only."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent_tui.engine.commands import Subject
from agent_tui.tui.earlier import extended
from agent_tui.tui.feed import Feed
from agent_tui.tui.link import RefusedError
from agent_tui.tui.screens.view import View
from agent_tui.tui.state import State
from agent_tui.tui.transcript import render
from agent_tui.tui.transcript.lines import BLANK, Line, Span, untrusted
from agent_tui.tui.transcript.look import Look

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp
    from agent_tui.tui.transcript.blocks import Block

REFRESH_S = 1.0  # another process writes the store and tells nobody


class WatchView(View):
    """Stays at the end as long as it stands there."""

    keys_first = "j k line · space b page · g G ends · / find · n N"
    keys_second = "f continue a copy · q or Esc close"

    def __init__(self, agent: "AgentApp", session_id: str) -> None:
        super().__init__(agent)
        self._session_id = session_id
        self._feed = Feed(State())
        self._blocks: list[Block] | None = None
        self._read = 0  # number of the last record
        self._failure = ""

    async def load(self) -> None:
        await self._fetch()
        self.set_interval(REFRESH_S, self._fetch)

    async def _fetch(self) -> None:
        try:
            found = await self.agent.link.ask(Subject.WATCH, id=self._session_id, read=str(self._read))
        except RefusedError as error:
            self._failure = str(error)
            self.draw()
            return
        self._read = found["read"]
        if found["events"] or self._blocks is None or self._failure:
            at_end = self.body.top >= self.body.last_top
            self._failure = ""
            self._blocks = await extended(self._feed, self._blocks or [], found["events"])
            self.draw()
            if at_end:
                self.scroll("end")
                self.draw_frame()

    @property
    def awaits_data(self) -> bool:
        return self._blocks is None and not self._failure

    def title_words(self) -> tuple[str, str]:
        return f"watching {self._session_id}", "open in another terminal"

    def content(self, look: Look) -> Sequence[Line]:
        if self._blocks is None or self._failure:
            said = self._failure or f"loading {look.glyphs.more}"
            return [(Span("  "), *untrusted(said, "error" if self._failure else "muted"))]
        rows: list[Line] = []
        for block in self._blocks:
            rows += [BLANK] if rows and not block.tight else []
            rows += render.render(block, look)
        return rows

    def press(self, key: str, character: str) -> bool:
        if character != "f":
            return False
        self.agent.outside.switch(self._session_id, fork=True)
        return True
