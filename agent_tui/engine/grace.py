"""The one last request after a limit: what was done, what is unverified, what comes next."""

from agent_tui.engine.batch import answer_all
from agent_tui.engine.framing import budget_of
from agent_tui.engine.report import summary
from agent_tui.engine.response import Responder
from agent_tui.engine.scope import Scope
from agent_tui.engine.types import EndReason
from context.items import NoticeItem

MAX_OUTPUT_TOKENS = 1_000
TIMEOUT_S = 30.0
ENDS_WITH_GRACE = frozenset(
    {
        EndReason.BUDGET_TURNS,
        EndReason.BUDGET_TOOLS,
        EndReason.BUDGET_TIME,
        EndReason.BUDGET_TOKENS,
        EndReason.LOOP_DETECTED,
    }
)


async def last_words(scope: Scope, responder: Responder, reason: EndReason, sentence: str) -> str:
    """Ask once, without tools, after an end that `sentence` tells; the model's text, or an account made from
    the records."""
    session = scope.session
    text = (
        f"The run ends here: {sentence}. No further call is possible. In a few lines say what was done, "
        "what is not verified, and what the next step would be"
    )
    await session.commit(NoticeItem(id=session.item_id("n"), text=text))
    response = await responder.ask_last(_timeout_s(scope, reason), MAX_OUTPUT_TOKENS)
    await answer_all(scope)
    said = response.item.text.strip() if response is not None else ""
    return said or summary(session.fold, sentence)


def _timeout_s(scope: Scope, reason: EndReason) -> float:
    """After a time limit only what was kept for this call is left."""
    limit = budget_of(scope).limits.timeout_s
    if reason is not EndReason.BUDGET_TIME or limit is None:
        return TIMEOUT_S
    return min(TIMEOUT_S, max(0.5, min(15.0, limit / 10)))
