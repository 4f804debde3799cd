"""A task is planned by one model and carried out by another, where a planner is set.

The planner answers until the task has a plan or a change; then the chosen model goes on. The change of
model costs the cache once a task, and no reasoning of the one is sent to the other.
"""

from agent_tui.engine import room
from agent_tui.engine.events import NoticeRaised
from agent_tui.engine.scope import Scope
from context.items import NoticeItem

PLAN = (
    "You plan this task. Read what you need; where something is to be done, store the plan with "
    "`update_plan` and change nothing: another model carries it out. A question you answer yourself"
)
CARRY_OUT = "Planning has ended; from here on you carry the task out"


def plan_notice(scope: Scope, ahead: int) -> list[NoticeItem]:
    """What the planner is told at the start of a task."""
    if not scope.relay.is_planning:
        return []
    return [NoticeItem(id=scope.session.item_id("n", ahead=ahead), text=PLAN)]


def carry_out_notice(scope: Scope) -> NoticeItem:
    """What the model after the planner is told, also where the planner failed."""
    return NoticeItem(id=scope.session.item_id("n"), text=CARRY_OUT)


async def hand_over(scope: Scope) -> None:
    """Before a request: let the chosen model go on once there is something to carry out."""
    relay = scope.relay
    if not relay.is_planning:
        return
    if scope.session.fold.is_planned:
        planner = relay.info.name
        relay.hand_over()
        scope.meter.forget()
        notice = carry_out_notice(scope)
        told = NoticeRaised(text=f"`{planner}` has planned; `{relay.info.name}` carries it out")
        await scope.session.commit(notice, told)
    scope.session.show(room.of_model(relay.info))
