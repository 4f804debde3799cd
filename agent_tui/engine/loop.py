"""One turn: from the first message of a task to the one `TurnEnded` of its run.

Reads top to bottom as the specification: what must be on disk, what may run, when it ends. All
state is in the session; what a step needs of others lies in its own module.
"""

import asyncio
from dataclasses import replace

from agent_tui.engine.batch import answer_all, run_batch
from agent_tui.engine.budget import cost_of
from agent_tui.engine.compaction import Compactor
from agent_tui.engine.events import (
    Body,
    CallChanged,
    ResponseEnded,
    StatusChanged,
    StepStarted,
    TaskChanged,
    TurnEnded,
    TurnStarted,
)
from agent_tui.engine.fold import Call
from agent_tui.engine.inbox import delivery, next_turn, steers
from agent_tui.engine.prepare import Prepared, ended, prepare, prepare_part, proposals, tool_schemas
from agent_tui.engine.request import ModelCall, Steered
from agent_tui.engine.resume import Recovery
from agent_tui.engine.scope import Scope
from agent_tui.engine.session import Part
from agent_tui.engine.snapshots import Snapshots
from agent_tui.engine.states import task_after
from agent_tui.engine.stop import StoppedError
from agent_tui.engine.types import END_FACTS, CallState, EndReason, TaskStatus
from agent_tui.models.base import Completed, ErrorKind, ModelError, ModelRequest
from checkpoints.records import RecordsError
from context.builder import build_view
from context.items import (
    CallPart,
    ModelOrigin,
    NoticeItem,
    ResponseItem,
    StopReason,
    TextPart,
    Usage,
)
from context.view import View
from tools.types import Outcome, OutcomeStatus

REJECTED = frozenset({ErrorKind.BAD_REQUEST, ErrorKind.AUTH, ErrorKind.QUOTA, ErrorKind.REFUSAL})


