"""The checkpointer of a session without checkpoints."""

# ruff: noqa: ARG002 - the names are those of the port

from collections.abc import Mapping, Sequence
from pathlib import Path

from checkpoints.types import (
    Cause,
    Checkpoint,
    CheckpointError,
    Choice,
    FileChange,
    Health,
    Kept,
    RollbackPlan,
    RollbackResult,
)


class NoCheckpointer:
    """Checkpoints were switched off; everything but `health` and `close` says so."""

    def health(self) -> Health:
        return Health(state="off")

    def hurry(self) -> None:
        return

    def add(self, folder: Path) -> None:
        return

    async def take(self, cause: Cause) -> Checkpoint:
        raise _off()

    async def changes_since(self, checkpoint_id: str) -> tuple[FileChange, ...]:
        raise _off()

    async def list(self, session: str | None = None) -> tuple[Checkpoint, ...]:
        return ()

    async def kept(self) -> Kept:
        raise _off()

    async def diff(self, older: str, newer: str | None = None, paths: Sequence[str] = ()) -> str:
        raise _off()

    async def plan(self, target: str, paths: Sequence[str] = ()) -> RollbackPlan:
        raise _off()

    async def rollback(
        self,
        target: str,
        *,
        paths: Sequence[str] = (),
        choices: Mapping[str, Choice] | None = None,
        default: Choice = "keep",
        session: str = "",
    ) -> RollbackResult:
        raise _off()

    async def redo(self, session: str = "") -> RollbackResult:
        raise _off()

    async def close(self) -> None:
        return


def _off() -> CheckpointError:
    return CheckpointError("checkpoints are off for this session (`--no-checkpoints`)")
