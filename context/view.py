"""The view: what is sent to a model, as protocol units. Types; `units` builds it."""

from agent_tui.frozen import frozen
from context.items import NoticeItem, ResponseItem, ResultItem, ToolSchema, UserItem


@frozen
class UserUnit:
    """One user item; `notices` are runtime lines that follow it."""

    item: UserItem
    notices: tuple[NoticeItem, ...] = ()


@frozen
class ExchangeUnit:
    """One response with calls and exactly one result for each, in the order of the calls."""

    response: ResponseItem
    results: tuple[ResultItem, ...]
    notices: tuple[NoticeItem, ...] = ()


@frozen
class FinalUnit:
    """A response without calls."""

    response: ResponseItem
    notices: tuple[NoticeItem, ...] = ()


@frozen
class NoticeUnit:
    """A sticky notice, or one that follows no unit."""

    notice: NoticeItem
    notices: tuple[NoticeItem, ...] = ()


@frozen
class SummaryUnit:
    """The product of the newest compaction epoch; at most one is visible."""

    id: str
    text: str


Unit = UserUnit | ExchangeUnit | FinalUnit | NoticeUnit | SummaryUnit


@frozen
class View:
    """Everything of one request that comes from us, in wire order: tools, system, project, units."""

    system: str  # frozen at session start
    tools: tuple[ToolSchema, ...]  # sorted by name, never changed in a session
    project: str  # pinned project instructions (AGENTS.md); empty where there are none
    units: tuple[Unit, ...]
