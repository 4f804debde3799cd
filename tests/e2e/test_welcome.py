"""What an empty session says of the place it begins in."""

from tests.e2e.screen import start
from tests.model_server.fixture import ModelServer
from tests.program import Program


def test_the_files_that_git_has_otherwise_are_counted(program: Program, model_server: ModelServer) -> None:
    (program.workspace / "calc.py").write_text("other\n")
    (program.workspace / "new.txt").write_text("new\n")
    with start(program, model_server) as screen:
        shown = screen.shows("branch", "changed", "Say what you want done")
        assert "branch main, 2 files changed" in " ".join(shown.split())  # a long path wraps it
        assert "also works in this directory" not in shown
        with start(program, model_server) as second:
            second.shows("also works in this directory; its edits will show as external", "ready")
            second.leave()
        screen.leave()
