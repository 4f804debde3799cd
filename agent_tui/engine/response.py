"""Gets one model response onto disk: request, retries, compaction, and the calls as proposed."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from agent_tui.engine import room
from agent_tui.engine.batch import skipped
from agent_tui.engine.compaction import Compactor
from agent_tui.engine.events import Body, NoticeRaised, ResponseEnded, StatusChanged, StepStarted
from agent_tui.engine.fold import step_number
from agent_tui.engine.framing import budget_of, request_of, view_of, window_of
from agent_tui.engine.planning import carry_out_notice, hand_over
from agent_tui.engine.prepare import Prepared, prepare_part, proposals, refuse_cut, refuse_repeated
from agent_tui.engine.progress import call_fingerprint
from agent_tui.engine.rejection import rejection_of
from agent_tui.engine.request import ModelCall, Steered
from agent_tui.engine.scope import Scope
from agent_tui.engine.sentence import Trouble
from agent_tui.engine.stop import StoppedError
from agent_tui.engine.types import EndReason
from agent_tui.frozen import frozen
from agent_tui.models.base import Completed, ErrorKind, ModelError, ModelInfo, ModelRequest, cost_usd
from context.estimate import text_tokens
from context.items import (
    CallPart,
    ModelOrigin,
    Part,
    ReasoningPart,
    ResponseItem,
    StopReason,
    TextPart,
    Usage,
)
from context.view import View

REJECTED = frozenset(
    {ErrorKind.BAD_REQUEST, ErrorKind.NO_MODEL, ErrorKind.AUTH, ErrorKind.QUOTA, ErrorKind.REFUSAL}
)


@frozen
class Response:
    """A response that is on disk; `over_budget`: its calls were answered as not run."""

    item: ResponseItem
    calls: tuple[Prepared, ...]
    over_budget: bool = False

    @property
    def is_empty(self) -> bool:
        """Neither text nor call: nothing of it is in the log."""
        return not self.item.text.strip() and not self.calls


class Responder:
    """Asks the model for the steps of one turn; `error` is the line of the last failure."""

    def __init__(self, scope: Scope, wake: asyncio.Event, let_in: Callable[[int], Awaitable[bool]]) -> None:
        """`wake`: a message came, or a retry is wanted at once; `let_in` moves messages into the log, seen by
        a step of that number."""
        self.error = ""
        self.trouble: Trouble | None = None  # what that failure was
        self._let_in = let_in
        self._scope = scope
        self._session = scope.session
        self._compactor = Compactor(scope, self._view)
        self._seen: tuple[tuple[int, str], View] | None = None  # log length and project of the newest view
        self._wake = wake
        self._requests = 0  # of this run, retries included
        self._only_thought = False  # the last response was reasoning and nothing else

    async def ask(self) -> Response | EndReason:
        """One response, or why there is none. Raises StoppedError and RecordsError."""
        self.trouble = None
        over = budget_of(self._scope, self._requests).over()
        if over is not None:
            return over
        await hand_over(self._scope)
        await self._scope.by_hand.tell()
        self._compactor.new_request()
        if not await self._fits():  # ahead of the step, which names the epoch of its view
            return EndReason.CONTEXT_EXHAUSTED
        step_id = await self._begin_step()
        call = ModelCall(self._scope, step_id, self._time_left)
        while True:
            sent = call.requests
            try:
                answer = await self._attempt(call)
            except StoppedError:
                await self._keep_partial(call, step_id)
                raise
            finally:
                self._requests += call.requests - sent
            if isinstance(answer, Steered):
                await self._let_in(step_number(step_id))
                if self._scope.relay.has_choice:  # its attempts are its own
                    call = ModelCall(self._scope, step_id, self._time_left)
            elif isinstance(answer, ModelError) and answer.kind is ErrorKind.CONTEXT_OVERFLOW:
                if not await self._compactor.overflow(answer):
                    self.error = answer.message
                    return EndReason.CONTEXT_EXHAUSTED
            elif isinstance(answer, ModelError) and await self._fall_back(answer):
                call = ModelCall(self._scope, step_id, self._time_left)
                self._compactor.new_request()
            elif isinstance(answer, ModelError):
                return await self._fail(answer, call, step_id)
            elif isinstance(answer, EndReason):
                return answer
            else:
                return await self._store(answer, call, step_id)
            if not await self._fits():  # the view or the window is another now
                return EndReason.CONTEXT_EXHAUSTED

    async def ask_last(self, timeout_s: float, max_output_tokens: int) -> Response | None:
        """One request without a second attempt and without calls: the grace call."""
        step_id = await self._begin_step()
        call = ModelCall(self._scope, step_id, lambda: timeout_s)
        request = replace(
            request_of(self._scope, self._view()),
            tool_choice="none",
            max_output_tokens=max_output_tokens,
        )
        answer = await call.send(request, self._wake, most=1)
        return await self._store(answer, call, step_id, grace=True) if isinstance(answer, Completed) else None

    def _view(self) -> View:
        """The present view; the same object while the log is the same, since it is asked for often."""
        fold = self._session.fold
        key = (len(fold.log), fold.project)
        if self._seen is None or self._seen[0] != key:
            self._seen = (key, view_of(self._scope))
        return self._seen[1]

    async def _fits(self) -> bool:
        """Make the view fit the model that is asked next; False where it cannot, and `error` says why."""
        if self._scope.relay.take_choice():
            self._scope.meter.forget()  # another model counts otherwise
        self.error = await self._compactor.fit()
        return not self.error

    async def _begin_step(self) -> str:
        number = self._session.fold.steps + 1
        view_id = self._session.fold.epoch
        await self._session.commit(StepStarted(step_id=f"s{number}", number=number, view_id=view_id))
        self._session.show(StatusChanged(activity="thinking"))
        return f"s{number}"

    async def _attempt(self, call: ModelCall) -> Completed | ModelError | Steered | EndReason:
        """Check what the view may cost, and send it."""
        view = self._view()
        tokens = self._scope.meter.tokens(view)
        budget = budget_of(self._scope)
        dear = budget.too_dear(tokens, window_of(self._scope).reserved_output, self._scope.ports.model.info)
        if dear is not None:
            return dear
        self._wake.clear()
        most = budget_of(self._scope, self._requests).requests_left()
        if most == 0:
            return EndReason.BUDGET_TURNS
        request = request_of(self._scope, view)
        if self._only_thought:
            request = _thinking_less(request, self._scope.ports.model.info)
        answer = await call.send(request, self._wake, most=most)
        if isinstance(answer, Completed):
            return self._measured(answer, view, tokens)
        return answer

    def _time_left(self) -> float | None:
        return budget_of(self._scope).time_left_s()

    def _measured(self, answer: Completed, view: View, tokens: int) -> Completed:
        """Learn from the usage, or estimate it where the provider sent none."""
        if answer.usage.input_tokens and not answer.usage.estimated:
            self._scope.meter.observe(view, answer.usage.input_tokens)
            return answer
        output = sum(text_tokens(_text_of(part)) for part in answer.parts)
        return replace(answer, usage=Usage(input_tokens=tokens, output_tokens=output, estimated=True))

    async def _fall_back(self, error: ModelError) -> bool:
        """Let the next configured model answer this step; False where none may or can."""
        scope, left = self._scope, self._time_left()
        if not scope.ports.falls_back(error) or (left is not None and left <= 0):
            return False
        failed, was_planning = scope.relay.info.name, scope.relay.is_planning
        has_changed, problems = scope.relay.advance()
        told = list(problems)
        if has_changed:
            info = scope.relay.info
            scope.meter.forget()
            told.append(f"`{failed}` failed: {error.message}; `{info.name}` answers for the rest of this run")
            self._session.show(replace(room.of_model(info), activity="thinking"))
        notices = [carry_out_notice(scope)] if has_changed and was_planning else []
        if told:
            await self._session.commit(*notices, *(NoticeRaised(text=text, level="warning") for text in told))
        return has_changed

    async def _fail(self, error: ModelError, call: ModelCall, step_id: str) -> EndReason:
        await self._keep_partial(call, step_id)
        self.error = error.message
        info = self._scope.relay.info
        rejection = rejection_of(error, info, has_answered=self._has_answered(info))
        self.trouble = Trouble(tries=call.attempts, seconds=call.seconds, rejection=rejection)
        left = self._time_left()
        if left is not None and left <= 0:
            return EndReason.BUDGET_TIME
        if budget_of(self._scope, self._requests).requests_left() == 0:
            return EndReason.BUDGET_TURNS
        return EndReason.MODEL_REJECTED if error.kind in REJECTED else EndReason.MODEL_UNAVAILABLE

    def _has_answered(self, info: ModelInfo) -> bool:
        """Whether the session has a response of that model."""
        responses = (item for item in self._session.fold.log if isinstance(item, ResponseItem))
        return any(
            (one.origin.provider, one.origin.model) == (info.provider, info.model) for one in responses
        )

    async def _store(
        self, answer: Completed, call: ModelCall, step_id: str, *, grace: bool = False
    ) -> Response:
        """Response, usage, calls and reservation, in one transaction."""
        item = ingest(answer, self._session.item_id("m"), step_id)
        calls = self._prepare(item)
        left = 0 if grace else budget_of(self._scope).calls_left()
        over = left is not None and len(calls) > left
        reserved = 0 if over else len(calls)
        why = "not run: no further call is possible" if grace else f"not run: tool budget, {left} left"
        response = Response(item=item, calls=tuple(calls), over_budget=over)
        self._only_thought = response.is_empty and any(isinstance(one, ReasoningPart) for one in item.parts)
        parts: list[ResponseItem | Body] = [] if response.is_empty else [item]
        parts.append(self._ended(item, call, reserved, grace=grace))
        for unit in answer.left_out:  # a bug of ours, never hidden
            parts.append(NoticeRaised(text=f"left out of the request: {unit}", level="error"))
        parts += proposals(step_id, item.calls, calls)
        if item.stop is StopReason.LENGTH and not (grace or response.is_empty):
            parts.append(NoticeRaised(text=_cut_at_limit(len(calls)), level="warning"))
        if over:
            parts += skipped([one for one in calls if one.answer is None], why)
        await self._session.commit(*parts, cause=step_id)
        self._session.show(StatusChanged(cost_usd=self._session.fold.spent.cost_usd))
        return response

    def _prepare(self, item: ResponseItem) -> list[Prepared]:
        toolbox, policy = self._scope.ports.toolbox, self._scope.ports.gate.policy()
        calls = [prepare_part(toolbox, policy, part) for part in item.calls]
        if item.stop in (StopReason.LENGTH, StopReason.REFUSAL):
            return [refuse_cut(one, item.stop) for one in calls]
        fold = self._session.fold
        blocked = frozenset() if fold.fresh_input else fold.progress.blocked
        return [
            refuse_repeated(one) if call_fingerprint(part.tool, part.arguments) in blocked else one
            for one, part in zip(calls, item.calls, strict=True)
        ]

    def _ended(
        self, item: ResponseItem, call: ModelCall, reserved: int, *, grace: bool = False
    ) -> ResponseEnded:
        return ResponseEnded(
            step_id=item.step_id,
            item_id=item.id,
            text=item.text,
            reasoning=call.reasoning,
            reasoning_s=call.reasoning_s,
            usage=item.usage,
            cost_usd=cost_usd(item.usage, self._scope.ports.model.info),
            reserved_calls=reserved,
            interrupted=item.stop is StopReason.INTERRUPTED,
            grace=grace,
            model=self._scope.ports.model.info.name,
        )

    async def _keep_partial(self, call: ModelCall, step_id: str) -> None:
        """Store the text of a response that was cut; its calls and reasoning are void."""
        if not call.text.strip():
            return
        info = self._scope.ports.model.info
        item = ResponseItem(
            id=self._session.item_id("m"),
            step_id=step_id,
            parts=(TextPart(text=call.text.rstrip()),),
            origin=ModelOrigin(provider=info.provider, model=info.model, api="chat"),
            usage=Usage(
                input_tokens=self._scope.meter.tokens(self._view()),
                output_tokens=text_tokens(call.text),
                estimated=True,
            ),
            stop=StopReason.INTERRUPTED,
        )
        await self._session.settle(item, self._ended(item, call, 0), cause=step_id)


def ingest(answer: Completed, item_id: str, step_id: str) -> ResponseItem:
    """The response as an item: its calls get ids of our own, `c<step>.<n>`; the provider's stay."""
    number, parts = 0, []
    for part in answer.parts:
        number += isinstance(part, CallPart)
        ours = f"c{step_id[1:]}.{number}"
        parts.append(replace(part, call_id=ours) if isinstance(part, CallPart) else part)
    return ResponseItem(
        id=item_id,
        step_id=step_id,
        parts=tuple(parts),
        origin=answer.origin,
        response_id=answer.response_id,
        usage=answer.usage,
        stop=answer.stop,
    )


def _thinking_less(request: ModelRequest, info: ModelInfo) -> ModelRequest:
    """The request with less effort, so that room is left for an answer; of a model that may not know what an
    effort is, as it is."""
    if request.effort in ("minimal", "low") or not (request.effort or info.reasoning):
        return request
    return replace(request, effort="low")


def _cut_at_limit(calls: int) -> str:
    """What is said of a response that ended at the output limit with so many calls in it."""
    named = {0: "", 1: "; the call in it did not run"}.get(calls, f"; the {calls} calls in it did not run")
    return f"this answer was cut at the output limit{named}"


def _text_of(part: Part) -> str:
    match part:
        case CallPart():
            return part.tool + part.arguments
        case TextPart() | ReasoningPart():
            return part.text
        case _:
            return part.raw
