"""What stays in the shell's scrollback."""

from agent_tui.tui import leaving
from agent_tui.tui.state import State


def test_a_session_that_is_not_kept_promises_nothing() -> None:
    session = State(
        session_id="7f3a", last_answer="Done.", first_checkpoint="7f3a/1", changed_paths={"a.py": None}
    )
    assert leaving.text(session, is_kept=False) == "Done.\n"
    assert "resume 7f3a" in leaving.text(session)
    assert "rollback 7f3a/1" in leaving.text(session)
