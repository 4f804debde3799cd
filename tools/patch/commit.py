"""Writes the changes of a patch, all of them or none.

Everything is staged first as new files beside the old ones, then renamed into place. An error on the
way puts back what was done. Readers see the old or the new file, never half of one.
"""

import errno
import os
import secrets
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tools.patch.grammar import PartlyAppliedError, PatchError
from tools.patch.plan import Change, Content, identity_of
from tools.paths import open_resolved

_NO_HARD_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS}


def commit(changes: Sequence[Change]) -> None:
    """Write them. Raises `PatchError` after the disk is as it was, `PartlyAppliedError` where it is not."""
    work = _Work()
    at: Path | None = None
    try:
        for change in changes:
            at = change.path
            work.stage(change)
        for change in changes:
            at = change.path
            work.apply(change)
        work.sync()
    except OSError as error:
        problems = work.undo()
        text = f"`{at}` could not be written: {error.strerror or error}"
        if problems:
            raise PartlyAppliedError(f"{text}; not put back: {', '.join(problems)}") from error
        raise PatchError(text) from error
    finally:
        work.close()


@dataclass(slots=True)
class _Work:
    directories: dict[Path, int] = field(default_factory=dict)  # open ones
    made: list[Path] = field(default_factory=list)  # directories that did not exist
    staged: dict[Path, str] = field(default_factory=dict)  # path → name of its new file
    undoing: list[tuple[Path, Callable[[], None]]] = field(default_factory=list)

    def directory(self, path: Path) -> int:
        """A descriptor of the directory, made where it is missing."""
        missing: list[Path] = []
        while path not in self.directories and not os.path.lexists(path):
            missing.append(path)
            path = path.parent
        self._open(path)
        for below in reversed(missing):
            os.mkdir(below.name, dir_fd=self.directories[below.parent])
            self.made.append(below)
            path = below
            self._open(path)
        return self.directories[path]

    def _open(self, path: Path) -> None:
        if path not in self.directories:
            self.directories[path] = open_resolved(path, os.O_RDONLY | os.O_DIRECTORY)

    def stage(self, change: Change) -> None:
        directory = self.directory(change.path.parent)
        if change.moved_from is not None:
            self.directory(change.moved_from.parent)
        if change.after is not None and not change.rename:
            self.staged[change.path] = _write_new(directory, change.after, keep=change.before is not None)
        source = change.moved_from or change.path
        _check_unchanged(self.directory(source.parent), source, change.before)

    def apply(self, change: Change) -> None:
        directory, name = self.directory(change.path.parent), change.path.name
        if change.rename and change.moved_from is not None:
            self._rename(change.moved_from, change.path)
        elif change.after is None:
            self._remove(change.path, change.before)
        else:
            is_new = change.before is None or change.moved_from is not None
            temporary = self.staged[change.path]
            if is_new:
                _link_new(directory, temporary, name)
                self.undoing.append((change.path, lambda: os.unlink(name, dir_fd=directory)))
            else:
                assert change.before is not None
                os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
                self._undo_by_writing(change.path, change.before)
            del self.staged[change.path]
            if change.moved_from is not None:
                self._remove(change.moved_from, change.before)

    def _rename(self, source: Path, target: Path) -> None:
        a, b = self.directory(source.parent), self.directory(target.parent)
        if _state(b, target.name) is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        os.rename(source.name, target.name, src_dir_fd=a, dst_dir_fd=b)
        self.undoing.append((source, lambda: os.rename(target.name, source.name, src_dir_fd=b, dst_dir_fd=a)))

    def _remove(self, path: Path, before: Content | None) -> None:
        directory = self.directory(path.parent)
        link = os.readlink(path.name, dir_fd=directory) if before is None else ""
        os.unlink(path.name, dir_fd=directory)
        if before is not None:
            self._undo_by_writing(path, before)
        else:
            self.undoing.append((path, lambda: os.symlink(link, path.name, dir_fd=directory)))

    def _undo_by_writing(self, path: Path, before: Content) -> None:
        directory = self.directory(path.parent)

        def put_back() -> None:
            temporary = _write_new(directory, before, keep=True)
            os.rename(temporary, path.name, src_dir_fd=directory, dst_dir_fd=directory)

        self.undoing.append((path, put_back))

    def sync(self) -> None:
        """The names are on disk too."""
        for directory in self.directories.values():
            os.fsync(directory)

    def undo(self) -> list[str]:
        """Put everything back, newest first; gives what could not be."""
        problems = []
        for path, put_back in reversed(self.undoing):
            try:
                put_back()
            except OSError as error:
                problems.append(f"`{path}` ({error.strerror})")
        for path, name in self.staged.items():
            with suppress(OSError):
                os.unlink(name, dir_fd=self.directories[path.parent])
        for path in reversed(self.made):
            with suppress(OSError):
                os.rmdir(path.name, dir_fd=self.directories[path.parent])
        return problems

    def close(self) -> None:
        for fd in self.directories.values():
            os.close(fd)


def _write_new(directory: int, content: Content, *, keep: bool) -> str:
    """A new file beside the old one, with its mode and where possible its owner; gives its name."""
    name = f".agent-tui-{secrets.token_hex(8)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(name, flags, 0o600 if keep else content.mode, dir_fd=directory)
    try:
        written = 0
        while written < len(content.data):
            written += os.write(fd, memoryview(content.data)[written:])
        if keep:
            state = os.fstat(fd)
            if content.owner not in ((-1, -1), (state.st_uid, state.st_gid)):
                with suppress(PermissionError):
                    os.fchown(fd, *content.owner)
            os.fchmod(fd, content.mode)
        os.fsync(fd)
    except OSError:
        os.unlink(name, dir_fd=directory)
        raise
    finally:
        os.close(fd)
    return name


def _link_new(directory: int, temporary: str, name: str) -> None:
    """Give a new file its name, never over another one that has appeared since."""
    try:
        os.link(temporary, name, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        if _state(directory, name) is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from error
        os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
    else:
        os.unlink(temporary, dir_fd=directory)


def _check_unchanged(directory: int, path: Path, before: Content | None) -> None:
    state = _state(directory, path.name)
    if before is not None and (state is None or identity_of(state) != before.identity):
        raise OSError(errno.EBUSY, "it was changed in this moment by something else")
    if before is None and state is not None and not stat.S_ISLNK(state.st_mode):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))


def _state(directory: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None
