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
        goes_on = os.fstat(file.fileno()).st_size > left
        if not artifact.sha256 or (goes_on and os.lseek(file.fileno(), 0, os.SEEK_HOLE) < left):
            return ""  # more came, and the middle was let go after the hash was told
        os.lseek(file.fileno(), 0, os.SEEK_SET)
        while left and (data := file.read(min(left, _CHUNK))):
            digest.update(data)
            left -= len(data)
    is_whole = digest.hexdigest() == artifact.sha256
    return "" if is_whole else "not what the command wrote: changed or cut since"
