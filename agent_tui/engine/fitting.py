"""Cuts the results of one step to the room they have in the window; what is cut is kept and named."""

from collections.abc import Mapping

from agent_tui.engine.framing import window_of
from agent_tui.engine.scope import Scope
from context.estimate import text_tokens
from context.limits import cut_to, shares


def fitted(scope: Scope, texts: Mapping[str, str]) -> dict[str, str]:
    """The texts by call id, none above the limit of a result, all together not above that of a step."""
    window, factor = window_of(scope), scope.meter.factor
    sizes = [text_tokens(text) for text in texts.values()]
    granted = shares(sizes, round(window.result / factor), round(window.step / factor))
    return {
        call_id: text if size <= room else _cut(scope, call_id, text, room)
        for (call_id, text), size, room in zip(texts.items(), sizes, granted, strict=True)
    }


def _cut(scope: Scope, call_id: str, text: str, room: int) -> str:
    """The output of a command is spooled already; other results are kept here."""
    spool = scope.artifacts / f"{call_id}.out"
    where = f"`read_file`, path `out/{call_id}`"
    try:
        if not spool.exists():
            spool.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        where = f"not to be had, it could not be stored ({error.strerror})"
    return cut_to(text, room, where)
