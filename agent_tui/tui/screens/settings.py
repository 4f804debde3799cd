"""The settings and where each came from; tokens and money."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agent_tui.engine.commands import Subject
from agent_tui.safe_text import one_line
from agent_tui.tui import words
from agent_tui.tui.glyphs import own_words
from agent_tui.tui.link import RefusedError
from agent_tui.tui.screens.view import View
from agent_tui.tui.transcript.lines import Line, Span, untrusted, width_of, wrap
from agent_tui.tui.transcript.look import Look

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp


CACHED = {"cache_read_tokens": "of them cached", "cache_write_tokens": "cached anew"}
_PARTS = {
    "system": "system text",
    "tools": "tools",
    "project": "project instructions",
    "summary": "summary",
    "user": "your messages",
    "responses": "the model's messages",
    "results": "results",
}


class FactsView(View):
    """Plain facts from one `Inspect`: settings with their layer, the context by part, the cost."""

    keys_first = "j k scroll"

    @property
    def keys_second(self) -> str:  # type: ignore[override]  # computed where the base has a value
        below = self.lines_below
        more = f"Space {words.count(below, 'more line')} · " if below else ""
        return f"{more}/ find · Esc close"

    def __init__(self, agent: "AgentApp", title: str, subject: Subject) -> None:
        super().__init__(agent)
        self._title = title
        self._subject = subject
        self._rows: list[tuple[str, str, str]] | None = None
        self._failure = ""

    async def load(self) -> None:
        try:
            found = await self.agent.link.ask(self._subject)
            self._rows = _ROWS.get(self._subject, rows_of)(found)
        except RefusedError as error:
            self._failure, self._rows = str(error), []
        self.draw()

    def title_words(self) -> tuple[str, str]:
        return self._title, ""

    def content(self, look: Look) -> Sequence[Line]:
        if self._rows is None:
            return [(Span(f"  loading {look.glyphs.more}", "muted"),)]
        if not self._rows:
            return [(Span("  "), *untrusted(self._failure or "Nothing to show", "muted"))]
        rows: list[Line] = []
        most = max(len(value) for _, value, _ in self._rows)
        column = min(most, 32) if look.narrow else 32  # of the values
        for key, value, note in self._rows:
            said = own_words(value, look.glyphs) if self._subject is Subject.COST else value
            lead = untrusted(f"  {key:<24} ")
            spans = [*lead, *untrusted(f"{said:<{column}} ", "strong"), *untrusted(note, "muted")]
            if width_of(spans) <= look.width:
                rows.append(tuple(spans))
                continue
            indent = (Span(" " * (4 if look.narrow else 27)),)
            rows += wrap(untrusted(said, "strong"), look.width, first=tuple(lead), rest=indent)
            rows += wrap(untrusted(note, "muted"), look.width, first=indent, rest=indent) if note else []
        return rows


def rows_of(data: Any) -> list[tuple[str, str, str]]:
    """Key, value and note of each fact, nested ones with a dotted key."""
    rows: list[tuple[str, str, str]] = []
    if isinstance(data, Mapping):
        for key, value in data.items():
            if isinstance(value, Mapping) and set(value) == {"value", "origin"}:
                rows.append((str(key), _setting(value["value"]), str(value["origin"])))
            elif isinstance(value, Mapping):
                rows += [(f"{key}.{name}", each, note) for name, each, note in rows_of(value)]
            else:
                rows.append((str(key), _value(str(key), value), ""))
    elif isinstance(data, Sequence) and not isinstance(data, str):
        rows += [(str(index + 1), one_line(str(each)), "") for index, each in enumerate(data)]
    return rows


def _setting(value: Any) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else one_line(str(value))


def context_rows(data: Any) -> list[tuple[str, str, str]]:
    """What fills the window, in tokens and as a share of the view; then the view, and what it may be."""
    total = max(1, data["total"])
    parts = [(words, data[part]) for part, words in _PARTS.items() if data[part]]
    rows = [(words, f"{tokens:,}", f"{tokens * 100 / total:.0f} %") for words, tokens in parts]
    whole = f"{data['percent']} % of {data['window']:,}"
    return [*rows, ("together", f"{data['total']:,}", whole), ("compaction from", f"{data['limit']:,}", "")]


def cost_rows(data: Any) -> list[tuple[str, str, str]]:
    """One row for the turn, its newest run, the session, each model, and each step; cached tokens are among
    those in."""
    models, steps = data["models"], data["steps"]
    scopes = {name: data[name] for name in ("turn", "run", "session")} | models
    rows = [
        (str(name), f"{_cost(tally)} · {words.count(tally['requests'], 'request')}", _counts(tally))
        for name, tally in scopes.items()
    ]
    for step in steps:
        by = f", by {step['model']}" if len(models) > 1 else ""
        rows.append((f"step {step['step']}", _cost(step), _counts(step) + by))
    return rows


def _cost(tally: Mapping[str, Any]) -> str:
    return "price unknown" if tally["cost_usd"] is None else words.money(tally["cost_usd"])


def _counts(tally: Mapping[str, Any]) -> str:
    cached = [f"{tally[key]:,} {word}" for key, word in CACHED.items() if tally[key]]
    return ", ".join([f"{tally['input_tokens']:,} in", *cached, f"{tally['output_tokens']:,} out"])


def _value(key: str, value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, float) and "usd" in key:
        return words.money(value)
    return one_line(str(value))


_ROWS: Mapping[Subject, Callable[[Any], list[tuple[str, str, str]]]] = {
    Subject.CONTEXT: context_rows,
    Subject.COST: cost_rows,
}
