"""Random workspaces and random edits, and a manifest of a tree that shares no code with the product."""

import os
import random
import shutil
import stat
from pathlib import Path

Manifest = dict[bytes, tuple[object, ...]]
NAMES = [
    b"a",
    b"b.txt",
    b"sp ace",
    b"new\nline",
    b"\xff\xfe",
    "ü".encode(),
    b"-dash",
    b"'q\"",
    b"c.py",
    b"deep",
]
CONTENTS = [
    b"",
    b"one\n",
    b"one\r\ntwo\r\n",
    b"\x00\x01binary",
    b"no newline",
    b"\xef\xbb\xbfbom\n",
    b"x" * 5000,
    b"$Id$\n",
]


def manifest(root: Path, *, git: bool = False) -> Manifest:
    """Path → kind, bits and content of everything below a root; `.git` left out unless asked for."""
    found: Manifest = {}
    top = os.fsencode(root)
    for folder, folders, files in os.walk(top):
        if not git and b".git" in folders:
            folders.remove(b".git")
        for name in [*folders, *files]:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            bits = stat.S_IMODE(status.st_mode)
            if stat.S_ISLNK(status.st_mode):
                what: tuple[object, ...] = ("link", os.readlink(path))
            elif stat.S_ISDIR(status.st_mode):
                what = ("folder", bits)
            elif stat.S_ISREG(status.st_mode):
                what = ("file", bits, Path(os.fsdecode(path)).read_bytes())
            else:
                what = ("special", bits)
            found[os.path.relpath(path, top)] = what
    return found


def git_manifest(root: Path) -> dict[bytes, tuple[object, ...]]:
    """Everything below each `.git`: kind, size, modification time, content."""
    found: dict[bytes, tuple[object, ...]] = {}
    top = os.fsencode(root)
    for folder, _, files in os.walk(top):
        parts = folder.split(b"/")
        names = files if b".git" in parts else [name for name in files if name == b".git"]
        for name in names:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            content = (
                os.readlink(path) if stat.S_ISLNK(status.st_mode) else Path(os.fsdecode(path)).read_bytes()
            )
            found[path] = (status.st_mode, status.st_size, status.st_mtime_ns, content)
    return found


class Editor:
    """Makes random trees and edits them; `mine` are paths that belong to the other editor."""

    def __init__(self, root: Path, rng: random.Random) -> None:
        self.root = os.fsencode(root)
        self.rng = rng

    def content(self) -> bytes:
        return self.rng.choice(CONTENTS) + (
            b"%d\n" % self.rng.randrange(1000) if self.rng.random() < 0.8 else b""
        )

    def grow(self, folder: bytes, depth: int) -> None:
        """Fill a folder with files, links, folders and empty folders."""
        for name in self.rng.sample(NAMES, self.rng.randint(1, 5)):
            path = os.path.join(folder, name)
            kind = self.rng.random()
            if kind < 0.25 and depth < 3:
                os.mkdir(path)
                if self.rng.random() < 0.8:
                    self.grow(path, depth + 1)
            elif kind < 0.35:
                os.symlink(self.rng.choice([b"a", b"../b.txt", b"nowhere", b"/etc"]), path)
            else:
                self.put(path)

    def put(self, path: bytes) -> None:
        with open(path, "wb") as stream:
            stream.write(self.content())
        os.chmod(path, self.rng.choice([0o644, 0o644, 0o755, 0o600, 0o444]))

    def entries(self, kinds: str) -> list[bytes]:
        """Paths of those kinds: f files, l links, d folders."""
        found = []
        for folder, folders, files in os.walk(self.root):
            if b".git" in folders:
                folders.remove(b".git")
            for name in [*folders, *files]:
                path = os.path.join(folder, name)
                mode = os.lstat(path).st_mode
                kind = (
                    "l"
                    if stat.S_ISLNK(mode)
                    else "d"
                    if stat.S_ISDIR(mode)
                    else "f"
                    if stat.S_ISREG(mode)
                    else "s"
                )
                if kind in kinds:
                    found.append(path)
        return sorted(found)

    def pick(self, kinds: str) -> bytes | None:
        found = self.entries(kinds)
        return self.rng.choice(found) if found else None

    def edit(self) -> None:
        """One random edit of any kind."""
        kinds = (self.bits, self.folder_bits, self.relink, self.to_folder, self.to_file, self.rename)
        often = (self.change, self.create, self.remove, self.change_unseen)
        self.rng.choice((*often, *often[:2], self.remove_folder, self.make_folder, *kinds))()

    def change(self) -> None:
        path = self.pick("f")
        if path:
            with open(path, "ab") as stream:
                stream.write(b"more %d\n" % self.rng.randrange(100))

    def change_unseen(self) -> None:
        """Same size, and the old modification time put back, as `cp -p` and `rsync -t` do."""
        path = self.pick("f")
        if path and os.lstat(path).st_size:
            status = os.stat(path)
            content = bytearray(Path(os.fsdecode(path)).read_bytes())
            content[0] = (content[0] + 1) % 256
            with open(path, "r+b") as stream:
                stream.write(content)
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    def free(self) -> bytes:
        folder = self.rng.choice([self.root, *self.entries("d")])
        return os.path.join(folder, b"made-%d" % self.rng.randrange(10**6))

    def create(self) -> None:
        self.put(self.free())

    def make_folder(self) -> None:
        path = self.free()
        os.mkdir(path)
        if self.rng.random() < 0.7:
            self.grow(path, 2)

    def remove(self) -> None:
        path = self.pick("fl")
        if path:
            os.unlink(path)

    def remove_folder(self) -> None:
        path = self.pick("d")
        if path and not self.has_repository(path):
            shutil.rmtree(path)

    @staticmethod
    def has_repository(path: bytes) -> bool:
        return any(b".git" in [*folders, *files] for _, folders, files in os.walk(path))

    def bits(self) -> None:
        path = self.pick("f")
        if path:
            os.chmod(path, self.rng.choice([0o755, 0o644, 0o640, 0o700]))

    def folder_bits(self) -> None:
        path = self.pick("d")
        if path:
            os.chmod(path, self.rng.choice([0o755, 0o700, 0o750, 0o2755]))

    def relink(self) -> None:
        path = self.pick("l")
        if path:
            os.unlink(path)
            os.symlink(b"elsewhere-%d" % self.rng.randrange(9), path)

    def to_folder(self) -> None:
        path = self.pick("fl")
        if path:
            os.unlink(path)
            os.mkdir(path)
            if self.rng.random() < 0.8:
                self.grow(path, 2)

    def to_file(self) -> None:
        path = self.pick("dl")
        if path and not self.has_repository(path):
            if os.path.islink(path):
                os.unlink(path)
            else:
                shutil.rmtree(path)
            self.put(path)

    def rename(self) -> None:
        path = self.pick("fl")
        if path:
            os.rename(path, self.free())
