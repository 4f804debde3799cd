"""Stored sessions: search, resume, fork (3.7)."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agent_tui.engine.commands import Subject
from agent_tui.safe_text import one_line
from agent_tui.tui import words
from agent_tui.tui.link import RefusedError
from agent_tui.tui.screens.view import ListView
from agent_tui.tui.transcript.lines import BLANK, Line, Span, clip, untrusted
from agent_tui.tui.transcript.look import Look

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp

Entry = Mapping[str, Any]


def when(at: float, now: float) -> str:
    """`today 14:31`, `yesterday`, `24 Nov`."""
    then, today = time.localtime(at), time.localtime(now)
    if then[:3] == today[:3]:
        return time.strftime("today %H:%M", then)
    if then[:3] == time.localtime(now - 86_400)[:3]:
        return "yesterday"
    return time.strftime("%d %b", then).lstrip("0")


class SessionsView(ListView[Entry]):
    """Enter leaves this session, which is kept, and continues the picked one."""

    keys_first = "Enter resume · f fork · a all workspaces"
    keys_second = "/ find · Esc close"

    def __init__(self, agent: "AgentApp") -> None:
        super().__init__(agent)
        self._all: list[Entry] = []
        self._everywhere = False

    async def load(self) -> None:
        try:
            self._all = list(await self.agent.link.ask(Subject.SESSIONS))
        except RefusedError as error:
            self.failure = str(error)
        self._filter()

    def _filter(self) -> None:
        here = self.agent.session.workspace
        shown = [each for each in self._all if self._everywhere or str(each.get("workspace", here)) == here]
        self.set_items(sorted(shown, key=lambda each: -float(each.get("updated_at") or 0)))

    def title_words(self) -> tuple[str, str]:
        return f"sessions · {'all workspaces' if self._everywhere else 'this workspace'}", str(
            len(self.items)
        )

    def empty(self) -> str:
        return "No sessions here yet. a shows all workspaces"

    def header(self, look: Look) -> list[Line]:
        if not self.items:
            return []
        return [BLANK, (Span("  id     last used    title                       messages  ended", "muted"),)]

    def row(self, item: Entry, look: Look) -> Line:
        used = when(float(item.get("updated_at") or 0), self.agent.clock.wall())
        title = clip(untrusted(one_line(str(item.get("title") or "(no message)"))), 27)
        pad = 28 - sum(len(span.text) for span in title)
        state = (
            "open in another terminal"
            if item.get("live") and item.get("id") != self.agent.session.session_id
            else ""
        )
        state = state or str(item.get("ended") or item.get("damage") or "")
        cells = [
            *untrusted(f"{item.get('id', '')!s:<6} "),
            Span(f"{used:<12} "),
            *title,
            Span(" " * max(pad, 1)),
        ]
        return (
            *cells,
            Span(f"{item.get('turns', '')!s:>8}  ", "muted"),
            *untrusted(one_line(state), "muted"),
        )

    def detail(self, look: Look) -> list[Line]:
        item = self.picked
        if item is None:
            return []
        return [
            clip(
                untrusted(f"  {item.get('id')}  {words.home(str(item.get('workspace', '')))}", "muted"),
                look.width,
            )
        ]

    def press(self, key: str, character: str) -> bool:
        item = self.picked
        if character == "a":
            self._everywhere = not self._everywhere
            self._filter()
        elif item is not None and (key == "enter" or character == "f"):
            self.agent.outside.switch(str(item["id"]), fork=character == "f")
        else:
            return False
        return True
