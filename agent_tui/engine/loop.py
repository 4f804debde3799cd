"""One turn: from the first message of a task to the one `TurnEnded` of its run.

Reads top to bottom as the specification: what must be on disk, what may run, when it ends. All
state is in the session; what a step needs of others lies in its own module.
"""

import asyncio
import traceback
from contextlib import suppress
from pathlib import Path

from agent_tui.engine.asking import ask_question
from agent_tui.engine.batch import answer_all, run_batch
from agent_tui.engine.contract import Contract
from agent_tui.engine.drift import settings_notice
from agent_tui.engine.ending import end_run
from agent_tui.engine.events import (
    Body,
    CallChanged,
    NoticeRaised,
    ProgressJudged,
    QuestionAsked,
    StatusChanged,
    TaskChanged,
    TurnStarted,
)
from agent_tui.engine.fold import TERMINALS_NOTICE, Call, step_number
from agent_tui.engine.framing import budget_of
from agent_tui.engine.grace import ENDS_WITH_GRACE, last_words
from agent_tui.engine.guidance import guide
from agent_tui.engine.inbox import deliver, delivery, next_turn
from agent_tui.engine.planning import plan_notice
from agent_tui.engine.prepare import Prepared, ended, prepare
from agent_tui.engine.progress import LAST_STRIKE, in_short
from agent_tui.engine.raising import may_go_on
from agent_tui.engine.response import Responder, Response
from agent_tui.engine.resume import Recovery
from agent_tui.engine.scope import Scope
from agent_tui.engine.sentence import facts_of, sentence
from agent_tui.engine.session import Part
from agent_tui.engine.snapshots import Snapshots
from agent_tui.engine.stop import StoppedError
from agent_tui.engine.types import CallState, EndReason, TaskStatus
from agent_tui.engine.wave import Wave
from checkpoints.records import RecordsError
from context.items import NoticeItem, Origin, StopReason, UserItem

MAX_EMPTY = 2  # responses in a row with neither text nor call
GO_ON, STOP = "continue", "stop"


