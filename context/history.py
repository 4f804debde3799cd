"""What an epoch takes out of the view, word for word, as text that can be read by reference."""

from collections.abc import Collection, Sequence

from context.items import Item, NoticeItem, Replacement, ResponseItem, ResultItem, UserItem

RECORDS_NAMED = 8  # in a ledger; each record names the one before it


def history_name(record: str) -> str:
    """The name under which the record of an epoch is kept; `out/` before it makes the reference."""
    return f"history-{record}"


def history_text(
    log: Sequence[Item], hidden: Collection[str], replacements: Sequence[Replacement] = ()
) -> str:
    """The hidden items, and the originals of what was shortened in place, in the order of the log."""
    shortened = {one.item_id for one in replacements}
    lines: list[str] = []
    for item in log:
        if item.id in hidden or item.id in shortened:
            lines.extend(_lines(item))
    return "\n".join(lines)


def _lines(item: Item) -> list[str]:
    match item:
        case UserItem():
            return [f"--- the person ({item.origin})", item.text]
        case ResponseItem():
            text = [f"--- the agent, step {item.step_id[1:]}", *([item.text] if item.text else [])]
            return [*text, *(f"call {call.call_id}: {call.tool} {call.arguments}" for call in item.calls)]
        case ResultItem():
            return [f"--- result of call {item.call_id}", item.text]
        case NoticeItem():
            return ["--- notice", item.text]
        case _:
            return []


def history_pointer(record: str, earlier: Sequence[str]) -> str:
    """The line of a ledger that says where hidden items are; `earlier` are records before, oldest first."""
    names = [f"out/{history_name(one)}" for one in (*earlier[-(RECORDS_NAMED - 1) :], record)]
    line = f"what was hidden can be read word for word with `read_file`: {', '.join(reversed(names))}"
    return line + (" (the last of these names the one before it)" if len(earlier) >= RECORDS_NAMED else "")
