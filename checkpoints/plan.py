"""What a rollback would do, and what it leaves alone: decided from the evidence, nothing touched.

Only the agent's own work is taken back by itself. A path that may hold somebody else's work since
the target is a conflict and stays unless chosen; a file that somebody else made always stays.
"""

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from agent_tui.frozen import frozen, mutable
from checkpoints.attribution import History, Trace
from checkpoints.catalog import Row
from checkpoints.coverage import Gap
from checkpoints.diff import is_selected
from checkpoints.journal import Step
from checkpoints.objects import FOLDER, LINK
from checkpoints.snapshot import State
from checkpoints.states import Coverage, Entry, Pair, Trees, covered_pairs, parents, shown
from checkpoints.types import Action, Author, Conflict, Operation, Uncovered

_OURS = (Author.AGENT, Author.ROLLBACK)
_OCCUPIED = "held closed for a command that still runs; stop it to bring this back"


@mutable
class Draft:
    """A plan with what is needed to carry it out."""

    steps: list[Step] = field(default_factory=list)  # free of conflict
    conflicts: dict[bytes, tuple[Step, Conflict, Trace | None]] = field(default_factory=dict)
    kept: list[str] = field(default_factory=list)
    blocked: dict[str, str] = field(default_factory=dict)  # was there then; what stands there now
    uncovered: list[Uncovered] = field(default_factory=list)


@frozen
class Evidence:
    """Everything a plan is decided from."""

    trees: Trees
    target: State
    now: State
    later: Sequence[tuple[Row, State]]  # checkpoints after the target, in order
    history: History
    elsewhere: Sequence[Row]  # of other sessions since the target
    occupied: frozenset[bytes] = frozenset()  # stand-ins that a running command needs where they are


def draft(evidence: Evidence, paths: Sequence[bytes] = ()) -> Draft:
    """Decide for every path that differs; raises DamagedStoreError."""
    plan = Draft()
    pairs = _pairs(evidence)
    for path, (then, now) in sorted(pairs.items()):
        if is_selected(path, paths) or (_is_folder(then) and _leads_to(path, paths)):
            _decide(evidence, plan, Step(path=path, before=now, after=then))
    _drop_idle_folders(plan, paths)
    plan.steps += _needed_folders(evidence, plan.steps)
    plan.steps, impossible = feasible(plan.steps, evidence)
    plan.kept += impossible
    plan.blocked = _blocked(evidence, paths)
    plan.kept = [path for path in plan.kept if path not in plan.blocked]
    plan.uncovered += _gaps(evidence, paths)
    return plan


def _blocked(evidence: Evidence, paths: Sequence[bytes]) -> dict[str, str]:
    """What cannot come back, as something that no checkpoint holds is in its place: it stays."""
    found = {}
    for path, gap in sorted(evidence.now.note.gaps.items()):
        is_new = path not in evidence.target.note.gaps
        if is_new and is_selected(path, paths) and evidence.trees.find(evidence.target, path) is not None:
            found[shown(path)] = gap.reason
    return found


def _pairs(evidence: Evidence) -> dict[bytes, Pair]:
    """What differs between target and now, with paths that were captured only after the target."""
    trees, target, now = evidence.trees, evidence.target, evidence.now
    pairs = covered_pairs(trees, target, now)
    before = Coverage(trees, target)
    late = {path for path in now.note.touched if not before.covers(path, folder=False)}
    for _, state in evidence.later:
        for path in sorted(late & state.note.touched):
            late.discard(path)
            pair = (trees.find(state, path), trees.find(now, path))
            if pair[0] != pair[1]:
                pairs[path] = pair
    return pairs


def _decide(evidence: Evidence, plan: Draft, step: Step) -> None:
    if evidence.occupied & {step.path, *parents(step.path)}:
        plan.uncovered.append(Uncovered(path=shown(step.path), reason=_OCCUPIED))
        return
    trace = evidence.history.last(step.path)
    gap = evidence.now.note.gaps.get(step.path)
    if gap is not None and step.before is None:
        plan.kept.append(shown(step.path))
        return
    if _is_folder(step.before) or _is_folder(step.after):
        _decide_folder(plan, step, trace)
        return
    if step.after is None and trace is not None and trace.creator is Author.EXTERNAL:
        plan.kept.append(shown(step.path))
        return
    outside = trace.outside if trace else Author.EXTERNAL
    if outside is None:
        plan.steps.append(step)
        return
    at = trace.outside_at if trace else None
    reason = _reason(evidence, step.path, outside)
    conflict = Conflict(path=shown(step.path), author=outside, changed_at=at, reason=reason)
    plan.conflicts[step.path] = (step, conflict, trace)


def _decide_folder(plan: Draft, step: Step, trace: Trace | None) -> None:
    """A folder is only ever a frame: what is in it is decided by itself."""
    theirs = trace is None or trace.outside is not None
    if step.before is not None and step.after is not None and step.before.mode != step.after.mode:
        if theirs:
            reason = "it became something else, not by the agent"
            conflict = Conflict(path=shown(step.path), author=Author.EXTERNAL, changed_at=None, reason=reason)
            plan.conflicts[step.path] = (step, conflict, trace)
        else:
            plan.steps.append(step)
    elif not theirs:
        plan.steps.append(step)
    elif step.after is None:
        plan.kept.append(shown(step.path) + "/")


