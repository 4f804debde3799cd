"""The settings with the layer each came from; those of the session can be changed here."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from agent_tui.engine.commands import Set, Subject
from agent_tui.tui.link import RefusedError
from agent_tui.tui.screens.settings import rows_of
from agent_tui.tui.screens.view import ListView
from agent_tui.tui.transcript.lines import Line, Span, untrusted
from agent_tui.tui.transcript.look import Look

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp

Fact = tuple[str, str, str]  # key, value, layer

# Value → how much it allows: going up asks once more.
_CHOICES: Mapping[str, Mapping[str, int]] = {
    "sandbox": {"read-only": 0, "workspace-write": 1, "off": 2},
    "network": {"off": 0, "on": 1},
    "approval": {"untrusted": 0, "on-request": 1, "never": 1},
}


class SettingsView(ListView[Fact]):
    """Every setting; Enter opens the choice of one that a session can change."""

    keys_first = "Enter change in this session · ↑ ↓ j k move"

    async def load(self) -> None:
        try:
            found = rows_of(await self.agent.link.ask(Subject.SETTINGS))
        except RefusedError as error:
            self.failure, found = str(error), []
        self.set_items(found, at=self.at)

    def title_words(self) -> tuple[str, str]:
        return "settings", ""

    def empty(self) -> str:
        return "Nothing to show"

    def row(self, item: Fact, look: Look) -> Line:
        key, value, layer = item
        return (*untrusted(f"{key:<24} "), *untrusted(f"{value:<32} ", "strong"), *untrusted(layer, "muted"))

    def press(self, key: str, character: str) -> bool:
        item = self.picked
        if item is None or key != "enter":
            return False
        name, value, _ = item
        if name == "model":
            self.agent.views.model()
        elif name in _CHOICES:
            self.agent.push_screen(ChoiceView(self.agent, name, value, self._changed))
        else:
            self.say("this one is set in the settings file, or by a flag at the start")
        return True

    def _changed(self) -> None:
        self.run_worker(self.load())  # answered after the change, since commands are obeyed in order


class ChoiceView(ListView[str]):
    """One setting of the session; what allows more asks once."""

    keys_first = "Enter choose, for this session only"

    def __init__(self, agent: "AgentApp", name: str, now: str, changed: Callable[[], None]) -> None:
        super().__init__(agent)
        self._setting = name
        self._now = now
        self._on_change = changed
        self._asked = ""  # the looser value that Enter was pressed on

    async def load(self) -> None:
        values = list(_CHOICES[self._setting])
        self.set_items(values, at=values.index(self._now) if self._now in values else 0)

    def title_words(self) -> tuple[str, str]:
        return self._setting, f"now {self._now}"

    def row(self, item: str, look: Look) -> Line:
        return (Span(item),)

    def press(self, key: str, character: str) -> bool:
        value, asked = self.picked, self._asked
        self._asked = ""
        if value is None or key != "enter":
            return False
        ranks = _CHOICES[self._setting]
        if ranks[value] > ranks.get(self._now, 0) and not (asked == value and self.is_armed):
            self._asked = value
            self.ask_again(f"this session only: {self._setting} {value}?", "Enter again · Esc")
            if asked == value:
                self.too_early()
            return True
        if value != self._now:
            self.agent.link.send(Set(key=self._setting, value=value))
        self.close()
        self._on_change()
        return True
