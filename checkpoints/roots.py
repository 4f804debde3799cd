"""Where the checkpoints of a workspace are kept: one directory per root, shared by roots inside it."""

import hashlib
import json
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from agent_tui.frozen import frozen
from checkpoints.coverage import refusal
from checkpoints.ignores import FILE_NAME, read_text
from checkpoints.nested import enclosing, exclude_file, git_dir_of
from checkpoints.plainfile import read_plain
from checkpoints.types import CheckpointError, WorkspaceKey

_DESCRIPTION = "workspace.json"


@frozen
class Home:
    """The directory of a store, and where the workspace lies below the root of that store."""

    directory: Path
    root: Path  # real path of the workspace
    below: str  # empty: the workspace is the root of the store

    @property
    def name(self) -> str:
        """A file name for what belongs to this workspace alone."""
        return hashlib.sha256(os.fsencode(self.below)).hexdigest()[:12] if self.below else "root"

    @property
    def journal(self) -> Path:
        """The record of a running rollback of this workspace."""
        return self.directory / f"{self.name}.journal"


def workspace_key(root: Path) -> WorkspaceKey:
    """Identity of a root: real path and inode. Not the device, whose number changes between boots."""
    try:
        real = Path(os.path.realpath(root, strict=True))
        inode = real.stat().st_ino
    except OSError as error:
        raise CheckpointError(f"workspace `{root}` cannot be read: {error.strerror}") from error
    digest = hashlib.sha256(os.fsencode(real) + b"\0%d" % inode)
    return WorkspaceKey(root=real, key=digest.hexdigest()[:16])


def home_of(root: Path, state_dir: Path, *, alone: bool) -> Home:
    """The directory for this workspace, made where it is missing.

    A workspace inside another one that has a store uses that store, so that both share one lock;
    `alone` roots (too wide ones) share with nobody. Raises CheckpointError.
    """
    key = workspace_key(root)
    base = state_dir / "checkpoints"
    own = base / key.key
    try:
        base.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not own.exists() and not alone:
            outer = _outer(base, key.root)
            if outer is not None:
                return outer
        own.mkdir(exist_ok=True, mode=0o700)
        _describe(own, key.root, alone=alone)
    except OSError as error:
        raise CheckpointError(f"state directory `{base}` cannot be written: {error.strerror}") from error
    return Home(directory=own, root=key.root, below="")


def existing_home(root: Path, state_dir: Path) -> Home | None:
    """The directory for this workspace if it has one already; makes nothing. Raises CheckpointError."""
    key = workspace_key(root)
    base = state_dir / "checkpoints"
    if (base / key.key).is_dir():
        return Home(directory=base / key.key, root=key.root, below="")
    return None if refusal(key.root) else _outer(base, key.root)


class Standing:
    """The directory that a workspace is, held open so that its number is not given to another one."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._descriptor = -1

    def hold(self) -> None:
        """Hold what is at the path now; raises OSError."""
        self.let_go()
        self._descriptor = os.open(self._home.root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)

    def is_replaced(self) -> bool:
        """Whether another directory is at the path since; its checkpoints are then those of the old one
        as well, also for later sessions and commands. Raises OSError."""
        held, now = os.fstat(self._descriptor), os.stat(self._home.root)
        if os.path.samestat(held, now):
            return False
        self.hold()
        link = self._home.directory.with_name(workspace_key(self._home.root).key)
        if not self._home.below:
            with suppress(FileExistsError):  # a session of the new one was quicker
                link.symlink_to(self._home.directory.name)
        return True

    def let_go(self) -> None:
        """Hold nothing any more."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1


def set_aside(directory: Path) -> Path:
    """Move a damaged store away, so that a new one can be begun; raises CheckpointError."""
    target = directory.with_name(f"{directory.name}.damaged-{int(time.time())}")
    try:
        directory.rename(target)
    except OSError as error:
        raise CheckpointError(f"the damaged `{directory}` cannot be moved away: {error.strerror}") from error
    return target


def _describe(directory: Path, root: Path, *, alone: bool) -> None:
    path = directory / _DESCRIPTION
    if not path.exists():
        temporary = directory / f"{_DESCRIPTION}.{secrets.token_hex(4)}"
        temporary.write_text(json.dumps({"root": os.fspath(root), "alone": alone}))
        temporary.replace(path)


def overlapping(home: Home) -> list[Path]:
    """The directories of other stores whose workspace lies around this one or in it: one that had its own
    before the one around it had any keeps it, with the checkpoints that are in it."""
    own = os.path.realpath(home.directory)
    return [
        directory
        for directory, root, _ in _described(home.directory.parent)
        if root.is_relative_to(home.root) or home.root.is_relative_to(root)
        if os.path.realpath(directory) != own
    ]


def _described(base: Path) -> Iterator[tuple[Path, Path, bool]]:
    """Each store with its workspace, and whether that shares with nobody."""
    for path in base.glob(f"*/{_DESCRIPTION}"):
        with suppress(OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            facts = json.loads(read_plain(path))
            yield path.parent, Path(facts["root"]), bool(facts.get("alone"))


def _outer(base: Path, root: Path) -> Home | None:
    """The store of the nearest workspace above that is open to sharing and still the same folder."""
    best: Home | None = None
    for directory, outer, alone in _described(base):
        if alone or not root.is_relative_to(outer) or root == outer:
            continue
        try:
            same = workspace_key(outer).key == directory.name
        except CheckpointError:
            continue
        if same and (best is None or len(outer.parts) > len(best.root.parts)):
            best = Home(directory=directory, root=outer, below="")
    if best is None:
        return None
    return Home(directory=best.directory, root=root, below=os.fspath(root.relative_to(best.root)))


def texts_above(root: Path) -> tuple[tuple[str, bytes], ...]:
    """Ignore files of the repository that the workspace is a part of, from its root downwards, each with
    the way from its folder to the workspace."""
    top = enclosing(root)
    if top is None or top == root:
        return ()
    git_dir = git_dir_of(os.fsencode(top))
    sources = [(top, read_text(exclude_file(git_dir)) if git_dir else b"")]
    folder = top
    for part in root.relative_to(top).parts:
        sources.append((folder, read_text(os.fsencode(folder) + b"/" + FILE_NAME)))
        folder = folder / part
    return tuple((os.fspath(root.relative_to(source)) + "/", text) for source, text in sources if text)
