"""The text of a patch taken apart (docs/patch-format.md); knows nothing of files."""

import re
from dataclasses import field
from typing import Literal

from agent_tui.frozen import mutable

BEGIN, END = "*** Begin Patch", "*** End Patch"
END_OF_FILE = "*** End of File"
MAX_FILES = 500  # of one patch: each is looked at before the call is judged
_ADD, _DELETE, _UPDATE, _MOVE = "*** Add File: ", "*** Delete File: ", "*** Update File: ", "*** Move to: "
NO_NEWLINE = "\\ No newline at end of file"
_NUMBERS = r"-(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@"

SectionKind = Literal["add", "delete", "update"]
_KINDS: dict[str, SectionKind] = {_ADD: "add", _DELETE: "delete", _UPDATE: "update"}


class PatchError(Exception):
    """A patch that cannot be used; the text says where, why and what would work."""


class PartlyAppliedError(PatchError):
    """Writing failed in the middle, and so did putting back what had been written."""


@mutable
class Hunk:
    """One place of a file: what stands there, and what shall stand there."""

    line: int  # of the patch, from 1
    anchors: list[str] = field(default_factory=list)
    start: int | None = None  # line number out of a unified diff header
    changes: list[tuple[str, str]] = field(default_factory=list)  # " ", "-" or "+", and the text
    at_end: bool = False
    old_lacks_newline: bool = False
    new_lacks_newline: bool = False

    @property
    def old(self) -> list[str]:
        """The lines it expects."""
        return [text for kind, text in self.changes if kind != "+"]


@mutable
class Section:
    """What is to happen to one file."""

    kind: SectionKind
    path: str
    line: int
    move_to: str = ""
    added: list[str] = field(default_factory=list)
    lacks_newline: bool = False
    hunks: list[Hunk] = field(default_factory=list)


def parse(text: str) -> list[Section]:
    """The sections in order. Raises `PatchError`."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return _Parser(lines).sections()


class _Parser:
    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 0
        self._found: list[Section] = []

    def sections(self) -> list[Section]:
        self._skip_to_begin()
        while True:
            if self._at >= len(self._lines):
                raise PatchError(f"the patch does not end with `{END}`; it may have been cut off")
            line = self._lines[self._at]
            self._at += 1
            if line.strip() == END:
                break
            self._section_or_line(line)
        if any(line.strip() and line.strip() != "```" for line in self._lines[self._at :]):
            raise self._error(f"there is text after `{END}`", self._at + 1)
        if not self._found:
            raise PatchError(f"the patch names no file; between `{BEGIN}` and `{END}` use `{_UPDATE}path`")
        if len(self._found) > MAX_FILES:
            raise PatchError(
                f"the patch changes {len(self._found):,} files, at most {MAX_FILES} are possible at once; "
                "use several patches"
            )
        for section in self._found:
            self._check(section)
        return self._found

    def _skip_to_begin(self) -> None:
        while self._at < len(self._lines) and self._lines[self._at].strip() in ("", "```", "```diff"):
            self._at += 1
        if self._at == len(self._lines) or self._lines[self._at].strip() != BEGIN:
            raise PatchError(f"the patch must start with `{BEGIN}`")
        self._at += 1

    def _section_or_line(self, line: str) -> None:
        for prefix, kind in _KINDS.items():
            if line.startswith(prefix):
                path = line.removeprefix(prefix).strip()
                self._check_path(path, prefix)
                self._found.append(Section(kind=kind, path=path, line=self._at))
                return
        if self._found:
            self._line_of(self._found[-1], line)
        elif line.strip():
            raise self._error(
                f"expected `{_UPDATE}path`, `{_ADD}path` or `{_DELETE}path`, found `{line[:60]}`"
            )

    def _check_path(self, path: str, prefix: str) -> None:
        if not path:
            raise self._error(f"`{prefix.strip()}` names no path")
        if "\0" in path:
            raise self._error("the path holds a NUL character")

    def _line_of(self, section: Section, line: str) -> None:
        if line.startswith(_MOVE) and section.kind == "update" and not section.hunks:
            section.move_to = line.removeprefix(_MOVE).strip()
            self._check_path(section.move_to, _MOVE)
        elif section.kind == "add":
            self._added(section, line)
        elif section.kind == "delete":
            if line.strip():
                raise self._error(f"nothing may follow `{_DELETE}{section.path}`, found `{line[:60]}`")
        else:
            self._updated(section, line)

    def _added(self, section: Section, line: str) -> None:
        if line.startswith("+"):
            section.added.append(line[1:])
        elif line == NO_NEWLINE:
            section.lacks_newline = True
        elif line.rstrip() == END_OF_FILE:
            return
        elif line.strip() or self._more_added():
            raise self._error(f"each line of an added file starts with `+`, found `{line[:60]}`")

    def _more_added(self) -> bool:
        """Whether an empty line stands between added ones; before the next section it means nothing."""
        following = next((line for line in self._lines[self._at :] if line.strip()), END)
        return not following.startswith("***")

    def _updated(self, section: Section, line: str) -> None:
        if line.startswith("@@"):
            self._header(section, line)
            return
        if line.rstrip() == END_OF_FILE:
            self._hunk(section).at_end = True
            return
        hunk = self._hunk(section)
        if hunk.at_end:
            if line.strip():
                raise self._error(f"a new part after `{END_OF_FILE}` starts with `@@`, found `{line[:60]}`")
        elif line == NO_NEWLINE and hunk.changes:
            kind = hunk.changes[-1][0]
            hunk.old_lacks_newline |= kind != "+"
            hunk.new_lacks_newline |= kind != "-"
        elif line[:1] in (" ", "-", "+"):
            hunk.changes.append((line[0], line[1:]))
        elif line == "":
            hunk.changes.append((" ", ""))  # an editor or model stripped the blank of an empty line
        else:
            raise self._error(f"each line of a change starts with ` `, `-`, `+` or `@@`, found `{line[:60]}`")

    def _header(self, section: Section, line: str) -> None:
        last = section.hunks[-1] if section.hunks else None
        if last is None or last.changes or last.at_end or last.start is not None:
            last = Hunk(line=self._at)
            section.hunks.append(last)
        rest = line[2:].strip()
        if numbers := re.match(_NUMBERS, rest):
            last.start = int(numbers[1])
        elif rest:
            last.anchors.append(rest)

    def _hunk(self, section: Section) -> Hunk:
        if not section.hunks:
            section.hunks.append(Hunk(line=self._at))
        return section.hunks[-1]

    def _check(self, section: Section) -> None:
        """Empty context lines at the end of a part are only the gap before the next one."""
        for hunk in section.hunks:
            while hunk.changes and hunk.changes[-1] == (" ", "") and not hunk.at_end:
                hunk.changes.pop()
            if all(kind == " " for kind, _ in hunk.changes):
                raise self._error(f"this part of `{section.path}` changes nothing", hunk.line)
        if section.kind == "update" and not section.hunks and not section.move_to:
            raise self._error(f"`{_UPDATE}{section.path}` is followed by no change", section.line)

    def _error(self, what: str, line: int | None = None) -> PatchError:
        return PatchError(f"patch line {line or self._at}: {what}")
