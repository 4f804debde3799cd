"""A workspace and the writable folders beside it: recorded at the same moments, restored together.

Each folder has a store of its own. Checkpoints people see are those of the workspace; the ones beside
name it as `joint`. Paths beside the workspace are absolute.
"""

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from checkpoints.catalog import Row
from checkpoints.diff import changes, unified
from checkpoints.journal import DamagedJournalError
from checkpoints.paths import selected_paths
from checkpoints.rollback import AfterStep, Request, Rollback
from checkpoints.states import covered_pairs
from checkpoints.types import (
    Author,
    Cause,
    CheckpointError,
    Conflict,
    CutRollback,
    FileChange,
    Operation,
    Phase,
    RollbackPlan,
    RollbackResult,
    Uncovered,
)
from checkpoints.workspace import Recorded, Workspace

_Named = TypeVar("_Named", Operation, Conflict, Uncovered)


@dataclass(frozen=True, slots=True)
class Joined:
    """Methods raise CheckpointError; nothing here is for two threads at once."""

    main: Workspace
    beside: tuple[Workspace, ...] = ()

    def remember(self) -> None:
        """Note the folders beside, so that commands know them without the session's settings."""
        if self.beside:
            names = [os.fspath(one.home.root) for one in self.beside]
            self.main.catalog.set_meta(f"beside:{self.main.session}", json.dumps(names))

    def first_import(self) -> None:
        """Read all for the first time."""
        for one in (self.main, *self.beside):
            one.first_import()

    def let_go(self) -> None:
        """Close all without saving: what would be saved into is gone."""
        for one in (*self.beside, self.main):
            one.let_go()

    def close(self) -> None:
        """Close all."""
        for one in (*self.beside, self.main):
            one.close()

    def record(self, cause: Cause, early: Callable[[Recorded], None] | None = None) -> Recorded:
        """Take a checkpoint of each; one that fails beside the workspace is named as uncovered. Where there
        is none beside, `early` is told of it before it is on disk."""
        taken = self.main.record(cause, early if not self.beside else None)
        found, uncovered = list(taken.changes), list(taken.row.uncovered)
        for one in self.beside:
            try:
                other = one.record(replace(cause, joint=taken.row.id))
            except CheckpointError as error:
                uncovered.append(Uncovered(path=os.fspath(one.home.root), reason=str(error)))
                continue
            found += _absolute_changes(one, other.changes)
            uncovered += _absolute(one, other.row.uncovered)
        return Recorded(row=replace(taken.row, uncovered=tuple(uncovered)), changes=tuple(found))

    def compared(
        self, older: Row, newer: Row | None, paths: Sequence[str] = ()
    ) -> tuple[tuple[FileChange, ...], str]:
        """Changed files and unified text between two checkpoints, or one and now."""
        found, text = _compared(self.main, older, newer, self._of(self.main, paths))
        for one in self._wanted(paths):
            before, after = counterpart(one, older), counterpart(one, newer) if newer else None
            if before is None or (newer is not None and after is None):
                continue
            more, piece = _compared(one, before, after, self._of(one, paths))
            found += _absolute_changes(one, more)
            text += f"# in {one.home.root}\n{piece}" if piece else ""
        return found, text

    def plan(self, target: Row, paths: Sequence[str] = ()) -> RollbackPlan:
        """What a rollback would do."""
        chosen = self._of(self.main, paths)
        plan = (
            Rollback(self.main).plan(target.id, chosen)
            if chosen is not None
            else RollbackPlan(target=target.id, operations=(), conflicts=())
        )
        for one in self._wanted(paths):
            row = counterpart(one, target)
            if row is None:
                gap = Uncovered(path=os.fspath(one.home.root), reason="no checkpoint of then")
                plan = replace(plan, uncovered=(*plan.uncovered, gap))
                continue
            more = Rollback(one).plan(row.id, self._of(one, paths) or ())
            plan = replace(
                plan,
                operations=(*plan.operations, *_absolute(one, more.operations)),
                conflicts=(*plan.conflicts, *_absolute(one, more.conflicts)),
                kept=(*plan.kept, *_absolute_names(one, more.kept)),
                uncovered=(*plan.uncovered, *_absolute(one, more.uncovered)),
            )
        return plan

    def run(self, request: Request, after_step: AfterStep = lambda *_: None) -> RollbackResult:
        """Go back: the workspace first, then the folders beside it."""
        target = self.main.resolve(request.target)
        mine = self._of(self.main, request.paths)
        asked = replace(request, paths=tuple(mine or ()), nothing=mine is None)
        result = Rollback(self.main, after_step).run(asked)
        for one in self._wanted(request.paths):
            row = counterpart(one, target)
            if row is None:
                continue
            prefix = os.fspath(one.home.root) + "/"
            choices = {path.removeprefix(prefix): choice for path, choice in request.choices.items()}
            asked = replace(
                request,
                target=row.id,
                paths=tuple(self._of(one, request.paths) or ()),
                choices=choices,
                joint=result.undo,
            )
            result = _with(result, one, Rollback(one, after_step).run(asked))
        return result

    def redo(self, session: str = "", after_step: AfterStep = lambda *_: None) -> RollbackResult:
        """Take the newest rollback back."""
        done = Rollback(self.main).to_redo(session)
        result = Rollback(self.main, after_step).redo(session)
        for one in self.beside:
            other = Rollback(one).to_redo(self.main.session)
            if done is not None and other is not None and other.cause.joint == done.undo:
                result = _with(result, one, Rollback(one, after_step).redo(self.main.session))
        return result

    def set_aside_damaged(self) -> list[str]:
        """Move journals of cut rollbacks that tell nothing out of the way; a line about each."""
        return [line for one in (self.main, *self.beside) if (line := _set_aside(one))]

    def cut(self) -> CutRollback | None:
        """What a killed process left of a rollback, anywhere."""
        return next((cut for one in (self.main, *self.beside) if (cut := one.journal.cut())), None)

    def recover(self, *, complete: bool) -> RollbackResult | None:
        """Finish or take back what a killed process left, everywhere; tells of the workspace."""
        for one in self.beside:
            Rollback(one).recover(complete=complete)
        return Rollback(self.main).recover(complete=complete)

    def _of(self, one: Workspace, paths: Sequence[str]) -> tuple[str, ...] | None:
        """The chosen paths that lie in a folder; None when there are some, but none in it."""
        if not paths:
            return ()
        found = []
        for path in paths:
            full = Path(os.path.normpath(self.main.home.root / path))
            owner = next((other for other in self.beside if full.is_relative_to(other.home.root)), self.main)
            if owner is one:
                found.append(os.fspath(full))
        return tuple(found) or None

    def _wanted(self, paths: Sequence[str]) -> list[Workspace]:
        return [one for one in self.beside if self._of(one, paths) is not None]


