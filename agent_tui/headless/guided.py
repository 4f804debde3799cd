"""The demo without a person: shows a run, allows what asks, takes everything back, and proves it.

Everything but the model is real: the loop, the sandbox, the approvals, the checkpoints.
"""

import hashlib
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TypeVar

from agent_tui.engine.commands import Command, CommandBody, Decide, Engine, Rollback, Shutdown, Submit
from agent_tui.engine.events import (
    ApprovalAsked,
    ApprovalDecided,
    CheckpointTaken,
    Event,
    Refused,
    RolledBack,
    SessionClosed,
    TurnEnded,
)
from agent_tui.engine.types import Decision
from agent_tui.headless.progress import Progress
from agent_tui.safe_text import one_line, visible
from checkpoints.types import Phase

FAILED_CODE = 1
_Body = TypeVar("_Body")


class Guided:
    """One guided run in a directory that is a copy."""

    def __init__(self, engine: Engine, directory: Path, prompt: str) -> None:
        self._engine = engine
        self._directory = directory
        self._prompt = prompt
        self._progress = Progress(sys.stdout)
        self._commands = 0
        self._checkpoint = ""

    async def run(self) -> int:
        """Run, roll back, compare; 0 when the task was done and the tree is as it was."""
        events = aiter(self._engine.events())
        before = tree_digest(self._directory)
        self._progress.say(f"› {self._prompt}\n")
        self._send(Submit(text=self._prompt))
        ended = await self._until(events, TurnEnded)
        if ended.text:
            self._progress.say("\n" + visible(ended.text).strip())
        changed = tree_digest(self._directory) != before
        code = ended.exit_code or (0 if changed else FAILED_CODE)
        if code == 0:
            code = await self._take_back(events, before)
        self._send(Shutdown(why="demo done"))
        await self._until(events, SessionClosed)
        return code

    async def _take_back(self, events: AsyncIterator[Event], before: str) -> int:
        self._progress.say(f"\nNow everything is taken back: `agent-tui rollback {self._checkpoint}`")
        self._send(Rollback(checkpoint_id=self._checkpoint))
        rolled = await self._until(events, RolledBack)
        for change in rolled.files.changed if rolled.files else ():
            self._progress.say(f"  {change.kind} {one_line(change.path)}")
        after = tree_digest(self._directory)
        self._progress.say(f"  tree before  {before}\n  tree now     {after}")
        if after != before:
            self._progress.say("✗ the tree is not what it was")
            return FAILED_CODE
        self._progress.say("● the tree is exactly what it was")
        return 0

    async def _until(self, events: AsyncIterator[Event], kind: type[_Body]) -> _Body:
        async for event in events:
            if not isinstance(event.body, ApprovalDecided):  # by no person: `_allow` told it
                self._progress.show(event)
            match event.body:
                case CheckpointTaken(checkpoint=taken) if taken.cause.phase is Phase.TURN_START:
                    self._checkpoint = taken.id
                case ApprovalAsked() as asked:
                    self._allow(asked)
                case Refused(reason=reason):
                    raise RuntimeError(f"the engine refused: {reason}")
                case _:
                    pass
            if isinstance(event.body, kind):
                return event.body
        raise RuntimeError("the engine ended early")

    def _allow(self, asked: ApprovalAsked) -> None:
        self._progress.say(f"? {self._progress.named(asked.call_id)} · {one_line(asked.why)}")
        self._progress.say("  allowed once, by `--yes`")
        decision = Decide(approval_id=asked.approval_id, decision=Decision.ONCE, digest=asked.digest)
        self._send(decision)

    def _send(self, body: CommandBody) -> None:
        self._commands += 1
        self._engine.send(Command(id=f"demo{self._commands}", body=body))


def tree_digest(directory: Path) -> str:
    """Over names, kinds, modes and contents of everything below a directory, 16 characters."""
    digest = hashlib.sha256()
    for folder, folders, files in os.walk(directory):
        folders.sort()
        for name in sorted(files):
            path = Path(folder) / name
            mode = path.lstat().st_mode
            content = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes()
            digest.update(f"{path.relative_to(directory)}\0{mode:o}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:16]
