"""A bounded look through a workspace for what must be covered: nested repositories, sockets, secrets.

The walk costs milliseconds, a command start may not: the last result serves for a while and is
renewed beside the commands.
"""

import os
import stat
import time
from pathlib import Path

from agent_tui.frozen import frozen

_ENTRIES = 20_000
_SKIPPED = frozenset({"node_modules", ".git", "__pycache__", ".venv", "venv", ".tox", "target"})
_TEMPLATES = (".example", ".sample", ".template", ".dist", ".defaults")
_FRESH_S = 10.0
_MOST = 64  # of each kind


@frozen
class Survey:
    """What was found; `complete` is False when the walk was cut at its bound or more was there to cover."""

    repositories: tuple[Path, ...] = ()  # nested `.git`, directories and files
    sockets: tuple[Path, ...] = ()
    env_files: tuple[Path, ...] = ()
    hard_links: tuple[Path, ...] = ()  # files that have another name, perhaps outside
    complete: bool = True


_recent: dict[Path, tuple[float, Survey]] = {}


def recent(workspace: Path) -> Survey:
    """The last result for this workspace, walked now when there is none."""
    found = _recent.get(workspace)
    return found[1] if found else renew(workspace)


def is_stale(workspace: Path) -> bool:
    """Whether the last result should be renewed; safe to do in a thread."""
    found = _recent.get(workspace)
    return found is None or time.monotonic() - found[0] > _FRESH_S


def renew(workspace: Path) -> Survey:
    """Walk and remember."""
    result = survey(workspace)
    _recent[workspace] = (time.monotonic(), result)
    return result


def survey(workspace: Path, limit: int = _ENTRIES) -> Survey:
    """Breadth first, so that a cut hits the deepest; links are not followed, other mounts are."""
    found: dict[str, list[Path]] = {"repositories": [], "sockets": [], "env_files": [], "hard_links": []}
    waiting = [str(workspace)]
    seen, complete = 0, True
    for directory in waiting:
        try:
            entries = list(os.scandir(directory))
        except OSError:
            continue
        for entry in entries:
            seen += 1
            if seen > limit:
                return _result(found, complete=False)
            kind = _classify(entry, nested=directory != str(workspace))
            if kind == "directory":
                waiting.append(entry.path)
            elif kind and len(found[kind]) < _MOST:
                found[kind].append(Path(entry.path))
            elif kind:
                complete = complete and kind == "hard_links"  # these are told, not covered
    return _result(found, complete=complete)


def _result(found: dict[str, list[Path]], *, complete: bool) -> Survey:
    return Survey(**{kind: tuple(paths) for kind, paths in found.items()}, complete=complete)


def _classify(entry: "os.DirEntry[str]", *, nested: bool) -> str:
    try:
        state = entry.stat(follow_symlinks=False)
    except OSError:
        return ""
    if entry.name == ".git":
        return "repositories" if nested and not stat.S_ISLNK(state.st_mode) else ""
    if stat.S_ISDIR(state.st_mode):
        return "" if entry.name in _SKIPPED else "directory"
    if stat.S_ISSOCK(state.st_mode):
        return "sockets"
    if not stat.S_ISREG(state.st_mode):
        return ""
    if is_env_file(entry.name):
        return "env_files"
    return "hard_links" if state.st_nlink > 1 else ""


def is_env_file(name: str) -> bool:
    """`.env` and `.env.production`, but not the templates that projects publish."""
    return (name == ".env" or name.startswith(".env.")) and not name.endswith(_TEMPLATES)
