"""What was sent before in this workspace, newest last; kept in the state directory."""

import json
import os
from hashlib import sha256
from pathlib import Path

KEPT = 1_000
LINE_LIMIT = 100_000  # characters of an entry that are stored


def history_file(state_dir: Path, workspace: Path) -> Path:
    """Where the history of a workspace lies."""
    name = sha256(os.fsencode(workspace)).hexdigest()[:16]
    return state_dir / "history" / f"{name}.jsonl"


class History:
    """Steps through entries while a draft is set aside."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._entries: list[str] | None = None
        self._at: int | None = None
        self._draft = ""

    @property
    def entries(self) -> list[str]:
        """Read on first use; a broken line is skipped, a missing file is an empty history."""
        if self._entries is None:
            self._entries = self._read()
        return self._entries

    def _read(self) -> list[str]:
        if self._path is None:
            return []
        try:
            rows = self._path.read_text("utf-8", errors="replace").splitlines()[-KEPT:]
        except OSError:
            return []
        entries = []
        for row in rows:
            try:
                text = json.loads(row)
            except (ValueError, RecursionError):
                continue
            if isinstance(text, str):
                entries.append(text)
        return entries

    def add(self, text: str) -> None:
        """Remember a sent message; what cannot be written is kept for this process only."""
        self.stop()
        if not text.strip() or (self.entries and self.entries[-1] == text):
            return
        self.entries.append(text)
        if self._path is None or len(text) > LINE_LIMIT:
            return
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(descriptor, "a", encoding="utf-8", errors="replace") as file:
                file.write(json.dumps(text) + "\n")
        except OSError:
            self._path = None

    def older(self, draft: str) -> str | None:
        """The entry before, None at the oldest."""
        at = len(self.entries) if self._at is None else self._at
        if at == 0:
            return None
        if self._at is None:
            self._draft = draft
        self._at = at - 1
        return self.entries[self._at]

    def newer(self) -> str | None:
        """The entry after, the draft at the end, None when not stepping."""
        if self._at is None:
            return None
        self._at += 1
        if self._at >= len(self.entries):
            self._at = None
            return self._draft
        return self.entries[self._at]

    def stop(self) -> None:
        """Stay with what is shown."""
        self._at = None

    def find(self, text: str) -> list[str]:
        """Entries that hold `text`, newest first, each once."""
        wanted = text.lower()
        return list(dict.fromkeys(entry for entry in reversed(self.entries) if wanted in entry.lower()))
