"""Which version of a file the model knows, so that an edit of another one is noticed."""

import hashlib
import threading
from collections import OrderedDict
from pathlib import Path

from tools.rows import append_row, read_rows

KEPT_BYTES = 16 * 2**20  # of content, to show what changed; beyond it only hashes are kept
KEPT_FILES = 4_096


class Versions:
    """For each file the hash of what was last read or written by a tool, and mostly the content.

    The hashes outlive the process: while a session is closed is when files change most.
    """

    def __init__(self, journal: Path) -> None:
        self._journal = journal
        self._known: OrderedDict[Path, tuple[str, bytes | None]] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()  # reads note from threads of their own
        self._known.update((Path(name), (digest, None)) for name, digest in read_rows(journal))

    def note(self, path: Path, data: bytes) -> None:
        """The model knows this content now."""
        digest = sha256(data)
        with self._lock:
            is_new = self._known.get(path, ("", None))[0] != digest
            self._keep(path, digest, data)
            if is_new:
                append_row(self._journal, [str(path), digest])

    def forget(self, path: Path) -> None:
        """The file is gone."""
        with self._lock:
            if path in self._known:
                self._drop(path)
                append_row(self._journal, [str(path), ""])

    def _keep(self, path: Path, digest: str, data: bytes) -> None:
        self._drop(path)
        self._known[path] = (digest, data)
        self._size += len(data)
        for other, (kept, content) in list(self._known.items()):
            if self._size <= KEPT_BYTES:
                break
            if content is not None:
                self._size -= len(content)
                self._known[other] = (kept, None)
        if len(self._known) > KEPT_FILES:
            self._drop(next(iter(self._known)))

    def _drop(self, path: Path) -> None:
        old = self._known.pop(path, None)
        if old is not None and old[1] is not None:
            self._size -= len(old[1])

    def differs(self, path: Path, data: bytes) -> bool:
        """Whether the model knows another content of the file."""
        known = self._known.get(path)
        return known is not None and known[0] not in ("", sha256(data))

    def content(self, path: Path) -> bytes | None:
        """What the model knows; None when it was not kept."""
        known = self._known.get(path)
        return known[1] if known else None


def sha256(data: bytes) -> str:
    """In hex."""
    return hashlib.sha256(data).hexdigest()
