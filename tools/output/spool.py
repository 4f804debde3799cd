"""The full output of a call on disk, bounded in size."""

import errno
import hashlib
import os
from pathlib import Path

from tools.types import Artifact

CAP_BYTES = 256 * 2**20  # of one call on disk: beyond it the middle is let go
BUDGET_BYTES = 2 * 2**30  # of one session

# fallocate(2): give back the blocks of a range, keep the size of the file
_PUNCH_HOLE = 0x02 | 0x01
_BLOCK = 4_096


class Budget:
    """What all spools of a session may still write."""

    def __init__(self, left: int = BUDGET_BYTES) -> None:
        self.left = left

    @classmethod
    def beside(cls, artifacts: Path) -> "Budget":
        """What is left when the outputs that an earlier process of the session kept are counted."""
        used = sum(path.stat().st_blocks * 512 for path in artifacts.glob("*.out"))  # holes take none
        return cls(max(0, BUDGET_BYTES - used))


class Spool:
    """One append-only file; offsets stay true when the middle is given back to the file system."""

    def __init__(self, path: Path, ref: str, budget: Budget, *, cap: int = CAP_BYTES) -> None:
        self.path = path
        self.ref = ref
        self.stopped = ""  # why nothing more is kept
        self.hole = (0, 0)  # byte range that was given back
        self._budget = budget
        self._cap = cap
        self._size = 0
        self._digest = hashlib.sha256()
        self._fd = -1
        self._is_closed = False

    def write(self, data: bytes) -> None:
        """Append; a full disk or budget ends the spool, never the command."""
        if self.stopped or self._is_closed:
            return
        try:
            if self._fd < 0:
                flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
                self._fd = os.open(self.path, flags, 0o600)
            if self._budget.left < len(data):
                self.stopped = "the disk budget of the session is used up"
                return
            written = 0
            while written < len(data):
                written += os.write(self._fd, memoryview(data)[written:])
            self._size += written
            self._digest.update(data)
            self._budget.left -= written
            if self._size - (self.hole[1] - self.hole[0]) > self._cap + self._cap // 8:
                self._let_go()
        except OSError as error:
            self.stopped = os.strerror(error.errno or errno.EIO)

    def _let_go(self) -> None:
        """Free the middle, so that the first and the last half of the cap stay."""
        import ctypes

        start = self.hole[1] or self._cap // 2 // _BLOCK * _BLOCK
        end = (self._size - self._cap // 2) // _BLOCK * _BLOCK
        libc = ctypes.CDLL(None, use_errno=True)
        offset, length = ctypes.c_int64(start), ctypes.c_int64(end - start)
        if libc.fallocate(self._fd, _PUNCH_HOLE, offset, length):
            self.stopped = f"{self._cap:,} bytes are the limit here"
            return
        self._budget.left += end - start
        self.hole = (self.hole[0] or start, end)

    def artifact(self) -> Artifact | None:
        """What was kept; None when there was nothing to keep."""
        if self._size == 0:
            return None
        has_hole = self.hole[1] > 0
        return Artifact(
            ref=self.ref,
            path=self.path,
            size_bytes=self._size,
            sha256="" if has_hole else self._digest.hexdigest(),
            truncated=bool(self.stopped) or has_hole,
        )

    def close(self) -> None:
        """Nothing more will come."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        self._is_closed = True
