"""Whether stored output still is what was kept of it."""

import hashlib
import os
from pathlib import Path

from tools.types import Artifact

_CHUNK = 1 << 20


def damage_of(artifact: Artifact, path: Path) -> str:
    """That the file is not what was kept, in words; empty where it is, and where that cannot be known.
    Raises OSError."""
    digest, left = hashlib.sha256(), artifact.size_bytes
    with path.open("rb", buffering=0) as file:
        if not artifact.sha256 or _lost_its_middle(file.fileno(), left):
            return ""
        while left and (data := file.read(min(left, _CHUNK))):
            digest.update(data)
            left -= len(data)
    is_whole = digest.hexdigest() == artifact.sha256
    return "" if is_whole else "not what the command wrote: changed or cut since"


def _lost_its_middle(fd: int, known: int) -> bool:
    """Whether more came after so many known bytes and some of those were given back to the file system."""
    if os.fstat(fd).st_size <= known:
        return False
    try:
        hole = os.lseek(fd, 0, os.SEEK_HOLE)
    except OSError:  # a file system without holes
        return False
    os.lseek(fd, 0, os.SEEK_SET)
    return hole < known
