"""Keeps what the sandbox put into a workspace out of what git offers for staging, without a word in the
repository.

Of the files of ignore patterns that settings name (`core.excludesFile`) git reads one, and a setting of the
environment beats those of the repository. So a repository with such things in it gets one of ours: what git
would have read there, and after it each thing by its whole path. It counts in this repository alone: in
another one a file of the same path may be somebody's work.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from agent_tui.frozen import frozen
from sandbox import placeholders
from sandbox.private import private_dir
from sandbox.repository import Repository, above, settings

_SYSTEM = Path("/etc/gitconfig")
_DEFAULT = ".config/git/ignore"
_MOST_BYTES = 1 << 20  # of the patterns of somebody
_FOLDER = "git-"  # and the process it belongs to


@frozen
class Ignores:
    """What git is to ignore in one repository."""

    top: Path  # of its files
    git_dir: Path
    text: str


def of_person(home: Path) -> str:
    """The patterns that the person has for every repository."""
    named = _named(_of_person(home))
    return _read(home / (_DEFAULT if named is None else _at_home(named, home)))


def collect(places: Iterable[Path], home: Path, is_shown: Callable[[Path], bool]) -> list[Ignores]:
    """For each repository that holds one of `places`. A file that its own settings name is read where
    `is_shown`: they may come from anybody."""
    tops: dict[Path, tuple[Repository, list[Path]]] = {}
    nearest: dict[Path, tuple[Path, Repository] | None] = {}
    for place in places:
        if place.parent not in nearest:
            nearest[place.parent] = above(place.parent)
        found = nearest[place.parent]
        if found:
            top, repository = found
            tops.setdefault(top, (repository, []))[1].append(place)
    return [
        Ignores(
            top=top,
            git_dir=Path(os.path.realpath(repository.git_dir)),
            text=joined(_in(repository, top, home, is_shown), patterns(held, top)),
        )
        for top, (repository, held) in tops.items()
        if "\n" not in str(repository.git_dir)  # no setting can hold it, and git would end at once
    ]


def patterns(places: Iterable[Path], top: Path) -> list[str]:
    """One for each place below `top`, that matches nothing else."""
    return [
        _pattern(place.relative_to(top)) for place in places if place != top and place.is_relative_to(top)
    ]


def joined(own: str, more: Iterable[str]) -> str:
    """Patterns of somebody with ours after them, which win."""
    return own.rstrip("\n") + "\n" + "".join(f"{line}\n" for line in more)


def setting(file: str) -> str:
    """What a file of settings says that names `file`."""
    quoted = file.replace("\\", "\\\\").replace('"', '\\"')
    return f'[core]\n\texcludesFile = "{quoted}"\n'


def condition(one: Ignores) -> str:
    """The key of a setting that names a file of settings to be read in that repository alone."""
    return f"includeIf.gitdir:{_literal(str(one.git_dir))}.path"


def variables(ignores: Iterable[Ignores], files: Iterable[str], before: Mapping[str, str]) -> dict[str, str]:
    """What has git read `files`, each a file of settings for one of `ignores`, after what `before` says."""
    count = before.get("GIT_CONFIG_COUNT") or "0"
    if not count.isdecimal():  # git says so itself
        return {}
    found: dict[str, str] = {}
    for number, (one, file) in enumerate(zip(ignores, files, strict=True), int(count)):
        found[f"GIT_CONFIG_KEY_{number}"] = condition(one)
        found[f"GIT_CONFIG_VALUE_{number}"] = file
        found["GIT_CONFIG_COUNT"] = str(number + 1)
    return found


def outside(
    state_dir: Path, home: Path, before: Mapping[str, str]
) -> tuple[Mapping[str, str], tempfile.TemporaryDirectory[str] | None]:
    """Variables for a command out of the sandbox while stand-ins of others are there, and what they name,
    to be cleaned up after it."""
    ignores = collect(sorted(placeholders.present(state_dir)), home, lambda _: True)
    if not ignores:
        return {}, None
    base = private_dir(state_dir / "sandbox")
    _sweep(base)
    folder = tempfile.TemporaryDirectory(prefix=f"{_FOLDER}{os.getpid()}-", dir=base)
    files = []
    for number, one in enumerate(ignores):
        ignored, file = Path(folder.name, f"ignored-{number}"), Path(folder.name, f"settings-{number}")
        ignored.write_bytes(os.fsencode(one.text))
        file.write_bytes(os.fsencode(setting(str(ignored))))
        files.append(str(file))
    return variables(ignores, files, before), folder


def _sweep(base: Path) -> None:
    """Remove what processes left that were killed."""
    for left in base.glob(f"{_FOLDER}*"):
        if not Path("/proc", left.name.split("-")[1]).exists():
            shutil.rmtree(left, ignore_errors=True)


def _of_person(home: Path) -> list[Mapping[str, tuple[str, ...]]]:
    return [settings(place) for place in (_SYSTEM, home / ".config/git/config", home / ".gitconfig")]


def _named(found: Sequence[Mapping[str, tuple[str, ...]]]) -> str | None:
    values = [value for each in found for value in each.get("core.excludesfile", ())]
    return values[-1] if values else None


def _in(repository: Repository, top: Path, home: Path, is_shown: Callable[[Path], bool]) -> str:
    own = [settings(repository.common_dir / "config")]
    if own[0].get("extensions.worktreeconfig", ("",))[-1].lower() in ("true", "yes", "on", "1"):
        own.append(settings(repository.git_dir / "config.worktree"))
    named = _named(own)
    if named is None:
        return of_person(home)
    place = Path(os.path.realpath(top / _at_home(named, home)))
    return _read(place) if is_shown(place) else ""


def _at_home(named: str, home: Path) -> Path:
    return home / named[2:] if named.startswith("~/") else Path(named)


def _read(place: Path) -> str:
    """The first lines of a file that may be anybody's."""
    try:
        if not place.is_file():  # a pipe never ends
            return ""
        with place.open("rb") as file:
            found = file.read(_MOST_BYTES + 1)
    except OSError:
        return ""
    whole = found if len(found) <= _MOST_BYTES else found[: found.rfind(b"\n") + 1]
    return whole.decode(errors="surrogateescape").replace("\r\n", "\n")


def _pattern(place: Path) -> str:
    text = _literal(str(place)).replace("\n", "?")
    return f"/{text[:-1]}\\ " if text.endswith(" ") else f"/{text}"


def _literal(path: str) -> str:
    return re.sub(r"([\\*?\[])", r"\\\1", path)
