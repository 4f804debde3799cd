"""Events of the engine to blocks and state; the only writer of both.

Each event costs the same however long the transcript is. Streamed text is only collected here; the
app draws what is marked in `dirty` at most ten times a second.
"""

from collections.abc import Callable, Sequence
from typing import Any

from agent_tui.engine import events
from agent_tui.engine.types import InputKind, TaskStatus
from agent_tui.tui import cutting, words
from agent_tui.tui.answering import Answering
from agent_tui.tui.calls import Calls
from agent_tui.tui.cutting import Cut
from agent_tui.tui.ends import ended, going_on
from agent_tui.tui.opening import Opening
from agent_tui.tui.state import Asked, Pending, Retry, State
from agent_tui.tui.transcript import blocks
from checkpoints.types import Phase
from tools.types import OutcomeStatus

BY_ROLLBACK = "rolled back"  # why a message came back, as the engine says it
AFTER_ANSWER = "after this answer, without its calls"


class Feed:
    """Applies events; `added` and `dirty` tell the app which blocks are new or changed."""

    def __init__(self, state: State, *, is_start: bool = False) -> None:
        self.state = state
        self.added: list[blocks.Block] = []
        self.dirty: dict[int, blocks.Block] = {}
        self.cuts: list[Cut] = []
        self._places: dict[str, blocks.Block | None] = {}  # checkpoint → block before it
        self.calls = Calls(self.add, self.touch)
        self.opening = Opening(self.add, self.touch, is_open=is_start)
        self._answering = Answering(self.add, self.touch)
        self._plan: blocks.Plan | None = None
        self._newest: blocks.Block | None = None
        self._began_after: blocks.Block | None = None  # the newest when the turn began
        self._steps = 0  # that began so far
        self._said_after: dict[int, blocks.Block | None] = {}  # steps so far → the newest when a message came
        self._before_step: blocks.Block | None = None
        self._named: dict[str, str] = {}  # checkpoint → what it is before, in words
        self._kinds: dict[str, Pending] = {}
        self._asked_at = 0.0  # when the newest step began
        self._down: blocks.Notice | None = None  # tells of a provider that fails, while it does
        self.rollbacks: dict[str, blocks.RolledBack] = {}  # checkpoint it began with → its record
        self._back_from_rollback = 0  # messages that waited, and a rollback gave back
        self._at = 0.0  # of the event being applied
        self._seq = 0

    def apply(self, event: events.Event) -> None:
        """Take one event in."""
        handler = _HANDLERS.get(type(event.body))
        if handler is not None:
            self._at, self._seq = event.at, event.seq
            if isinstance(event.body, _HEARD):
                self.state.heard_at = event.at
            if not isinstance(event.body, events.Refused):
                self.state.sent.pop(event.cause, None)  # it was taken
            self.state.changed.take(event.body)
            handler(self, event.body)
            if not self.state.is_stoppable:
                self.state.stopping_at = 0.0

    def add(self, block: blocks.Block) -> None:
        """A new block at the end."""
        if isinstance(block, blocks.Reasoning | blocks.Answer | blocks.Card):
            block.step = self._steps
        self.added.append(block)
        self._newest = block

    def touch(self, block: blocks.Block) -> None:
        """A block changed."""
        block.touch()
        self.dirty[id(block)] = block

    def drain(self) -> tuple[list[blocks.Block], list[blocks.Block]]:
        """New and changed blocks since the last call."""
        added, self.added = self.added, []
        new = {id(block) for block in added}
        changed = [block for key, block in self.dirty.items() if key not in new]
        self.dirty.clear()
        return added, changed

    def take_over(self, earlier: "Feed") -> None:
        """Keep what the stored part of the session says of state, calls and checkpoints."""
        self.state.take_over(earlier.state)
        self.calls.take_over(earlier.calls)
        self._places = earlier._places | self._places
        self._named = earlier._named | self._named
        self.rollbacks = earlier.rollbacks | self.rollbacks
        self._steps = max(earlier._steps, self._steps)

    def blocks_after(self, checkpoint_id: str, shown: Sequence[blocks.Block]) -> list[blocks.Block] | None:
        """The blocks that came after a checkpoint; None where that is not known."""
        if checkpoint_id.partition("/")[0] != self.state.session_id:
            return []  # a checkpoint of another session, of which nothing is shown here
        if checkpoint_id in self.rollbacks:
            return cutting.since(shown, self.rollbacks[checkpoint_id])
        if checkpoint_id not in self._places:
            return None
        return cutting.behind(shown, self._places[checkpoint_id])

    # --- session -------------------------------------------------------------------------------

    def _session_started(self, body: events.SessionStarted) -> None:
        state = self.state
        state.session_id, state.workspace = body.session_id, body.workspace
        state.status.model = state.status.model or body.model
        state.first_model = state.first_model or body.model
        state.base_url = body.base_url or state.base_url
        state.ready = True
        if body.resumed:
            state.resumed_at, state.paused = self._seq, body.paused

    def _status(self, body: events.StatusChanged) -> None:
        status = self.state.status
        self.opening.is_open &= body.sandbox is None  # the first that says what there is ends a start
        self.state.told_undo(body.undo, self._at)
        for name in (
            "sandbox",
            "undo",
            "model",
            "effort",
            "approval",
            "context_used",
            "context_window",
            "context_soft",
            "context_hard",
            "cost_usd",
            "branch",
            "changed_files",
        ):
            value = getattr(body, name)
            if value is not None:
                setattr(status, name, value)
        if body.terminals is not None:
            status.terminals = body.terminals
        if body.activity is not None and body.activity != self.state.activity:
            self.state.activity, self.state.activity_at = body.activity, self._at

    def _setting(self, body: events.SettingChanged) -> None:
        if body.key == "title":
            self.state.title = body.value

    def _notice(self, body: events.NoticeRaised) -> None:
        ended, information = body.level == "error", body.level == "info"
        if self.opening.is_open:
            self.opening.tell(body.text, ended=ended, information=information, about=body.about)
        else:
            self.add(blocks.Notice(text=body.text, ended=ended, information=information))

    def _closed(self, body: events.SessionClosed) -> None:
        self.state.closed = True
        self.state.is_kept = body.kept

    # --- input ---------------------------------------------------------------------------------

    def _accepted(self, body: events.InputAccepted) -> None:
        kind = body.kind
        if kind is InputKind.PROMPT and self.state.busy:
            kind = InputKind.STEER
        pending = Pending(input_id=body.input_id, kind=kind, text=body.text, images=body.images)
        if body.now:
            count = len(self.state.running)
            pending.now = f"{words.count(count, 'call')} told to stop" if count else AFTER_ANSWER
        self._kinds[body.input_id] = pending
        if kind is not InputKind.PROMPT:
            self.state.pending.append(pending)

    def _edited(self, body: events.InputEdited) -> None:
        pending = self._kinds.get(body.input_id)
        if pending is not None:
            pending.text, pending.kind = body.text, body.kind
            self.state.move_pending(body.input_id, body.before)

    def _delivered(self, body: events.InputDelivered) -> None:
        pending = self._taken(body.input_id)
        if pending is None:
            return
        right = f"steer, step {body.step}" if pending.kind is InputKind.STEER else ""
        self._answering.close()
        self.state.last_rollback = None
        self._said_after.setdefault(self._steps, self._newest)
        message = blocks.UserMessage(text=pending.text, right=right, images=pending.images, at=self._at)
        message.item_id = body.item_id
        self.add(message)

    def _returned(self, body: events.InputReturned) -> None:
        pending = self._taken(body.input_id)
        if body.input_id in self.state.dropped:
            self.state.dropped.discard(body.input_id)
            return
        self.state.returned.append(body.text)
        self.state.images_back += pending.images if pending is not None else ()
        if body.reason == BY_ROLLBACK:
            self._back_from_rollback += 1
        else:
            self.state.given_back += body.reason != "taken back"

    def _taken(self, input_id: str) -> Pending | None:
        pending = self._kinds.pop(input_id, None)
        if pending in self.state.pending:
            self.state.pending.remove(pending)
        return pending

    # --- turns and text ------------------------------------------------------------------------

    def _task(self, body: events.TaskChanged) -> None:
        self.state.task = body.status
        self.state.paused = body.status is TaskStatus.PAUSED

    def _turn_started(self, _: events.TurnStarted) -> None:
        state, self._began_after = self.state, self._newest
        state.busy, state.paused, state.step, state.stopping_at = True, False, 0, 0.0
        state.turn_started_at, state.ended, state.stored_calls = self._at, None, 0

    def _step_started(self, body: events.StepStarted) -> None:
        self._answering.close()
        self._before_step, self._steps = self._newest, body.number
        self._asked_at = self._at
        self.state.step, self.state.not_run = body.number, 0
        self.state.retry, self.state.activity, self.state.held_at = None, "thinking", 0.0

    def _reasoned(self, body: events.ReasoningStreamed) -> None:
        self._answering.reasoned(body.text, self._at)
        self.state.retry, self.state.activity = None, "thinking"

    def _streamed(self, body: events.TextStreamed) -> None:
        if self._answering.streamed(body.text, self._at):
            self.state.retry, self.state.activity = None, "answering"

    def _response(self, body: events.ResponseEnded) -> None:
        self.state.heard_at = 0.0
        self._answering.ended(body, self._at)
        if body.text.strip():
            self.state.last_answer = body.text

    def _retry(self, body: events.RetryScheduled) -> None:
        before = self.state.retry
        self._answering.give_up(self._at)
        self.state.retry = Retry(
            attempt=body.attempt, attempts=body.attempts, due_at=self._at + body.delay_s, error=body.error,
            kind=body.kind, since=before.since if before else self._asked_at or self._at,
        )  # fmt: skip
        text = going_on(body, self.state.provider, self._at - self.state.retry.since)
        if before is not None and self._down is not None:
            self._down.text = text
            self.touch(self._down)
        else:
            self._down = blocks.Notice(text=text)
            self.add(self._down)

    def _turn_ended(self, body: events.TurnEnded) -> None:
        self._answering.close()
        self.add(ended(body, self._at))
        self.state.end_turn(body)

    # --- calls ---------------------------------------------------------------------------------

    def _drafted(self, body: events.CallDrafted) -> None:
        self._answering.end_text()
        self.state.drafting = body.tool

    def _proposed(self, body: events.CallProposed) -> None:
        self.state.drafting = ""
        self.calls.proposed(body, self._newest)

    def _call_changed(self, body: events.CallChanged) -> None:
        self.calls.changed(body)
        if "checkpoint" in body.detail:
            self.state.held_at = self.state.held_at or self._at

    def _call_started(self, body: events.CallStarted) -> None:
        self.state.running.add(body.call_id)
        self.calls.started(body, self._at)

    def _output(self, body: events.CallOutput) -> None:
        self.calls.output(body, self._at)

    def _awaited(self, body: events.InputAwaited) -> None:
        self.calls.awaited(body)

    def _call_ended(self, body: events.CallEnded) -> None:
        self.state.running.discard(body.call_id)
        self.state.stored_calls += 1
        self.state.not_run += body.outcome.status in (OutcomeStatus.DENIED, OutcomeStatus.SKIPPED)
        self.calls.ended(body)
        for asked in tuple(self.state.open_questions):
            if isinstance(asked.event, events.LostResultAsked) and asked.event.call_id == body.call_id:
                self.settled(asked.id)  # by going on, which keeps what it did

    def _checkpoint(self, body: events.CheckpointTaken) -> None:
        cause = body.checkpoint.cause
        before = self._newest
        if cause.phase is Phase.AFTER_CALL:
            self.calls.after = body.checkpoint.id
        if cause.phase is Phase.TURN_START:
            before, words = self._said_after.get(cause.step, self._began_after), "your message"
        elif cause.phase is Phase.BEFORE_CALL:
            before, words = self._before_step, f"step {cause.step}"
        else:
            words = ""
        self._places[body.checkpoint.id] = before
        self._named[body.checkpoint.id] = words

    def _terminal(self, body: events.TerminalChanged) -> None:
        self.state.terminals[body.terminal] = body
        self.state.status.terminals = len(self.state.live_terminals)
        self.calls.terminal(body, self._at)

    # --- questions -----------------------------------------------------------------------------

    def _approval(self, body: events.ApprovalAsked) -> None:
        self._ask(Asked(event=body))
        self.calls.waits(body.call_id, "for your approval")

    def _question(self, body: events.QuestionAsked) -> None:
        self._ask(Asked(event=body))
        self.calls.waits(body.call_id, "for your answer")

    def _lost(self, body: events.LostResultAsked) -> None:
        self._ask(Asked(event=body))

    def _ask(self, asked: Asked) -> None:
        if not self.state.open_questions:
            self.state.asked.clear()
        self.state.asked.append(asked)

    def _decided(self, body: events.ApprovalDecided) -> None:
        self._answered(body.approval_id, _DECIDED[body.decision])
        self.calls.decided(body)

    def _question_answered(self, body: events.QuestionAnswered) -> None:
        for asked in self.state.asked:
            if asked.id == body.question_id and isinstance(asked.event, events.QuestionAsked):
                self.calls.answered(asked.event.call_id, body.text)
        self._answered(body.question_id, "answered" if body.text is not None else "no answer")

    def _answered(self, question_id: str, words: str) -> None:
        answers = self.state.answers
        self.state.answers = {sent: to for sent, to in answers.items() if to != question_id}
        for asked in self.state.asked:
            if asked.id == question_id:
                asked.answer = words
        if not self.state.open_questions and not self.state.answers:  # an answer on its way may be refused
            self.state.asked.clear()

    def settled(self, question_id: str) -> None:
        """A lost result was settled by the person; its `CallEnded` carries no question id."""
        self._answered(question_id, "settled")

    # --- the rest ------------------------------------------------------------------------------

    def _plan_changed(self, body: events.PlanChanged) -> None:
        if self._plan is not None and self._plan is self._newest:
            self._plan.steps, self._plan.explanation = body.steps, body.explanation
            self.touch(self._plan)
            return
        self._plan = blocks.Plan(steps=body.steps, explanation=body.explanation)
        self.add(self._plan)

    def _compacting(self, _: events.CompactionStarted) -> None:
        self.state.activity, self.state.activity_at = "compacting", self._at

    def _compacted(self, body: events.CompactionEnded) -> None:
        self.state.activity = ""
        self.add(blocks.Compaction(ended=body, at=self._at))

    def _rolled_back(self, body: events.RolledBack) -> None:
        record = cutting.record_of(
            body, before=self._named.get(body.checkpoint_id, ""), back_to=self.state.rolled_back_at,
            returned=len(body.messages) + self._back_from_rollback,
        )  # fmt: skip
        self.state.last_rollback = None if body.redo_of else body
        self.state.rolled_back_at, self.state.going_back = self._at, None
        if body.redo_of:
            self.cuts.append(Cut(record=record, redo=True))
        elif body.mode != "files" and body.checkpoint_id in self.rollbacks:
            self.cuts.append(Cut(record=record, back=self.rollbacks[body.checkpoint_id]))
        elif body.mode != "files" and body.checkpoint_id in self._places:
            self.cuts.append(Cut(record=record, after=self._places[body.checkpoint_id]))
        if record.undo:
            self.rollbacks[record.undo] = record
        self.add(record)
        self.state.returned[:0] = body.messages  # before those that were still waiting
        self._back_from_rollback = 0

    def _refused(self, body: events.Refused) -> None:
        self.state.going_back = None
        question = self.state.answers.pop(body.command_id, "")
        for asked in self.state.asked:
            if asked.id == question:  # an answer that was not taken: the question is open again
                asked.answer = ""
        text, images = self.state.sent.pop(body.command_id, ("", ()))
        if text:  # back into the editor
            self.state.returned.append(text)
            self.state.images_back += images
        self.add(blocks.Notice(text=body.reason))


