"""Walks directories the way git sees them: `.gitignore` files apply, `.git` does not exist."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

MAX_ENTRIES = 200_000  # looked at in one walk
MAX_RULES_BYTES = 2**20  # of one `.gitignore`; a larger one counts as empty


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One entry below the directory of a walk."""

    path: str  # relative to that directory
    is_dir: bool
    is_link: bool
    is_ignored: bool


@dataclass(frozen=True, slots=True)
class _Rules:
    base: Path
    spec: "GitIgnoreSpec"

    def verdict(self, path: Path, *, is_dir: bool) -> bool | None:
        """Ignored, or named again; None when no rule speaks of it."""
        relative = str(path.relative_to(self.base)) + ("/" if is_dir else "")
        return self.spec.check_file(relative).include


class Walk:
    """Entries in the order of their paths; links are not followed. `is_complete` is False at the bound."""

    def __init__(self, directory: Path, *, ignored: bool, depth: int | None = None) -> None:
        self._directory = directory
        self._show_ignored = ignored
        self._depth = depth
        self._left = MAX_ENTRIES
        self.is_complete = True
        self.ignored = 0  # entries that were left out

    def __iter__(self) -> Iterator[Found]:
        yield from self._below(self._directory, _rules_above(self._directory), 1)

    def _below(self, directory: Path, rules: list[_Rules], level: int) -> Iterator[Found]:
        try:
            entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
        except OSError:
            return
        rules = [*rules, *_rules_in(directory)]
        for entry in entries:
            if entry.name == ".git":
                continue
            self._left -= 1
            if self._left < 0:
                self.is_complete = False
                return
            yield from self._entry(entry, rules, level)

    def _entry(self, entry: "os.DirEntry[str]", rules: list[_Rules], level: int) -> Iterator[Found]:
        path = Path(entry.path)
        is_dir = entry.is_dir(follow_symlinks=False)
        is_ignored = _is_ignored(path, rules, is_dir=is_dir)
        if is_ignored and not self._show_ignored:
            self.ignored += 1
            return
        relative = str(path.relative_to(self._directory))
        yield Found(path=relative, is_dir=is_dir, is_link=entry.is_symlink(), is_ignored=is_ignored)
        if is_dir and (self._depth is None or level < self._depth):
            yield from self._below(path, rules, level + 1)


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
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
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
