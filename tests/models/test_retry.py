import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.models.base import ErrorKind, ModelError
from agent_tui.models.retry import RULES, delay_before_retry, falls_back


def failure(kind: ErrorKind, retry_after_s: float | None = None) -> ModelError:
    return ModelError(kind=kind, message="no", retry_after_s=retry_after_s)


def delays(kind: ErrorKind, retry_after_s: float | None = None, jitter: float = 1.0) -> list[float | None]:
    error = failure(kind, retry_after_s)
    return [delay_before_retry(error, attempt, jitter=lambda: jitter) for attempt in range(1, 8)]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (ErrorKind.RATE_LIMIT, [2, 4, 8, 16, 32, 60, None]),
        (ErrorKind.OVERLOADED, [2, 4, 8, 16, 32, None, None]),
        (ErrorKind.UNAVAILABLE, [1, 2, 4, 8, None, None, None]),
        (ErrorKind.CONNECTION, [0.5, 1, 2, 4, None, None, None]),
        (ErrorKind.CUT, [0.5, 1, 2, 4, None, None, None]),
        (ErrorKind.TIMEOUT, [1, 2, 4, None, None, None, None]),
        (ErrorKind.STALLED, [1, 2, None, None, None, None, None]),
        (ErrorKind.MALFORMED, [1, 2, None, None, None, None, None]),
        (ErrorKind.QUOTA, [None] * 7),
        (ErrorKind.BAD_REQUEST, [None] * 7),
        (ErrorKind.NO_MODEL, [None] * 7),
        (ErrorKind.CONTEXT_OVERFLOW, [None] * 7),
        (ErrorKind.AUTH, [None] * 7),
        (ErrorKind.REFUSAL, [None] * 7),
    ],
)
def test_delays_per_class(kind: ErrorKind, expected: list[float | None]) -> None:
    assert delays(kind) == expected


def test_every_class_has_a_rule() -> None:
    assert set(RULES) == set(ErrorKind)


def test_a_stated_wait_is_kept_to() -> None:
    assert delays(ErrorKind.RATE_LIMIT, 3.0, jitter=0.0)[:2] == [3.0, 3.0]


def test_a_stated_wait_that_is_too_long_ends_the_attempts() -> None:
    assert delays(ErrorKind.RATE_LIMIT, 1152.0) == [None] * 7


@given(st.sampled_from(list(ErrorKind)), st.integers(1, 20), st.floats(0, 1), st.none() | st.floats(0, 1e6))
def test_a_delay_is_never_below_what_is_stated_nor_without_bound(
    kind: ErrorKind, attempt: int, jitter: float, stated: float | None
) -> None:
    delay = delay_before_retry(failure(kind, stated), attempt, jitter=lambda: jitter)
    if delay is not None:
        assert (stated or 0) <= delay <= 132


def test_only_failures_of_the_provider_fall_back() -> None:
    ours = {ErrorKind.BAD_REQUEST, ErrorKind.CONTEXT_OVERFLOW, ErrorKind.AUTH, ErrorKind.REFUSAL}
    assert {kind for kind in ErrorKind if not falls_back(failure(kind))} == {*ours, ErrorKind.NO_MODEL}
