"""The model picker: what can be used as things are; a change counts from the next request."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agent_tui.engine.commands import Set, Subject
from agent_tui.engine.types import EFFORTS
from agent_tui.tui import words
from agent_tui.tui.glyphs import own_words
from agent_tui.tui.link import RefusedError
from agent_tui.tui.screens.view import ListView
from agent_tui.tui.transcript.lines import BLANK, Line, Span, clip, untrusted, width_of, wrap
from agent_tui.tui.transcript.look import Look

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp

Entry = Mapping[str, Any]
ANOTHER: Entry = {"name": ""}  # the row that takes a name


class ModelView(ListView[Entry]):
    """Models with a key or a server; a change counts from the next request."""

    def __init__(self, agent: "AgentApp") -> None:
        super().__init__(agent)
        now = agent.session.status.effort
        self._choices = EFFORTS if now else ("", *EFFORTS)  # there is no way back to the model's own
        self._efforts: dict[str, str] = {}  # model → effort chosen in its row
        self._looking = True  # for servers on this machine, which may take a second

    @property
    def keys_first(self) -> str:  # type: ignore[override]  # computed where the base has a value
        effort = "← → effort · " if self._takes_effort(self.picked) else ""
        return f"Enter use in this session · {effort}d as default · / find · Esc close"

    @property
    def keys_second(self) -> str:  # type: ignore[override]  # computed where the base has a value
        return "asking servers on this machine …" if self._looking else "↑ ↓ j k move"

    async def load(self) -> None:
        status = self.agent.session.status
        now = {"name": status.model, "context_window": status.context_window or None}
        self.set_items([now, ANOTHER])
        await self._fetch()

    async def _fetch(self, **args: str) -> None:
        status = self.agent.session.status
        try:
            found = list(await self.agent.link.ask(Subject.MODELS, **args))
        except RefusedError as error:
            self.say(str(error))
            return
        finally:
            self._looking = False
        now: Entry = {"name": status.model, "context_window": status.context_window or None}
        known = [each for each in found if each["name"] == status.model] or ([now] if status.model else [])
        others = [each for each in found if each["name"] != status.model]
        picked = self.picked["name"] if self.picked else ""
        items = [*known, *others, ANOTHER]
        at = next((index for index, each in enumerate(items) if each["name"] == picked), 0)
        self.set_items(items, at=at)

    def title_words(self) -> tuple[str, str]:
        status = self.agent.session.status
        name = status.model.partition("/")[2] or status.model
        return "model", f"now {name} {status.effort}".rstrip()

    def header(self, look: Look) -> list[Line]:
        return [BLANK]

    def row(self, item: Entry, look: Look) -> Line:
        if not item["name"]:
            return (Span(f"another {look.glyphs.more}"),)
        room = 24 if look.narrow else max(26, *(len(str(each["name"])) for each in self.items))
        name = clip(untrusted(str(item["name"]), strict=True), room, look.glyphs.more)
        window = words.tokens(int(item["context_window"])) if item.get("context_window") else ""
        spans = [*name, Span(" " * (room - width_of(name))), Span(f" {window:>5}")]
        if not look.narrow:
            spans.append(Span(f"   {_price(item):<16}", "muted"))
        if self._takes_effort(item) and (item.get("reasoning") or item is self.picked):
            left, right = look.glyphs.choice_left, look.glyphs.choice_right
            spans.append(Span(f" effort {left} {self._effort_of(item) or 'default'} {right}", "text"))
        elif said := item.get("state") or item.get("where"):
            spans += untrusted(f" {said}", "muted")
        return tuple(spans)

    def _takes_effort(self, item: Entry | None) -> bool:
        """Whether an effort can be chosen: of a model that nothing is known of, too."""
        if item is None or not item["name"] or str(item.get("where")).startswith("no key"):
            return False
        return item.get("reasoning") is not False

    def _effort_of(self, item: Entry) -> str:
        return self._efforts.get(str(item["name"]), self.agent.session.status.effort)

    def detail(self, look: Look) -> list[Line]:
        item, status = self.picked, self.agent.session.status
        if item is None:
            return []
        if not item["name"]:
            return [
                (Span("  Enter, then PROVIDER/MODEL; `agent-tui doctor` shows what has no key", "muted"),)
            ]
        rows: list[Line] = []
        facts = [
            str(item.get("where") or ""),
            str(item.get("state") or ""),
            _price(item),
            "in use now" if item["name"] == status.model else "",
        ]
        text = own_words(" · ", look.glyphs).join(fact for fact in facts if fact)
        rows.append(clip([Span("  "), *untrusted(text, "muted")], look.width, look.glyphs.more))
        window = int(item.get("context_window") or 0)
        if 0 < window < status.context_used:
            held = (
                f"{words.tokens(window)} is smaller than this session's {words.tokens(status.context_used)}"
            )
            text = f"! {held}: it would be compacted first"
            indent = (Span("  "),)
            rows += wrap([Span(text, "attention")], look.width, first=indent, rest=indent)
        return rows

    def press(self, key: str, character: str) -> bool:
        item = self.picked
        if key in ("left", "right"):
            if item is not None and self._takes_effort(item):
                step, choices = 1 if key == "right" else -1, self._choices
                now = self._effort_of(item)
                at = choices.index(now) if now in choices else 0
                self._efforts[str(item["name"])] = choices[(at + step) % len(choices)]
                self.draw()
        elif item is None or (key != "enter" and character != "d"):
            return False
        elif not item["name"]:
            self.ask_line("model", "", self._use)
        elif key == "enter":
            self._use(str(item["name"]))
        else:
            self.run_worker(self._keep(str(item["name"])))
        return True

    def _use(self, name: str) -> None:
        status = self.agent.session.status
        if name != status.model:
            self.agent.link.send(Set(key="model", value=name))
        effort = self._efforts.get(name)
        if effort and effort != status.effort:
            self.agent.link.send(Set(key="effort", value=effort))
        self.close()

    async def _keep(self, name: str) -> None:
        """Write it to the person's settings, for later starts."""
        try:
            await self.agent.link.ask(Subject.MODELS, default=name)
        except RefusedError as error:
            self.say(str(error))
            return
        self.say(f"{name} is the default of later starts; Enter uses it now")


def _price(item: Entry) -> str:
    """USD per million tokens, in / out."""
    prices = item.get("price_input"), item.get("price_output")
    if None in prices:
        return ""
    return f"${prices[0]:.2f} / ${prices[1]:.2f}" if any(prices) else "no price"
