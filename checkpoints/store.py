"""The shadow store of one workspace: a git object store outside it, readable by git itself.

Few objects are written as loose files, many as one pack. git is asked for packing, for reading
packs and for differences; where git is missing, every object stays a loose file (a plain compressed
copy) and all else works alike.
"""

import hashlib
import os
import re
import secrets
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from checkpoints.clones import Clones, synchronise_names
from checkpoints.gitprocess import Git, GitError, ObjectReader, index_pack, run
from checkpoints.objects import (
    Commit,
    Kind,
    TreeItem,
    commit_content,
    commit_tree,
    kind_of,
    loose_file,
    object_id,
    packed_entry,
    parse_loose,
    parse_tree,
)
from checkpoints.plainfile import read_plain
from checkpoints.types import CheckpointError

PACK_FROM = 400  # new objects in one snapshot; below that loose files are cheaper
_BUFFER_BYTES = 8 << 20
_OPEN_FILES = 64
_CONFIG = """[core]
\trepositoryformatversion = 0
\tbare = true
\tautocrlf = false
\tsafecrlf = false
\thooksPath = /dev/null
\tattributesFile = /dev/null
\texcludesFile = /dev/null
\tfsmonitor = false
\tlogAllRefUpdates = false
\tquotePath = false
\tcompression = 1
[gc]
\tauto = 0
[maintenance]
\tauto = false
[commit]
\tgpgSign = false
"""
_FOLDERS = ("objects/pack", "objects/info", "refs/checkpoints", "refs/live", "info", "tmp", "clones")
_ATTRIBUTES = "* -text -eol -filter -ident -working-tree-encoding !diff\n"
_REF_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


class DamagedStoreError(CheckpointError):
    """An object that a checkpoint needs is missing or broken."""


