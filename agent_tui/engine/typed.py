"""Records of what the person typed into live terminals: what belongs together as one, and in words."""

import json
from collections.abc import Sequence
from dataclasses import replace

from agent_tui.engine.call_events import TerminalTyped
from agent_tui.safe_text import visible
from tools.types import STOP

TYPED_NOTICE = "In terminals: "
MAX_CHARS = 2_000  # of one record
MAX_RECORDS = 50  # kept until the model is told; the oldest are left out
MAX_TOLD = 4_000  # characters of a notice


def add(records: list[TerminalTyped], new: TerminalTyped) -> None:
    """Put a record behind others, as part of the last one where both are of one kind; all stays bounded."""
    last = records[-1] if records else None
    if last is not None and _kind(last) == _kind(new):
        new = replace(new, chars=last.chars + new.chars, left_out=last.left_out + new.left_out)
        records.pop()
    beyond = max(0, len(new.chars) - MAX_CHARS)
    records.append(replace(new, chars=new.chars[:MAX_CHARS], left_out=new.left_out + beyond))
    del records[:-MAX_RECORDS]


def notice_of(records: Sequence[TerminalTyped]) -> str:
    """What the model is told."""
    text = "; ".join(map(_words, records))
    more = "; more is left out" if len(text) > MAX_TOLD else ""
    return f"{TYPED_NOTICE}{text[:MAX_TOLD]}{more}"


def _kind(one: TerminalTyped) -> tuple[str, bool, str]:
    return one.terminal, one.hidden, one.signal


def _words(one: TerminalTyped) -> str:
    if one.signal == STOP:
        return f"the user stopped {one.terminal}"
    if one.signal:
        return f"the user sent {'Ctrl+C' if one.signal == 'INT' else one.signal} to {one.terminal}"
    if one.hidden:
        return f"the user typed in {one.terminal}: (hidden input)"
    more = f" and {one.left_out:,} more characters" if one.left_out else ""
    quoted = visible(json.dumps(one.chars, ensure_ascii=False), strict=True)
    return f"the user typed in {one.terminal}: {quoted}{more}"
