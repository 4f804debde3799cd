"""Which version of a file the model knows, so that an edit of another one is noticed."""

import hashlib
from collections import OrderedDict
from pathlib import Path

KEPT_BYTES = 16 * 2**20  # of content, to show what changed; beyond it only hashes are kept
KEPT_FILES = 4_096


class Versions:
    """For each file the hash of what was last read or written by a tool, and mostly the content."""

    def __init__(self) -> None:
        self._known: OrderedDict[Path, tuple[str, bytes | None]] = OrderedDict()
        self._size = 0

    def note(self, path: Path, data: bytes) -> None:
        """The model knows this content now."""
        self.forget(path)
        self._known[path] = (sha256(data), data)
        self._size += len(data)
        for other, (digest, content) in list(self._known.items()):
            if self._size <= KEPT_BYTES:
                break
            if content is not None:
                self._size -= len(content)
                self._known[other] = (digest, None)
        if len(self._known) > KEPT_FILES:
            self.forget(next(iter(self._known)))

    def forget(self, path: Path) -> None:
        """The file is gone."""
        old = self._known.pop(path, None)
        if old is not None and old[1] is not None:
            self._size -= len(old[1])

    def differs(self, path: Path, data: bytes) -> bool:
        """Whether the model knows another content of the file."""
        known = self._known.get(path)
        return known is not None and known[0] != sha256(data)

    def content(self, path: Path) -> bytes | None:
        """What the model knows; None when it was not kept."""
        known = self._known.get(path)
        return known[1] if known else None


def sha256(data: bytes) -> str:
    """In hex."""
    return hashlib.sha256(data).hexdigest()
