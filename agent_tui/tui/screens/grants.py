"""What was allowed beyond one call: grants of this session and saved rules, each with all it lets run."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agent_tui.engine.commands import Subject
from agent_tui.safe_text import one_line
from agent_tui.tui.link import RefusedError
from agent_tui.tui.screens.view import ListView
from agent_tui.tui.transcript.lines import Line, Span, untrusted, wrap
from agent_tui.tui.transcript.look import Look

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp

Grant = Mapping[str, Any]  # `id`, `scope`, `action`, `rule`, `allows`, `grant`: see `engine.ports.Gate`
_SCOPES = {"session": "session", "workspace": "workspace", "user": "everywhere"}


class GrantsView(ListView[Grant]):
    """The list, with what the picked one allows; `x` takes it back at once, since that only narrows."""

    keys_first = "x take back"
    keys_second = "↑ ↓ move · Esc close"

    def __init__(self, agent: "AgentApp") -> None:
        super().__init__(agent)
        self._mode = agent.session.status.approval

    async def load(self) -> None:
        await self._fetch()

    async def _fetch(self, **args: str) -> None:
        try:
            found = list(await self.agent.link.ask(Subject.GRANTS, **args))
        except RefusedError as error:
            self.say(str(error))
            return
        self.set_items(found, at=self.at)

    def title_words(self) -> tuple[str, str]:
        return "approvals", f"{self._mode} · {len(self.items)} allowed or denied beforehand"

    def empty(self) -> str:
        return "Nothing is allowed beyond one call. `s` and `p` at a question add to this"

    def row(self, item: Grant, look: Look) -> Line:
        scope = _SCOPES.get(str(item.get("scope")), str(item.get("scope")))
        lead = f"{scope:<10} {item.get('action', 'allow')!s:<6} "
        return (Span(lead, "muted"), *untrusted(one_line(str(item.get("rule", ""))), strict=True))

    def detail(self, look: Look) -> list[Line]:
        item = self.picked
        if item is None:
            return []
        told = [f"lets run {item['allows']}"] if item.get("allows") else []
        told += [f"in the sandbox with: {item['grant']}"] if item.get("grant") else []
        told.append(f"id {item.get('id')}")
        indent = (Span("  "),)
        return [
            row
            for text in told
            for row in wrap(untrusted(one_line(text), "muted"), look.width, first=indent, rest=indent)
        ]

    def press(self, key: str, character: str) -> bool:
        if character != "x" or self.picked is None:
            return False
        self.run_worker(self._take_back(str(self.picked.get("id"))))
        return True

    async def _take_back(self, grant: str) -> None:
        await self._fetch(remove=grant)
        if all(str(item.get("id")) != grant for item in self.items):
            self.say("taken back: it asks again")