class Turn:
    """Drives one run of one task."""

    def __init__(self, scope: Scope, recovery: Recovery, *, wake: asyncio.Event) -> None:
        self._scope = scope
        self._recovery = recovery
        self._session = scope.session
        self._snapshots = Snapshots(scope)
        self._compactor = Compactor(scope, self._view)
        self._wake = wake  # set when a message came or a retry is wanted at once
        self._error = ""
        self._text = ""

    async def run(self) -> EndReason:
        """Run to the end; every way out stores exactly one `TurnEnded`."""
        await self._begin()
        while True:
            reason = await self._drive()
            if await self._end(reason):
                return reason

    async def _drive(self) -> EndReason:
        """Steps until there is a reason to end. The turn boundary: nothing is raised past it."""
        try:
            await self._answer_left_over()
            while True:
                self._scope.stop.check()
                reason = await self._step()
                if reason is not None:
                    return reason
        except StoppedError:
            return EndReason.INTERRUPTED
        except RecordsError as error:
            self._error = str(error)
            return EndReason.STATE_UNWRITABLE
        except Exception as error:
            self._error = f"{type(error).__name__}: {error}"
            return EndReason.INTERNAL_ERROR

    async def _begin(self) -> None:
        """Open task and run, and deliver what starts them, in one transaction."""
        fold = self._session.fold
        task_id, attempt, parts = fold.task_id, 1, []
        going_on = fold.task_status is TaskStatus.PAUSED and (fold.owed or not fold.inbox)
        if going_on and fold.run is not None:
            attempt = fold.run.attempt + 1
        else:
            parts = self._new_task(fold.task_status)
            task_id = f"t{fold.tasks + 1}"
        run_id = f"{self._session.id}.{fold.runs + 1}"
        parts += [
            TaskChanged(task_id=task_id, status=TaskStatus.RUNNING),
            TurnStarted(task_id=task_id, run_id=run_id, attempt=attempt),
        ]
        if not fold.owed:
            parts += delivery(self._session, next_turn(self._session), fold.steps + 1)
        await self._session.commit(*parts)
        self._snapshots.begin()

    def _new_task(self, old: TaskStatus | None) -> list[Part]:
        fold = self._session.fold
        parts: list[Part] = []
        if old is TaskStatus.PAUSED:
            parts.append(
                TaskChanged(task_id=fold.task_id, status=TaskStatus.CANCELLED, cause="a new message came")
            )
        return [*parts, TaskChanged(task_id=f"t{fold.tasks + 1}", status=TaskStatus.PENDING)]

    async def _answer_left_over(self) -> None:
        """Calls of an earlier process that never started run now, judged afresh (design b.5)."""
        fold = self._session.fold
        if not fold.owed:
            return
        if self._scope.config.interactive or self._scope.config.on_lost_result != "stop":
            await self._recovery.keep_all()
        elif self._recovery.open_calls:
            self._error = "a result was lost in a crash and `--on-lost-result stop` is set"
            raise StoppedError
        calls = [self._prepare_again(call) for call in fold.owed.values() if call.ended is None]
        bodies: list[Body] = [
            CallChanged(call_id=call.call_id, state=CallState.VALIDATED, detail="resumed") for call in calls
        ]
        bodies += [ended(call, call.answer) for call in calls if call.answer is not None]
        await self._session.commit(*bodies)
        await run_batch(self._scope, self._snapshots, fold.steps, calls)
        await self._deliver()

    def _prepare_again(self, call: Call) -> Prepared:
        toolbox, policy = self._scope.ports.toolbox, self._scope.ports.gate.policy()
        return prepare(toolbox, policy, call.id, call.proposed.tool, call.proposed.arguments)

    async def _step(self) -> EndReason | None:
        """One model response and the execution of its calls; None: another step follows."""
        response = await self._respond()
        if isinstance(response, EndReason):
            return response
        item, calls = response
        if calls:
            self._session.show(StatusChanged(activity="running"))
            reason = await run_batch(self._scope, self._snapshots, self._session.fold.steps, calls)
            self._scope.stop.skipping.clear()
            if reason is not None:
                return reason
            await self._deliver()
            return None
        self._text = item.text
        if await self._deliver():
            return None
        return EndReason.COMPLETED

    async def _deliver(self) -> bool:
        """Move waiting steers into the log; False when there were none."""
        waiting = steers(self._session)
        if waiting:
            await self._session.commit(*delivery(self._session, waiting, self._session.fold.steps + 1))
        return bool(waiting)

    # --- the request --------------------------------------------------------------------------

    def _view(self) -> View:
        first = self._session.fold.first
        assert first is not None
        return build_view(
            self._session.fold.log,
            system=first.system,
            project=self._session.fold.project,
            tools=tool_schemas(self._scope.ports.toolbox),
        )

    def _request(self, view: View) -> ModelRequest:
        model, config = self._scope.ports.model, self._scope.config
        return ModelRequest(
            view=view,
            model=model.info.model,
            max_output_tokens=self._scope.window.reserved_output,
            effort=self._session.fold.settings.get("effort")
            or (config.model.effort if config.model else None),
            output_schema=config.output_schema,
            cache_key=self._session.id,
        )

    async def _respond(self) -> tuple[ResponseItem, list[Prepared]] | EndReason:
        """Ask the model; the response is on disk with its calls when this returns."""
        number = self._session.fold.steps + 1
        step_id = f"s{number}"
        await self._session.commit(StepStarted(step_id=step_id, number=number))
        self._session.show(StatusChanged(activity="thinking"))
        call = ModelCall(
            self._session, self._scope.ports.model, self._scope.ports.retry, self._scope.stop, step_id
        )
        self._compactor.new_request()
        while True:
            try:
                unfit = await self._compactor.fit()
                if unfit is not None:
                    return unfit
                view = self._view()
                self._wake.clear()
                answer = await call.send(self._request(view), None, self._wake)
            except StoppedError:
                await self._keep_partial(call, step_id)
                raise
            if isinstance(answer, Steered):
                await self._deliver()
                continue
            if isinstance(answer, ModelError) and answer.kind is ErrorKind.CONTEXT_OVERFLOW:
                if await self._compactor.overflow(answer):
                    continue
                self._error = answer.message
                return EndReason.CONTEXT_EXHAUSTED
            break
        if isinstance(answer, ModelError):
            await self._keep_partial(call, step_id)
            self._error = answer.message
            rejected = answer.kind in REJECTED
            return EndReason.MODEL_REJECTED if rejected else EndReason.MODEL_UNAVAILABLE
        self._scope.meter.observe(view, answer.usage.input_tokens)
        return await self._store(answer, call, step_id)

    async def _store(
        self, answer: Completed, call: ModelCall, step_id: str
    ) -> tuple[ResponseItem, list[Prepared]]:
        item = ingest(answer, self._session.item_id("m"), step_id)
        prepared = self._prepare(item)
        await self._session.commit(
            item,
            ResponseEnded(
                step_id=step_id,
                item_id=item.id,
                text=item.text,
                reasoning=call.reasoning,
                reasoning_s=call.reasoning_s,
                usage=item.usage,
                cost_usd=cost_of(item.usage, self._scope.ports.model.info),
                reserved_calls=len(item.calls),
            ),
            *proposals(step_id, item.calls, prepared),
            cause=step_id,
        )
        return item, prepared

    async def _keep_partial(self, call: ModelCall, step_id: str) -> None:
        """Store the text of a response that was cut; its calls and reasoning are void (design a.3)."""
        if not call.text.strip():
            return
        info = self._scope.ports.model.info
        item = ResponseItem(
            id=self._session.item_id("m"),
            step_id=step_id,
            parts=(TextPart(text=call.text),),
            origin=ModelOrigin(provider=info.provider, model=info.model, api="chat"),
            stop=StopReason.INTERRUPTED,
        )
        ended_response = ResponseEnded(
            step_id=step_id,
            item_id=item.id,
            text=call.text,
            reasoning=call.reasoning,
            reasoning_s=call.reasoning_s,
            usage=Usage(estimated=True),
            cost_usd=0.0,
            reserved_calls=0,
            interrupted=True,
        )
        await self._session.settle(item, ended_response, cause=step_id)

    # --- the calls ----------------------------------------------------------------------------

    def _prepare(self, item: ResponseItem) -> list[Prepared]:
        toolbox, policy = self._scope.ports.toolbox, self._scope.ports.gate.policy()
        return [prepare_part(toolbox, policy, part) for part in item.calls]

    # --- the end ------------------------------------------------------------------------------

    async def _end(self, reason: EndReason) -> bool:
        """Store the one `TurnEnded`; False when a message came first and the turn goes on."""
        completed = reason is EndReason.COMPLETED
        parts: list[Part] = []
        try:
            if reason is not EndReason.STATE_UNWRITABLE:
                await self._close_calls(reason)
                await self._snapshots.end()
            parts = self._last_parts(reason)
            return await self._session.commit(*parts, when=lambda: not (completed and steers(self._session)))
        except RecordsError as error:
            self._error = self._error or str(error)
            await self._session.settle(*self._last_parts(EndReason.STATE_UNWRITABLE))
            return True

    async def _close_calls(self, reason: EndReason) -> None:
        """Answer what is left after an error, so that no request ever holds an open call."""
        owed = [call for call in self._session.fold.owed.values() if call.ended is None]
        for call in owed:
            status = OutcomeStatus.OUTCOME_UNKNOWN if call.started else OutcomeStatus.SKIPPED
            text = "The run ended before the result was known; inspect before repeating"
            outcome = Outcome(
                status=status, text=text if call.started else f"Not run: the run ended ({reason})"
            )
            ready = Prepared(call_id=call.id, tool=call.proposed.tool, arguments={}, assessment=None)
            await self._session.commit(ended(ready, outcome))
        if self._session.fold.owed:
            await answer_all(self._scope)

    def _last_parts(self, reason: EndReason) -> list[Part]:
        fold = self._session.fold
        run = fold.run
        assert run is not None
        facts = END_FACTS[reason]
        parts: list[Part] = []
        if reason is EndReason.INTERRUPTED and self._scope.stop.now.is_set():
            parts.append(self._interrupted_notice())
        return [
            *parts,
            TaskChanged(
                task_id=fold.task_id, status=task_after(reason), cause=self._scope.stop.why or reason
            ),
            TurnEnded(
                run_id=run.id,
                reason=reason,
                sentence=facts.sentence,
                exit_code=facts.exit_code,
                usage=run.usage,
                cost_usd=run.cost_usd,
                steps=run.steps,
                duration_s=fold.active_s(self._session.clock.now()),
                changes=run.changes,
                text=self._text,
                error=self._error,
            ),
        ]

    def _interrupted_notice(self) -> NoticeItem:
        paths = ", ".join(f"{c.kind} {c.path}" for c in self._session.fold.run.changes[:20])  # type: ignore[union-attr]
        changed = f" Files changed in this turn: {paths}" if paths else ""
        return NoticeItem(
            id=self._session.item_id("n"), text=f"Interrupted by the user: effects may be partial.{changed}"
        )


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
