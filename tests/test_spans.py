"""What spans of a session do not tell."""

from pathlib import Path

from agent_tui.engine.events import (
    Body,
    CallProposed,
    Event,
    SessionStarted,
    StepStarted,
    TurnEnded,
    TurnStarted,
)
from agent_tui.engine.types import EndReason
from agent_tui.spans import Spans
from context.items import Usage


def test_what_a_model_names_in_place_of_a_tool_and_where_a_model_lies_stay_here(tmp_path: Path) -> None:
    bodies: tuple[Body, ...] = (
        SessionStarted(session_id="s", workspace="/w", model=f"replay/{tmp_path}/talk.jsonl"),
        TurnStarted(task_id="t1", run_id="r1"),
        StepStarted(step_id="r1.1", number=1),
        CallProposed(call_id="c1", step_id="r1.1", tool="cat /PLANTED", arguments="{}"),
        TurnEnded(
            run_id="r1",
            reason=EndReason.COMPLETED,
            sentence="",
            exit_code=0,
            usage=Usage(),
            cost_usd=None,
            steps=1,
            duration_s=1.0,
        ),
    )
    spans = Spans()
    events = [Event(seq=seq, at=1.0, run_id="r1", body=body) for seq, body in enumerate(bodies, 1)]
    (line,) = [line for event in events for line in spans.lines(event)]
    assert "PLANTED" not in line and str(tmp_path) not in line
    assert '"execute_tool unknown"' in line and '"chat replay/talk.jsonl"' in line
