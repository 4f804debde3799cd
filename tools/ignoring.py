"""Walks directories the way git sees them: `.gitignore` files apply, `.git` does not exist.

Every directory is opened by its resolved path and no link in it is followed: one that takes the
place of a directory during a walk ends the walk there.
"""

import os
import stat
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from agent_tui.frozen import frozen
from tools.paths import open_resolved

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

MAX_ENTRIES = 200_000  # looked at in one walk
MAX_RULES_BYTES = 2**20  # of one `.gitignore`; a larger one counts as empty


@frozen
class Found:
    """One entry below the directory of a walk."""

    path: str  # relative to that directory
    is_dir: bool
    is_link: bool
    is_ignored: bool
    target: str = ""  # of a link


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    is_dir: bool
    target: str | None  # None: it is no link


@dataclass(frozen=True, slots=True)
class _Rules:
    base: Path
    spec: "GitIgnoreSpec"

    def verdict(self, path: Path, *, is_dir: bool) -> bool | None:
        """Ignored, or named again; None when no rule speaks of it."""
        relative = str(path.relative_to(self.base)) + ("/" if is_dir else "")
        return self.spec.check_file(relative).include


class Walk:
    """Entries in the order of their paths; links are not followed. `is_complete` is False at the bound.

    `leave_out` are paths that do not exist for the walk, resolved.
    """

    def __init__(
        self, directory: Path, *, ignored: bool, depth: int | None = None, leave_out: Collection[Path] = ()
    ) -> None:
        self._directory = directory
        self._show_ignored = ignored
        self._depth = depth
        self._leave_out = frozenset(leave_out)
        self._left = MAX_ENTRIES
        self.is_complete = True
        self.ignored = 0  # entries that were left out
        self.unread = 0  # directories that could not be read

    def __iter__(self) -> Iterator[Found]:
        yield from self._below(self._directory, _rules_above(self._directory), 1)

    def _below(self, directory: Path, rules: list[_Rules], level: int) -> Iterator[Found]:
        try:
            entries = _entries(directory)
        except OSError:
            self.unread += 1
            return
        rules = [*rules, *_rules_in(directory)]
        for entry in entries:
            path = directory / entry.name
            if entry.name == ".git" or path in self._leave_out:
                continue
            self._left -= 1
            if self._left < 0:
                self.is_complete = False
                return
            yield from self._entry(path, entry, rules, level)

    def _entry(self, path: Path, entry: _Entry, rules: list[_Rules], level: int) -> Iterator[Found]:
        is_ignored = _is_ignored(path, rules, is_dir=entry.is_dir)
        if is_ignored and not self._show_ignored:
            self.ignored += 1
            return
        yield Found(
            path=str(path.relative_to(self._directory)),
            is_dir=entry.is_dir,
            is_link=entry.target is not None,
            is_ignored=is_ignored,
            target=entry.target or "",
        )
        if entry.is_dir and (self._depth is None or level < self._depth):
            yield from self._below(path, rules, level + 1)


def _entries(directory: Path) -> list[_Entry]:
    """What is in exactly this directory, sorted. Raises OSError."""
    fd = open_resolved(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with os.scandir(fd) as found:
            entries = [
                _Entry(entry.name, entry.is_dir(follow_symlinks=False), _target(entry, fd)) for entry in found
            ]
    finally:
        os.close(fd)
    return sorted(entries, key=lambda entry: entry.name)


def _target(entry: "os.DirEntry[str]", directory: int) -> str | None:
    """Where a link leads, as it says; None for what is no link."""
    if not entry.is_symlink():
        return None
    try:
        return os.readlink(entry.name, dir_fd=directory)
    except OSError:  # it was exchanged in this moment
        return ""


def _is_ignored(path: Path, rules: list[_Rules], *, is_dir: bool) -> bool:
    """The rule file nearest to the path decides first."""
    for one in reversed(rules):
        verdict = one.verdict(path, is_dir=is_dir)
        if verdict is not None:
            return verdict
    return False


def _rules_above(directory: Path) -> list[_Rules]:
    """Rules of the directories above, up to the top of the repository."""
    found: list[_Rules] = []
    place = directory
    while not (place / ".git").exists() and place != place.parent:
        place = place.parent
        found = [*_rules_in(place), *found]
    return found


def _rules_in(directory: Path) -> list[_Rules]:
    try:
        data = _plain_content(directory / ".gitignore")
    except OSError:
        return []
    lines = data.decode("utf-8", errors="replace").splitlines()
    return [_Rules(directory, _spec(tuple(lines)))]


def _plain_content(path: Path) -> bytes:
    """Nothing of what git would not read: a link, a pipe, a device; nothing of a file without end."""
    fd = open_resolved(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        state = os.fstat(fd)
        is_usable = stat.S_ISREG(state.st_mode) and state.st_size <= MAX_RULES_BYTES
        return os.read(fd, MAX_RULES_BYTES) if is_usable else b""
    finally:
        os.close(fd)


@cache
def _spec(lines: tuple[str, ...]) -> "GitIgnoreSpec":
    """A line that is no pattern matches nothing, as in git."""
    from pathspec import GitIgnoreSpec
    from pathspec.patterns.gitignore import GitIgnorePatternError
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    patterns = []
    for line in lines:
        with suppress(GitIgnorePatternError):
            patterns.append(GitIgnoreSpecPattern(line))
    return GitIgnoreSpec(patterns)


def glob_fault(pattern: str) -> str:
    """Why a glob cannot be used, or ''."""
    is_good = not pattern or _spec((pattern.removeprefix("!"),)).patterns
    return "" if is_good else f"`glob`: `{pattern[:80]}` is no pattern"


def matches_glob(path: str, pattern: str) -> bool:
    """As in `.gitignore` and ripgrep: without a slash the name matches at any depth; `!` negates."""
    return bool(_spec((pattern.removeprefix("!"),)).match_file(path)) is not pattern.startswith("!")
