"""One model call: stream it to the readers, try again as the policy says, stop when told."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from agent_tui.engine.events import CallDrafted, ReasoningStreamed, RetryScheduled, TextStreamed
from agent_tui.engine.inbox import steers
from agent_tui.engine.scope import Scope
from agent_tui.frozen import frozen
from agent_tui.models.base import (
    CallProgress,
    Completed,
    ErrorKind,
    Failed,
    ModelError,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
)

MAX_ATTEMPTS = 10  # of one request, whatever the policy says


@frozen
class Steered:
    """A message or another model came while waiting to try again: the request is to be built anew."""


class ModelCall:
    """The request of one step; `text` holds what came, also when it was cut."""

    def __init__(self, scope: Scope, step_id: str, time_left_s: Callable[[], float | None]) -> None:
        self.requests = 0  # sent so far, failed ones included
        self.text = ""
        self.reasoning = ""
        self.reasoning_s = 0.0
        self.attempts = 0
        self._session = scope.session
        self._relay = scope.relay
        self._retry = scope.ports.retry
        self._stop = scope.stop
        self._step_id = step_id
        self._time_left_s = time_left_s
        self._began = self._session.clock.monotonic()

    @property
    def seconds(self) -> float:
        """Since it began, waits included."""
        return self._session.clock.monotonic() - self._began

    async def send(
        self, request: ModelRequest, woken: asyncio.Event, *, most: int | None = None
    ) -> Completed | ModelError | Steered:
        """Send, and again after a failure that may pass, `most` times in all. Raises StoppedError;
        `woken` ends a wait early: with messages waiting, or another model chosen, the request is to be
        built anew, else it is sent at once."""
        last = None if most is None else self.requests + most
        while True:
            result = await self._stop.guard(self._attempt(request))
            if isinstance(result, Completed):
                return result
            self.attempts += 1
            delay = self._delay(result)
            if delay is None or self.requests == last:
                return result
            scheduled = RetryScheduled(
                attempt=self.attempts + 1,
                attempts=self._attempts_of(result),
                delay_s=delay,
                error=result.message,
                kind=result.kind,
                http_status=result.http_status,
            )
            self._session.show(scheduled, cause=self._step_id)
            await self._stop.guard(_wait(woken, delay))
            woken.clear()
            self._stop.check()  # a pause ends the wait as well
            if steers(self._session) or self._relay.has_choice:
                return Steered()

    def _delay(self, error: ModelError) -> float | None:
        """Seconds until the next attempt; None: there is none, or no time is left for it."""
        delay = self._retry(error, self.attempts) if self.attempts < MAX_ATTEMPTS else None
        left = self._time_left_s()
        return None if delay is None or (left is not None and left <= delay) else delay

    def _attempts_of(self, error: ModelError) -> int:
        """How many attempts the policy gives this class of failure in all."""
        tries = range(self.attempts, MAX_ATTEMPTS)
        return next((n for n in tries if self._retry(error, n) is None), MAX_ATTEMPTS)

    async def _attempt(self, request: ModelRequest) -> Completed | ModelError:
        self.requests += 1
        self.text = self.reasoning = ""
        self.reasoning_s = 0.0
        left = self._time_left_s()
        try:
            async with asyncio.timeout(left):
                return await self._consume(request)
        except TimeoutError:
            within = f"{left:.0f} s" if (left or 0) >= 1 else "a second"
            return ModelError(kind=ErrorKind.TIMEOUT, message=f"no complete answer within {within}")

    async def _consume(self, request: ModelRequest) -> Completed | ModelError:
        thinking_since: float | None = None
        async for part in self._relay.stream(request):
            if isinstance(part, ReasoningDelta):
                thinking_since = thinking_since or self._session.clock.monotonic()
            elif thinking_since is not None:
                self.reasoning_s += self._session.clock.monotonic() - thinking_since
                thinking_since = None
            match part:
                case TextDelta():
                    self._show_text(part)
                case ReasoningDelta():
                    self._show_reasoning(part)
                case CallProgress():
                    self._session.show(
                        CallDrafted(
                            step_id=self._step_id, tool=part.tool, arguments_chars=part.arguments_chars
                        )
                    )
                case Completed():
                    return part
                case Failed():
                    return part.error
        return ModelError(kind=ErrorKind.CUT, message="the stream ended without an end")

    def _show_text(self, part: TextDelta) -> None:
        body = TextStreamed(step_id=self._step_id, text=part.text, offset=len(self.text))
        self.text += part.text
        self._session.show(body, cause=self._step_id)

    def _show_reasoning(self, part: ReasoningDelta) -> None:
        body = ReasoningStreamed(step_id=self._step_id, text=part.text, offset=len(self.reasoning))
        self.reasoning += part.text
        self._session.show(body, cause=self._step_id)


async def _wait(woken: asyncio.Event, delay_s: float) -> None:
    """Wait the delay out, or until woken."""
    with suppress(TimeoutError):
        async with asyncio.timeout(delay_s):
            await woken.wait()
