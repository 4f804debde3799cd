"""The copy of the user's git settings that commands see: identity and taste, no secrets, no programs."""

import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from sandbox import git_ignores
from sandbox.git_ignores import Ignores
from sandbox.repository import settings

_KEPT = """
user.name user.email user.useconfigonly author.* committer.* init.defaultbranch core.autocrlf core.eol
core.quotepath core.whitespace core.safecrlf core.abbrev pull.* push.default push.autosetupremote merge.ff
merge.conflictstyle rebase.autosquash rebase.autostash rebase.updaterefs diff.algorithm diff.renames
diff.colormoved diff.mnemonicprefix color.* column.* log.* status.* branch.autosetuprebase branch.sort
tag.sort rerere.enabled fetch.prune advice.* commit.verbose commit.status safe.directory
""".split()
INSIDE = "/.agent-tui"  # where commands find the copy
_REPOSITORIES = "gitconfig-of"  # which of the rest is read in which
# The same for every command: bwrap is told of them before the files are known.
VARIABLES = {
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "include.path",
    "GIT_CONFIG_VALUE_0": f"{INSIDE}/{_REPOSITORIES}",
}
_MOST_REPOSITORIES = 8  # with ignores of their own, those of the first roots


def names(roots: int) -> tuple[str, ...]:
    """The files that commands see in `INSIDE` with so many writable roots, some of them empty."""
    numbers = range(min(roots, _MOST_REPOSITORIES))
    pairs = (name for number in numbers for name in (_settings_name(number), _ignored_name(number)))
    return ("gitconfig", "gitignore", _REPOSITORIES, *pairs)


def copy(home: Path, hidden_names: Sequence[str], ignores: Sequence[Ignores], roots: int) -> dict[str, bytes]:
    """What these hold. `hidden_names` are for all repositories, and for programs other than git that read its
    settings; `ignores` go before them in their own."""
    found: dict[str, tuple[str, ...]] = {}
    for source in (home / ".config/git/config", home / ".gitconfig"):
        found |= settings(source)
    kept = [(key, value) for key, values in found.items() if _is_kept(key) for value in values]
    named = f"[core]\n\texcludesfile = {INSIDE}/gitignore\n"  # as ripgrep reads it, too: without quotes
    texts = {
        "gitconfig": "".join(_line(key, value) for key, value in kept) + named,
        "gitignore": git_ignores.joined(git_ignores.of_person(home), hidden_names),
    }
    for number, one in enumerate(ignores[: min(roots, _MOST_REPOSITORIES)]):
        texts[_settings_name(number)] = git_ignores.setting(f"{INSIDE}/{_ignored_name(number)}")
        texts[_ignored_name(number)] = one.text
        file = f"{INSIDE}/{_settings_name(number)}"
        texts[_REPOSITORIES] = texts.get(_REPOSITORIES, "") + _line(git_ignores.condition(one), file)
    return {name: os.fsencode(texts.get(name, "")) for name in names(roots)}


def _settings_name(number: int) -> str:
    return f"gitconfig-{number}"


def _ignored_name(number: int) -> str:
    return f"gitignore-{number}"


def _is_kept(key: str) -> bool:
    return any(fnmatchcase(key, pattern) for pattern in _KEPT)


def _line(key: str, value: str) -> str:
    section, _, rest = key.partition(".")
    subsection, _, name = rest.rpartition(".")
    quoted = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    escaped = subsection.replace("\\", "\\\\").replace('"', '\\"')
    header = f'[{section} "{escaped}"]' if subsection else f"[{section}]"
    return f'{header}\n\t{name} = "{quoted}"\n'
