"""Facts that line mode lists."""

import pytest

from agent_tui.engine.types import EndReason
from agent_tui.plain import facts


@pytest.mark.parametrize(
    ("ended", "word"),
    [
        ("completed_unverified", "done"),
        ("budget_time", "limit"),
        ("model_rejected", "failed"),
        ("running", "crashed"),
    ],
)
def test_how_a_session_ended_is_a_word(ended: str, word: str) -> None:
    line = facts.session({"id": "7f3a", "title": "mend it", "turns": 2, "ended": ended}, here="")
    assert line.endswith(f", {word}")


@pytest.mark.parametrize("reason", EndReason)
def test_no_reason_is_shown_as_it_is_stored(reason: EndReason) -> None:
    assert "_" not in facts.session({"id": "7f3a", "ended": str(reason)}, here="")
