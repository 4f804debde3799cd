"""Requests beside the conversation: the summary of a compaction, the title of a session.

None is ever needed: what fails is stored and passed over. Tokens and money count, of a request that was
cut short too, and a limit that such a request could pass keeps it from being sent.
"""

import asyncio
from typing import Literal

from agent_tui.engine.events import SideRequestEnded, StatusChanged
from agent_tui.engine.framing import budget_of
from agent_tui.engine.ports import Model
from agent_tui.engine.scope import Scope
from agent_tui.frozen import frozen
from agent_tui.models.base import Completed, Failed, ModelRequest, TextDelta, cost_usd
from context.estimate import text_tokens
from context.items import CallPart, TextPart, Usage
from context.view import UserUnit

UNSENT = Usage()


@frozen
class SideAnswer:
    """What came of a request: a text, or why there is none."""

    text: str | None
    problem: str = ""


async def ask_beside(
    scope: Scope, role: Literal["summary", "title"], model: Model, request: ModelRequest, *, timeout_s: float
) -> SideAnswer:
    """One answer; where there is none, that is stored with its reason. Raises RecordsError."""
    question = _Question(model, request)

    def ended(usage: Usage, error: str, *, interrupted: bool = False) -> SideRequestEnded:
        cost = 0.0 if usage == UNSENT else cost_usd(usage, model.info)
        return SideRequestEnded(
            role=role,
            model=model.info.name,
            usage=usage,
            cost_usd=cost,
            error=error,
            interrupted=interrupted,
        )

    dear = budget_of(scope).too_dear(question.tokens, request.max_output_tokens or 0, model.info)
    try:
        text, usage, error = (
            await question.answer(timeout_s) if dear is None else (None, UNSENT, f"not asked: {dear}")
        )
    except asyncio.CancelledError:
        await scope.session.settle(ended(question.estimate(), "cut short", interrupted=True))
        raise
    await scope.session.commit(ended(usage, error))
    scope.session.show(StatusChanged(cost_usd=scope.session.fold.spent.cost_usd))
    problem = f"failed: {error}" if dear is None else "not asked for: it could pass a limit"
    return SideAnswer(text=text, problem=problem if text is None else "")


class _Question:
    """One request and what has come of it so far."""

    def __init__(self, model: Model, request: ModelRequest) -> None:
        self._model = model
        self._request = request
        self._heard: list[str] = []
        units = request.view.units
        self.tokens = sum(text_tokens(unit.item.text) for unit in units if isinstance(unit, UserUnit))

    async def answer(self, timeout_s: float) -> tuple[str | None, Usage, str]:
        """Text, usage, and why there is no text."""
        try:
            async with asyncio.timeout(timeout_s):
                async for part in self._model.stream(self._request):
                    match part:
                        case TextDelta():
                            self._heard.append(part.text)
                        case Completed():
                            return self._completed(part)
                        case Failed(error=error):
                            return None, self.estimate() if self._heard else UNSENT, error.told
                        case _:
                            continue
        except TimeoutError:
            return None, self.estimate(), f"no answer within {timeout_s:g} s"
        return None, self.estimate(), "the stream ended without an end"

    def estimate(self) -> Usage:
        """What it took as far as we know: counted where the provider sends nothing, or a limit would never
        be reached."""
        output = text_tokens("".join(self._heard))
        return Usage(input_tokens=self.tokens, output_tokens=output, estimated=True)

    def _completed(self, answer: Completed) -> tuple[str | None, Usage, str]:
        text = "".join(part.text for part in answer.parts if isinstance(part, TextPart))
        self._heard = [text]
        usage = answer.usage if answer.usage.input_tokens else self.estimate()
        if any(isinstance(part, CallPart) for part in answer.parts):
            return None, usage, "the answer calls tools"
        return text, usage, ""