def _drop_idle_folders(plan: Draft, paths: Sequence[bytes]) -> None:
    """With chosen paths only, folders above them are made where a file needs them, and not otherwise."""
    if paths:
        plan.steps = [
            step
            for step in plan.steps
            if is_selected(step.path, paths) or any(_needs(other, step) for other in plan.steps)
        ]


def _needed_folders(evidence: Evidence, steps: Sequence[Step]) -> list[Step]:
    """Folders that are gone, not by the agent, and that a file which comes back needs: as they were."""
    planned = {step.path for step in steps}
    missing = {
        above
        for step in steps
        if step.after is not None
        for above in parents(step.path)
        if above not in planned and evidence.trees.find(evidence.now, above) is None
    }
    found = ((path, evidence.trees.find(evidence.target, path)) for path in sorted(missing))
    return [Step(path=path, before=None, after=entry) for path, entry in found if _is_folder(entry)]


def _needs(other: Step, folder: Step) -> bool:
    return (
        other.after is not None and not _is_folder(other.after) and other.path.startswith(folder.path + b"/")
    )


def _leads_to(folder: bytes, paths: Sequence[bytes]) -> bool:
    return any(path.startswith(folder + b"/") for path in paths)


def _reason(evidence: Evidence, path: bytes, outside: Author) -> str:
    if outside is Author.TERMINAL:
        return "changed while a terminal was live: by it, or by you"
    name = shown(path)
    for row in reversed(evidence.elsewhere):
        for change in row.changes:
            if change.author in _OURS and name in (change.path, change.old_path):
                return f"changed by session {row.session}"
    return "changed by you or another program"


def _gaps(evidence: Evidence, paths: Sequence[bytes]) -> Iterable[Uncovered]:
    """What the plan can say nothing of, changed or not known then."""
    before, after = evidence.target.note.gaps, evidence.now.note.gaps
    for path in sorted(before.keys() | after.keys()):
        if is_selected(path, paths):
            replaces = evidence.trees.find(evidence.target, path) is not None
            was, now = before.get(path), after.get(path)
            gap = now or was
            assert gap is not None
            yield Uncovered(path=shown(path), reason=gap.reason, since=_since(was, now, replaces=replaces))


def _since(was: Gap | None, now: Gap | None, *, replaces: bool) -> str:
    if was is None:
        return "in place of what was there then" if replaces else "not there then"
    if now is None:
        return "gone, cannot be brought back"
    return f"changed {time.strftime('%H:%M', time.localtime(now.mtime_ns / 1e9))}" if was.differs(now) else ""


def _is_folder(entry: Entry | None) -> bool:
    return entry is not None and entry.mode == FOLDER


def operation(step: Step, detail: str = "") -> Operation:
    """A step as people see it."""
    path = os.fsdecode(step.path)
    return Operation(action=_action(step), path=path, detail=detail, creates=step.before is None)


def _action(step: Step) -> Action:
    before, after = step.before, step.after
    if after is None:
        return "rmdir" if _is_folder(before) else "delete"
    if _is_folder(after):
        return "mode" if _is_folder(before) else "mkdir"
    if after.mode == LINK:
        return "link"
    if before is not None and before.oid == after.oid and before.mode != LINK:
        return "mode"
    return "write"


def feasible(steps: Sequence[Step], evidence: Evidence) -> tuple[list[Step], list[str]]:
    """The steps that can be done beside what stays, and the paths of the others.

    A file cannot come back where a folder with files of others stands, nor below what stays a file.
    """
    after = {step.path: step.after for step in steps}
    possible, others = [], []
    for step in steps:
        if step.after is not None and (
            _is_occupied(step, after, evidence) or _is_cut_off(step, after, evidence)
        ):
            others.append(shown(step.path))
        else:
            possible.append(step)
    return possible, others


def _is_occupied(step: Step, after: Mapping[bytes, Entry | None], evidence: Evidence) -> bool:
    if not _is_folder(step.before) or _is_folder(step.after):
        return False
    folder = evidence.trees.find_tree(evidence.now, step.path)
    below = evidence.trees.walk(evidence.now, folder, step.path)
    return any(after.get(path, entry) is not None for path, entry in below)


def _is_cut_off(step: Step, after: Mapping[bytes, Entry | None], evidence: Evidence) -> bool:
    for above in parents(step.path):
        entry = after[above] if above in after else evidence.trees.find(evidence.now, above)
        if entry is not None and not _is_folder(entry):
            return True
    return False


def chosen(plan: Draft, choices: Mapping[str, str], default: str, choice: str) -> list[bytes]:
    """Paths in conflict for which that choice was made."""
    return [path for path in plan.conflicts if choices.get(shown(path), default) == choice]
