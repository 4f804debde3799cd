"""Takes a person's answers: to approvals, to questions, to lost results; each counts once."""

from collections.abc import Callable

from agent_tui.engine.commands import Answer, Decide, Settle
from agent_tui.engine.events import (
    ApprovalAsked,
    ApprovalDecided,
    Body,
    LostResultAsked,
    QuestionAnswered,
    QuestionAsked,
)
from agent_tui.engine.raising import problem_with, raised_by
from agent_tui.engine.resume import Recovery
from agent_tui.engine.session import Session
from agent_tui.engine.types import Decision
from agent_tui.engine.waits import Waits

Early = dict[str, tuple[ApprovalAsked, ApprovalDecided]]  # by call id


class Desk:
    """Stores an answer, then gives it to who waits; `early` keeps those that came before a turn
    went on after a restart. Each method returns a refusal or ''."""

    def __init__(self, session: Session, waits: Waits, early: Early, is_busy: Callable[[], bool]) -> None:
        self._session = session
        self._waits = waits
        self._early = early
        self._is_busy = is_busy

    async def decide(self, body: Decide, cause: str) -> str:
        """Answer an approval; the digest must be that of what was shown."""
        open_ones = self._session.fold.approvals
        asked = open_ones.get(body.approval_id)
        if asked is None:
            return self._not_open(body.approval_id, "this approval was answered already")
        if body.digest != asked.digest:
            return "the question has changed since it was shown"
        if body.decision not in asked.choices:
            return f"`{body.decision}` is not offered here"
        decided = ApprovalDecided(
            approval_id=body.approval_id,
            call_id=asked.call_id,
            decision=body.decision,
            by="person",
            scope={Decision.SESSION: asked.session_key, Decision.RULE: body.rule}.get(body.decision, ""),
            feedback=body.feedback,
            edited=body.edited,
            grant=body.grant,
        )
        done = await self._session.commit(decided, cause=cause, when=lambda: body.approval_id in open_ones)
        if not done:
            return "this approval was answered already"
        if self._is_busy():
            self._waits.give(body.approval_id, decided)
        else:
            self._early[asked.call_id] = (asked, decided)
        return ""

    async def answer(self, body: Answer, cause: str) -> str:
        """Answer a question."""
        open_ones = self._session.fold.questions
        asked = open_ones.get(body.question_id)
        if not isinstance(asked, QuestionAsked):
            return self._not_open(body.question_id, "this question was answered already")
        parts: list[Body] = [QuestionAnswered(question_id=body.question_id, text=body.text)]
        if asked.limit is not None and body.text is not None:
            if problem := problem_with(asked.limit, body.text):
                return problem
            parts += raised_by(asked.limit, body.text)
        await self._session.commit(*parts, cause=cause)
        self._waits.give(body.question_id, body.text)
        return ""

    async def settle(self, body: Settle, recovery: Recovery) -> str:
        """Choose for a lost result."""
        asked = self._session.fold.questions.get(body.question_id)
        if not isinstance(asked, LostResultAsked):
            return self._not_open(body.question_id, "this result is settled already")
        return await recovery.settle(asked.call_id, body.choice, body.conflicts)

    def _not_open(self, asked_id: str, answered: str) -> str:
        return answered if asked_id in self._session.fold.asked_ids else f"no such question: `{asked_id}`"
