"""Which failures are sent again, when, and which let another model take over; pure.

Waiting is the loop's: it shows the delay and can be interrupted. A retry sends the same bytes.
"""

import random
from collections.abc import Callable, Mapping

from agent_tui.frozen import frozen
from agent_tui.models.base import ErrorKind, ModelError


@frozen
class Rule:
    """How one class of failure is treated; `retries` is the number of further attempts."""

    retries: int = 0
    first_delay_s: float = 1.0
    falls_back: bool = False


RULES: Mapping[ErrorKind, Rule] = {
    ErrorKind.TIMEOUT: Rule(retries=3, falls_back=True),
    ErrorKind.STALLED: Rule(retries=2, falls_back=True),
    ErrorKind.CUT: Rule(retries=4, first_delay_s=0.5, falls_back=True),
    ErrorKind.CONNECTION: Rule(retries=4, first_delay_s=0.5, falls_back=True),
    ErrorKind.RATE_LIMIT: Rule(retries=6, first_delay_s=2.0, falls_back=True),
    ErrorKind.OVERLOADED: Rule(retries=5, first_delay_s=2.0, falls_back=True),
    ErrorKind.UNAVAILABLE: Rule(retries=4, falls_back=True),
    ErrorKind.MALFORMED: Rule(retries=2, falls_back=True),
    ErrorKind.QUOTA: Rule(falls_back=True),
    ErrorKind.BAD_REQUEST: Rule(),
    ErrorKind.NO_MODEL: Rule(),
    ErrorKind.CONTEXT_OVERFLOW: Rule(),  # answered by an epoch, not by the same bytes
    ErrorKind.AUTH: Rule(),
    ErrorKind.REFUSAL: Rule(),
}

MAX_DELAY_S = 60.0
MAX_STATED_DELAY_S = 120.0  # a longer Retry-After ends the attempts: the person decides


def delay_before_retry(
    error: ModelError, attempt: int, *, jitter: Callable[[], float] = random.random
) -> float | None:
    """Seconds to wait after failed attempt number `attempt` (from 1); None: do not send again.

    A stated Retry-After is kept to, plus up to a tenth so that many clients do not return at once;
    without one the delay doubles, half of it random. `jitter` gives a number in 0..1.
    """
    rule = RULES[error.kind]
    if attempt > rule.retries:
        return None
    if error.retry_after_s is not None:
        if error.retry_after_s > MAX_STATED_DELAY_S:
            return None
        return error.retry_after_s * (1 + 0.1 * jitter())
    delay: float = min(MAX_DELAY_S, rule.first_delay_s * 2 ** (attempt - 1))
    return delay * (0.5 + 0.5 * jitter())


def falls_back(error: ModelError) -> bool:
    """Another model may take over once the attempts are used up: never after our own mistake."""
    return RULES[error.kind].falls_back
