"""Questions that are open in a run whose orders have ended: nobody can answer them any more (design e.4)."""

from agent_tui.engine.commands import Answer, CommandBody, Decide, Settle
from agent_tui.engine.events import (
    ApprovalAsked,
    ApprovalDecided,
    Body,
    LostResultAsked,
    QuestionAnswered,
    QuestionAsked,
)
from agent_tui.engine.types import Decision

NOBODY = "nobody is left to answer: decide yourself, and say what you assumed"
_OF_RUNTIME = {"no_progress": "stop", "no_checkpoint": "run without undo"}


class OpenQuestions:
    """What was asked and neither answered nor settled, by id."""

    def __init__(self) -> None:
        self._open: dict[str, ApprovalAsked | QuestionAsked | LostResultAsked] = {}

    def take(self, body: Body) -> None:
        """Follow the stream of the engine."""
        match body:
            case ApprovalAsked():
                self._open[body.approval_id] = body
            case QuestionAsked() | LostResultAsked():
                self._open[body.question_id] = body
            case ApprovalDecided():
                self._open.pop(body.approval_id, None)
            case QuestionAnswered():
                self._open.pop(body.question_id, None)
            case _:
                pass

    def ordered(self, body: CommandBody) -> None:
        """An order is on its way that answers one."""
        match body:
            case Decide():
                self._open.pop(body.approval_id, None)
            case Answer() | Settle():
                self._open.pop(body.question_id, None)
            case _:
                pass

    def answers(self) -> list[CommandBody]:
        """What a run without a person would answer to those that are open; each is given once."""
        found = [_answer(asked) for asked in self._open.values()]
        self._open.clear()
        return found


def _answer(asked: ApprovalAsked | QuestionAsked | LostResultAsked) -> CommandBody:
    match asked:
        case ApprovalAsked():
            return Decide(
                approval_id=asked.approval_id, decision=Decision.DENY, digest=asked.digest, feedback=NOBODY
            )
        case LostResultAsked():
            return Settle(question_id=asked.question_id, choice="keep")
        case QuestionAsked():
            text = "stop here" if asked.limit is not None else _OF_RUNTIME.get(asked.kind, NOBODY)
            return Answer(question_id=asked.question_id, text=text)
