"""What the reading tools share: how the gate sees them, and how they run."""

from collections.abc import Callable

from sandbox.policy import Policy
from tools.command_line.keys import path_key
from tools.paths import Need, grant_for, place_of, reading_need, shown
from tools.threads import in_thread
from tools.types import (
    Assessment,
    CallClass,
    Effects,
    Grant,
    Invocation,
    Outcome,
    OutcomeStatus,
    PathSet,
)

TIMEOUT_S = 60.0  # a read that takes longer hangs on something


def assess_read(path: str, policy: Policy, *, verb: str, named: str = "") -> Assessment:
    """Reading a path: free in the workspace, a grant outside it, never the agent's own state. `named` stands
    for the call on screen in place of the path."""
    place = place_of(path, policy)
    need = reading_need(place, policy)
    grant = grant_for(need, writing=False)
    call_class = CallClass.AUTO
    if need is not None:
        call_class = CallClass.REJECT if need.never else CallClass.ASK
    return Assessment(
        action="read",
        call_class=call_class,
        reason=need.reason if need else f"{verb} `{shown(place, policy)}`",
        shown=named or path,
        effects=Effects(reads=PathSet(paths=(place,)), writes=PathSet(), network=False, idempotent=True),
        keys=(path_key("read", place, policy.workspace),),
        read_only=True,
        grant=grant,
        grant_detail=str(place) if grant is not Grant.NONE else "",
    )


def refused(need: Need) -> Outcome:
    """The path leads elsewhere than when the call was judged."""
    return Outcome(status=OutcomeStatus.FAILED, text=f"Not read: {need.reason}")


async def read_in_thread(work: Callable[[], Outcome], invocation: Invocation) -> Outcome:
    """Run in a thread; a hung read is left behind and answered."""
    timeout_s = min(TIMEOUT_S, invocation.timeout_s or TIMEOUT_S)
    try:
        return await in_thread(work, timeout_s=timeout_s)
    except TimeoutError:
        return Outcome(
            status=OutcomeStatus.TIMED_OUT, text=f"No answer of the file system within {timeout_s:g} s"
        )
    except OSError as error:
        return Outcome(status=OutcomeStatus.FAILED, text=f"Failed: {error}")
