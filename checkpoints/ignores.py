"""Which paths the project's ignore files leave out, as git reads them.

Sources: `.gitignore` of each folder and `info/exclude` of the repository, never the user's global
list. Matching is pathspec's; order and precedence are those of `gitignore(5)`.
"""

import os
from collections.abc import Iterable
from dataclasses import field
from typing import TYPE_CHECKING

from agent_tui.frozen import mutable
from checkpoints.plainfile import read_plain

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

FILE_NAME = b".gitignore"
_LARGEST_BYTES = 1 << 20


@mutable
class Rules:
    """The rules in force in one folder: its own and those of the folders above, deepest first.

    Immutable but for its memory of decisions; a changed ignore file makes a new object, so that
    memory is never stale. Paths are relative to the workspace.
    """

    above: "Rules | None" = None
    spec: "GitIgnoreSpec | None" = None
    prefix: str = ""  # from the folder of the ignore file down to the workspace, with a slash
    skip: int = 0  # characters of a path up to the folder of the ignore file
    _decisions: dict[bytes, bool] = field(default_factory=dict)

    def ignores(self, path: bytes, *, folder: bool) -> bool:
        """Whether the rules leave that path out; what is above it is the caller's business."""
        asked = path + b"/" if folder else path  # what was a folder may be a file the next time
        known = self._decisions.get(asked)
        if known is None:
            known = self._decisions[asked] = self._decide(os.fsdecode(asked))
        return known

    def _decide(self, path: str) -> bool:
        rules: Rules | None = self
        while rules is not None:
            if rules.spec is not None:
                verdict = rules.spec.check_file(rules.prefix + path[rules.skip :]).include
                if verdict is not None:
                    return verdict
            rules = rules.above
        return False


def parse(text: bytes) -> "GitIgnoreSpec | None":
    """Patterns of an ignore file, none where it is over 1 MiB; lines that are no pattern match nothing, as
    in git."""
    from pathspec import GitIgnoreSpec
    from pathspec.patterns.gitignore import GitIgnorePatternError

    if len(text) > _LARGEST_BYTES:
        return None
    lines = os.fsdecode(text.removeprefix(b"\xef\xbb\xbf")).split("\n")
    lines = [line.removesuffix("\r") for line in lines]
    useful = [line for line in lines if line.strip() and not line.startswith("#")]
    if not useful:
        return None
    try:
        return GitIgnoreSpec.from_lines(useful)
    except GitIgnorePatternError:
        return GitIgnoreSpec.from_lines([line for line in useful if _is_pattern(line)])


def _is_pattern(line: str) -> bool:
    from pathspec import GitIgnoreSpec
    from pathspec.patterns.gitignore import GitIgnorePatternError

    try:
        GitIgnoreSpec.from_lines([line])
    except GitIgnorePatternError:
        return False
    return True


def read_text(path: bytes) -> bytes:
    """The bytes of an ignore file, empty when it is missing or no plain file; no more than `parse` takes."""
    try:
        return read_plain(path, limit=_LARGEST_BYTES + 1, follow=False)
    except OSError:
        return b""


def in_folder(above: Rules, folder: bytes, text: bytes) -> Rules:
    """Rules of a folder of the workspace that has an ignore file; `folder` is relative, no slash."""
    spec = parse(text)
    skip = len(os.fsdecode(folder)) + 1 if folder else 0
    return Rules(above=above, spec=spec, skip=skip) if spec else Rules(above=above)


def from_above(texts: Iterable[tuple[str, bytes]]) -> Rules:
    """Rules of the folders above the workspace: ignore texts, outermost first, each with the way from its
    folder down to the workspace."""
    rules = Rules()
    for prefix, text in texts:
        spec = parse(text)
        if spec is not None:
            if spec.check_file(prefix).include:
                return Rules()  # the workspace itself is ignored there: those rules are not about it
            rules = Rules(above=rules, spec=spec, prefix=prefix)
    return rules
