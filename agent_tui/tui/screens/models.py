"""The model picker: what can be used as things are; a change counts from the next request."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agent_tui.engine.commands import Set, Subject
from agent_tui.tui import words
from agent_tui.tui.glyphs import own_words
from agent_tui.tui.link import RefusedError
from agent_tui.tui.screens.view import ListView
from agent_tui.tui.transcript.lines import BLANK, Line, Span, clip, untrusted, width_of
from agent_tui.tui.transcript.look import Look

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp

Entry = Mapping[str, Any]
ANOTHER: Entry = {"name": ""}  # the row that takes a name


class ModelView(ListView[Entry]):
    """Models with a key or a server; a change counts from the next request."""

    keys_first = "Enter use in this session · ← → effort · d as default · / find · Esc close"
    EFFORTS = ("", "low", "medium", "high")

    def __init__(self, agent: "AgentApp") -> None:
        super().__init__(agent)
        self._effort = agent.session.status.effort
        self._looking = True  # for servers on this machine, which may take a second

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
        return "model", f"now {status.model} {status.effort}".rstrip()

    def header(self, look: Look) -> list[Line]:
        return [BLANK]

    def row(self, item: Entry, look: Look) -> Line:
        if not item["name"]:
            return (Span(f"another {look.glyphs.more}"),)
        room = 24 if look.narrow else max(27, *(len(str(each["name"])) for each in self.items))
        name = clip(untrusted(str(item["name"]), strict=True), room, look.glyphs.more)
        window = words.tokens(int(item["context_window"])) if item.get("context_window") else ""
        spans = [*name, Span(" " * (room - width_of(name))), Span(f" {window:>5}")]
        if not look.narrow:
            spans.append(Span(f"   {_price(item):<17}", "muted"))
        if item is self.picked:
            left, right = look.glyphs.choice_left, look.glyphs.choice_right
            spans.append(Span(f" effort {left} {self._effort or 'default'} {right}", "text"))
        elif said := item.get("state") or item.get("where"):
            spans += untrusted(f" {said}", "muted")
        return tuple(spans)

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
            rows.append((Span(f"  ! {held}: it would be compacted first", "attention"),))
        return rows

    def press(self, key: str, character: str) -> bool:
        item = self.picked
        if key in ("left", "right"):
            step = 1 if key == "right" else -1
            now = self.EFFORTS.index(self._effort) if self._effort in self.EFFORTS else 0
            self._effort = self.EFFORTS[(now + step) % len(self.EFFORTS)]
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
        if self._effort and self._effort != status.effort:
            self.agent.link.send(Set(key="effort", value=self._effort))
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
