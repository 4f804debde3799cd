"""What a patch would do to which files, worked out completely before anything is written."""

import errno
import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from agent_tui.frozen import frozen
from sandbox.policy import Policy
from tools.patch.difference import Difference, difference
from tools.patch.edits import apply_hunks
from tools.patch.grammar import PatchError, Section
from tools.patch.replacing import replace_text
from tools.paths import name_of, open_resolved, place_of, shown
from tools.text_file import MAX_BYTES, TextFile
from tools.versions import Versions

NEW_MODE = 0o666  # the umask takes its part, as for every new file


@frozen
class Content:
    """A regular file as it was read."""

    data: bytes
    mode: int
    owner: tuple[int, int] = (-1, -1)
    identity: tuple[int, ...] = ()  # device, inode, size, time: whether it is still the one that was read


@frozen
class Change:
    """One path before and after; a move is one path that goes and one that comes."""

    path: Path
    before: Content | None  # None: there was nothing, or a link that is only moved or removed
    after: Content | None
    kind: Literal["A", "M", "D", "R"]
    moved_from: Path | None = None
    rename: bool = False  # the entry itself moves, content and all

    def difference(self, policy: Policy) -> Difference:
        """As a unified diff."""
        new = shown(self.path, policy)
        old = shown(self.moved_from, policy) if self.moved_from else new
        if self.kind == "D" and self.before is None:
            return Difference(text=f"delete link a/{old}\n", added=0, removed=0)
        before = self.before.data if self.before else None
        return difference(before, self.after.data if self.after else None, f"a/{old}", f"b/{new}")


class Planner:
    """Applies sections to an overlay of the disk. Nothing is written; raises `PatchError`.

    `learn`: the refusal reaches the model, so that it knows the file as it is from then on.
    """

    def __init__(self, policy: Policy, versions: Versions, *, learn: bool) -> None:
        self._policy = policy
        self._versions = versions
        self._learn = learn
        self._changes: dict[Path, Change] = {}
        self._bytes = 0  # taken apart so far

    @property
    def changes(self) -> list[Change]:
        """Everything in the order of the patch."""
        return list(self._changes.values())

    def apply(self, sections: Sequence[Section]) -> list[Change]:
        """Work out a whole patch."""
        for section in sections:
            if section.kind == "add":
                self._add(section)
            elif section.kind == "delete":
                self._delete(section)
            else:
                self._update(section)
        return self.changes

    def replace(self, path: str, old: str, new: str, *, every: bool) -> list[Change]:
        """Work out the plain form."""
        self._edit(path, lambda file: replace_text(file, old, new, path, every=every))
        return self.changes

    # --- sections --------------------------------------------------------------------------------

    def _add(self, section: Section) -> None:
        path = name_of(section.path, self._policy)
        self._must_be_free(path, section.path, "add")
        text = "\n".join(section.added) + ("\n" if section.added and not section.lacks_newline else "")
        after = Content(data=_utf8(text, section.path), mode=NEW_MODE)
        removed = self._changes.pop(path, None)
        before = removed.before if removed else None
        self._changes[path] = Change(path=path, before=before, after=after, kind="M" if before else "A")

    def _delete(self, section: Section) -> None:
        path = name_of(section.path, self._policy)
        before = self._entry(path, section.path)
        if before is not None:
            _must_be_writable(before, section.path)
            self._must_be_known(path, before, section.path)
        self._changes[path] = Change(path=path, before=before, after=None, kind="D")

    def _update(self, section: Section) -> None:
        hunks = section.hunks
        if hunks:
            self._edit(section.path, lambda file: apply_hunks(file, hunks, section.path).data)
        if section.move_to:
            self._move(section)

    def _move(self, section: Section) -> None:
        source = name_of(section.path, self._policy)
        target = name_of(section.move_to, self._policy)
        self._must_be_free(target, section.move_to, "move to")
        if target in self._changes:
            raise PatchError(f"cannot move to `{section.move_to}`: the patch deletes it; use two patches")
        if not section.hunks:
            before = self._entry(source, section.path)
            self._changes[target] = Change(
                path=target, before=before, after=before, kind="R", moved_from=source, rename=True
            )
            return
        edited = self._changes.pop(source, None)
        if edited is None:
            raise PatchError(f"`{section.path}` is a link: change its target, or move it without changes")
        self._changes[target] = replace(edited, path=target, kind="R", moved_from=source)

    def _edit(self, text_path: str, change: Callable[[TextFile], bytes]) -> None:
        path = place_of(text_path, self._policy)
        earlier = self._changes.get(path)
        if earlier is not None:
            now = earlier.after
            if now is None:
                raise PatchError(f"`{text_path}` is deleted by an earlier part of the patch")
        else:
            now = read_content(path, text_path)
            _must_be_writable(now, text_path)
            self._must_be_known(path, now, text_path)
        self._bytes += len(now.data)
        if self._bytes > MAX_BYTES:  # seconds of work, and several times the memory
            raise PatchError(
                f"the files to change have more than {MAX_BYTES:,} bytes together; use several patches, with "
                "all changes of one file under one `*** Update File`"
            )
        file = TextFile.of(now.data)
        if b"\0" in now.data[:8_192] and file.encoding == "utf-8":
            raise PatchError(f"`{text_path}` is a binary file; change it with a program")
        after = replace(now, data=change(file))
        if after.data == now.data:
            raise PatchError(f"`{text_path}`: the change leaves the file as it is")
        before = earlier.before if earlier else now
        self._changes[path] = Change(path=path, before=before, after=after, kind="M" if before else "A")

    # --- what must hold --------------------------------------------------------------------------

    def _entry(self, path: Path, text_path: str) -> Content | None:
        """What is to be removed or moved: a file that nothing else of the patch touches; None for a link."""
        if path in self._changes:
            raise PatchError(f"`{text_path}` is changed by an earlier part of the patch")
        is_link = os.path.islink(path)  # noqa: PTH114 - `Path.is_symlink` raises for a name too long
        return None if is_link else read_content(path, text_path)

    def _must_be_free(self, path: Path, text_path: str, verb: str) -> None:
        there = self._changes.get(path)
        if there is not None and there.after is None:
            return
        if there is not None or os.path.lexists(path):
            raise PatchError(f"cannot {verb} `{text_path}`: it exists already; update it instead")

    def _must_be_known(self, path: Path, content: Content, text_path: str) -> None:
        """Refuse to change what the model has last seen otherwise."""
        if not self._versions.differs(path, content.data):
            return
        known = self._versions.content(path)
        if self._learn:
            self._versions.note(path, content.data)
        told = "read it again"
        if known is not None:
            name = shown(path, self._policy)
            text = difference(known, content.data, f"a/{name}", f"b/{name}").text
            told = f"this is the difference, check the patch against it:\n{_bounded(text)}"
        raise PatchError(f"`{text_path}` was changed by something else since you last saw it; {told}")


