"""Going back: plan, checkpoint before, journal, restore, verify; and taking that back again."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import count

from agent_tui.frozen import frozen
from checkpoints.attribution import history
from checkpoints.catalog import Row
from checkpoints.diff import changes, is_selected
from checkpoints.journal import Step
from checkpoints.merging import merged_step
from checkpoints.objects import CLONE, FOLDER
from checkpoints.paths import exists_below, is_hard_link, selected_paths
from checkpoints.places import Places
from checkpoints.plan import Draft, Evidence, chosen, draft, feasible, operation
from checkpoints.restore import Restore
from checkpoints.snapshot import State
from checkpoints.states import Entry, covered_pairs, shown
from checkpoints.store import DamagedStoreError
from checkpoints.types import (
    Author,
    Cause,
    CheckpointError,
    Choice,
    CutRollback,
    FileChange,
    NotThereError,
    Phase,
    RollbackPlan,
    RollbackResult,
)
from checkpoints.workspace import Rolled, Workspace

_HELD_BYTES = 16 << 20  # of the contents of a rollback in memory


@frozen
class Request:
    """What is asked for."""

    target: str
    paths: tuple[str, ...] = ()
    choices: Mapping[str, Choice]
    default: Choice = "keep"
    asked_by: str = ""  # another session than the target's
    joint: str = ""  # of a folder beside the workspace: the workspace's checkpoint before the rollback
    nothing: bool = False  # checkpoints only: all that was chosen lies elsewhere


AfterStep = Callable[[int, int], None]


class Rollback:
    """Rollbacks of one workspace; `after_step` is called after the journal is there and after each durable
    step, with how many are done and how many there are."""

    def __init__(self, workspace: Workspace, after_step: AfterStep = lambda *_: None) -> None:
        self._workspace = workspace
        self._after_step = after_step

    # --- looking ----------------------------------------------------------------------------------

    def plan(self, target: str, paths: Sequence[str] = ()) -> RollbackPlan:
        """What would happen; nothing in the workspace changes."""
        workspace = self._workspace
        row = workspace.resolve(target)
        with workspace.locked(), self._readable(row):
            evidence = self._evidence(row, None)
            selected = selected_paths(workspace.root, paths)
            _require_known(row, evidence, selected)
            plan = draft(evidence, selected)
        return self._shown(row, evidence, plan)

    def _shown(self, row: Row, evidence: Evidence, plan: Draft) -> RollbackPlan:
        trees, now, target = self._workspace.trees, evidence.now, evidence.target
        back = {step.path: (step.before, step.after) for step in plan.steps}
        told = _details(changes(trees, now, target, back, lambda _: Author.ROLLBACK))
        since = {path: (step.after, step.before) for path, (step, _, _) in plan.conflicts.items()}
        theirs = _details(changes(trees, target, now, since, lambda _: Author.EXTERNAL))
        operations = []
        for step in plan.steps:
            detail = told.get(step.path, "")
            if _writes(step) and is_hard_link(self._workspace.root, step.path):
                detail = f"{detail}, a hard link becomes a copy".removeprefix(", ")
            operations.append(operation(step, detail))
        return RollbackPlan(
            target=row.id,
            operations=tuple(operations),
            conflicts=tuple(
                replace(conflict, detail=theirs.get(path, ""))
                for path, (_, conflict, _) in plan.conflicts.items()
            ),
            kept=tuple(plan.kept),
            uncovered=tuple(plan.uncovered),
            head_moved=self._head_moved(row),
        )

    def _head_moved(self, row: Row) -> str:
        words = []
        current = self._workspace.heads()
        for name, then in (row.heads or {}).items():
            now = current.get(name)
            if now is None or (then.commit, then.branch) == (now.commit, now.branch):
                continue
            branch = (
                then.branch
                if then.branch == now.branch
                else f"{then.branch or 'detached'} → {now.branch or 'detached'}"
            )
            where = "" if name in (".", "") else f"{name}: "
            words.append(
                f"{where}{branch} {then.commit[:7] or 'no commit'} → {now.commit[:7] or 'no commit'}".strip()
            )
        return ", ".join(words)

    def _evidence(self, row: Row, present: tuple[Row, State] | None) -> Evidence:
        """Everything since the target; `present` is the checkpoint before a rollback, if taken."""
        workspace = self._workspace
        target = workspace.state(row)
        later = [(one, workspace.state(one)) for one in workspace.catalog.since(row.session, row.seq)]
        if present is None:
            now = self._now_covering(target)
            last = later[-1][0] if later else row
            later.append((workspace.unlisted(last, now), now))
        else:
            now = present[1]
        known = history(workspace.trees, row, target, later)
        return Evidence(
            trees=workspace.trees,
            target=target,
            now=now,
            later=later,
            history=known,
            elsewhere=workspace.catalog.changed_elsewhere(row),
            occupied=workspace.occupied(),
        )

    def _now_covering(self, target: State) -> State:
        """The present state, with every path that the target holds and that exists."""
        workspace = self._workspace
        now = workspace.now_locked()
        missing = self._missing(target, now)
        return workspace.now_locked(missing) if missing else now

    def _missing(self, target: State, now: State) -> list[bytes]:
        """Paths of the target that exist and that the present state does not hold."""
        workspace = self._workspace
        root, occupied = workspace.root, workspace.occupied()
        return [
            path
            for path, (then, current) in workspace.trees.compare(target, now).items()
            if current is None
            and then is not None
            and then.mode != FOLDER
            and path not in workspace.touched
            and path not in occupied
            and exists_below(root, path)
        ]

    # --- acting -----------------------------------------------------------------------------------

    def run(self, request: Request) -> RollbackResult:
        """Go back to a checkpoint of this workspace."""
        workspace = self._workspace
        with workspace.locked(alone=True, what="a rollback"):
            self._refuse_when_cut()
            row = workspace.resolve(request.target)
            with self._readable(row):
                return self._run(row, request)

    @contextmanager
    def _readable(self, row: Row) -> Iterator[None]:
        """Name the checkpoint in what is said of a damaged store, and store everything anew after it."""
        try:
            yield
        except DamagedStoreError as error:
            self._workspace.read_anew()
            if row.id in str(error):
                raise
            raise DamagedStoreError(f"checkpoint `{row.id}` cannot be used any more: {error}") from error

    def _run(self, row: Row, request: Request) -> RollbackResult:
        workspace = self._workspace
        other = request.asked_by if request.asked_by != row.session else ""
        cause = Cause(
            phase=Phase.BEFORE_ROLLBACK,
            session=row.session,
            summary=f"rollback to {row.id}" + (f", asked by {other}" if other else ""),
            joint=request.joint,
        )
        before = workspace.record_locked(cause).row
        missing = self._missing(workspace.state(row), workspace.state(before))
        if missing:
            workspace.touched.update(missing)
            before = workspace.record_locked(cause).row
        present = workspace.state(before)
        evidence = self._evidence(row, (before, present))
        selected = selected_paths(workspace.root, request.paths)
        _require_known(row, evidence, selected)
        plan = Draft() if request.nothing else draft(evidence, selected)
        steps, merged = self._steps(plan, request, evidence)
        return self._carry_out(row, before, plan, steps, merged, request)

    def redo(self, session: str = "") -> RollbackResult:
        """Take back the newest rollback that was not taken back yet."""
        workspace = self._workspace
        done = self.to_redo(session)
        if done is None:
            raise NotThereError("there is no rollback to take back here")
        result = self.run(Request(target=done.undo, choices={}))
        workspace.catalog.update(replace(done, redone=True))
        newest = workspace.catalog.newest(Phase.AFTER_ROLLBACK, workspace.home.below, session)
        if newest is not None and newest.undo == result.undo:
            workspace.catalog.update(replace(newest, redone=True))  # a redo is not taken back by a redo
        return result

    def to_redo(self, session: str = "") -> Row | None:
        """The end of the newest rollback, of one session or of any; none when it was taken back, or
        when another turn began since: then it is a rollback like any other, by id."""
        catalog = self._workspace.catalog
        done = catalog.newest(Phase.AFTER_ROLLBACK, self._workspace.home.below, session)
        if done is None or not done.undo or done.redone:
            return None
        later = catalog.since(done.session, done.seq)
        return None if any(row.cause.phase is Phase.TURN_START for row in later) else done

    def _steps(self, plan: Draft, request: Request, evidence: Evidence) -> tuple[list[Step], dict[str, bool]]:
        steps = list(plan.steps)
        for path in chosen(plan, request.choices, request.default, "take"):
            steps.append(plan.conflicts[path][0])
        merged: dict[str, bool] = {}  # path → whether it has conflict markers
        for path in chosen(plan, request.choices, request.default, "merge"):
            step, _, trace = plan.conflicts[path]
            step, merged[shown(path)] = merged_step(step, trace, evidence)
            steps.append(step)
        steps, impossible = feasible(steps, evidence)
        plan.kept += impossible
        return steps, merged

    def _carry_out(
        self,
        row: Row,
        before: Row,
        plan: Draft,
        steps: list[Step],
        merged: dict[str, bool],
        request: Request,
    ) -> RollbackResult:
        workspace = self._workspace
        failures: dict[str, str] = {}
        if steps:
            read = self._contents(row, steps)
            try:
                workspace.journal.begin(
                    session=row.session, root=workspace.home.below, target=row.id, undo=before.id, steps=steps
                )
            except OSError as error:
                raise CheckpointError(
                    f"the rollback was not begun: {error.strerror}: `{workspace.journal.path}`"
                ) from error
            self._after_step(0, len(steps))
            failures = self._restore(steps, read)
        return self._finish(row, before, steps, failures, plan, merged, request)

    def _contents(self, row: Row, steps: list[Step]) -> Callable[[bytes], bytes]:
        """What reads the contents of the steps. All of them were read once before this returns, so that
        nothing is begun that could not be finished; the first ones stay in memory."""
        workspace = self._workspace
        held: dict[bytes, bytes] = {}
        room = _HELD_BYTES
        try:
            for entry in (step.after for step in steps if step.after is not None):
                if entry.mode == CLONE:
                    workspace.store.require_clone(entry.oid)
                elif entry.mode != FOLDER and entry.oid not in held:
                    content = workspace.store.read(entry.oid)
                    if len(content) <= room:
                        held[entry.oid] = content
                        room -= len(content)
        except DamagedStoreError as error:
            workspace.distrust(row, str(error))
            raise DamagedStoreError(f"checkpoint `{row.id}` cannot be used any more: {error}") from error
        return lambda oid: held[oid] if oid in held else workspace.store.read(oid)

    def _restore(self, steps: list[Step], read: Callable[[bytes], bytes]) -> dict[str, str]:
        store, places, done = self._workspace.store, self._places(), count(1)

        def mark(index: int) -> None:
            with suppress(OSError):  # the marks only tell how far it came; the disk tells of each step
                self._workspace.journal.mark(index)
            self._after_step(next(done), len(steps))

        try:
            restore = Restore(places=places, read=read, put_copy=store.clones.put, done=mark)
            restore.run(steps)
            restore.set_folder_bits(steps)
            return restore.failures
        finally:
            places.close()

    def _places(self) -> Places:
        return Places(self._workspace.root, self._workspace.store.clones.is_same)

    def _finish(
        self,
        row: Row,
        before: Row,
        steps: list[Step],
        failures: dict[str, str],
        plan: Draft | None,
        merged: dict[str, bool],
        request: Request | None,
    ) -> RollbackResult:
        """Read again what was written, compare, and record the state after."""
        workspace = self._workspace
        cause = Cause(
            phase=Phase.AFTER_ROLLBACK,
            session=row.session,
            summary=f"after rollback to {row.id}",
            joint=before.cause.joint,
        )
        paths = [step.path for step in steps]
        rolled = Rolled(target=row.id, undo=before.id, paths=paths, is_seen=request is not None)
        after = workspace.record_locked(cause, rolled=rolled).row
        state = workspace.state(after)
        mismatches = self._mismatches(steps, failures, state)
        if plan:
            mismatches |= {path: f"{what} in its place" for path, what in plan.blocked.items()}
        written = set(paths)
        pairs = {
            path: pair
            for path, pair in covered_pairs(workspace.trees, workspace.state(before), state).items()
            if path in written
        }
        changed = changes(workspace.trees, workspace.state(before), state, pairs, lambda _: Author.ROLLBACK)
        workspace.journal.end()
        self._after_step(len(steps), len(steps))
        kept = list(plan.kept) if plan else []
        if plan and request:
            kept += [shown(path) for path in chosen(plan, request.choices, request.default, "keep")]
        kept += self._left_folders(steps, state, kept)
        return RollbackResult(
            target=row.id,
            undo=before.id,
            changed=changed,
            kept=tuple(kept),
            mismatches=tuple(f"{path} ({why})" for path, why in mismatches.items()),
            failed=tuple(mismatches),
            merged_with_markers=tuple(path for path, has_markers in merged.items() if has_markers),
            merged=tuple(merged),
        )

    def _mismatches(self, steps: list[Step], failures: dict[str, str], state: State) -> dict[str, str]:
        """Paths that are not as they should be, and why."""
        found: dict[str, str] = {}
        for step in steps:
            name = shown(step.path)
            entry = self._workspace.trees.find(state, step.path)
            is_frame = step.after is None and _is_folder(step.before)
            if name in failures:
                found[name] = failures[name]
            elif entry != step.after and not is_frame:
                found[name] = "differs from the checkpoint"
        return found

    def _left_folders(self, steps: list[Step], state: State, kept: Sequence[str]) -> list[str]:
        """Folders that were to go and hold something that no checkpoint does, such as a repository."""
        found = []
        for step in steps:
            name = shown(step.path) + "/"
            is_left = step.after is None and self._workspace.trees.find(state, step.path) is not None
            if is_left and _is_folder(step.before) and not any(one.startswith(name) for one in kept):
                found.append(name)
        return found

    # --- after a crash ----------------------------------------------------------------------------

    def cut(self) -> CutRollback | None:
        """The rollback that a killed process left, if there is one."""
        return self._workspace.journal.cut()

    def _refuse_when_cut(self) -> None:
        if self._workspace.journal.cut() is not None:
            self.settle(complete=False)

    def recover(self, *, complete: bool) -> RollbackResult | None:
        """Finish a cut rollback, or take it back; None when there is none."""
        with self._workspace.locked(alone=True, what="the end of a cut rollback"):
            return self.settle(complete=complete)

    def settle(self, *, complete: bool) -> RollbackResult | None:
        """The same under a lock already held."""
        workspace = self._workspace
        found = workspace.journal.read()
        if found is None:
            return None
        head, steps, _ = found
        row, before = workspace.resolve(head["target"]), workspace.resolve(head["undo"])
        newer = workspace.catalog.since(before.session, before.seq)
        if any(one.undo == before.id for one in newer):
            workspace.journal.end()  # it was killed after the last step
            return None
        self._sweep(steps)
        wanted = steps if complete else [step.reversed() for step in steps]
        failures = self._restore(wanted, workspace.store.read)
        return self._finish(row if complete else before, before, wanted, failures, None, {}, None)

    def _sweep(self, steps: list[Step]) -> None:
        places = self._places()
        try:
            for folder in {step.path.rpartition(b"/")[0] for step in steps}:
                places.sweep(folder + b"/x" if folder else b"x")
        finally:
            places.close()


def _details(found: Sequence[FileChange]) -> dict[bytes, str]:
    """By path, what changes: lines, or in words."""
    lines = {change: f"+{change.added} -{change.removed}" for change in found if change.added is not None}
    return {os.fsencode(change.path): change.detail or lines.get(change, "") for change in found}


def _writes(step: Step) -> bool:
    return step.before is not None and step.after is not None and step.before.oid != step.after.oid


def _is_folder(entry: Entry | None) -> bool:
    return entry is not None and entry.mode == FOLDER


def _require_known(row: Row, evidence: Evidence, selected: Sequence[bytes]) -> None:
    """A path that matches nothing, then or since, was not meant; raises NotThereError."""
    gaps = (evidence.target.note.gaps, evidence.now.note.gaps)
    known = [*evidence.history.traces, *evidence.occupied, *(path for gap in gaps for path in gap)]
    for path in selected:
        is_there = any(evidence.trees.find(state, path) for state in (evidence.target, evidence.now))
        if not is_there and not any(is_selected(one, [path]) for one in known):
            raise NotThereError(
                f"`{shown(path)}` matches nothing: it is neither in checkpoint `{row.id}` "
                "nor among the files covered since"
            )
