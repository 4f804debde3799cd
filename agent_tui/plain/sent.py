"""Commands that line mode sent and that have not begun, or run: the end of its input waits for them."""

from collections.abc import Mapping

from agent_tui.engine.commands import Command, CommandBody, Compact, Continue, RunShell, Set, Settle, Submit
from agent_tui.engine.events import (
    CallEnded,
    CallProposed,
    Event,
    InputAccepted,
    InputReturned,
    Refused,
    SettingChanged,
    StatusChanged,
    TurnEnded,
    TurnStarted,
)


class Sent:
    """A message until it waits for its turn, the person's own command until it has ended, a model until it is
    in use or room is made for it, and a compaction, what goes on and what becomes of lost results until that
    has begun; none that was refused. What else is sent is done when the engine comes to the next one."""

    def __init__(self) -> None:
        self._bodies: dict[str, CommandBody] = {}  # by command id, in order
        self._own_calls: set[str] = set()
        self._stays_lost = False  # a result, so that no answer about another one goes on

    def __len__(self) -> int:
        return len(self._bodies)

    @property
    def runs_own(self) -> bool:
        """Whether a command of the person runs, or is about to."""
        return any(isinstance(body, RunShell) for body in self._bodies.values())

    def add(self, command: Command) -> None:
        """It goes to the engine."""
        match command.body:
            case Submit() | Continue() | RunShell() | Compact() | Set(key="model"):
                self._bodies[command.id] = command.body
            case Settle(choice=choice):
                self._bodies[command.id] = command.body
                if choice == "stop" or self._stays_lost:
                    self._stay_lost()
            case _:
                pass

    def take(self, event: Event, pending: Mapping[str, InputAccepted]) -> Submit | None:
        """What the engine says of them; what was typed, where it is given back."""
        match event.body:
            case InputReturned(input_id=returned, text=text):
                known = pending.get(returned)
                return Submit(text=text, images=known.images if known is not None else ())
            case Refused(command_id=refused):
                return self._refused(self._bodies.pop(refused, None))
            case InputAccepted() | SettingChanged():
                self._bodies.pop(event.cause, None)
            case TurnStarted() | TurnEnded():  # one turn is for all, and one that runs needs none
                self._drop_all(Continue, Settle)
                self._stays_lost = False
            case StatusChanged(activity="compacting"):
                self._drop(Compact, Set)
            case CallProposed(by="person", call_id=call):
                self._own_calls.add(call)
            case CallEnded(call_id=call) if call in self._own_calls:
                self._own_calls.remove(call)
                self._drop(RunShell)
            case _:
                pass
        return None

    def _refused(self, body: CommandBody | None) -> Submit | None:
        if isinstance(body, Settle):
            self._stay_lost()
        if isinstance(body, RunShell):
            return Submit(text=f"{'!' if body.to_context else '!!'}{body.command}")
        return body if isinstance(body, Submit) else None

    def _stay_lost(self) -> None:
        self._stays_lost = True
        self._drop_all(Settle)

    def _drop(self, *kinds: type[CommandBody]) -> bool:
        """The oldest of these kinds; False where there is none."""
        oldest = next((sent for sent, body in self._bodies.items() if isinstance(body, kinds)), None)
        return oldest is not None and self._bodies.pop(oldest) is not None

    def _drop_all(self, *kinds: type[CommandBody]) -> None:
        while self._drop(*kinds):
            pass
