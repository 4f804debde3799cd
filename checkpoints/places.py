"""Reads and writes single paths below a root, never through a link.

Every folder on the way is opened by itself without following links, so nothing that happens in the
workspace meanwhile can lead a restore out of it.
"""

import os
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

from agent_tui.frozen import frozen
from checkpoints.objects import CLONE, EXECUTABLE, FILE, FOLDER, LINK, object_id, stream_id
from checkpoints.states import Entry

TEMPORARY_PREFIX = b".agent-tui-restore-"
_FOLDER_FLAGS = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPENED = 0o700


Mark = tuple[int, int, int, int]  # inode, mode, size and time of modification


@frozen
class Staged:
    """A whole file beside its place, under a name of its own."""

    path: bytes
    temporary: bytes
    folder: int  # it is in, wherever that is moved; open until `put` or `drop`
    descriptor: int
    size_bytes: int

    def synchronise(self) -> None:
        """Return when it is on disk, and let go of it; raises OSError."""
        try:
            os.fdatasync(self.descriptor)
        finally:
            os.close(self.descriptor)


class Places:
    """The paths of one root; all methods raise OSError."""

    def __init__(self, root: bytes, is_copy: Callable[[bytes, int], bool]) -> None:
        """`is_copy` tells whether an open file is what the copy of that id was made of."""
        self._is_copy = is_copy
        self._root = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)

    def close(self) -> None:
        """Let go of the root."""
        os.close(self._root)

    @contextmanager
    def _parent(self, path: bytes) -> Iterator[tuple[int, bytes]]:
        """A descriptor of the folder that a path is in, and its last name."""
        *folders, name = path.split(b"/")
        descriptor = os.dup(self._root)
        try:
            for folder in folders:
                inner = os.open(folder, _FOLDER_FLAGS, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = inner
            yield descriptor, name
        finally:
            os.close(descriptor)

    def look(self, path: bytes, *expected: Entry | None) -> Entry | None:
        """What is at a path now, its content read; None when nothing is, or a parent is no folder.

        A file that one of the `expected` is a copy of has that one's id. Something that is neither file,
        link nor folder has mode 0; a file we may not read has no id.
        """
        try:
            with self._parent(path) as (folder, name):
                status = os.lstat(name, dir_fd=folder)
                return self._entry(folder, name, status, expected)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if error.errno == 40:  # ELOOP: a parent became a link
                return None
            raise

    def make_folder(self, path: bytes, permissions: int) -> None:
        """Make a folder and those above it that are missing."""
        above = path.rpartition(b"/")[0]
        if above and self.look(above) is None:
            self.make_folder(above, 0o755)
        with self._opened(path), self._parent(path) as (folder, name):
            os.mkdir(name, 0o700, dir_fd=folder)
            _chmod(folder, name, permissions)

    def mark(self, path: bytes) -> Mark | None:
        """What tells that a path was changed between two looks; None when nothing is there."""
        try:
            with self._parent(path) as (folder, name):
                status = os.lstat(name, dir_fd=folder)
        except (FileNotFoundError, NotADirectoryError):
            return None
        # not the time of change: that of a hard link moves when its other name is replaced
        return status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns

    def stage(self, path: bytes, fill: Callable[[int], None], permissions: int) -> Staged:
        """Make a whole file beside its place, for `put`, with what `fill` writes into the open file; it
        is on disk after `Staged.synchronise`."""
        self._make_parents(path)
        with self._opened(path), self._parent(path) as (folder, name):
            temporary = TEMPORARY_PREFIX + secrets.token_hex(6).encode()
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(temporary, flags, 0o600, dir_fd=folder)
            try:
                fill(descriptor)
                _keep_owner(descriptor, folder, name)
                os.fchmod(descriptor, permissions)
                return Staged(
                    path=path,
                    temporary=temporary,
                    folder=os.dup(folder),
                    descriptor=descriptor,
                    size_bytes=os.fstat(descriptor).st_size,
                )
            except OSError:
                os.close(descriptor)
                os.unlink(temporary, dir_fd=folder)
                raise

    def put(self, staged: Staged) -> None:
        """Move a staged file into its place; what is there must not be a folder."""
        with self._opened(staged.path), self._parent(staged.path) as (folder, name):
            os.rename(staged.temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        os.close(staged.folder)

    def drop(self, staged: Staged) -> None:
        """Remove a staged file that is not wanted any more."""
        try:
            with suppress(OSError), self._opened(staged.path), self._parent(staged.path) as (folder, _):
                os.unlink(staged.temporary, dir_fd=folder)
                return
            with suppress(FileNotFoundError):  # another folder is in the place of the one it is in
                os.unlink(staged.temporary, dir_fd=staged.folder)
        finally:
            os.close(staged.folder)

    def write_link(self, path: bytes, target: bytes) -> None:
        """Put a link in place of what is there."""
        self._make_parents(path)
        with self._opened(path), self._parent(path) as (folder, name):
            temporary = TEMPORARY_PREFIX + secrets.token_hex(6).encode()
            os.symlink(target, temporary, dir_fd=folder)
            try:
                os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            except OSError:
                os.unlink(temporary, dir_fd=folder)
                raise

    def set_permissions(self, path: bytes, permissions: int) -> None:
        """Change the bits of a file or folder; a link is refused by the kernel."""
        with self._parent(path) as (folder, name):
            _chmod(folder, name, permissions)

    def remove(self, path: bytes) -> None:
        """Remove a file or link."""
        with self._opened(path), self._parent(path) as (folder, name):
            os.unlink(name, dir_fd=folder)

    def remove_folder(self, path: bytes) -> bool:
        """Remove a folder if it is empty; tells whether it is gone."""
        with self._opened(path), self._parent(path) as (folder, name):
            try:
                os.rmdir(name, dir_fd=folder)
            except OSError as error:
                if error.errno in (39, 17):  # ENOTEMPTY, EEXIST
                    return False
                raise
        return True

    def sweep(self, path: bytes) -> None:
        """Remove what a killed restore left beside a path."""
        try:
            with self._parent(path) as (folder, _):
                listed = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
                try:
                    names = [os.fsencode(name) for name in os.listdir(listed)]
                finally:
                    os.close(listed)
                for name in names:
                    if name.startswith(TEMPORARY_PREFIX):
                        os.unlink(name, dir_fd=folder)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return

    def _entry(
        self, folder: int, name: bytes, status: os.stat_result, expected: Iterable[Entry | None]
    ) -> Entry:
        permissions = stat.S_IMODE(status.st_mode)
        if stat.S_ISDIR(status.st_mode):
            return Entry(FOLDER, b"", permissions)
        if stat.S_ISLNK(status.st_mode):
            return Entry(LINK, object_id("blob", os.readlink(name, dir_fd=folder)), 0o777)
        if not stat.S_ISREG(status.st_mode):
            return Entry(0, b"", permissions)
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        mode = EXECUTABLE if permissions & 0o100 else FILE
        try:
            descriptor = os.open(name, flags, dir_fd=folder)
        except PermissionError:
            return Entry(mode, b"", permissions)  # closed: its content is taken to be as it was
        with open(descriptor, "rb") as stream:
            for one in expected:
                if one is not None and one.mode == CLONE and self._is_copy(one.oid, descriptor):
                    return Entry(CLONE, one.oid, permissions)
            return Entry(mode, stream_id(stream, status.st_size), permissions)

    def _make_parents(self, path: bytes) -> None:
        above = path.rpartition(b"/")[0]
        if above and self.look(above) is None:
            self.make_folder(above, 0o755)

    @contextmanager
    def _opened(self, path: bytes) -> Iterator[None]:
        """Give ourselves write access to the folder of a path for a moment, where it is ours to give."""
        above = path.rpartition(b"/")[0]
        if not above:
            yield
            return
        with self._parent(above) as (folder, name):
            before = stat.S_IMODE(os.lstat(name, dir_fd=folder).st_mode)
            closed = before & _OPENED != _OPENED
            if closed:
                _chmod(folder, name, before | _OPENED)
            try:
                yield
            finally:
                if closed:
                    _chmod(folder, name, before)


def _keep_owner(descriptor: int, folder: int, name: bytes) -> None:
    """A replaced file keeps its owner, where we may give it away."""
    try:
        old, new = os.lstat(name, dir_fd=folder), os.fstat(descriptor)
        if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
            os.fchown(descriptor, old.st_uid, old.st_gid)
    except (FileNotFoundError, PermissionError):
        return


def _chmod(folder: int, name: bytes, permissions: int) -> None:
    """Through a descriptor opened without following links; `/proc` makes the path for it."""
    descriptor = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        if not stat.S_ISLNK(os.fstat(descriptor).st_mode):
            os.chmod(f"/proc/self/fd/{descriptor}", permissions)
    finally:
        os.close(descriptor)