class Store:
    """Objects and refs; not safe for use by two threads at once."""

    def __init__(self, directory: Path, git: Git | None) -> None:
        self.directory = directory
        self.git = git
        self.clones = Clones(directory / "clones", directory / "tmp")
        self._objects = os.fspath(directory / "objects")
        self._reader = ObjectReader(git, os.fspath(directory)) if git else None
        self._held: dict[bytes, tuple[Kind, bytes]] = {}  # objects that only this process has yet

    def create(self) -> None:
        """Make the layout where it is missing; raises DamagedStoreError where something else is in its
        place, and CheckpointError."""
        try:
            for part in _FOLDERS:
                (self.directory / part).mkdir(parents=True, exist_ok=True, mode=0o700)
            for name, text in (
                ("config", _CONFIG),
                ("info/attributes", _ATTRIBUTES),
                ("HEAD", "ref: refs/heads/none\n"),
            ):
                self._place(os.fspath(self.directory / name), text.encode(), replace=False)
        except (FileExistsError, NotADirectoryError) as error:
            raise DamagedStoreError(f"checkpoint store `{self.directory}` is damaged: {error}") from error
        except OSError as error:
            raise CheckpointError(
                f"checkpoint store `{self.directory}` cannot be written: {error.strerror}"
            ) from error

    # --- objects ----------------------------------------------------------------------------------

    def has_loose(self, oid: bytes) -> bool:
        """Whether a loose file of that object exists, or will; a packed one may exist beside."""
        return oid in self._held or os.path.exists(self._loose_path(oid))

    def hold(self, objects: Iterable[tuple[bytes, Kind, bytes]]) -> None:
        """Take a few objects without waiting for the disk: they can be read here, and are nowhere else
        before `write_held`. Nothing that names one may be stored before that."""
        self._held.update({oid: (kind, content) for oid, kind, content in objects})

    def write_held(self) -> None:
        """All that was held, and each copy of a large file, is on disk when this returns; raises OSError, and
        then it is still held."""
        self.clones.synchronise()
        self.put_all((oid, kind, content) for oid, (kind, content) in self._held.items())
        self._held.clear()

    def drop_held(self) -> None:
        """Forget what cannot be written."""
        self._held.clear()

    def put(self, kind: Kind, content: bytes) -> bytes:
        """Store one object as a loose file, unless it is held, and return its id; raises OSError."""
        oid = object_id(kind, content)
        if oid not in self._held:
            self.put_all([(oid, kind, content)])
        return oid

    def put_all(self, objects: Iterable[tuple[bytes, Kind, bytes]], *, synchronised: bool = True) -> None:
        """Store a few loose files, on disk when it returns if `synchronised`; raises OSError.

        All are written before the first is synchronised: the file system then needs few flushes. None gets
        its name before its content is on disk, as nobody looks into a file that has the right name.
        """
        placed: list[tuple[int, str, str]] = []
        try:
            for oid, kind, content in objects:
                path = self._loose_path(oid)
                if not os.path.exists(path):
                    placed.append((*self._begin(loose_file(kind, content)), path))
            for descriptor, _, _ in placed if synchronised else ():
                os.fdatasync(descriptor)
            for _, temporary, path in placed:
                _rename(temporary, path)
            if synchronised:
                self._synchronise_names(path for _, _, path in placed)
        except OSError:
            for _, temporary, _ in placed:
                _unlink(temporary)
            raise
        finally:
            for descriptor, _, _ in placed:
                os.close(descriptor)

    def read(self, oid: bytes, kind: Kind = "blob") -> bytes:
        """The content of an object of that kind; raises DamagedStoreError."""
        path = self._loose_path(oid)
        try:
            found: tuple[str, bytes] | None = self._held.get(oid) or parse_loose(read_plain(path))
        except FileNotFoundError:
            found = self._packed(oid)
        except OSError as error:
            raise DamagedStoreError(f"object `{oid.hex()[:12]}` of the checkpoint store: {error}") from error
        except ValueError:
            _unlink(path)  # in its way it would never be stored again
            found = self._packed(oid)
        if found is None or kind_of(found[0]) != kind:
            raise DamagedStoreError(f"object `{oid.hex()[:12]}` is missing from the checkpoint store")
        return found[1]

    def require_clone(self, oid: bytes) -> None:
        """Make sure that the copy of a large file can be had; raises DamagedStoreError."""
        if not self.clones.has(oid):
            raise DamagedStoreError(
                f"the copy `{oid.hex()[:12]}` of a large file is missing from the checkpoint store"
            )

    def _packed(self, oid: bytes) -> tuple[str, bytes] | None:
        if self._reader is None:
            return None
        try:
            found = self._reader.read(oid)
            if found is None:
                self._reader.close()  # it may still see a pack as it was before it was written anew
                found = self._reader.read(oid)
        except GitError as error:
            raise DamagedStoreError(f"object `{oid.hex()[:12]}` of the checkpoint store: {error}") from error
        return found

    def tree(self, oid: bytes) -> tuple[TreeItem, ...]:
        """The names in a tree; raises DamagedStoreError."""
        try:
            return tuple(parse_tree(self.read(oid, "tree")))
        except ValueError as error:
            raise DamagedStoreError(f"tree `{oid.hex()[:12]}` is damaged") from error

    def put_commit(self, commit: Commit) -> bytes:
        """Store a commit."""
        return self.put("commit", commit_content(commit))

    def commit_tree(self, oid: bytes) -> bytes:
        """The tree of a commit; raises DamagedStoreError."""
        try:
            return commit_tree(self.read(oid, "commit"))
        except ValueError as error:
            raise DamagedStoreError(f"commit `{oid.hex()[:12]}` is damaged") from error

    # --- refs -------------------------------------------------------------------------------------

    def set_ref(self, namespace: str, names: Iterable[str], oid: bytes) -> None:
        """Point `refs/NAMESPACE/NAME…` at an object, which keeps it alive.

        Not synchronised: the list of checkpoints is, and lost refs are made anew from it.
        """
        path = self.directory.joinpath("refs", namespace, *map(ref_name, names))
        self._place(os.fspath(path), oid.hex().encode() + b"\n", replace=True)

    def ref_targets(self, namespace: str) -> Iterator[bytes]:
        """What the refs of a namespace point at; only refs that are files of their own."""
        for path in (self.directory / "refs" / namespace).rglob("*"):
            if path.is_file():
                yield bytes.fromhex(path.read_text().strip())

    # --- git --------------------------------------------------------------------------------------

    def run_git(self, arguments: list[str | bytes], *, timeout_s: float, stdin: bytes = b"") -> bytes:
        """Run git on this store; raises GitError, or CheckpointError where there is no git."""
        if self.git is None:
            raise CheckpointError("`git` is not installed: this needs it")
        try:
            self.write_held()  # git sees what is on disk
        except OSError as error:
            raise GitError(f"checkpoint store `{self.directory}`: {error.strerror}") from error
        return run(self.git, os.fspath(self.directory), arguments, timeout_s=timeout_s, stdin=stdin)

    def close(self) -> None:
        """End the reader process."""
        if self._reader:
            self._reader.close()

    # --- files ------------------------------------------------------------------------------------

    def _loose_path(self, oid: bytes) -> str:
        name = oid.hex()
        return f"{self._objects}/{name[:2]}/{name[2:]}"

    def _synchronise_names(self, paths: Iterable[str]) -> None:
        """A new name is on disk once its folder is, and that of a new folder once the one above is."""
        folders = {os.path.dirname(path) for path in paths}
        for folder in (*folders, *([self._objects] if folders else ())):
            synchronise_names(folder)

    def temporary(self) -> Path:
        """A name for a file to be renamed; what a killed process leaves there is swept by a prune."""
        return self.directory / "tmp" / secrets.token_hex(8)

    def _begin(self, content: bytes) -> tuple[int, str]:
        """A new temporary file with that content, and its descriptor."""
        temporary = os.fspath(self.temporary())
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            view = memoryview(content)
            while view:
                view = view[os.write(descriptor, view) :]
        except OSError:
            os.close(descriptor)
            _unlink(temporary)
            raise
        return descriptor, temporary

    def _place(self, path: str, content: bytes, *, replace: bool) -> None:
        """Write beside and rename, so that a file is whole or absent; without `replace` only where there is
        none that can be read without waiting."""
        if not replace and os.path.isfile(path):
            return
        descriptor, temporary = self._begin(content)
        os.close(descriptor)
        try:
            _rename(temporary, path)
        except OSError:
            _unlink(temporary)
            raise


