"""Other sessions: going on with one or with a copy, watching, naming and deleting; an empty one."""

from collections.abc import Mapping
from typing import Any

from agent_tui import handover
from agent_tui.engine.commands import Subject
from agent_tui.plain import facts
from agent_tui.plain.choosing import MOST_SHOWN, Terms, chosen, is_sure
from agent_tui.plain.watching import Watching
from agent_tui.safe_text import one_line

_USAGE = "/sessions lists them, /sessions all those of every directory; rename ID TITLE; rm ID"


class Sessions:
    """`next_arguments` is what `agent-tui` is started with after this session."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._standing = terms.standing
        self._config = terms.standing.config
        self._watching = Watching(terms)
        self.next_arguments: list[str] | None = None

    async def sessions(self, rest: str) -> None:
        """List, rename or delete."""
        word, _, more = rest.partition(" ")
        name, _, title = more.strip().partition(" ")
        if word in ("", "all") and not more:
            await self._choose(everywhere=word == "all")
        elif word == "rename" and title.strip():
            if await self._terms.facts(Subject.SESSIONS, rename=name, title=title.strip()) is not None:
                self._terms.say(f"{one_line(name, strict=True)} is named: {one_line(title.strip())}.")
        elif word == "rm" and name:
            await self._remove(name)
        else:
            self._terms.say(_USAGE)

    async def resume(self, rest: str) -> None:
        """Go on with another session."""
        if rest:
            self.next_arguments = handover.resuming(self._standing.guards(), rest, plain=True)
        else:
            await self._choose(everywhere=False)

    async def watch(self, rest: str) -> None:
        """One that is open elsewhere."""
        if not rest:
            self._terms.say("/watch ID follows a session that is open elsewhere; /sessions lists them.")
        elif await self._watching.watch(rest):
            await self.fork(rest)

    async def fork(self, rest: str) -> None:
        """A copy, of this one where none is named."""
        name = rest or self._standing.session_id
        self.next_arguments = handover.resuming(self._standing.guards(), name, fork=True, plain=True)

    async def new(self, _: str) -> None:
        """An empty one."""
        self.next_arguments = ["--plain", *self.flags()]

    def flags(self) -> list[str]:
        """Flags for another start with the model and the guards of this session."""
        return handover.anew(self._standing.guards(), self._standing.model, self._standing.address)

    async def _choose(self, *, everywhere: bool) -> None:
        here, own = str(self._config.workspace), self._standing.session_id
        found = [
            each
            for each in await self._terms.facts(Subject.SESSIONS) or ()
            if (everywhere or str(each.get("workspace", here)) == here) and each.get("id") != own
        ]
        if not found:
            self._terms.say("No other session yet." if everywhere else "No other session here yet.")
            return
        found.sort(key=lambda each: -float(each.get("updated_at") or 0))
        shown = found[:MOST_SHOWN]
        at = await chosen(self._terms, [facts.session(each, everywhere) for each in shown], "resume")
        if at is not None:
            await self._go_on_with(shown[at])

    async def _go_on_with(self, found: Mapping[str, Any]) -> None:
        name = str(found["id"])
        if not found.get("live"):
            self.next_arguments = handover.resuming(self._standing.guards(), name, plain=True)
            return
        self._terms.say(f"{one_line(name, strict=True)} is open in another terminal.")
        at = await chosen(self._terms, ["Watch it", "Continue a copy"], "what to do")
        if at is not None:
            await (self.watch(name) if at == 0 else self.fork(name))

    async def _remove(self, name: str) -> None:
        shown = one_line(name, strict=True)
        if name == self._standing.session_id:
            self._terms.say("This session is open here; leave it first.")
        elif await is_sure(self._terms, f"delete {shown} and its output for good"):
            if await self._terms.facts(Subject.SESSIONS, remove=name) is not None:
                self._terms.say(f"{shown} is deleted.")
        else:
            self._terms.say("Nothing was deleted.")
