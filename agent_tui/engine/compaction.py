"""When the view is made smaller, and by how much. The epoch itself is `context.epoch`.

Triggers: above the soft limit before a request, an overflow the provider reports, the person's
wish. Every epoch is one record, stored before the first request that uses it; until then the old
view stands.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from agent_tui import figures
from agent_tui.engine import room
from agent_tui.engine.beside import ask_beside
from agent_tui.engine.events import (
    CompactionEnded,
    CompactionStarted,
    NoticeRaised,
    SettingChanged,
)
from agent_tui.engine.fold import step_number
from agent_tui.engine.framing import window_of, window_setting
from agent_tui.engine.scope import Scope
from agent_tui.engine.session import Part
from agent_tui.engine.stop import StoppedError
from agent_tui.models.base import ModelError, ModelRequest
from context.budget import OVERFLOW_TARGET_SHARE, Window
from context.guard import (
    BREAKER_FAILURES,
    MAX_EPOCHS_A_REQUEST,
    MIN_FREED_SHARE,
    Guard,
    reopening_growth,
)
from context.items import CompactionItem, Item, ResponseItem, UserItem
from context.units import units_of, visibility_of
from context.view import UserUnit, View

if TYPE_CHECKING:  # what an epoch takes is imported for the first one
    from context.epoch import EpochInput, EpochPlan

FLOOR_SHARE = 0.5  # of the soft limit: what can never be hidden should stay below it
REREAD_STRIKES = 2


class Compactor:
    """Keeps the views of one turn inside the window; `view` computes the present one."""

    def __init__(self, scope: Scope, view: Callable[[], View]) -> None:
        self._scope = scope
        self._session = scope.session
        self._view = view
        self._epochs = 0  # for the request at hand

    def new_request(self) -> None:
        """Count epochs anew; called once for each step."""
        self._epochs = 0

    async def fit(self) -> str:
        """Before a request: make the view fit; why it cannot, or ''."""
        window, tokens = window_of(self._scope), self._tokens()
        self._session.show(room.of_window(window, tokens))
        await self._warn(window)
        wanted = tokens >= window.soft and self._guard.may_run(tokens, window.input)
        if (wanted or tokens > window.input) and self._epochs < MAX_EPOCHS_A_REQUEST:
            above = "hard" if tokens > window.input else "soft"
            await self._run(f"the view grew above the {above} limit", window, floor=not wanted)
            tokens = self._tokens()
        if tokens <= window.input:
            return ""
        name, size = self._biggest()
        return (
            f"about {tokens:,} tokens are needed and {window.input:,} fit the window of {window.size:,}; "
            f"most of it is {name} with {size:,}"
        )

    async def overflow(self, error: ModelError) -> bool:
        """The provider says the request is too long; True when it is worth asking again."""
        if self._epochs >= MAX_EPOCHS_A_REQUEST:
            return False
        window, tokens = window_of(self._scope), self._tokens()
        stated = error.context_window or min(window.size, tokens)
        if stated < window.size:
            await self._session.commit(SettingChanged(key=window_setting(self._scope), value=str(stated)))
        window = window_of(self._scope)
        target = min(round(window.input * OVERFLOW_TARGET_SHARE), round(tokens * OVERFLOW_TARGET_SHARE))
        return await self._run("the provider said the request is too long", window, target_tokens=target)

    async def manual(self, focus: str) -> str:
        """`/compact`: an epoch now, whatever the guard says; a refusal when nothing can be hidden."""
        done = await self._run("you asked for it", window_of(self._scope), focus=focus)
        return "" if done else "nothing to compact: the view is small, and its newest part stays"

    def is_too_big_for(self, window: Window) -> bool:
        """Whether the view has to shrink before a model with this window goes on."""
        return self._tokens() >= window.soft

    async def shrink_for(self, window: Window, model: str) -> None:
        """Before a switch to a smaller window: one epoch with the model that knows the session."""
        await self._run(f"`{model}` has a smaller window", window)

    async def undo(self) -> str:
        """Take the newest epoch back; a refusal when there is none."""
        log = self._session.fold.log
        newest = visibility_of(log).summary
        if newest is None:
            return "there is no compaction to undo"
        record = CompactionItem(
            id=self._session.item_id("k"), hidden=(), replacements=(), text="", undone=newest.id
        )
        view = self._view()
        ended = CompactionEnded(
            item_id=record.id,
            cause="undone by you",
            tokens_before=self._tokens(),
            tokens_after=self._scope.meter.tokens(replace(view, units=units_of((*log, record)))),
            hidden_units=0,
            shortened_results=0,
            guard=self._guard,
            undone=newest.id,
        )
        await self._session.commit(record, ended)
        self._show_size()
        return ""

    # --- what the person should know ------------------------------------------------------------

    async def _warn(self, window: Window) -> None:
        """Once a session: that little room is left from the start, or that the task does not fit."""
        fixed = self._floor_tokens()
        if fixed > FLOOR_SHARE * window.soft:
            parts = ", ".join(f"{name} {tokens:,}" for name, tokens in self._parts()[:3] if tokens)
            await self._tell_once(
                f"context.floor.{window.size}",
                f"{min(fixed * 100 // window.input, 100)} % of the window's room is taken by what cannot be "
                f"hidden ({parts} tokens); long work will be compacted often",
            )
        if self._guard.reread_strikes >= REREAD_STRIKES:
            text = "the model keeps asking for what compaction hid: this task does not fit the model's window"
            await self._tell_once("context.rereads", text)

    async def _tell_once(self, key: str, text: str) -> None:
        if key not in self._session.fold.notices:
            await self._session.commit(NoticeRaised(text=text, level="warning", key=key))

    def _floor_tokens(self) -> int:
        """Tokens of system, tools, project and the newest message of the person: no epoch hides them."""
        view, meter = self._view(), self._scope.meter
        newest = next((unit for unit in reversed(view.units) if isinstance(unit, UserUnit)), None)
        return round((meter.fixed(view) + (meter.unit(newest) if newest else 0)) * meter.factor)

    def _parts(self) -> list[tuple[str, int]]:
        """What fills the view, biggest first."""
        where = self._scope.meter.breakdown(self._view())
        parts = [
            ("the system text", where.system),
            ("the tools", where.tools),
            ("the project instructions", where.project),
            ("the summary", where.summary),
            ("your messages", where.user),
            ("the model's messages", where.responses),
            ("results", where.results),
        ]
        return sorted(parts, key=lambda part: -part[1])

    def _biggest(self) -> tuple[str, int]:
        return self._parts()[0]

    # --- one epoch ----------------------------------------------------------------------------

    @property
    def _guard(self) -> Guard:
        return self._session.fold.guard

    def _tokens(self) -> int:
        return self._scope.meter.tokens(self._view())

    def _show_size(self) -> None:
        self._session.show(room.of_window(window_of(self._scope), self._tokens()))

    async def _run(
        self,
        cause: str,
        window: Window,
        *,
        focus: str = "",
        target_tokens: int | None = None,
        floor: bool = False,
    ) -> bool:
        """One epoch (see `EpochInput`); False when it would change nothing, or for `floor` be in vain. Raises
        StoppedError and RecordsError."""
        from context.entities import missing
        from context.epoch import finish_epoch
        from context.estimate import text_tokens

        self._epochs += 1
        fold = self._session.fold
        record = self._session.item_id("k")
        plan = self._plan(self._input(record, window, focus, target_tokens, floor=floor))
        if plan.changes_nothing or (floor and self._is_in_vain(plan, window)):
            return False
        self._session.show(CompactionStarted(cause=cause))
        began, spent = self._session.clock.now(), fold.costs.session.cost_usd
        try:
            summary, problem, guard = await self._summary(plan, focus)
        except StoppedError:
            await self._tell_stopped(cause, plan.tokens_before)
            raise
        item, refused = finish_epoch(plan, record, summary)
        if refused:
            guard = self._guard.after_summary(ok=False, now=self._session.clock.now())
            problem, summary = f"refused: {refused}", None
        lost = self._keep_history(item.id, plan)
        now, after = self._session.clock.now(), fold.costs.session.cost_usd
        hidden, names_lost = frozenset(plan.hidden), len(missing(plan.lost, item.text))
        spans = _spans(fold.log, hidden)
        ended = CompactionEnded(
            item_id=record,
            cause=cause,
            tokens_before=plan.tokens_before,
            tokens_after=plan.tokens_after,
            hidden_units=plan.hidden_units,
            shortened_results=sum(r.result_text is not None for r in item.replacements),
            detail=lost,
            target_tokens=window.target if target_tokens is None else target_tokens,
            steps=(spans[0][0], spans[-1][1]) if spans else (),
            names=len(plan.hard) - names_lost,
            names_lost=names_lost,
            kept=replace(plan.kept, plan=fold.plan is not None and bool(fold.plan.steps)),
            spans=spans,
            messages=tuple(one.id for one in fold.log if isinstance(one, UserItem) and one.id in hidden),
            no_summary=problem,
            summary_tokens=text_tokens(summary or ""),
            seconds=now - began,
            cost_usd=None if after is None or spent is None else after - spent,
        )
        sizes = plan.tokens_before, plan.tokens_after, window.soft, window.input
        judged = guard.after_epoch(*sizes, plan.hidden_keys, floor=floor)
        await self._store(item, window, guard, judged, ended)
        return True

    def _input(
        self, record: str, window: Window, focus: str, target_tokens: int | None, *, floor: bool
    ) -> "EpochInput":
        from context.epoch import EpochInput
        from context.history import history_pointer

        return EpochInput(
            facts=self._session.fold.facts,
            window=window,
            guard=self._guard,
            live=self._live_lines(),
            live_ids=tuple(self._session.fold.terminals),
            history=history_pointer(record, self._records()),
            focus=focus,
            target_tokens=target_tokens,
            floor=floor,
        )

    async def _tell_stopped(self, cause: str, tokens: int) -> None:
        """The person stopped an epoch, which changed nothing; where the program leaves, nobody did."""
        if not self._scope.stop.closing:
            await self._session.settle(
                CompactionEnded(
                    item_id="",
                    cause=cause,
                    tokens_before=tokens,
                    tokens_after=tokens,
                    hidden_units=0,
                    shortened_results=0,
                    guard=self._guard,
                )
            )

    def _plan(self, given: "EpochInput") -> "EpochPlan":
        """The gentlest plan that fits: where that is still above the hard limit, the floor."""
        from context.epoch import plan_epoch

        log, view, meter = self._session.fold.log, self._view(), self._scope.meter
        plan = plan_epoch(log, view, meter, given)
        if plan.tokens_after <= given.window.input or given.floor:
            return plan
        return plan_epoch(log, view, meter, replace(given, floor=True))

    def _is_in_vain(self, plan: "EpochPlan", window: Window) -> bool:
        """After epochs without effect: another would free next to nothing, or what can never be hidden is
        above the soft limit by itself."""
        freed = plan.tokens_before - plan.tokens_after
        return freed < MIN_FREED_SHARE * window.input or self._floor_tokens() >= window.soft

    async def _store(
        self, item: CompactionItem, window: Window, guard: Guard, judged: Guard, ended: CompactionEnded
    ) -> None:
        """The record, how it is judged, and once what follows from that."""
        project = await asyncio.to_thread(self._scope.ports.instructions)
        parts: list[Part] = [item, replace(ended, project=project, guard=judged)]
        if judged.off_at_tokens is not None and guard.off_at_tokens is None:
            grows = figures.tokens(reopening_growth(window.input))
            text = f"compaction frees too little here; it is off until the view grows by {grows} tokens"
            parts.append(NoticeRaised(text=text, level="warning"))
        await self._session.commit(*parts)
        self._show_size()

    def _records(self) -> list[str]:
        """Ids of the epochs in force, oldest first."""
        return [one.id for one in visibility_of(self._session.fold.log).epochs if one.hidden]

    def _keep_history(self, record: str, plan: "EpochPlan") -> str:
        """Keep what leaves the view as text that can be read by reference; why not, or ''. The log
        holds it in any case."""
        from context.history import history_name

        earlier = self._records()
        head = f"[the epoch before this one: out/{history_name(earlier[-1])}]\n" if earlier else ""
        path = self._scope.artifacts / f"{history_name(record)}.out"
        try:
            path.write_text(head + plan.history, encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            return f"the hidden part could not be stored for reading: {error.strerror}"
        return ""

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
            noted = [(step, f": {step.note}" if step.note else "") for step in fold.plan.steps]
            lines += [f"plan: {step.text} ({step.status}{why})" for step, why in noted]
        return tuple(lines)

    # --- layer 3 ------------------------------------------------------------------------------

    async def _summary(self, plan: "EpochPlan", focus: str) -> tuple[str | None, str, Guard]:
        """A model's summary, or why the one that is wanted is missing; never required."""
        guard, now = self._guard, self._session.clock.now()
        model = self._scope.ports.summariser
        if model is None or not plan.span:
            return None, "", guard
        if not guard.summary_allowed(now):
            return None, f"not asked for: {BREAKER_FAILURES} failed in a row", guard

        from context.summary import summary_view

        room = Window(size=model.info.context_window, max_output=model.info.max_output)
        request = ModelRequest(
            view=summary_view(plan, focus=focus, input_tokens=room.input),
            model=model.info.model,
            max_output_tokens=min(2 * plan.summary_tokens, room.reserved_output),
            tool_choice="none",
        )
        timeout_s = self._scope.ports.summary_timeout_s
        asking = ask_beside(self._scope, "summary", model, request, timeout_s=timeout_s)
        answer = await self._scope.stop.guard(asking)
        return answer.text, answer.problem, guard.after_summary(ok=answer.text is not None, now=now)


def _spans(log: Sequence[Item], hidden: Collection[str]) -> tuple[tuple[int, int], ...]:
    """First and last step of each run of hidden responses."""
    spans: list[tuple[int, int]] = []
    is_going_on = False
    for item in log:
        if isinstance(item, ResponseItem):
            if item.id in hidden:
                step = step_number(item.step_id)
                spans.append((spans.pop()[0] if is_going_on else step, step))
            is_going_on = item.id in hidden
    return tuple(spans)
