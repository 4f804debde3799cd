"""The end of a turn in words, and what is said of a model that fails."""

import re
from typing import Literal

from agent_tui.engine.events import RetryScheduled, TurnEnded
from agent_tui.engine.types import END_FACTS, EndReason
from agent_tui.tui.transcript.blocks import TurnEnd
from agent_tui.tui.words import clock

EndGlyph = Literal["end", "failed", "interrupted"]

_DONE = (EndReason.COMPLETED, EndReason.COMPLETED_UNVERIFIED)
_FAILED = frozenset(
    {
        EndReason.CONTRACT_UNMET,
        EndReason.CRASHED,
        EndReason.CONTEXT_EXHAUSTED,
        EndReason.MODEL_UNAVAILABLE,
        EndReason.MODEL_REJECTED,
        EndReason.APPROVAL_UNAVAILABLE,
        EndReason.CHECKPOINT_UNAVAILABLE,
        EndReason.STATE_UNWRITABLE,
        EndReason.INTERNAL_ERROR,
    }
)
_TRY_AGAIN = "Enter tries again · /model changes the model"
HINTS = {  # what to do about it
    EndReason.MODEL_UNAVAILABLE: _TRY_AGAIN,
    EndReason.MODEL_REJECTED: _TRY_AGAIN,
    EndReason.CONTEXT_EXHAUSTED: "/compact with a focus, or /new",
}
_REJECTED = {  # what was refused → what to do, right behind the sentence that says so
    "key": ". Fix it and press Enter, or /model for another provider",
    "model": "; the session is kept. /model picks another",
}
_AGAIN = "Nothing was lost; the same request is sent again"
_STATUS = re.compile(r"\b[1-5]\d\d\b")


def going_on(body: RetryScheduled, provider: str, seconds: float) -> str:
    """What is said of a provider that fails while it is asked again, `seconds` after the first try."""
    text = f"{_failing(body, provider)}. {_AGAIN}"
    tries = body.attempt - 1
    return f"{text}. Tried {tries} times in {clock(seconds)}." if tries > 1 else text


def _failing(body: RetryScheduled, provider: str) -> str:
    """`openai answers 503 (overloaded)`, and what it says."""
    if body.http_status is None or _STATUS.search(body.error):
        return body.error
    kind = body.kind.replace("_", " ")
    return f"{provider or 'the provider'} answers {body.http_status} ({kind}): {body.error}"


def ended(body: TurnEnded, at: float) -> TurnEnd:
    """The block of the end of a turn, `at` that time; what went wrong follows its words after a colon."""
    glyph: EndGlyph = "failed" if body.reason in _FAILED else "interrupted"
    glyph = "end" if body.reason in _DONE else glyph
    words = body.sentence
    if body.rejected:
        words += _REJECTED[body.rejected]
    elif body.error and body.error not in words:
        words = f"{words}: {body.error}"
    hint = HINTS.get(body.reason) or END_FACTS[body.reason].hint
    return TurnEnd(
        glyph=glyph,
        words=words,
        steps=body.steps,
        duration_s=body.duration_s,
        cost_usd=body.cost_usd,
        changes=body.changes,
        last_check=f"`{body.last_check}` {body.check_result}" if body.tells_check else "",
        hint="" if body.rejected else hint,
        said=body.error if body.rejected else "",
        at=at,
    )
