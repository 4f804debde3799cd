"""Workspace trust: files of a directory that would have an effect count only while their content is
what a person agreed to. Hashes are kept in the state directory, nothing in the workspace.

    survey(…)          the files that would have an effect, with their hashes
    store.look(survey) whether to ask: nothing to ask about, trusted, refused, unknown or changed
    store.trust(survey), store.refuse(survey)   the answer, for exactly these contents
    store.is_trusted(path, data)                asked again with the bytes that are about to be used
"""

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from agent_tui.config import paths
from agent_tui.errors import AgentError
from agent_tui.frozen import frozen
from agent_tui.short_path import short_path

MAX_ENTRIES = 20_000  # of the walk for nested instruction files; one not found is not trusted
MAX_FILES = 200

_SKIPPED = frozenset(
    (".git", "node_modules", ".venv", "venv", "__pycache__", ".tox", "target", "dist", "build")
)


class TrustState(StrEnum):
    """What is known about the files of a workspace."""

    NOTHING = "nothing"  # no file would have an effect
    TRUSTED = "trusted"
    REFUSED = "refused"  # "not now", for exactly these contents
    UNKNOWN = "unknown"  # never asked
    CHANGED = "changed"  # a file is new or other than when it was asked about


@frozen
class TrustFile:
    """One file that would have an effect; `sha256` is empty where it cannot be read."""

    path: Path
    shown: str  # relative to the workspace where it lies in it
    kind: Literal["settings", "instructions"]
    sha256: str
    lines: int


@frozen
class Survey:
    """Every file of a workspace that would have an effect."""

    workspace: Path
    files: tuple[TrustFile, ...]


@frozen
class Trust:
    """The state, and the names of the files that made it CHANGED."""

    state: TrustState
    changed: tuple[str, ...] = ()
    refused: bool = False  # by the last answer, which holds until a person is asked again

    @property
    def must_ask(self) -> bool:
        """Whether a person has to be asked before any of the files counts."""
        return self.state in (TrustState.UNKNOWN, TrustState.CHANGED)


def survey(workspace: Path, *, instructions: Sequence[Path] = (), names: Sequence[str] = ()) -> Survey:
    """Look for the files. `instructions` are those that would be read at start, outermost first;
    `names` are the names that count in directories below."""
    workspace = workspace.resolve()
    found = [_read(workspace / paths.PROJECT_CONFIG, workspace, "settings")]
    nested = _nested(workspace, names) if names else iter(())
    for path in dict.fromkeys((*instructions, *nested)):
        found.append(_read(path, workspace, "instructions"))
    return Survey(workspace=workspace, files=tuple(file for file in found if file is not None))


def _read(path: Path, workspace: Path, kind: Literal["settings", "instructions"]) -> TrustFile | None:
    if not path.is_file():  # a pipe would never end
        return None
    try:
        data: bytes | None = path.read_bytes()
    except OSError:
        data = None  # shown, and never trusted
    inside = path.is_relative_to(workspace)
    return TrustFile(
        path=path,
        shown=str(path.relative_to(workspace)) if inside else short_path(path),
        kind=kind,
        sha256="" if data is None else hashlib.sha256(data).hexdigest(),
        lines=0 if data is None else len(data.splitlines()),
    )


def _nested(workspace: Path, names: Sequence[str]) -> Iterator[Path]:
    """Files below the workspace, in order; links to directories are not followed."""
    entries = found = 0
    for directory, folders, files in os.walk(workspace):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        entries += len(folders) + len(files)
        for name in names:
            if name in files and found < MAX_FILES:
                found += 1
                yield Path(directory, name)
        if entries > MAX_ENTRIES:
            return


class TrustStore:
    """The answers, one file for each workspace under the state directory."""

    def __init__(self, state_dir: Path, workspace: Path) -> None:
        self._workspace = workspace.resolve()
        name = hashlib.sha256(os.fsencode(self._workspace)).hexdigest()[:32]
        self._path = state_dir / "trust" / f"{name}.json"

    def look(self, survey: Survey) -> Trust:
        """What is known about exactly these files."""
        answer = self._answer()
        known, refused = answer.get("files", {}), answer.get("trusted") is False
        if not survey.files:
            return Trust(state=TrustState.NOTHING, refused=refused)
        if not known:
            return Trust(state=TrustState.UNKNOWN, refused=refused)
        changed = [file.shown for file in survey.files if known.get(str(file.path)) != (file.sha256 or None)]
        if changed:
            return Trust(state=TrustState.CHANGED, changed=tuple(changed), refused=refused)
        is_trusted = answer.get("trusted") is True
        return Trust(state=TrustState.TRUSTED if is_trusted else TrustState.REFUSED, refused=refused)

    def trust(self, survey: Survey) -> None:
        """Use the files as they are. Raises AgentError when the answer cannot be kept."""
        self._keep(survey, trusted=True)

    def refuse(self, survey: Survey) -> None:
        """Do not use them, and do not ask again while they stay the same. Raises AgentError."""
        self._keep(survey, trusted=False)

    def is_trusted(self, path: Path, data: bytes) -> bool:
        """Whether a file may be used with this content; false for every file never asked about."""
        answer = self._answer()
        known = answer.get("files", {}).get(str(path))
        return answer.get("trusted") is True and known == hashlib.sha256(data).hexdigest()

    def _answer(self) -> Mapping[str, Any]:
        """The stored answer; a missing or damaged one is none, so the question comes again."""
        try:
            answer = json.loads(self._path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        is_ours = isinstance(answer, dict) and answer.get("workspace") == str(self._workspace)
        return answer if is_ours and isinstance(answer.get("files"), dict) else {}

    def _keep(self, survey: Survey, *, trusted: bool) -> None:
        answer = {
            "workspace": str(self._workspace),
            "trusted": trusted,
            "at": time.time(),
            "files": {str(file.path): file.sha256 for file in survey.files if file.sha256},
        }
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(prefix=".trust-", dir=self._path.parent)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(answer, file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(self._path)
        except OSError as error:
            raise AgentError(f"{self._path}: the answer cannot be kept: {error.strerror}") from error
