"""Models that follow a script: the demo, replayed sessions, tests; and one that breaks streams on purpose.

A script is a list of steps, one a request, or a function from the view to the next step.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Literal

from agent_tui.frozen import frozen
from agent_tui.models.base import (
    CallProgress,
    Completed,
    ErrorKind,
    Failed,
    Model,
    ModelError,
    ModelInfo,
    ModelRequest,
    ReasoningDelta,
    StreamPart,
    TextDelta,
)
from agent_tui.models.usage import estimated_usage
from context.codec import encode
from context.items import CallPart, ModelOrigin, Part, ReasoningPart, StopReason, TextPart, Usage
from context.view import View

PIECE_CHARS = 12

SCRIPTED = ModelInfo(
    provider="demo",
    model="scripted",
    context_window=128_000,
    max_output=8_192,
    price_input=0.0,
    price_output=0.0,
)


@frozen
class ScriptedCall:
    """A call the script makes; `arguments` is JSON text, sent as it stands."""

    tool: str
    arguments: str
    id: str = ""


@frozen
class Step:
    """One response. `error` ends it after `parts_before` pieces; `cut` keeps the end from coming."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    usage: Usage | None = None
    stop: StopReason | None = None  # None: CALLS or END, whichever fits
    error: ModelError | None = None
    cut: bool = False
    pause_s: float = 0.0  # before the first piece


class ScriptError(AssertionError):
    """The script was used up, or was not."""


class ScriptedModel:
    """Implements `base.Model`; asks nobody and knows nothing but its script."""

    def __init__(
        self,
        script: Sequence[Step] | Callable[[View], Step],
        *,
        info: ModelInfo = SCRIPTED,
        pace_s: float = 0.0,
    ) -> None:
        """`pace_s` passes between two pieces, so that a person can read along."""
        self._script = script
        self._info = info
        self._pace_s = pace_s
        self.requests: list[ModelRequest] = []

    @property
    def info(self) -> ModelInfo:
        """What is said of the model."""
        return self._info

    def body(self, request: ModelRequest) -> bytes:
        """The view as JSON: nothing is sent."""
        from agent_tui.models.wire import clean, dumps

        return clean(dumps({"model": request.model, "view": encode(request.view)})).encode("utf-8")

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamPart]:
        """See `base.Model`. Raises ScriptError when there is no step left."""
        self.requests.append(request)
        step = self._step(request.view)
        await asyncio.sleep(step.pause_s)
        for part in _pieces(step):
            yield part
            await asyncio.sleep(self._pace_s)
        if step.error is not None:
            yield Failed(error=step.error)
        elif step.cut:
            message = "the connection ended before the response did"
            yield Failed(error=ModelError(kind=ErrorKind.CUT, message=message))
        else:
            yield self._completed(step, request)

    def _step(self, view: View) -> Step:
        if callable(self._script):
            return self._script(view)
        if len(self.requests) > len(self._script):
            raise ScriptError(f"request {len(self.requests)}, but the script has {len(self._script)} steps")
        return self._script[len(self.requests) - 1]

    def _completed(self, step: Step, request: ModelRequest) -> Completed:
        number = len(self.requests)
        parts: list[Part] = [ReasoningPart(text=step.reasoning)] if step.reasoning else []
        if step.text:
            parts.append(TextPart(text=step.text))
        for index, call in enumerate(step.calls):
            ident = call.id or f"call_{number}_{index}"
            parts.append(CallPart(call_id=ident, provider_id=ident, tool=call.tool, arguments=call.arguments))
        written = len(step.text) + len(step.reasoning) + sum(len(call.arguments) for call in step.calls)
        usage = step.usage or estimated_usage(len(self.body(request)), written)
        stop = step.stop or (StopReason.CALLS if step.calls else StopReason.END)
        origin = ModelOrigin(provider=self._info.provider, model=self._info.model, api="chat")
        return Completed(parts=tuple(parts), stop=stop, usage=usage, origin=origin, response_id=f"s{number}")

    def check_finished(self) -> None:
        """Raise ScriptError when steps are left."""
        if not callable(self._script) and len(self.requests) < len(self._script):
            raise ScriptError(f"{len(self.requests)} of {len(self._script)} steps were asked for")


def _pieces(step: Step) -> list[StreamPart]:
    pieces: list[StreamPart] = []
    for start in range(0, len(step.reasoning), PIECE_CHARS):
        pieces.append(ReasoningDelta(text=step.reasoning[start : start + PIECE_CHARS], offset=start))
    for start in range(0, len(step.text), PIECE_CHARS):
        pieces.append(TextDelta(text=step.text[start : start + PIECE_CHARS], offset=start))
    for index, call in enumerate(step.calls):
        pieces.append(CallProgress(index=index, tool=call.tool, arguments_chars=len(call.arguments)))
    return pieces


Fault = Literal["cut", "stall", "overloaded", "twin_ids", "bad_arguments", "empty"]
FAULTS: tuple[Fault, ...] = ("cut", "stall", "overloaded", "twin_ids", "bad_arguments", "empty")


class ChaosModel:
    """Implements `base.Model` around another model, with faults a provider may show; repeatable by seed.

    Cuts, stalls and refusals come before anything is whole, so a retry of the same request is due;
    twin ids, bad arguments and empty answers come as good responses.
    """

    def __init__(
        self, model: Model, *, seed: int, rate: float = 0.3, faults: Sequence[Fault] = FAULTS
    ) -> None:
        """`rate` of the requests meet a fault, never two requests running."""
        self._model = model
        self._random = random.Random(seed)
        self._rate = rate
        self._faults = tuple(faults)
        self._was_fault = False
        self.met: list[Fault] = []

    @property
    def info(self) -> ModelInfo:
        """As of the model inside."""
        return self._model.info

    def body(self, request: ModelRequest) -> bytes:
        """As of the model inside."""
        return self._model.body(request)

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamPart]:
        """See `base.Model`."""
        fault = self._next_fault()
        if fault in ("cut", "stall", "overloaded"):
            async for part in self._broken(fault):
                yield part
        elif fault == "empty":
            origin = ModelOrigin(provider=self.info.provider, model=self.info.model, api="chat")
            yield Completed(parts=(), stop=StopReason.END, usage=Usage(input_tokens=1), origin=origin)
        else:
            async for part in self._model.stream(request):
                yield _spoilt(part, fault) if isinstance(part, Completed) else part

    def _next_fault(self) -> Fault | None:
        if self._was_fault or self._random.random() >= self._rate:
            self._was_fault = False
            return None
        self._was_fault = True
        fault = self._random.choice(self._faults)
        self.met.append(fault)
        return fault

    async def _broken(self, fault: Fault) -> AsyncIterator[StreamPart]:
        kind = {"cut": ErrorKind.CUT, "stall": ErrorKind.STALLED}.get(fault, ErrorKind.OVERLOADED)
        if fault != "overloaded":
            yield TextDelta(text="I was about to", offset=0)
        yield Failed(error=ModelError(kind=kind, message=f"chaos: {fault}"))


def _spoilt(done: Completed, fault: Fault | None) -> Completed:
    def spoil(part: Part) -> Part:
        if not isinstance(part, CallPart):
            return part
        if fault == "twin_ids":
            return replace(part, call_id="call_0", provider_id="call_0")
        if fault == "bad_arguments":
            return replace(part, arguments=part.arguments[: len(part.arguments) // 2])
        return part

    return replace(done, parts=tuple(spoil(part) for part in done.parts))
