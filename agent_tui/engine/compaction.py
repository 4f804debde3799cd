"""When the view is made smaller, and by how much (design a.8, a.9). The epoch itself is `context.epoch`.

Triggers: above the soft limit before a request, an overflow the provider reports, the person's
wish. Every epoch is one record, stored before the first request that uses it; until then the old
view stands.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from agent_tui.engine.events import (
    CompactionEnded,
    CompactionStarted,
    NoticeRaised,
    SettingChanged,
    StatusChanged,
)
from agent_tui.engine.ports import Model
from agent_tui.engine.scope import Scope
from agent_tui.engine.session import Part
from agent_tui.engine.types import EndReason
from agent_tui.models.base import Completed, Failed, ModelError, ModelRequest
from context.budget import OVERFLOW_TARGET_SHARE, Window
from context.epoch import EpochInput, EpochPlan, finish_epoch, plan_epoch
from context.guard import MAX_EPOCHS_A_REQUEST, Guard
from context.items import CallPart, CompactionItem, TextPart
from context.summary import summary_view
from context.view import SummaryUnit, View

SUMMARY_TIMEOUT_S = 60.0
WINDOW_SETTING = "context_window"  # the size a provider stated, smaller than the catalogue's


class Compactor:
    """Keeps the views of one turn inside the window; `view` computes the present one."""

    def __init__(self, scope: Scope, view: Callable[[], View]) -> None:
        self._scope = scope
        self._session = scope.session
        self._view = view
        self._epochs = 0  # for the request at hand

    @property
    def window(self) -> Window:
        """The model's window, or the smaller one a provider stated."""
        stated = self._session.fold.settings.get(WINDOW_SETTING, "")
        size = min(self._scope.window.size, int(stated)) if stated.isdigit() else self._scope.window.size
        return Window(size=size, max_output=self._scope.window.max_output)

    def new_request(self) -> None:
        """Count epochs anew; called once for each step."""
        self._epochs = 0

    async def fit(self) -> EndReason | None:
        """Before a request: make the view fit; a reason when it cannot."""
        window, tokens = self.window, self._tokens()
        self._session.show(StatusChanged(context_used=tokens, context_window=window.size))
        if tokens >= window.soft and self._guard.may_run(tokens, window.input) and self._may_try():
            await self._run("the view grew above the soft limit", EpochInput(facts={}, window=window))
            tokens = self._tokens()
        if tokens <= window.input:
            return None
        await self._run("the view is above the hard limit", EpochInput(facts={}, window=window, floor=True))
        if self._tokens() <= window.input:
            return None
        return EndReason.CONTEXT_EXHAUSTED

    async def overflow(self, error: ModelError) -> bool:
        """The provider says the request is too long; True when it is worth asking again."""
        if not self._may_try():
            return False
        window, tokens = self.window, self._tokens()
        stated = error.context_window or min(window.size, tokens)
        if stated < window.size:
            await self._session.commit(SettingChanged(key=WINDOW_SETTING, value=str(stated)))
        window = self.window
        target = round(window.input * OVERFLOW_TARGET_SHARE)
        given = EpochInput(facts={}, window=window, target_tokens=min(target, round(tokens * 0.6)))
        if not await self._run("the provider said the request is too long", given):
            return await self._run("the provider said the request is too long", replace(given, floor=True))
        return True

    async def manual(self, focus: str) -> str:
        """`/compact`: an epoch now, whatever the guard says; a refusal when nothing can be hidden."""
        done = await self._run("you asked for it", EpochInput(facts={}, window=self.window, focus=focus))
        return "" if done else "nothing can be hidden or shortened yet"

    async def undo(self) -> str:
        """Take the newest epoch back; a refusal when there is none."""
        newest = next((unit for unit in self._view().units if isinstance(unit, SummaryUnit)), None)
        if newest is None:
            return "there is no compaction to undo"
        before = self._tokens()
        record = CompactionItem(
            id=self._session.item_id("k"), hidden=(), replacements=(), text="", undone=newest.id
        )
        ended = CompactionEnded(
            item_id=record.id,
            cause="undone by you",
            tokens_before=before,
            tokens_after=before,
            hidden_units=0,
            shortened_results=0,
            guard=self._guard,
        )
        await self._session.commit(record, ended)
        self._session.show(StatusChanged(context_used=self._tokens(), context_window=self.window.size))
        return ""

    # --- one epoch ----------------------------------------------------------------------------

    @property
    def _guard(self) -> Guard:
        return self._session.fold.guard

    def _tokens(self) -> int:
        return self._scope.meter.tokens(self._view())

    def _may_try(self) -> bool:
        return self._epochs < MAX_EPOCHS_A_REQUEST

    async def _run(self, cause: str, given: EpochInput) -> bool:
        """One epoch; False when it would change nothing. Raises StoppedError and RecordsError."""
        self._epochs += 1
        fold = self._session.fold
        given = replace(
            given,
            facts=fold.facts,
            guard=self._guard,
            live=self._live_lines(),
            live_ids=tuple(fold.terminals),
            history=self._history_line(),
        )
        plan = plan_epoch(fold.log, self._view(), self._scope.meter, given)
        if plan.changes_nothing:
            return False
        self._session.show(CompactionStarted(cause=cause))
        summary, guard = await self._summary(plan, given.focus)
        item, problem = finish_epoch(plan, self._session.item_id("k"), summary)
        if problem:
            guard = self._guard.after_summary(ok=False, now=self._session.clock.now())
        self._keep_span(item.id, plan)
        await self._store(item, cause, plan, guard, problem)
        return True

    async def _store(
        self, item: CompactionItem, cause: str, plan: EpochPlan, guard: Guard, problem: str
    ) -> None:
        window = self.window
        judged = guard.after_epoch(
            plan.tokens_before, plan.tokens_after, window.soft, window.input, plan.hidden_keys
        )
        ended = CompactionEnded(
            item_id=item.id,
            cause=cause,
            tokens_before=plan.tokens_before,
            tokens_after=plan.tokens_after,
            hidden_units=plan.hidden_units,
            shortened_results=sum(r.result_text is not None for r in item.replacements),
            detail=f"the model's summary was not used: {problem}" if problem else "",
            project=self._scope.ports.instructions(),
            guard=judged,
        )
        parts: list[Part] = [item, ended]
        if judged.off_at_tokens is not None and guard.off_at_tokens is None:
            parts.append(self._off_notice())
        await self._session.commit(*parts)
        self._session.show(StatusChanged(context_used=self._tokens(), context_window=window.size))

    def _off_notice(self) -> NoticeRaised:
        where = self._scope.meter.breakdown(self._view())
        biggest = max(
            ("the system text", where.system),
            ("the tools", where.tools),
            ("the project instructions", where.project),
            ("your messages", where.user),
            ("results", where.results),
            key=lambda part: part[1],
        )
        return NoticeRaised(
            text="compaction frees too little and pauses until the view has grown; most of it is "
            f"{biggest[0]} with {biggest[1]:,} tokens",
            level="warning",
        )

    def _keep_span(self, item_id: str, plan: EpochPlan) -> None:
        """The hidden part as text, readable by reference; the log keeps it in any case."""
        if plan.span:
            path = self._scope.artifacts / f"history-{item_id}.txt"
            path.write_text(plan.span, encoding="utf-8", errors="backslashreplace")

    def _history_line(self) -> str:
        record = self._session.item_id("k")
        return f"what this epoch hid can be read with `read_file`, path `out/history-{record}`"

    def _live_lines(self) -> tuple[str, ...]:
        fold = self._session.fold
        lines = [
            f"terminal {name}: {found.command}"
            for name, found in fold.terminals.items()
            if found.state == "live"
        ]
        lines += [
            f"waiting for approval: {asked.assessment.shown[:300]}" for asked in fold.approvals.values()
        ]
        if fold.plan is not None:
            lines += [f"plan: {step.text} ({step.status})" for step in fold.plan.steps]
        return tuple(lines)

    # --- layer 3 ------------------------------------------------------------------------------

    async def _summary(self, plan: EpochPlan, focus: str) -> tuple[str | None, Guard]:
        """A model's summary where one is configured and the breaker allows it; never required."""
        guard, now = self._guard, self._session.clock.now()
        model = self._scope.ports.summariser
        if model is None or not plan.span or not guard.summary_allowed(now):
            return None, guard
        room = Window(size=model.info.context_window, max_output=model.info.max_output)
        request = ModelRequest(
            view=summary_view(plan, focus=focus, input_tokens=room.input),
            model=model.info.model,
            max_output_tokens=min(2 * plan.summary_tokens, room.reserved_output),
            tool_choice="none",
        )
        text = await self._scope.stop.guard(_ask(model, request))
        return text, guard.after_summary(ok=text is not None, now=now)


async def _ask(model: Model, request: ModelRequest) -> str | None:
    """The text of one answer; None for an error, a silence, or an answer that calls tools."""
    try:
        async with asyncio.timeout(SUMMARY_TIMEOUT_S):
            async for part in model.stream(request):
                match part:
                    case Completed():
                        return _plain_text(part)
                    case Failed():
                        return None
                    case _:
                        continue
    except TimeoutError:
        return None
    return None


def _plain_text(answer: Completed) -> str | None:
    if any(isinstance(part, CallPart) for part in answer.parts):
        return None
    return "".join(part.text for part in answer.parts if isinstance(part, TextPart))