def _must_be_writable(content: Content, text_path: str) -> None:
    """A file that nobody may write is meant to stay, though its directory would let it be replaced."""
    if not content.mode & 0o222:
        raise PatchError(
            f"`{text_path}` is write-protected (mode {content.mode:04o}); if it is meant to change, "
            f"run `chmod u+w` on it first"
        )


def read_content(path: Path, text_path: str) -> Content:
    """A regular file, by its resolved path. Raises `PatchError`."""
    try:
        fd = open_resolved(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            return _read(fd, text_path)
        finally:
            os.close(fd)
    except OSError as error:
        if error.errno == errno.ENOENT:
            raise PatchError(f"`{text_path}` does not exist") from error
        raise PatchError(f"`{text_path}` cannot be read: {error.strerror}") from error


def _read(fd: int, text_path: str) -> Content:
    state = os.fstat(fd)
    if not stat.S_ISREG(state.st_mode):
        raise PatchError(f"`{text_path}` is no regular file")
    if state.st_size > MAX_BYTES:
        raise PatchError(f"`{text_path}` has {state.st_size:,} bytes, at most {MAX_BYTES:,} can be edited")
    with os.fdopen(fd, "rb", closefd=False) as file:
        data = file.read(MAX_BYTES + 1)  # a file that says nothing of its size, as in /proc, is bounded too
    return Content(
        data=data,
        mode=stat.S_IMODE(state.st_mode),
        owner=(state.st_uid, state.st_gid),
        identity=identity_of(state),
    )


def identity_of(state: os.stat_result) -> tuple[int, ...]:
    """Changes whenever the file is written or exchanged."""
    return (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns)


def _utf8(text: str, path: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise PatchError(f"`{path}`: the text holds half a character (a lone surrogate)") from error


def _bounded(text: str, limit: int = 6_000) -> str:
    return text if len(text) <= limit else f"{text[:limit]}\n… [{len(text) - limit:,} more characters]"