_DECIDED = {
    "once": "allowed once",
    "session": "allowed for this session",
    "rule": "rule saved",
    "edit": "edited",
    "deny": "denied",
    "deny_rule": "denied for good",
    "deny_and_pause": "denied, paused",
}

_HEARD = (events.StepStarted, events.TextStreamed, events.ReasoningStreamed, events.CallDrafted)
_HANDLERS: dict[type, Callable[[Feed, Any], None]] = {
    events.SessionStarted: Feed._session_started,
    events.StatusChanged: Feed._status,
    events.SettingChanged: Feed._setting,
    events.NoticeRaised: Feed._notice,
    events.SessionClosed: Feed._closed,
    events.InputAccepted: Feed._accepted,
    events.InputEdited: Feed._edited,
    events.InputDelivered: Feed._delivered,
    events.InputReturned: Feed._returned,
    events.TaskChanged: Feed._task,
    events.TurnStarted: Feed._turn_started,
    events.StepStarted: Feed._step_started,
    events.ReasoningStreamed: Feed._reasoned,
    events.TextStreamed: Feed._streamed,
    events.ResponseEnded: Feed._response,
    events.RetryScheduled: Feed._retry,
    events.TurnEnded: Feed._turn_ended,
    events.CallDrafted: Feed._drafted,
    events.CallProposed: Feed._proposed,
    events.CallChanged: Feed._call_changed,
    events.CallStarted: Feed._call_started,
    events.CallOutput: Feed._output,
    events.InputAwaited: Feed._awaited,
    events.CallEnded: Feed._call_ended,
    events.CheckpointTaken: Feed._checkpoint,
    events.TerminalChanged: Feed._terminal,
    events.ApprovalAsked: Feed._approval,
    events.ApprovalDecided: Feed._decided,
    events.QuestionAsked: Feed._question,
    events.QuestionAnswered: Feed._question_answered,
    events.LostResultAsked: Feed._lost,
    events.PlanChanged: Feed._plan_changed,
    events.CompactionStarted: Feed._compacting,
    events.CompactionEnded: Feed._compacted,
    events.RolledBack: Feed._rolled_back,
    events.Refused: Feed._refused,
}

# Facts for the log that no block shows: the card, the prompt or the notice beside them does.
# `Inspected` is handled by whoever sent the `Inspect`.
NOT_SHOWN = (events.CallSpawned, events.GrantRemoved, events.ProgressJudged, events.Inspected)
