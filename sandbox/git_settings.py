"""The copy of the user's git settings that commands see: identity and taste, no secrets, no programs."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from sandbox.repository import settings

_KEPT = """
user.name user.email user.useconfigonly author.* committer.* init.defaultbranch core.autocrlf core.eol
core.quotepath core.whitespace core.safecrlf core.abbrev pull.* push.default push.autosetupremote merge.ff
merge.conflictstyle rebase.autosquash rebase.autostash rebase.updaterefs diff.algorithm diff.renames
diff.colormoved diff.mnemonicprefix color.* column.* log.* status.* branch.autosetuprebase branch.sort
tag.sort rerere.enabled fetch.prune advice.* commit.verbose commit.status safe.directory
""".split()
INSIDE = "/.agent-tui"  # where commands find the copy
_DEFAULT_IGNORE = ".config/git/ignore"


@dataclass(frozen=True, slots=True)
class Copy:
    """The contents of the two files that commands see."""

    gitconfig: bytes
    gitignore: bytes


def copy(home: Path, hidden_names: Iterable[str]) -> Copy:
    """What commands see of the settings; `hidden_names` are stand-ins of the sandbox: git must not
    offer them for staging."""
    found: dict[str, tuple[str, ...]] = {}
    for source in (home / ".config/git/config", home / ".gitconfig"):
        found |= settings(source)
    kept = [(key, value) for key, values in found.items() if _is_kept(key) for value in values]
    kept.append(("core.excludesfile", f"{INSIDE}/gitignore"))
    text = "".join(_line(key, value) for key, value in kept)
    return Copy(os.fsencode(text), os.fsencode(_ignore_text(found, home, hidden_names)))


def _is_kept(key: str) -> bool:
    return any(fnmatchcase(key, pattern) for pattern in _KEPT)


def _line(key: str, value: str) -> str:
    section, _, rest = key.partition(".")
    subsection, _, name = rest.rpartition(".")
    quoted = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    escaped = subsection.replace("\\", "\\\\").replace('"', '\\"')
    header = f'[{section} "{escaped}"]' if subsection else f"[{section}]"
    return f'{header}\n\t{name} = "{quoted}"\n'


def _ignore_text(found: dict[str, tuple[str, ...]], home: Path, hidden_names: Iterable[str]) -> str:
    named = found.get("core.excludesfile", ())
    source = Path(named[-1].replace("~", str(home), 1)) if named else home / _DEFAULT_IGNORE
    try:
        own = source.read_text(errors="surrogateescape")
    except OSError:
        own = ""
    return own.rstrip("\n") + "\n" + "".join(f"{name}\n" for name in hidden_names)
