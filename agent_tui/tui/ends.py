"""First words of the end block for each reason a turn can end."""

from typing import Literal

from agent_tui.engine.events import TurnEnded
from agent_tui.engine.types import EndReason

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
    EndReason.MODEL_UNAVAILABLE: ("failed", ""),
    EndReason.MODEL_REJECTED: ("failed", ""),
    EndReason.APPROVAL_UNAVAILABLE: ("failed", "approvals were needed and nobody could be asked"),
    EndReason.CHECKPOINT_UNAVAILABLE: ("failed", "no undo, and checkpoints are required"),
    EndReason.STATE_UNWRITABLE: ("failed", "the session cannot be written"),
    EndReason.INTERNAL_ERROR: ("failed", "internal error; the session is safe"),
}


def end_words(body: TurnEnded, *, cut: bool = False) -> tuple[EndGlyph, str]:
    """Glyph field and words; what went wrong follows after a colon. `cut`: a call was stopped midway."""
    glyph, words = _WORDS[body.reason]
    words = words or body.sentence
    if cut and body.reason is EndReason.INTERRUPTED:
        words += "; effects may be partial"
    if body.error and body.error not in words:
        words = f"{words}: {body.error}"
    return glyph, words
