"""Questions that are open in a run whose orders have ended: nobody can answer them any more."""

from agent_tui.engine.commands import Answer, CommandBody, Decide, Settle
from agent_tui.engine.events import (
    ApprovalAsked,
    ApprovalDecided,
    Body,
    CallEnded,
    LostResultAsked,
    QuestionAnswered,
    QuestionAsked,
)
from agent_tui.engine.types import Decision

NOBODY = "nobody is left to answer: decide yourself, and say what you assumed"
_OF_RUNTIME = {"no_progress": "stop", "no_checkpoint": "run without undo"}


class OpenQuestions:
    """What was asked and is not settled, by id, and the commands that are on their way to settle it."""

    def __init__(self) -> None:
        self._open: dict[str, ApprovalAsked | QuestionAsked | LostResultAsked] = {}
        self._on_the_way: dict[str, str] = {}  # id of a command → of the question

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
            case CallEnded():
                lost = [
                    key
                    for key, asked in self._open.items()
                    if isinstance(asked, LostResultAsked) and asked.call_id == body.call_id
                ]
                for key in lost:
                    del self._open[key]
            case _:
                pass

    def ordered(self, command_id: str, body: CommandBody) -> None:
        """A command is on its way that may settle one."""
        match body:
            case Decide():
                self._on_the_way[command_id] = body.approval_id
            case Answer() | Settle():
                self._on_the_way[command_id] = body.question_id
            case _:
                pass

    def refused(self, command_id: str) -> bool:
        """A command was refused; whether the question that it was for is still open."""
        return self._on_the_way.pop(command_id, "") in self._open

    def answers(self) -> list[CommandBody]:
        """What a run without a person would answer to those that are open and that no command is for."""
        taken = set(self._on_the_way.values())
        return [_answer(asked) for key, asked in self._open.items() if key not in taken]


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
