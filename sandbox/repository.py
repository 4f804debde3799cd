"""Where a workspace's git data lies, and what of it git would execute or be redirected by."""

import os
import stat
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from agent_tui.frozen import frozen
from sandbox.errors import SandboxError

# git reads these to find programs or other places (git-config(1), gitrepository-layout(5))
POWERFUL_DIRECTORIES = ("hooks", "info", "modules")
POWERFUL_FILES = ("config", "config.worktree", "commondir")
_PROGRAM_KEYS = (
    "core.hookspath core.fsmonitor core.editor core.pager core.sshcommand core.gitproxy core.attributesfile "
    "core.askpass diff.external sequence.editor gpg.program interactive.difffilter credential.helper"
).split()
_PROGRAM_ENDINGS = (
    ".command",
    ".textconv",
    ".clean",
    ".smudge",
    ".process",
    ".driver",
    ".cmd",
    ".helper",
    ".program",
)
_CONFIG_TIMEOUT_S = 5


@frozen
class Repository:
    """A workspace's repository. `git_dir` equals `common_dir` but in a linked worktree."""

    link: Path | None  # the `.git` file of a worktree or submodule
    git_dir: Path
    common_dir: Path


def find(workspace: Path) -> Repository | None:
    """The repository of `workspace` itself, or None; forged pointers count as none.

    Raises `SandboxError` when `.git` is a symbolic link, which cannot be pinned.
    """
    dot_git = workspace / ".git"
    if dot_git.is_symlink():
        raise SandboxError(f"sandbox: `{dot_git}` is a symbolic link and cannot be protected; use read-only")
    if dot_git.is_dir():
        return Repository(link=None, git_dir=dot_git, common_dir=dot_git) if any(dot_git.iterdir()) else None
    if dot_git.is_file():
        return _linked(workspace, dot_git)
    return None


def above(place: Path) -> tuple[Path, Repository] | None:
    """The nearest work tree that `place` is in, and its repository."""
    for folder in (place, *place.parents):
        with suppress(SandboxError, OSError):  # one that is no repository for us, or that we may not see
            found = find(folder)
            if found:
                return folder, found
    return None


def _linked(workspace: Path, dot_git: Path) -> Repository | None:
    text = _first_line(dot_git)
    if not text.startswith("gitdir: "):
        return None
    git_dir = _resolve(workspace, text.removeprefix("gitdir: "))
    if not (git_dir / "HEAD").is_file():
        return None
    common_dir = _resolve(git_dir, _first_line(git_dir / "commondir") or ".")
    if common_dir != git_dir:  # a stand-in says so, while one is there
        owned = _resolve(git_dir, _first_line(git_dir / "gitdir")) == dot_git
        inside = git_dir.parent == common_dir / "worktrees"
        if not (owned and inside and (common_dir / "objects").is_dir()):
            return None
        return Repository(link=dot_git, git_dir=git_dir, common_dir=common_dir)
    worktree = settings(git_dir / "config").get("core.worktree", ())
    if not worktree or _resolve(git_dir, worktree[-1]) != workspace:
        return None
    return Repository(link=dot_git, git_dir=git_dir, common_dir=git_dir)


def _first_line(path: Path) -> str:
    try:
        if not path.is_file():  # a pipe would never end
            return ""
        with path.open(errors="surrogateescape") as file:
            return file.readline(4096).rstrip("\n")
    except OSError:
        return ""


def _resolve(base: Path, text: str) -> Path:
    return Path(os.path.realpath(base / text))


_settings: dict[Path, tuple[tuple[int, int, int], dict[str, tuple[str, ...]]]] = {}


def settings(config: Path) -> Mapping[str, tuple[str, ...]]:
    """All values of a git configuration file and what it includes; nothing in it is executed."""
    try:
        state = config.stat()
    except OSError:
        return {}
    stamp = (state.st_ino, state.st_mtime_ns, state.st_size)
    known = _settings.get(config)
    if known and known[0] == stamp:
        return known[1]
    found = _read_settings(config)
    _settings[config] = (stamp, found)
    return found


def _read_settings(config: Path) -> dict[str, tuple[str, ...]]:
    command = ["git", "config", "--file", str(config), "--includes", "--null", "--list"]
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=_CONFIG_TIMEOUT_S, cwd="/", env=_clean_environment()
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    found: dict[str, tuple[str, ...]] = {}
    for record in os.fsdecode(done.stdout).split("\0"):
        key, _, value = record.partition("\n")
        if key:
            found[key] = (*found.get(key, ()), value)
    return found


