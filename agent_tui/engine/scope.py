"""What one turn works with: the session, the ports, the orders, where output goes."""

from collections import deque
from dataclasses import dataclass
from pathlib import Path

from agent_tui.engine.events import ApprovalAsked, ApprovalDecided
from agent_tui.engine.ports import Ports
from agent_tui.engine.session import Session
from agent_tui.engine.stop import Stop
from agent_tui.engine.types import Config
from agent_tui.engine.waits import Waits
from context.budget import Window
from context.estimate import Meter


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """One turn's surroundings; constant while it runs."""

    session: Session
    config: Config
    ports: Ports
    stop: Stop
    waits: Waits
    meter: Meter
    window: Window
    artifacts: Path  # directory of spooled output
    boot_id: str
    answers: deque[str]  # for questions nobody can be asked, in order
    early: dict[str, tuple[ApprovalAsked, ApprovalDecided]]  # by call id: decided before the turn went on
