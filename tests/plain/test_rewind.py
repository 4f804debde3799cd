"""Going back in a session: what is offered."""

from pathlib import Path
from typing import Any

import pytest

from agent_tui.engine.commands import Rollback, Subject
from tests.plain.test_app import FakeLines, answering, run


async def test_a_rewind_lists_messages_and_calls_of_this_session_that_changed_something(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def taken(seq: int, phase: str, **more: object) -> dict[str, object]:
        cause = {"phase": phase, "summary": f"make {seq}"}
        return {"id": f"7f3a/{seq}", "cause": cause, "created_at": 0.0, **more}

    changed = [{"path": "a.py"}]
    found = [
        taken(6, "turn_end"),
        taken(5, "after_call", changes=changed),
        taken(4, "before_call"),
        taken(3, "before_call", after=changed),
        taken(2, "before_call"),
        taken(1, "turn_start"),
    ]
    answers: dict[Subject, Any] = {
        Subject.CHECKPOINTS: found,
        Subject.ROLLBACK_PLAN: {"conflicts": [], "operations": []},
        Subject.GRANTS: [],
    }
    engine = await run(tmp_path, FakeLines(["/rewind", "3", "3", "/quit"]), answering(answers))
    said = capsys.readouterr().out
    assert [line.partition(",")[0].strip() for line in said.splitlines() if "make" in line] == [
        "1. 7f3a/4", "2. 7f3a/3", "3. 7f3a/1",
    ]  # fmt: skip
    assert [body.checkpoint_id for body in engine.sent if isinstance(body, Rollback)] == ["7f3a/1"]
