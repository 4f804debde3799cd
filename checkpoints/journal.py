"""The record of a running rollback: what it will do, and how far it came.

Written whole before the first change; a mark is appended after each step. A process killed at any
moment leaves either no journal (nothing happened, or all of it) or one that can be finished or
taken back.
"""

import json
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from agent_tui.frozen import frozen
from checkpoints.plainfile import read_plain
from checkpoints.states import Entry
from checkpoints.types import CheckpointError, CutRollback


class DamagedJournalError(CheckpointError):
    """A journal that tells nothing; the text names it. `Joined.set_aside_damaged` takes it out of the way."""


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

    def set_aside(self) -> Path:
        """Move a damaged one out of the way; where it lies then. Raises CheckpointError."""
        aside = self.path.with_name(f"{self.path.name}.damaged-{int(time.time())}")
        try:
            self.path.rename(aside)
        except OSError as error:
            raise CheckpointError(f"`{self.path}` cannot be moved away: {error.strerror}") from error
        return aside

    def cut(self) -> CutRollback | None:
        """The rollback that was cut, if there is one; raises DamagedJournalError."""
        found = self.read()
        if found is None:
            return None
        head, steps, done = found
        return CutRollback(target=head["target"], undo=head["undo"], done=len(done), total=len(steps))

    def read(self) -> tuple[dict[str, str], list[Step], set[int]] | None:
        """Head, steps and the numbers of those that are done. Raises DamagedJournalError."""
        try:
            lines = read_plain(self.path).decode().splitlines()
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise DamagedJournalError(self._damaged) from error
        try:
            body = json.loads(lines[0])
            head = {name: str(body[name]) for name in ("session", "root", "target", "undo")}
            steps = [
                Step(path=os.fsencode(path), before=_entry(before), after=_entry(after))
                for path, before, after in body["steps"]
            ]
            return head, steps, {int(line) for line in lines[1:] if line.isdigit()}
        except (IndexError, KeyError, ValueError, TypeError, RecursionError) as error:
            raise DamagedJournalError(self._damaged) from error

    @property
    def _damaged(self) -> str:
        return f"the journal of a cut rollback is damaged: `{self.path}`; the next start sets it aside"


def _plain(entry: Entry | None) -> list[Any] | None:
    return None if entry is None else [entry.mode, entry.oid.hex(), entry.permissions]


def _entry(plain: list[Any] | None) -> Entry | None:
    return None if plain is None else Entry(int(plain[0]), bytes.fromhex(plain[1]), int(plain[2]))
