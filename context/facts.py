"""What is known of each finished call beyond its text; filled by the engine from outcomes."""

from typing import Literal

from agent_tui.frozen import frozen

CallKind = Literal["read", "search", "write", "exec", "poll", "other"]


@frozen
class PathChange:
    """One changed path of a call, with the hash of its content afterwards (empty: deleted)."""

    path: str
    kind: Literal["A", "M", "D", "R", "X"]
    sha256: str = ""


@frozen
class CallFact:
    """One call: what it was about, what came out, where the rest is."""

    call_id: str
    tool: str
    kind: CallKind
    step: int
    target: str  # what a card names: the command, path or pattern
    key: str  # equal keys mean the same call: canonical arguments, cwd, environment overrides
    status: str  # an outcome status such as "succeeded"
    first_line: int | None = None  # of a read; None: from the start
    last_line: int | None = None  # of a read; None: to the end
    exit_code: int | None = None
    changes: tuple[PathChange, ...] = ()
    checkpoint_id: str = ""
    artifact: str = ""
    total_bytes: int = 0
    total_lines: int = 0
    sha256: str = ""  # of the text given to the model
    first_error: str = ""
    failing_tests: tuple[str, ...] = ()
    terminal: str = ""
    is_check: bool = False  # a test, build or lint command, or the contract's own
    denial_text: str = ""  # what the person said when they denied it
    answer: str = ""  # what the person was asked by it and answered

    @property
    def passed(self) -> bool:
        """Whether it did what was asked."""
        return self.status == "succeeded" and self.exit_code in (None, 0)
