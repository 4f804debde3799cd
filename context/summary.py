"""Layer 3: the request for a model's summary of the hidden part."""

from functools import lru_cache
from pathlib import Path

from context.epoch import EpochPlan
from context.estimate import text_tokens
from context.items import UserItem
from context.view import UserUnit, View


@lru_cache(maxsize=1)
def _template() -> str:
    return (Path(__file__).parent / "summary.md").read_text(encoding="utf-8")


def summary_view(plan: EpochPlan, *, focus: str, input_tokens: int) -> View:
    """A request of its own, without tools, cut to fit `input_tokens`: the newest part is kept."""
    span = _fitting(plan.span, input_tokens - plan.summary_tokens - 1000)
    previous = f"# The summary so far\n\n{plan.previous_summary}\n\n" if plan.previous_summary else ""
    text = _template().format(
        tokens=plan.summary_tokens,
        focus=f"The person asked to keep in mind: {focus}\n\n" if focus else "",
        previous=previous,
        span=span,
    )
    unit = UserUnit(item=UserItem(id="summary-request", text=text))
    return View(system="You summarise coding sessions.", tools=(), project="", units=(unit,))


def _fitting(span: str, tokens: int) -> str:
    while span and text_tokens(span) > max(tokens, 0):
        share = max(tokens, 0) / text_tokens(span)
        keep = min(int(len(span) * share * 0.95), len(span) - 1)
        span = span[len(span) - keep :] if keep > 0 else ""
    return span
