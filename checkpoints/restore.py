"""Carries out the steps of a rollback: in an order that always works, each one checked before it.

A step whose path is neither as planned nor already as wanted is left alone and reported: somebody
changed it meanwhile.
"""

import errno
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import field
from functools import partial

from agent_tui.frozen import frozen, mutable
from checkpoints.journal import Step
from checkpoints.objects import CLONE, FOLDER, LINK
from checkpoints.places import Mark, Places, Staged
from checkpoints.states import Entry, shown
from checkpoints.store import DamagedStoreError

_OPENED = 0o700
_CHANGED = "changed meanwhile, left as it is"
_MANY_FILES = 64
_MANY_BYTES = 8 << 20


@frozen
class _Waiting:
    """A step whose file is written beside its place and waits to be moved there."""

    index: int
    staged: Staged
    mark: Mark | None  # of what is in its place


@mutable
class Restore:
    """One run over a list of steps; `read` gives content by id, `put_copy` that of a large file to an
    open one, `done` is told after each step.

    Files are written beside their places, many before the first is synchronised, as the file system
    then needs few flushes; and each is moved only once it is on disk.
    """

    places: Places
    read: Callable[[bytes], bytes]
    put_copy: Callable[[bytes, int], None]
    done: Callable[[int], None]
    failures: dict[str, str] = field(default_factory=dict)  # path → reason
    _waiting: list[_Waiting] = field(default_factory=list)

    def run(self, steps: Sequence[Step]) -> None:
        """Do all steps; what fails is in `failures`, the rest is done."""
        self._open_folders(steps)
        for index in order(steps):
            step = steps[index]
            if step.after is None or _is_many(self._waiting):
                self._put_waiting()  # nothing is deleted before all that comes back is there
            found = self._attempt(index, step)
            if isinstance(found, _Waiting):
                self._waiting.append(found)
            else:
                self._end(index, step.path, found)
        self._put_waiting()

    def _attempt(self, index: int, step: Step) -> "_Waiting | str":
        try:
            try:
                return self._step(index, step)
            except OSError as error:
                if error.errno != errno.ENOSPC or not self._waiting:
                    raise
                self._put_waiting()  # what they replace gives its space back
                return self._step(index, step)
        except OSError as error:
            return strerror(error)
        except DamagedStoreError as error:
            return str(error)

    def _put_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        reasons = [self._synchronised(one) for one in waiting]
        for one, reason in zip(waiting, reasons, strict=True):
            self._end(one.index, one.staged.path, reason or self._put_one(one))

    def _synchronised(self, one: _Waiting) -> str:
        try:
            one.staged.synchronise()
        except OSError as error:
            self._drop(one.staged)
            return strerror(error)
        return ""

    def _put_one(self, one: _Waiting) -> str:
        try:
            if self.places.mark(one.staged.path) == one.mark:
                self.places.put(one.staged)
                return ""
            reason = _CHANGED
        except OSError as error:
            reason = strerror(error)
        self._drop(one.staged)
        return reason

    def _drop(self, staged: Staged) -> None:
        with suppress(OSError):  # its folder is gone or closed, and the step has failed for that
            self.places.drop(staged)

    def _end(self, index: int, path: bytes, reason: str) -> None:
        if reason:
            self.failures[shown(path)] = reason
        self.done(index)

    def _open_folders(self, steps: Iterable[Step]) -> None:
        """Folders that get other bits are opened to us first, and get their bits last."""
        for step in steps:
            if _is_folder(step.before) and _is_folder(step.after) and step.before is not None:
                try:
                    self.places.set_permissions(step.path, step.before.permissions | _OPENED)
                except OSError as error:
                    self.failures[shown(step.path)] = strerror(error)

    def _step(self, index: int, step: Step) -> "_Waiting | str":
        mark = self.places.mark(step.path)
        current = self.places.look(step.path, step.before, step.after)
        if current == step.after and not _is_folder(step.after):
            return ""
        if not _same(current, step.before) and not _same(current, step.after) and not _between(step, current):
            return _CHANGED
        if step.after is None:
            return self._remove(step.path, current)
        if _is_folder(step.after):
            return self._folder(step.path, step.after, current)
        if _is_folder(current):
            if not self.places.remove_folder(step.path):
                return "a folder with files of others is in its place"
            mark = None
        return self._write(index, step.path, step.after, current, mark)

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

    def _write(
        self, index: int, path: bytes, wanted: Entry, current: Entry | None, mark: Mark | None
    ) -> "_Waiting | str":
        if wanted.mode == LINK:
            self.places.write_link(path, self.read(wanted.oid))
        elif current is not None and current.oid == wanted.oid and current.mode != LINK:
            self.places.set_permissions(path, wanted.permissions)
        else:
            staged = self.places.stage(path, self._filling(wanted), wanted.permissions)
            return _Waiting(index=index, staged=staged, mark=mark)
        return ""

    def _filling(self, wanted: Entry) -> Callable[[int], None]:
        if wanted.mode == CLONE:
            return partial(self.put_copy, wanted.oid)
        return partial(_write_all, self.read(wanted.oid))

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


def _write_all(content: bytes, descriptor: int) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def _is_many(waiting: Sequence[_Waiting]) -> bool:
    return len(waiting) >= _MANY_FILES or sum(one.staged.size_bytes for one in waiting) >= _MANY_BYTES


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


def _between(step: Step, current: Entry | None) -> bool:
    """Whether a path is as a killed run leaves it that was to put a file for a folder, or a folder for
    a file: what was there is gone, and nothing else is there yet."""
    both = step.before is not None and step.after is not None
    return current is None and both and _is_folder(step.before) != _is_folder(step.after)


def strerror(error: OSError) -> str:
    """The reason of an OSError, without its path."""
    return error.strerror or os.strerror(error.errno or 0)
