"""Stored events as they were printed: a session as a file, read again, or of another process."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent_tui.engine.events import (
    ApprovalAsked,
    Body,
    Event,
    InputAccepted,
    InputDelivered,
    LostResultAsked,
    QuestionAsked,
)
from agent_tui.plain.wording import Narrator
from agent_tui.safe_text import one_line


@dataclass(slots=True)
class Retelling:
    """Goes on where it was left: later events of the same session are told with what came before."""

    _narrator: Narrator = field(default_factory=Narrator)
    _said: dict[str, str] = field(default_factory=dict)  # messages that are in no turn yet

    def lines(self, stored: Sequence[Event]) -> list[str]:
        """What the person said, and what line mode printed."""
        return [line for event in stored for line in self._told(event.body)]

    def _told(self, body: Body) -> list[str]:
        match body:
            case InputAccepted():
                self._said[body.input_id] = body.text
                return []
            case InputDelivered():
                return ["", f"you> {one_line(self._said.pop(body.input_id, ''))}"]
            case ApprovalAsked():
                return [f"Waiting: {one_line(body.assessment.shown, strict=True)}, for approval."]
            case LostResultAsked():
                return [f"Waiting: {one_line(body.shown, strict=True)}, its result was lost."]
            case QuestionAsked():
                return [f"Question: {one_line(body.text)}"]
            case _:
                return self._narrator.lines(body)