class Turn:
    """Drives one run of one task."""

    def __init__(self, scope: Scope, recovery: Recovery, *, wake: asyncio.Event) -> None:
        self._scope = scope
        self._recovery = recovery
        self._session = scope.session
        self._snapshots = Snapshots(scope)
        self._responder = Responder(scope, wake, self._let_in)
        self._contract = Contract(scope, Wave(scope, self._snapshots, 0))
        self._told: list[str] = []  # limits that the model has yet to be told of
        self._empty = 0  # responses in a row without content
        self._error = ""
        self._finding = ""  # what is not met, or repeats itself
        self._text = ""
        self._no_start: EndReason | None = None  # the run could not even be stored

    async def run(self) -> EndReason | None:
        """Run to the end; every way out stores exactly one `TurnEnded`. None: there was nothing to do."""
        if not await self._begin():
            return None
        while True:
            reason = self._no_start or await self._drive()
            stored = await end_run(
                self._scope,
                self._snapshots,
                reason,
                text=self._text,
                error=self._error,
                finding=self._finding,
                trouble=self._responder.trouble,
            )
            if stored is not None:
                return stored

    async def _drive(self) -> EndReason:
        """Steps until there is a reason to end. The turn boundary: nothing is raised past it."""
        try:
            await self._answer_left_over()
            await self._deliver()  # what came while the end was being stored, which then was none
            while True:
                self._scope.stop.check()
                reason = await self._step()
                if reason is None:
                    continue
                if await may_go_on(self._scope, reason):
                    self._error = ""
                    continue
                await self._last_words(reason)
                return reason
        except StoppedError:
            return EndReason.CANCELLED if self._scope.stop.cancelling else EndReason.INTERRUPTED
        except RecordsError as error:
            self._error = str(error)
            return EndReason.STATE_UNWRITABLE
        except Exception as error:
            if (kept := self._unkept(error)) is not None:
                self._error = kept
                return EndReason.STATE_UNWRITABLE
            self._error = f"{type(error).__name__}: {error}"
            self._keep_traceback()
            return EndReason.INTERNAL_ERROR

    def _unkept(self, error: Exception) -> str | None:
        """What could not be kept beside the session's output, as when its directory was removed under it."""
        if not isinstance(error, OSError) or not isinstance(error.filename, str):
            return None
        if not Path(error.filename).is_relative_to(self._scope.artifacts):
            return None
        return f"`{error.filename}` cannot be written: {error.strerror}"

    def _keep_traceback(self) -> None:
        """Where it went wrong, beside the output of the session, for whoever looks into it."""
        with suppress(OSError), (self._scope.artifacts / "internal-error.txt").open("a") as file:
            file.write(f"{self._session.id} {self._session.fold.runs}\n{traceback.format_exc()}\n")

    async def _last_words(self, reason: EndReason) -> None:
        """The grace call, where a limit ended the run."""
        if reason in ENDS_WITH_GRACE:
            told = sentence(reason, facts_of(self._scope, self._finding))
            self._text = await last_words(self._scope, self._responder, reason, told)

    async def _begin(self) -> bool:
        """Open task and run, and deliver what starts them, in one transaction; False when that has
        been taken back meanwhile."""
        try:
            began = await self._session.transact(self._first_parts)
        except RecordsError as error:
            self._no_start, self._error = EndReason.STATE_UNWRITABLE, str(error)
            await self._session.settle(*(self._first_parts() or ()))
            return True
        if began:
            self._snapshots.begin()
        return began

    def _first_parts(self) -> list[Part] | None:
        fold = self._session.fold
        task_id, attempt, parts = fold.task_id, 1, []
        messages = [] if fold.owed else next_turn(self._session)
        if fold.task_status is TaskStatus.PAUSED and not messages and fold.run is not None:
            attempt = fold.run.attempt + 1
        elif messages:
            parts = self._new_task(fold.task_status)
            task_id = f"t{fold.tasks + 1}"
        else:
            return None
        told = [] if fold.owed else settings_notice(self._session)  # ahead: no rewind to this turn hides it
        ahead = len(told) + len(messages)
        return [
            *told,
            *parts,
            TaskChanged(task_id=task_id, status=TaskStatus.RUNNING),
            TurnStarted(task_id=task_id, run_id=f"{self._session.id}.{fold.runs + 1}", attempt=attempt),
            *delivery(self._session, messages, fold.steps + 1, ahead=len(told)),
            *(notices := self._terminals_notice(ahead)),
            *(plan_notice(self._scope, ahead + len(notices)) if messages else ()),
        ]

    def _terminals_notice(self, ahead: int) -> list[NoticeItem]:
        """Tell the model what is live at the start of a turn, when that has changed."""
        fold = self._session.fold
        live = [one for one in self._scope.ports.toolbox.terminals() if one.get("state") == "live"]
        names = ", ".join(f"{one['id']} (`{one.get('command', '')}`)" for one in live) or "none"
        text = f"{TERMINALS_NOTICE}{names}"
        if fold.owed or text == (fold.told_terminals or f"{TERMINALS_NOTICE}none"):
            return []
        return [NoticeItem(id=self._session.item_id("n", ahead=ahead), text=text)]

    def _new_task(self, old: TaskStatus | None) -> list[Part]:
        fold = self._session.fold
        parts: list[Part] = []
        if old is TaskStatus.PAUSED:
            parts.append(
                TaskChanged(task_id=fold.task_id, status=TaskStatus.CANCELLED, cause="a new message came")
            )
        return [*parts, TaskChanged(task_id=f"t{fold.tasks + 1}", status=TaskStatus.PENDING)]

    async def _answer_left_over(self) -> None:
        """Calls of an earlier process that never started run now, judged afresh."""
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
        response = await self._responder.ask()
        if isinstance(response, EndReason):
            self._error = self._responder.error
            return response
        await self._warn()
        if response.over_budget:
            await answer_all(self._scope, judge=response.item.step_id)
            return EndReason.BUDGET_TOOLS
        if response.calls:
            self._session.show(StatusChanged(activity="running"))
            number = step_number(response.item.step_id)
            reason = await run_batch(self._scope, self._snapshots, number, response.calls)
            self._scope.stop.skipping.clear()
            await guide(self._scope, number)
            return reason or await self._judge()
        return await self._answered(response)

    async def _answered(self, response: Response) -> EndReason | None:
        """After a response without calls: the end, unless something is still to be done."""
        if response.is_empty:
            return await self._ask_for_content()
        self._empty = 0
        self._text = response.item.text
        if await self._deliver():
            return None
        match response.item.stop:
            case StopReason.PAUSED:
                return None
            case StopReason.REFUSAL:
                self._error = "the model refused the request"
                return EndReason.MODEL_REJECTED
            case _:
                pass
        reason = await self._contract.check(self._text)
        self._finding = self._contract.finding
        return reason

    async def _ask_for_content(self) -> EndReason | None:
        """A response with neither text nor call: one more try, then the end."""
        self._empty += 1
        if self._empty >= MAX_EMPTY:
            self._finding = f"{MAX_EMPTY} responses with neither text nor call"
            return EndReason.LOOP_DETECTED
        text = "Your last response had neither text nor a call. Answer, or call a tool"
        await self._session.commit(NoticeItem(id=self._session.item_id("n"), text=text))
        return None

    async def _judge(self) -> EndReason | None:
        """What follows from the judgement of the step, and the messages that wait behind it."""
        self._empty = 0
        judged = self._session.fold.judged
        if judged is None or not judged.finding:
            await self._deliver()
            return None
        if judged.strikes < LAST_STRIKE:
            await self._session.commit(*self._loop_notice(judged))
            await self._deliver()
            return None
        if await self._deliver():
            return None
        self._finding = in_short(judged.finding)
        if not self._scope.config.interactive:
            return EndReason.LOOP_DETECTED
        return await self._ask_to_go_on(judged)

    async def _ask_to_go_on(self, judged: ProgressJudged) -> EndReason | None:
        session = self._session
        question = QuestionAsked(
            question_id=f"q{session.fold.asked + 1}",
            call_id="",
            text=f"No progress: {judged.finding}",
            options=(GO_ON, STOP),
            free_text=True,
            kind="no_progress",
        )
        answer = await ask_question(self._scope, question)
        if answer is None:
            self._scope.stop.pause("you left the question open")
            self._scope.stop.check()
        if answer == STOP:
            return EndReason.LOOP_DETECTED
        fresh = ProgressJudged(step_id=judged.step_id, progressed=True, traces=(), idle_steps=0, strikes=0)
        parts: list[Part] = [fresh]
        if answer is not None and answer != GO_ON:
            parts.append(UserItem(id=session.item_id("u"), text=answer, origin=Origin.STEER))
        await session.commit(*parts)
        return None

    def _loop_notice(self, judged: ProgressJudged) -> list[Part]:
        text = f"No progress: {judged.finding}. Change the approach, or say what stands in the way"
        return [
            NoticeItem(id=self._session.item_id("n"), text=text),
            NoticeRaised(text=f"no progress: {judged.finding}", level="warning", to_model=True),
        ]

    async def _warn(self) -> None:
        """One line for each limit that is four fifths used, to person and model."""
        for key, line in budget_of(self._scope).warnings():
            if key not in self._session.fold.notices:
                await self._session.commit(NoticeRaised(text=line, level="warning", to_model=True, key=key))
                self._told.append(line)

    async def _deliver(self) -> bool:
        """Let in what waits at this place: notices of limits, then the person's messages."""
        if self._told:
            text = "Limits: " + "; ".join(self._told)
            self._told.clear()
            await self._session.commit(NoticeItem(id=self._session.item_id("n"), text=text))
        return await self._let_in(self._session.fold.steps + 1)

    async def _let_in(self, step: int) -> bool:
        """The person's messages, seen by that step, with a checkpoint to go back to; False for none."""
        delivered = await deliver(self._session, step)
        if delivered:
            self._snapshots.begin()
        return delivered
