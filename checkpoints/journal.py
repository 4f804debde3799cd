"""The record of a running rollback: what it will do, and how far it came.

Written whole before the first change; a mark is appended after each step. A process killed at any
moment leaves either no journal (nothing happened, or all of it) or one that can be finished or
taken back.
"""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from agent_tui.frozen import frozen
from checkpoints.plainfile import read_plain
from checkpoints.states import Entry
from checkpoints.types import CheckpointError, CutRollback


@frozen
class Step:
    """One path and what it is to become; done when it is `after`, refused when it is neither."""

    path: bytes
    before: Entry | None
    after: Entry | None

    def reversed(self) -> "Step":
        """The step that takes this one back."""
        return Step(path=self.path, before=self.after, after=self.before)


class Journal:
    """One file; exists exactly while a rollback is under way or cut."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def begin(self, *, session: str, root: str, target: str, undo: str, steps: Iterable[Step]) -> None:
        """Write down what will be done. Raises OSError."""
        body = {
            "session": session,
            "root": root,
            "target": target,
            "undo": undo,
            "steps": [[os.fsdecode(step.path), _plain(step.before), _plain(step.after)] for step in steps],
        }
        temporary = self.path.with_suffix(".new")
        temporary.unlink(missing_ok=True)  # of a killed process
        with temporary.open("w") as stream:
            stream.write(json.dumps(body) + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(self.path)

    def mark(self, index: int) -> None:
        """Step number `index` is done."""
        with self.path.open("a") as stream:
            stream.write(f"{index}\n")

    def end(self) -> None:
        """The rollback is over."""
        self.path.unlink(missing_ok=True)

    def cut(self) -> CutRollback | None:
        """The rollback that was cut, if there is one; raises CheckpointError when it is unreadable."""
        found = self.read()
        if found is None:
            return None
        body, steps, done = found
        return CutRollback(target=body["target"], undo=body["undo"], done=len(done), total=len(steps))

    def read(self) -> tuple[dict[str, Any], list[Step], set[int]] | None:
        """Head, steps and the numbers of those that are done."""
        try:
            lines = read_plain(self.path).decode().splitlines()
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise CheckpointError(self._damaged) from error
        try:
            body = json.loads(lines[0])
            steps = [
                Step(path=os.fsencode(path), before=_entry(before), after=_entry(after))
                for path, before, after in body["steps"]
            ]
            return body, steps, {int(line) for line in lines[1:] if line.isdigit()}
        except (IndexError, KeyError, ValueError, TypeError) as error:
            raise CheckpointError(self._damaged) from error

    @property
    def _damaged(self) -> str:
        return (
            f"the journal `{self.path}` is damaged; remove it to go on: "
            "the newest checkpoint is the state before that rollback"
        )


def _plain(entry: Entry | None) -> list[Any] | None:
    return None if entry is None else [entry.mode, entry.oid.hex(), entry.permissions]


def _entry(plain: list[Any] | None) -> Entry | None:
    return None if plain is None else Entry(int(plain[0]), bytes.fromhex(plain[1]), int(plain[2]))
