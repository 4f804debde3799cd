"""The end of a turn in words, and what is said of a model that fails."""

import re
from typing import Literal

from agent_tui.engine.events import RetryScheduled, TurnEnded
from agent_tui.engine.types import EndReason
from agent_tui.tui.state import Retry, State
from agent_tui.tui.transcript.blocks import TurnEnd
from agent_tui.tui.words import clock

EndGlyph = Literal["end", "failed", "interrupted"]

_WORDS: dict[EndReason, tuple[EndGlyph, str]] = {  # empty words: the event's own sentence
    EndReason.COMPLETED: ("end", "done"),
    EndReason.COMPLETED_UNVERIFIED: ("end", ""),
    EndReason.CONTRACT_UNMET: ("failed", ""),
    EndReason.CANCELLED: ("interrupted", "cancelled by you"),
    EndReason.INTERRUPTED: ("interrupted", "interrupted by you"),
    EndReason.CRASHED: ("failed", "crashed; resumed"),
    EndReason.BUDGET_TURNS: ("interrupted", ""),
    EndReason.BUDGET_TOOLS: ("interrupted", ""),
    EndReason.BUDGET_TIME: ("interrupted", ""),
    EndReason.BUDGET_TOKENS: ("interrupted", ""),
    EndReason.BUDGET_COST: ("interrupted", ""),
    EndReason.COST_UNKNOWN: ("interrupted", ""),
    EndReason.CONTEXT_EXHAUSTED: ("failed", "the view does not fit the window"),
    EndReason.LOOP_DETECTED: ("interrupted", ""),
    EndReason.MODEL_UNAVAILABLE: ("failed", "{provider} did not answer{tries}"),
    EndReason.MODEL_REJECTED: ("failed", "{provider} refused the request"),
    EndReason.APPROVAL_UNAVAILABLE: ("failed", "approvals were needed and nobody could be asked"),
    EndReason.CHECKPOINT_UNAVAILABLE: ("failed", "no undo, and checkpoints are required"),
    EndReason.STATE_UNWRITABLE: ("failed", "the session cannot be written"),
    EndReason.INTERNAL_ERROR: ("failed", "internal error; the session is safe"),
}


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
AGAIN = "Nothing was lost; the same request is sent again"
_STATUS = re.compile(r"\b[1-5]\d\d\b")


def failing(body: RetryScheduled, provider: str) -> str:
    """`openai answers 503 (overloaded)`, and what it says."""
    if body.http_status is None or _STATUS.search(body.error):
        return body.error
    kind = body.kind.replace("_", " ")
    return f"{provider or 'the provider'} answers {body.http_status} ({kind}): {body.error}"


def ended(body: TurnEnded, state: State, at: float, *, cut: bool = False) -> TurnEnd:
    """The block of the end of a turn, `at` that time; what went wrong follows its words after a colon. `cut`:
    a call was stopped midway."""
    glyph, words = _WORDS[body.reason]
    words = words.format(provider=state.provider or "the provider", tries=_tries(state.retry, at))
    words = words or body.sentence
    if cut and body.reason is EndReason.INTERRUPTED:
        words += "; effects may be partial"
    if body.rejected:
        words = body.sentence + _REJECTED[body.rejected]
    elif body.error and body.error not in words:
        words = f"{words}: {body.error}"
    return TurnEnd(
        glyph=glyph,
        words=words,
        steps=body.steps,
        duration_s=body.duration_s,
        cost_usd=body.cost_usd,
        changes=body.changes,
        last_check=f"`{body.last_check}` {body.check_result}" if body.last_check else "",
        hint="" if body.rejected else HINTS.get(body.reason, ""),
        said=body.error if body.rejected else "",
        at=at,
    )


def _tries(retry: Retry | None, at: float) -> str:
    """` (6 tries, 2:10)`, where it was tried again."""
    if retry is None:
        return ""
    tries = "1 try" if retry.attempt == 1 else f"{retry.attempt} tries"
    return f" ({tries}, {clock(at - retry.since)})"
