"""Requests beside the conversation: the summary of a compaction, the title of a session.

None is ever needed: what fails is stored and passed over. Tokens and money count, and a limit that such
a request could pass keeps it from being sent.
"""

import asyncio
from typing import Literal

from agent_tui.engine.events import SideRequestEnded, StatusChanged
from agent_tui.engine.framing import budget_of
from agent_tui.engine.ports import Model
from agent_tui.engine.scope import Scope
from agent_tui.models.base import Completed, Failed, ModelRequest, cost_usd
from context.estimate import text_tokens
from context.items import CallPart, TextPart, Usage
from context.view import UserUnit


async def ask_beside(
    scope: Scope, role: Literal["summary", "title"], model: Model, request: ModelRequest, *, timeout_s: float
) -> str | None:
    """The text of one answer; None for none, which is stored with its reason. Raises RecordsError."""
    asked = sum(text_tokens(unit.item.text) for unit in request.view.units if isinstance(unit, UserUnit))
    dear = budget_of(scope).too_dear(asked, request.max_output_tokens or 0, model.info)
    answer = f"not asked: {dear}" if dear is not None else await _answer(model, request, timeout_s)
    usage = _usage_of(answer, asked) if isinstance(answer, Completed) else Usage()
    text, error = _text_of(answer) if isinstance(answer, Completed) else (None, answer)
    ended = SideRequestEnded(
        role=role,
        model=model.info.name,
        usage=usage,
        cost_usd=cost_usd(usage, model.info) if isinstance(answer, Completed) else 0.0,
        error=error,
    )
    await scope.session.commit(ended)
    scope.session.show(StatusChanged(cost_usd=scope.session.fold.spent.cost_usd))
    return text


async def _answer(model: Model, request: ModelRequest, timeout_s: float) -> Completed | str:
    """The response, or why there is none."""
    try:
        async with asyncio.timeout(timeout_s):
            async for part in model.stream(request):
                match part:
                    case Completed():
                        return part
                    case Failed(error=error):
                        return error.message
                    case _:
                        continue
    except TimeoutError:
        return f"no answer within {timeout_s:g} s"
    return "the stream ended without an end"


def _usage_of(answer: Completed, asked: int) -> Usage:
    """What it cost; our estimate where the provider sends none, or a limit would never be reached."""
    if answer.usage.input_tokens:
        return answer.usage
    text, _ = _text_of(answer)
    return Usage(input_tokens=asked, output_tokens=text_tokens(text or ""), estimated=True)


def _text_of(answer: Completed) -> tuple[str | None, str]:
    """Its text, or None and why it is no use."""
    if any(isinstance(part, CallPart) for part in answer.parts):
        return None, "the answer calls tools"
    return "".join(part.text for part in answer.parts if isinstance(part, TextPart)), ""
