"""The scan cache of a workspace on disk, so that the next process reads only what changed.

Only a cache: when it is missing, damaged or of another version, everything is read again. Written
and read one folder at a time, so that it never stands in memory twice.
"""

import hashlib
import io
import marshal
import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from agent_tui.frozen import frozen
from checkpoints.coverage import Gap
from checkpoints.plainfile import read_plain
from checkpoints.reading import File
from checkpoints.scan import Folder, Scan

_MAGIC = b"agent-tui scan 4\n"


@frozen
class Manifest:
    """A scan, and the state it was stored as."""

    scan: Scan
    state: bytes


def save(path: Path, manifest: Manifest, temporary: Path) -> None:
    """Write under the temporary name, on the same file system, and rename. Raises OSError."""
    scan = manifest.scan
    digest = hashlib.sha256()
    head = (scan.started_ns, dict(scan.exclude), scan.held, manifest.state)
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
        stream.write(_MAGIC + bytes(digest.digest_size))
        for part in chain([head], _flat(scan.root)):
            piece = marshal.dumps(part)
            digest.update(piece)
            stream.write(piece)
        stream.seek(len(_MAGIC))
        stream.write(digest.digest())
    temporary.replace(path)


def load(path: Path) -> Manifest | None:
    """The saved scan, or None where there is none that can be used."""
    try:
        content = read_plain(path)
    except OSError:
        return None
    body = memoryview(content)[len(_MAGIC) + hashlib.sha256().digest_size :]
    # marshal must never see damaged bytes
    digest = content[len(_MAGIC) : len(_MAGIC) + hashlib.sha256().digest_size]
    if not content.startswith(_MAGIC) or hashlib.sha256(body).digest() != digest:
        return None
    stream = io.BytesIO(body)
    started_ns, exclude, held, state = marshal.load(stream)
    root = _folder(stream)
    return Manifest(scan=Scan(root=root, started_ns=started_ns, exclude=exclude, held=held), state=state)


def _flat(folder: Folder) -> Iterator[tuple[Any, ...]]:
    """A folder, then those in it, in the order of their names' list."""
    yield (
        folder.mode, folder.inode, folder.mtime_ns, folder.tree, folder.noted, folder.count,
        {name: tuple(file) for name, file in folder.files.items()},
        {name: tuple(gap) for name, gap in folder.gaps.items()},
        list(folder.folders),
    )  # fmt: skip
    for inner in folder.folders.values():
        yield from _flat(inner)


def _folder(stream: io.BytesIO) -> Folder:
    mode, inode, mtime_ns, tree, noted, count, files, gaps, names = marshal.load(stream)
    return Folder(
        mode=mode,
        inode=inode,
        mtime_ns=mtime_ns,
        tree=tree,
        noted=noted,
        count=count,
        files={name: File._make(file) for name, file in files.items()},
        gaps={name: Gap(*gap) for name, gap in gaps.items()},
        folders={name: _folder(stream) for name in names},
    )