def _set_aside(one: Workspace) -> str:
    with one.locked(alone=True, what="a look at a cut rollback"):
        try:
            one.journal.read()
        except DamagedJournalError:
            aside = one.journal.set_aside()
        else:
            return ""
    before = one.catalog.newest(Phase.BEFORE_ROLLBACK, one.home.below)
    state = f"; checkpoint {before.id} is the state before it" if before else ""
    return f"the journal of a cut rollback was damaged and lies in `{aside}` now{state}"


def counterpart(beside: Workspace, row: Row) -> Row | None:
    """The checkpoint of a folder beside that was taken with one of the workspace, or the last before."""
    found = None
    for other in beside.catalog.since(row.session, 0):
        session, _, seq = other.cause.joint.rpartition("/")
        if session == row.session and int(seq) <= row.seq:
            found = other
    return found


def _compared(
    core: Workspace, older: Row, newer: Row | None, paths: Sequence[str] | None
) -> tuple[tuple[FileChange, ...], str]:
    before = core.state(older)
    after = core.state(newer) if newer else core.now()
    if paths is None:
        return (), ""
    pairs = covered_pairs(core.trees, before, after)
    found = changes(core.trees, before, after, pairs, lambda _: Author.AGENT)
    return found, unified(core.trees.store, before, after, pairs, found, selected_paths(core.root, paths))


def _with(result: RollbackResult, one: Workspace, more: RollbackResult) -> RollbackResult:
    return replace(
        result,
        changed=(*result.changed, *_absolute_changes(one, more.changed)),
        kept=(*result.kept, *_absolute_names(one, more.kept)),
        mismatches=(*result.mismatches, *_absolute_names(one, more.mismatches)),
        failed=(*result.failed, *_absolute_names(one, more.failed)),
        merged_with_markers=(*result.merged_with_markers, *_absolute_names(one, more.merged_with_markers)),
        merged=(*result.merged, *_absolute_names(one, more.merged)),
    )


def _absolute(one: Workspace, named: Iterable[_Named]) -> tuple[_Named, ...]:
    root = os.fspath(one.home.root)
    return tuple(
        replace(entry, path=root if entry.path == "." else f"{root}/{entry.path}") for entry in named
    )


def _absolute_changes(one: Workspace, found: Iterable[FileChange]) -> tuple[FileChange, ...]:
    root = os.fspath(one.home.root)
    return tuple(
        replace(
            change, path=f"{root}/{change.path}", old_path=change.old_path and f"{root}/{change.old_path}"
        )
        for change in found
    )


def _absolute_names(one: Workspace, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{one.home.root}/{name}" for name in names)
