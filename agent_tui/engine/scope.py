"""What one turn works with: the session, the ports, the orders, where output goes."""

from collections import deque
from pathlib import Path

from agent_tui.engine.by_hand import ByHand
from agent_tui.engine.events import ApprovalAsked, ApprovalDecided
from agent_tui.engine.ports import Ports
from agent_tui.engine.relay import Relay
from agent_tui.engine.session import Session
from agent_tui.engine.stop import Stop
from agent_tui.engine.types import Config
from agent_tui.engine.waits import Waits
from agent_tui.frozen import frozen
from context.budget import Window
from context.estimate import Meter


@frozen
class Scope:
    """One turn's surroundings; constant while it runs."""

    session: Session
    config: Config
    ports: Ports  # with the relay as their model
    relay: Relay
    stop: Stop
    waits: Waits
    meter: Meter
    artifacts: Path  # directory of spooled output
    boot_id: str
    answers: deque[str]  # for questions nobody can be asked, in order
    early: dict[str, tuple[ApprovalAsked, ApprovalDecided]]  # by call id: decided before the turn went on
    by_hand: ByHand

    @property
    def window(self) -> Window:
        """Of the model that answers now."""
        info = self.ports.model.info
        return Window(size=info.context_window, max_output=info.max_output)
