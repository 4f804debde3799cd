"""The status line: what holds now, dropping items by need; sandbox and alarms never go."""

from agent_tui.tui import words
from agent_tui.tui.glyphs import Glyphs
from agent_tui.tui.state import Status
from agent_tui.tui.transcript.lines import Line, Span, untrusted, width_of
from sandbox.policy import Mode

PROVIDER_FROM = 100  # columns


class Item:
    """One item: `forms` from the longest to the shortest, the empty one drops it."""

    def __init__(self, name: str, forms: list[str], *, alarm: bool = False) -> None:
        self.name = name
        self.forms = forms
        self.alarm = alarm

    def shorten(self) -> bool:
        """Take the next shorter form; False when there is none."""
        if self.alarm or len(self.forms) < 2:
            return False
        del self.forms[0]
        return True


# One entry for each step in which it gets shorter, first to go first.
_DROPS = (
    "branch",
    "provider",
    "cost",
    "effort",
    "approval",
    "window",
    "terminals",
    "undo",
    "context",
    "model",
)


def line(status: Status, width: int, glyphs: Glyphs) -> Line:
    """The row for `width` columns."""
    items = _items(status, width, glyphs)
    for drop in _DROPS:
        if _width(items, glyphs) <= width:
            break
        _drop(items, drop, status)
    spans: list[Span] = [Span(" ")]
    for item in (item for item in items if item.forms[0]):
        if len(spans) > 1:
            spans.append(Span(glyphs.separator, "muted"))
        role = "alarm" if item.alarm else "text" if item.name == "sandbox" else "muted"
        spans += untrusted(item.forms[0], role, strict=True)
    return tuple(spans)


def _width(items: list[Item], glyphs: Glyphs) -> int:
    shown = [untrusted(item.forms[0], strict=True) for item in items if item.forms[0]]
    return 1 + sum(map(width_of, shown)) + len(glyphs.separator) * max(len(shown) - 1, 0)


def _drop(items: list[Item], drop: str, status: Status) -> None:
    item = next(
        (
            item
            for item in items
            if item.name == {"provider": "model", "effort": "model", "window": "context"}.get(drop, drop)
        ),
        None,
    )
    if item is None or item.alarm:
        return
    if drop == "provider":
        item.forms = [
            _model(status, provider=False, effort=True),
            _model(status, provider=False, effort=False),
            "",
        ]
    elif drop == "effort":
        item.forms = [_model(status, provider=False, effort=False), ""]
    elif drop == "window":
        item.forms = [item.forms[0].split("/")[0], ""]
    elif drop == "approval":
        item.forms = [""] if item.forms[0] == "on-request" else item.forms
    elif drop == "undo":
        item.forms = [""] if item.forms[0] == "undo ok" else item.forms
    elif drop == "terminals":
        item.shorten()
    else:
        item.forms = [""]


def _model(status: Status, *, provider: bool, effort: bool) -> str:
    name = status.model if provider else status.model.partition("/")[2] or status.model
    return f"{name} {status.effort}" if effort and status.effort else name


def _items(status: Status, width: int, glyphs: Glyphs) -> list[Item]:
    wide = width >= PROVIDER_FROM
    items = [_model_item(status, wide), _context(status, glyphs), _cost(status), _sandbox(status, glyphs)]
    items.append(Item("approval", [status.approval]))
    items.append(_undo(status))
    if status.terminals:
        items.append(Item("terminals", [words.count(status.terminals, "terminal"), f"{status.terminals}t"]))
    items.append(Item("branch", [status.branch if wide else ""]))
    return items


def _model_item(status: Status, wide: bool) -> Item:
    if not status.model and status.sandbox is None:  # a stored session's own is told as it opens
        return Item("model", [""])
    if not status.model:
        return Item("model", ["NO MODEL"], alarm=True)
    if status.model.startswith("demo/"):
        return Item("demo", ["demo (scripted)"])
    return Item("model", [_model(status, provider=wide, effort=True)])


def _context(status: Status, glyphs: Glyphs) -> Item:
    if not status.context_window:
        return Item("context", [""])
    used, hard = status.context_used, status.context_hard
    if used > hard if hard else used >= status.context_window:
        return Item("context", ["CONTEXT FULL"], alarm=True)
    share = min(1.0, used / status.context_window)
    mark = glyphs.above + " " if 0 < status.context_soft <= used else ""
    return Item("context", [f"{mark}{share:.0%}/{words.tokens(status.context_window)}"])


def _cost(status: Status) -> Item:
    if status.cost_usd is None:
        return Item("cost", [""])
    if status.max_cost_usd is None:
        return Item("cost", [words.money(status.cost_usd)])
    if status.cost_usd >= status.max_cost_usd:
        return Item("cost", ["BUDGET"], alarm=True)
    limit = f"{status.max_cost_usd:g}"
    return Item("cost", [f"{words.money(status.cost_usd)} of ${limit}"])


def _sandbox(status: Status, glyphs: Glyphs) -> Item:
    sandbox = status.sandbox
    if sandbox is None:
        return Item("sandbox", [""])
    if sandbox.mode is Mode.OFF:
        return Item("sandbox", ["SANDBOX OFF"], alarm=True)
    if not sandbox.available:
        asks = "no commands" if status.approval == "never" else "asks"
        return Item("sandbox", [f"NO SANDBOX, {asks}"], alarm=True)
    name = "read-only" if sandbox.mode is Mode.READ_ONLY else "workspace"
    more = f"+{sandbox.extra_roots}" if sandbox.extra_roots and name == "workspace" else ""
    network = f"net {'on' if sandbox.network else 'off'}"
    partly = ", partly" if sandbox.lost else ""  # doctor tells what this machine cannot do
    return Item("sandbox", [f"{glyphs.sandbox} {name}{more}, {network}{partly}"])


def _undo(status: Status) -> Item:
    health = status.undo
    if health is None:
        return Item("undo", [""])
    if health.state == "importing":
        share = health.done_files / health.total_files if health.total_files else 0.0
        return Item("undo", [f"undo {share:.0%}"])
    if health.state in ("off", "failed"):
        return Item("undo", [f"UNDO {health.state.upper()}"], alarm=True)
    return Item("undo", ["undo ok" if health.state == "ok" else "undo: file tools only"])
