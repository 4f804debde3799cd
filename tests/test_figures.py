"""Amounts in figures."""

import pytest

from agent_tui import figures


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1_000, "1.0k"),
        (9_940, "9.9k"),
        (9_960, "10k"),
        (272_000, "272k"),
        (999_400, "999k"),
        (999_600, "1.0M"),
        (2_000_000, "2.0M"),
    ],
)
def test_tokens_take_the_unit_that_they_round_to(count: int, text: str) -> None:
    assert figures.tokens(count) == text