def ref_name(part: str) -> str:
    """A part of a ref's name: as it is where git takes it, else in hexadecimal digits."""
    return part if _REF_NAME.fullmatch(part) else part.encode().hex()


class ObjectWriter:
    """Takes the new objects of one snapshot: a few become loose files, many become one pack."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: list[tuple[Kind, bytes]] = []
        self._waiting_bytes = 0
        self._pack: _Pack | None = None
        self._seen: set[bytes] = set()

    def blob(self, content: bytes, known: bytes) -> bytes:
        """Take file content unless it still has the id it had before."""
        return known if object_id("blob", content) == known else self.add("blob", content)

    def add(self, kind: Kind, content: bytes) -> bytes:
        """Take one object and return its id; it is stored once `finish` returned. Raises OSError."""
        oid = object_id(kind, content)
        if oid in self._seen or self._store.has_loose(oid):
            return oid
        self._seen.add(oid)
        if self._pack is not None:
            self._pack.add(kind, content)
            return oid
        self._waiting.append((kind, content))
        self._waiting_bytes += len(content)
        if len(self._waiting) >= PACK_FROM or self._waiting_bytes >= _BUFFER_BYTES:
            self._drain()
        return oid

    def finish(self, *, hold: bool = False) -> None:
        """Everything added is in the store when this returns; a few loose ones are held by it, if `hold`
        (`Store.hold`). Raises OSError, GitError."""
        if self._pack is not None:
            pack, self._pack = self._pack, None
            pack.finish()
        if hold and len(self._waiting) <= _OPEN_FILES:
            self._store.hold((object_id(kind, content), kind, content) for kind, content in self._waiting)
            return
        self._write_loose()
        self._store.write_held()

    def abandon(self) -> None:
        """Drop what was not finished."""
        self._waiting.clear()
        if self._pack is not None:
            self._pack.abandon()
            self._pack = None

    def _drain(self) -> None:
        if self._store.git is None or len(self._waiting) < PACK_FROM:
            self._write_loose()
            return
        self._pack = _Pack(self._store)
        for kind, content in self._waiting:
            self._pack.add(kind, content)
        self._waiting.clear()

    def _write_loose(self) -> None:
        is_bulk = len(self._seen) >= PACK_FROM  # without git; a sync for each would take minutes
        objects = [(object_id(kind, content), kind, content) for kind, content in self._waiting]
        for start in range(0, len(objects), _OPEN_FILES):
            self._store.put_all(objects[start : start + _OPEN_FILES], synchronised=not is_bulk)
        self._waiting.clear()
        self._waiting_bytes = 0


class _Pack:
    """A pack being written; its index is made, and its content checked, by git."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._path = os.fspath(store.directory / "tmp" / f"{secrets.token_hex(8)}.pack")
        self._stream: BinaryIO = open(self._path, "w+b", buffering=1 << 20)  # noqa: SIM115 - closed by finish
        self._stream.write(struct.pack(">4sII", b"PACK", 2, 0))
        self._count = 0

    def add(self, kind: Kind, content: bytes) -> None:
        self._stream.write(packed_entry(kind, content))
        self._count += 1

    def finish(self) -> None:
        try:
            self._seal()
            assert self._store.git is not None
            index_pack(self._store.git, self._path, timeout_s=120)
            name = os.path.join(self._store.directory, "objects", "pack", f"pack-{self._checksum.hex()}")
            os.replace(self._path, name + ".pack")
            os.replace(self._path.removesuffix(".pack") + ".idx", name + ".idx")
        except BaseException:
            self.abandon()
            raise

    def abandon(self) -> None:
        self._stream.close()
        for path in (self._path, self._path.removesuffix(".pack") + ".idx"):
            _unlink(path)

    def _seal(self) -> None:
        """Write the number of objects into the header, and the checksum of all at the end."""
        self._stream.seek(8)
        self._stream.write(struct.pack(">I", self._count))
        self._stream.seek(0)
        digest = hashlib.sha1(usedforsecurity=False)
        while piece := self._stream.read(1 << 20):
            digest.update(piece)
        self._checksum = digest.digest()
        self._stream.write(self._checksum)
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._stream.close()


def _rename(temporary: str, path: str) -> None:
    """Into a folder that is made where it is missing."""
    try:
        os.replace(temporary, path)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        os.replace(temporary, path)


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
