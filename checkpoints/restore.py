"""Carries out the steps of a rollback: in an order that always works, each one checked before it.

A step whose path is neither as planned nor already as wanted is left alone and reported: somebody
changed it meanwhile.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from checkpoints.journal import Step
from checkpoints.objects import FOLDER, LINK
from checkpoints.places import Places
from checkpoints.states import Entry, shown
from checkpoints.store import DamagedStoreError

_OPENED = 0o700


@dataclass(slots=True, kw_only=True)
class Restore:
    """One run over a list of steps; `read` gives content by id, `done` is told after each step."""

    places: Places
    read: Callable[[bytes], bytes]
    done: Callable[[int], None]
    failures: dict[str, str] = field(default_factory=dict)  # path → reason

    def run(self, steps: Sequence[Step]) -> None:
        """Do all steps; what fails is in `failures`, the rest is done."""
        self._open_folders(steps)
        for index in order(steps):
            step = steps[index]
            try:
                reason = self._step(step)
            except OSError as error:
                reason = strerror(error)
            except DamagedStoreError as error:
                reason = str(error)
            if reason:
                self.failures[shown(step.path)] = reason
            self.done(index)

    def _open_folders(self, steps: Iterable[Step]) -> None:
        """Folders that get other bits are opened to us first, and get their bits last."""
        for step in steps:
            if _is_folder(step.before) and _is_folder(step.after) and step.before is not None:
                try:
                    self.places.set_permissions(step.path, step.before.permissions | _OPENED)
                except OSError as error:
                    self.failures[shown(step.path)] = strerror(error)

    def _step(self, step: Step) -> str:
        current = self.places.look(step.path)
        if current == step.after and not _is_folder(step.after):
            return ""
        if not _same(current, step.before) and not _same(current, step.after):
            return "changed meanwhile, left as it is"
        if step.after is None:
            return self._remove(step.path, current)
        if _is_folder(step.after):
            return self._folder(step.path, step.after, current)
        self._put(step.path, step.after, current)
        return ""

    def _remove(self, path: bytes, current: Entry | None) -> str:
        if current is None:
            return ""
        if _is_folder(current):
            self.places.remove_folder(path)  # one that is not empty stays: something of others is in it
        else:
            self.places.remove(path)
        return ""

    def _folder(self, path: bytes, wanted: Entry, current: Entry | None) -> str:
        if current is not None and not _is_folder(current):
            self.places.remove(path)
            current = None
        if current is None:
            self.places.make_folder(path, wanted.permissions | _OPENED)
        return ""

    def _put(self, path: bytes, wanted: Entry, current: Entry | None) -> None:
        if current is not None and _is_folder(current) and not self.places.remove_folder(path):
            raise OSError(39, "a folder with files of others is in its place")
        if wanted.mode == LINK:
            self.places.write_link(path, self.read(wanted.oid))
        elif current is not None and current.oid == wanted.oid and current.mode != LINK:
            self.places.set_permissions(path, wanted.permissions)
        else:
            self.places.write(path, self.read(wanted.oid), wanted.permissions)

    def set_folder_bits(self, steps: Iterable[Step]) -> None:
        """The last bits of folders, deepest first; after everything else."""
        for step in sorted(steps, key=lambda one: one.path.count(b"/"), reverse=True):
            if step.after is None or not _is_folder(step.after):
                continue
            try:
                if _is_folder(self.places.look(step.path)):
                    self.places.set_permissions(step.path, step.after.permissions)
            except OSError as error:
                self.failures[shown(step.path)] = strerror(error)


def order(steps: Sequence[Step]) -> list[int]:
    """The order to work in: what stands in the way goes first, all other deletions last."""
    arriving = {step.path for step in steps if step.after is not None}
    above_arriving = {path[:at] for path in arriving for at in range(len(path)) if path[at] == 0x2F}

    def key(index: int) -> tuple[int, int, bytes]:
        step = steps[index]
        depth = step.path.count(b"/")
        if step.after is None:
            blocks = not _is_folder(step.before) and step.path in above_arriving
            blocks = blocks or any(
                step.path.startswith(path + b"/") for path in _above(step.path) if path in arriving_files
            )
            return (0 if blocks else 3, -depth, step.path)
        return (1 if _is_folder(step.after) else 2, depth, step.path)

    arriving_files = {step.path for step in steps if step.after is not None and not _is_folder(step.after)}
    return sorted(range(len(steps)), key=key)


def _above(path: bytes) -> list[bytes]:
    parts = path.split(b"/")
    return [b"/".join(parts[:count]) for count in range(1, len(parts))]


def _is_folder(entry: Entry | None) -> bool:
    return entry is not None and entry.mode == FOLDER


def _same(current: Entry | None, planned: Entry | None) -> bool:
    """Whether a path is as planned; of a folder only that it is one."""
    if current is None or planned is None:
        return current is planned
    if _is_folder(planned):
        return _is_folder(current)
    if not current.oid:
        return (current.mode, current.permissions) == (planned.mode, planned.permissions)
    return current == planned


def strerror(error: OSError) -> str:
    """The reason of an OSError, without its path."""
    return error.strerror or os.strerror(error.errno or 0)
