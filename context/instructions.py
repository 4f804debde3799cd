"""Project instructions: `AGENTS.md` files from the project root down to the current directory.

Read from disk at session start and again at each compaction, never from a summary. A file that
leads out of the project by a link is not read: instructions must not become a way to show a model
a private file.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from agent_tui.frozen import frozen

NAMES = ("AGENTS.override.md", "AGENTS.md", "CLAUDE.md")  # first one found in a directory counts
CAP_BYTES = 32 * 1024  # for all files together


@frozen
class InstructionFile:
    """One file that was found; `cut_bytes` of it did not fit under the cap."""

    path: Path
    shown: str  # relative to the project root, or the user's file as `~/…`
    text: str
    cut_bytes: int = 0


@frozen
class Instructions:
    """What goes into the pinned project context, and what to tell the person."""

    files: tuple[InstructionFile, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """One text for the model; empty where there are no instructions."""
        if not self.files:
            return ""
        parts = [f"## {file.shown}\n\n{file.text.strip()}" + _cut_mark(file) for file in self.files]
        return "# Project instructions\n\nLater ones are closer to the work and win.\n\n" + "\n\n".join(parts)


def _cut_mark(file: InstructionFile) -> str:
    return f"\n\n[{file.cut_bytes} bytes over the limit left out]" if file.cut_bytes else ""


def project_root(directory: Path) -> Path:
    """The nearest directory upwards that holds a `.git`, else `directory` itself."""
    for candidate in (directory, *directory.parents):
        if (candidate / ".git").exists():
            return candidate
    return directory


def candidates(directory: Path) -> tuple[Path, ...]:
    """The instruction files that `discover` would read, outermost first (for the trust screen)."""
    root = project_root(directory)
    chain = [directory, *directory.parents]
    wanted = reversed(chain[: chain.index(root) + 1])
    found = (_first_in(folder) for folder in wanted)
    return tuple(path for path in found if path is not None)


def discover(directory: Path, *, user_file: Path | None = None, project: bool = True) -> Instructions:
    """Read the user's file and, where `project`, those from the project root to `directory`."""
    root = project_root(directory)
    paths: list[tuple[Path, str]] = []
    if user_file is not None and user_file.is_file():
        paths.append((user_file, f"{user_file.name} of the user"))
    if project:
        paths.extend((path, path.relative_to(root).as_posix()) for path in candidates(directory))
    return _read(paths, root)


def nested(paths: Iterable[Path], *, workspace: Path) -> Instructions:
    """Instruction files of the directories below the workspace that work has moved into."""
    wanted: dict[Path, str] = {}
    for path in paths:
        for folder in reversed([path, *path.parents]):
            if workspace not in folder.parents:
                continue
            found = _first_in(folder)
            if found is not None:
                wanted[found] = found.relative_to(workspace).as_posix()
    return _read(list(wanted.items()), workspace)


def _first_in(folder: Path) -> Path | None:
    # `os.path`: a name that a model made up may be longer than a file system takes
    return next((folder / name for name in NAMES if os.path.isfile(folder / name)), None)  # noqa: PTH113


def _read(paths: list[tuple[Path, str]], root: Path) -> Instructions:
    files: list[InstructionFile] = []
    problems: list[str] = []
    left = CAP_BYTES
    for path, shown in paths:
        try:
            if path.is_symlink() and not path.resolve().is_relative_to(root.resolve()):
                problems.append(f"`{shown}` is a link out of the project and was not read")
                continue
            data = path.read_bytes()
        except OSError as error:
            problems.append(f"`{shown}` cannot be read: {error.strerror}")
            continue
        kept = data[:left]
        left -= len(kept)
        if len(kept) < len(data):
            problems.append(f"`{shown}`: {len(data) - len(kept)} bytes are over the limit of 32 KiB")
        text = kept.decode("utf-8", errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
        if text.strip():
            files.append(InstructionFile(path=path, shown=shown, text=text, cut_bytes=len(data) - len(kept)))
    return Instructions(files=tuple(files), problems=tuple(problems))
