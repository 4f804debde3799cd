"""Commands that line mode sent and that have not begun, or run: the end of its input waits for them."""

from agent_tui.engine.commands import Command, CommandBody, Compact, Continue, RunShell, Submit
from agent_tui.engine.events import (
    CallEnded,
    CallProposed,
    Event,
    InputAccepted,
    Refused,
    StatusChanged,
    TurnEnded,
    TurnStarted,
)


class Sent:
    """A message until it waits for its turn, the person's own command until it has ended, and a compaction or
    what goes on until that has begun; none that was refused."""

    def __init__(self) -> None:
        self._bodies: dict[str, CommandBody] = {}  # by command id, in order
        self._own_calls: set[str] = set()

    def __len__(self) -> int:
        return len(self._bodies)

    @property
    def runs_own(self) -> bool:
        """Whether a command of the person runs, or is about to."""
        return any(isinstance(body, RunShell) for body in self._bodies.values())

    def add(self, command: Command) -> None:
        """It goes to the engine."""
        if isinstance(command.body, Submit | Continue | RunShell | Compact):
            self._bodies[command.id] = command.body

    def take(self, event: Event) -> None:
        """What the engine says of them."""
        match event.body:
            case Refused(command_id=refused):
                self._bodies.pop(refused, None)
            case InputAccepted():
                self._bodies.pop(event.cause, None)
            case TurnStarted() | TurnEnded():  # one turn is for all, and one that runs needs none
                while self._drop(Continue):
                    pass
            case StatusChanged(activity="compacting"):
                self._drop(Compact)
            case CallProposed(by="person", call_id=call):
                self._own_calls.add(call)
            case CallEnded(call_id=call) if call in self._own_calls:
                self._own_calls.remove(call)
                self._drop(RunShell)
            case _:
                pass

    def _drop(self, kind: type[CommandBody]) -> bool:
        """The oldest of a kind; False where there is none."""
        oldest = next((sent for sent, body in self._bodies.items() if isinstance(body, kind)), None)
        return oldest is not None and self._bodies.pop(oldest) is not None
