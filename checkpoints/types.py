"""Checkpoints of the workspace as the engine and the commands see them. Pure data."""

from enum import StrEnum
from pathlib import Path
from typing import Literal

from agent_tui.frozen import frozen

ChangeKind = Literal["A", "M", "D", "R", "X"]  # added, modified, deleted, renamed, mode only


class Phase(StrEnum):
    """The moment a checkpoint belongs to."""

    TURN_START = "turn_start"
    BEFORE_CALL = "before_call"
    AFTER_CALL = "after_call"  # after all calls of a wave
    TURN_END = "turn_end"
    BEFORE_ROLLBACK = "before_rollback"
    AFTER_ROLLBACK = "after_rollback"


class Author(StrEnum):
    """Who made a change, as far as it can be told."""

    AGENT = "agent"
    TERMINAL = "terminal"  # a live exec session, or external: cannot be told apart
    EXTERNAL = "external"
    ROLLBACK = "rollback"


@frozen
class FileChange:
    """One changed path; `path` is relative to the workspace, undecodable bytes as surrogates."""

    path: str
    kind: ChangeKind
    added: int | None = None  # lines; None for binary, links and modes
    removed: int | None = None
    old_path: str | None = None
    detail: str = ""  # "binary, 14 KB → 15 KB", "mode 644 → 755", "link v1 → v2"
    author: Author = Author.AGENT


@frozen
class Uncovered:
    """A path that a checkpoint does not hold, and why."""

    path: str
    reason: str  # "14 MB" of one that is too large, "unreadable", "socket" …
    since: str = ""  # what became of it since a checkpoint: "changed 13:55", "not there then" …

    @property
    def told(self) -> str:
        """All that is known of it, for one that a rollback leaves alone."""
        return "; ".join(filter(None, (f"{self.reason}, not covered by undo", self.since)))


@frozen
class Cause:
    """Why a checkpoint is taken: recorded with it and shown in lists."""

    phase: Phase
    session: str
    turn: int = 0
    step: int = 0
    call_id: str = ""
    tool: str = ""
    summary: str = ""  # the message, the command or the paths, one line
    model: str = ""
    touched: tuple[str, ...] = ()  # paths a file tool is about to write, whatever the ignore rules
    only_touched: bool = False  # the calls can have written nothing but `touched`
    terminals: tuple[str, ...] = ()  # live processes that may write at any time
    joint: str = ""  # of a folder beside the workspace: the workspace's checkpoint of the same moment


@frozen
class Checkpoint:
    """A recorded state of the workspace that can be restored."""

    id: str  # SESSION/SEQ, never changes
    session: str
    seq: int
    created_at: float  # UTC seconds
    cause: Cause
    tree: str  # object id of the content
    changes: tuple[FileChange, ...] = ()  # since the checkpoint before it in this session
    after: tuple[FileChange, ...] = ()  # until the next one of this session; in lists only
    uncovered: tuple[Uncovered, ...] = ()
    broken: str = ""  # why it cannot be restored any more; empty: it can


@frozen
class Health:
    """State of the checkpoint engine for the status line."""

    state: Literal["ok", "importing", "file_tools_only", "off", "failed"]
    detail: str = ""
    done_files: int = 0
    total_files: int = 0
    going_back: tuple[int, int] | None = None  # while a rollback writes: files that are done, and all


@frozen
class Kept:
    """What the checkpoints of a workspace take, and for how long they are kept."""

    size_bytes: int  # on disk
    days: float  # after the newest of a session


Action = Literal["write", "delete", "mode", "link", "mkdir", "rmdir"]
Choice = Literal["keep", "take", "merge"]


@frozen
class Operation:
    """One step of a rollback."""

    action: Action
    path: str
    detail: str = ""
    creates: bool = False  # nothing is there now


@frozen
class Conflict:
    """A path whose last change since the target is not the agent's; kept unless chosen otherwise."""

    path: str
    author: Author
    changed_at: float | None
    reason: str
    detail: str = ""  # what is different now, as of an `Operation`


@frozen
class RollbackPlan:
    """The exact list of what a rollback would do; nothing has been changed yet."""

    target: str  # checkpoint id
    operations: tuple[Operation, ...]
    conflicts: tuple[Conflict, ...]
    kept: tuple[str, ...] = ()  # files not made by the agent: they stay
    uncovered: tuple[Uncovered, ...] = ()
    head_moved: str = ""  # "main 1a2b3c4 → 5d6e7f8" when the user's HEAD moved since


@frozen
class RollbackResult:
    """What a rollback did; `undo` is the checkpoint taken before it, the target of a redo."""

    target: str
    undo: str
    changed: tuple[FileChange, ...]
    kept: tuple[str, ...]
    mismatches: tuple[str, ...] = ()  # paths whose verification failed, each with the reason
    failed: tuple[str, ...] = ()  # these paths alone
    merged_with_markers: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()  # all that hold the user's text beside the checkpoint's: equal to neither


@frozen
class CutRollback:
    """A rollback that did not come to its end, because its process was killed."""

    target: str
    undo: str
    done: int  # steps
    total: int


@frozen
class WorkspaceKey:
    """Identity of a workspace root in the state directory: device, inode and real path."""

    root: Path
    key: str


class CheckpointError(Exception):
    """A checkpoint or rollback cannot be had; the text says what, where and what to do."""


class NotThereError(CheckpointError):
    """What was asked for does not exist here: the fault is in the question; the text says what to ask."""


class WorkspaceBusyError(CheckpointError):
    """Another process holds the workspace lock; the text names it."""
