"""The scan cache of a workspace on disk, so that the next process reads only what changed.

Only a cache: when it is missing, damaged or of another version, everything is read again.
"""

import hashlib
import marshal
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checkpoints.coverage import Gap
from checkpoints.reading import File
from checkpoints.scan import Folder, Scan

_MAGIC = b"agent-tui scan 2\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A scan, and the state it was stored as."""

    scan: Scan
    state: bytes


def save(path: Path, manifest: Manifest) -> None:
    """Write beside and rename. Raises OSError."""
    scan = manifest.scan
    body = marshal.dumps((scan.started_ns, dict(scan.exclude), scan.held, manifest.state, _flat(scan.root)))
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
        stream.write(_MAGIC + hashlib.sha256(body).digest())
        stream.write(body)
    temporary.replace(path)


def load(path: Path) -> Manifest | None:
    """The saved scan, or None where there is none that can be used."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    size = len(_MAGIC)
    digest, body = content[size : size + 32], content[size + 32 :]
    # marshal must never see damaged bytes
    if not content.startswith(_MAGIC) or hashlib.sha256(body).digest() != digest:
        return None
    started_ns, exclude, held, state, root = marshal.loads(body)
    return Manifest(
        scan=Scan(root=_folder(root), started_ns=started_ns, exclude=exclude, held=held), state=state
    )


def _flat(folder: Folder) -> tuple[Any, ...]:
    return (
        folder.mode, folder.inode, folder.mtime_ns, folder.tree, folder.noted, folder.count,
        {name: tuple(file) for name, file in folder.files.items()},
        {name: _flat(inner) for name, inner in folder.folders.items()},
        {name: tuple(gap) for name, gap in folder.gaps.items()},
    )  # fmt: skip


def _folder(flat: tuple[Any, ...]) -> Folder:
    mode, inode, mtime_ns, tree, noted, count, files, folders, gaps = flat
    return Folder(
        mode=mode,
        inode=inode,
        mtime_ns=mtime_ns,
        tree=tree,
        noted=noted,
        count=count,
        files={name: File._make(file) for name, file in files.items()},
        folders={name: _folder(inner) for name, inner in folders.items()},
        gaps={name: Gap(*gap) for name, gap in gaps.items()},
    )