def _clean_environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return kept | {"GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}


def programs_inside(repository: Repository, workspace: Path, home: Path) -> dict[Path, bool]:
    """Paths of the workspace that git runs, or reads from what to run, and whether each is a directory:
    what the settings of the repository and of the user name (`core.hooksPath = .githooks`, a filter, an
    included file), and where hooks that are links lead. Of a missing path its first missing part."""
    found = _linked_hooks(repository)
    for config in (repository.common_dir / "config", home / ".gitconfig", home / ".config/git/config"):
        for key, values in settings(config).items():
            if key == "core.hookspath" or key.startswith(("include.", "includeif.")):
                is_hooks = key == "core.hookspath"
                base = workspace if is_hooks else config.parent
                found |= {_resolve(base, _at_home(value, home)): is_hooks for value in values}
            elif key in _PROGRAM_KEYS or key.endswith(_PROGRAM_ENDINGS):
                found |= dict.fromkeys(_programs(values, workspace, home), False)
    inside = {place: kind for place, kind in found.items() if _is_below(place, workspace)}
    return dict(_standing(place, kind) for place, kind in inside.items())


def _linked_hooks(repository: Repository) -> dict[Path, bool]:
    hooks = repository.common_dir / "hooks"
    places = [repository.common_dir / name for name in ("config", "info")]
    with suppress(OSError), os.scandir(hooks) as entries:
        places += [Path(entry.path) for entry in entries if entry.is_symlink()]
    found = {_resolve(place, ""): False for place in places if place.is_symlink()}
    return found | ({_resolve(hooks, ""): True} if hooks.is_symlink() else {})


def _programs(values: Iterable[str], workspace: Path, home: Path) -> Iterator[Path]:
    """Words of command lines that are paths: those that exist, and missing ones that can be nothing else."""
    for word in " ".join(values).replace('"', " ").replace("'", " ").split():
        place = _resolve(workspace, _at_home(word, home))
        is_there = os.path.exists(place)  # noqa: PTH110 - false for a word too long to be a name, too
        if is_there or ("/" in word and "://" not in word and word[0] not in "-!$%("):
            yield place


def _at_home(word: str, home: Path) -> str:
    return f"{home}/{word[2:]}" if word.startswith("~/") else word


def _is_below(place: Path, root: Path) -> bool:
    return place != root and place.is_relative_to(root)


def _standing(place: Path, is_directory: bool) -> tuple[Path, bool]:
    """The place itself where it exists, else its first part that does not, which then is a directory."""
    missing = [part for part in (place, *place.parents) if not os.path.lexists(part)]
    return (missing[-1], is_directory or len(missing) > 1) if missing else (place, is_directory)


def gitlinks(repository: Repository) -> set[str]:
    """Paths of the index that are commits of other repositories (mode 160000)."""
    command = [
        "git",
        "-c",
        "core.fsmonitor=false",
        f"--git-dir={repository.git_dir}",
        "ls-files",
        "--stage",
        "-z",
    ]
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=_CONFIG_TIMEOUT_S, cwd="/", env=_clean_environment()
        )
    except (OSError, subprocess.TimeoutExpired):
        return set()
    records = os.fsdecode(done.stdout).split("\0")
    return {record.partition("\t")[2] for record in records if record.startswith("160000 ")}


# the last 20 bytes of the name that git has for an empty file, by SHA-1 and by SHA-256
_EMPTY = tuple(
    map(
        bytes.fromhex,
        ("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", "b1e9a7dcda1185436fe141f7749120a303721813"),
    )
)
_tracked: dict[Path, tuple[tuple[int, int, int], dict[str, bytes]]] = {}


def is_tracked(repository: Repository, path: str, *, with_content: bool = False) -> bool:
    """Whether the index names `path`, relative to the workspace, and with `with_content` not as an empty
    file; the index is read, git is not run."""
    index = repository.git_dir / "index"
    try:
        state = index.stat()
        if not stat.S_ISREG(state.st_mode):  # no pipe, no device
            return False
        stamp = (state.st_ino, state.st_mtime_ns, state.st_size)
        known = _tracked.get(index)
        if known is None or known[0] != stamp:
            known = _tracked[index] = (stamp, {})
        if path not in known[1]:
            known[1][path] = _entry(index.read_bytes(), os.fsencode(path))
        entry = known[1][path]
        return bool(entry) and not (with_content and entry in _EMPTY)
    except OSError:
        return False


def _entry(index: bytes, name: bytes) -> bytes:
    """The end of the object name that the index has for `name`, or nothing."""
    place = index.find(name + b"\0")
    while place > 0:
        # the 16 bits before a name hold its length (gitformat-index(5)), so `x/.env` is no `.env`
        if int.from_bytes(index[place - 2 : place], "big") & 0xFFF == len(name):
            return index[place - 22 : place - 2]
        place = index.find(name + b"\0", place + 1)
    return b""
