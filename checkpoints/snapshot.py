"""A scan as objects of the store: one tree for the content, one small note for what a tree cannot hold.

The state of a workspace is the tree `{files, note}`. `files` mirrors the folders, empty ones
included; `note` is JSON with odd permission bits, gaps, touched paths and the ignore texts of then.
Equal workspaces give equal states.
"""

import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any

from agent_tui.frozen import frozen, mutable
from checkpoints.coverage import Gap
from checkpoints.objects import CLONE, EXECUTABLE, FILE, FOLDER, LINK, TreeItem, tree_content
from checkpoints.reading import File
from checkpoints.scan import Folder, Scan
from checkpoints.store import DamagedStoreError, ObjectWriter, Store

_FORMAT = 1
_PERMISSIONS = 0o7777


@frozen
class Defaults:
    """The permission bits most entries have; only others are noted."""

    file: int = 0o644
    executable: int = 0o755
    folder: int = 0o755

    def of(self, mode: int) -> int:
        """The bits that an entry with this tree mode has unless noted."""
        return {FOLDER: self.folder, EXECUTABLE: self.executable, FILE: self.file}.get(mode, 0o777)


@frozen
class Note:
    """What stands beside the tree."""

    targeted: bool = False
    defaults: Defaults = Defaults()
    permissions: Mapping[bytes, int] = field(default_factory=dict)
    gaps: Mapping[bytes, Gap] = field(default_factory=dict)
    touched: frozenset[bytes] = frozenset()
    held: frozenset[bytes] = frozenset()  # covered although the rules leave them out since
    exclude: Mapping[bytes, bytes] = field(default_factory=dict)  # folder of a repository → ignore text
    above: tuple[tuple[str, bytes], ...] = ()  # ignore texts of the folders above the workspace
    clones: frozenset[bytes] = frozenset()  # ids of all copies that the tree names


@frozen
class State:
    """One recorded state, by the ids of its parts."""

    oid: bytes
    files: bytes
    note: Note


def tree_mode(file: File) -> int:
    """The mode git keeps of a file."""
    if file.is_clone:
        return CLONE
    if stat.S_ISLNK(file.mode):
        return LINK
    return EXECUTABLE if file.mode & 0o100 else FILE


def write_state(
    writer: ObjectWriter,
    scan: Scan,
    *,
    touched: Iterable[bytes],
    targeted: bool,
    defaults: Defaults,
    above: tuple[tuple[str, bytes], ...],
) -> State:
    """Store the trees of a scan; its file contents are stored already. Raises OSError."""
    builder = _Builder(writer=writer, defaults=defaults)
    files = builder.tree(scan.root)
    builder.collect(scan.root, b"")
    note = Note(
        targeted=targeted,
        defaults=defaults,
        permissions=builder.permissions,
        gaps=builder.gaps,
        touched=frozenset(touched),
        held=scan.held,
        exclude=scan.exclude,
        above=above,
        clones=frozenset(builder.clones),
    )
    noted = writer.add("blob", _note_bytes(note))
    items = (TreeItem(b"files", FOLDER, files), TreeItem(b"note", FILE, noted))
    return State(oid=writer.add("tree", tree_content(items)), files=files, note=note)


def read_state(store: Store, oid: bytes) -> State:
    """The state of that id; raises DamagedStoreError."""
    parts = {item.name: item.oid for item in store.tree(oid)}
    try:
        return State(oid=oid, files=parts[b"files"], note=_note(store.read(parts[b"note"])))
    except (KeyError, ValueError, TypeError) as error:
        raise DamagedStoreError(f"state `{oid.hex()[:12]}` in the checkpoint store is damaged") from error


def usual_permissions(root: Folder) -> Defaults:
    """The most common permission bits of a workspace, so that few have to be noted."""
    counts: dict[int, dict[int, int]] = {FILE: {}, EXECUTABLE: {}, FOLDER: {}}
    for mode, bits in _all_permissions(root):
        counts[mode][bits] = counts[mode].get(bits, 0) + 1
    most = {mode: max(found, key=lambda bits: (found[bits], bits)) for mode, found in counts.items() if found}
    return Defaults(
        file=most.get(FILE, 0o644), executable=most.get(EXECUTABLE, 0o755), folder=most.get(FOLDER, 0o755)
    )


def _all_permissions(folder: Folder) -> Iterator[tuple[int, int]]:
    for file in folder.files.values():
        if not stat.S_ISLNK(file.mode) and not file.is_clone:
            yield tree_mode(file), file.mode & _PERMISSIONS
    for inner in folder.folders.values():
        yield FOLDER, inner.mode & _PERMISSIONS
        yield from _all_permissions(inner)


@mutable
class _Builder:
    writer: ObjectWriter
    defaults: Defaults
    permissions: dict[bytes, int] = field(default_factory=dict)
    gaps: dict[bytes, Gap] = field(default_factory=dict)
    clones: set[bytes] = field(default_factory=set)

    def tree(self, folder: Folder) -> bytes:
        """The id of a folder's tree; unchanged folders have theirs already."""
        if not folder.tree:
            items = [TreeItem(name, tree_mode(file), file.oid) for name, file in folder.files.items()]
            items += [TreeItem(name, FOLDER, self.tree(inner)) for name, inner in folder.folders.items()]
            folder.tree = self.writer.add("tree", tree_content(items))
            folder.noted = bool(folder.gaps) or self._is_odd(folder)
        return folder.tree

    def _is_odd(self, folder: Folder) -> bool:
        return any(
            file.is_clone or self._odd(tree_mode(file), file.mode) for file in folder.files.values()
        ) or any(inner.noted or self._odd(FOLDER, inner.mode) for inner in folder.folders.values())

    def _odd(self, mode: int, full: int) -> bool:
        return mode != LINK and full & _PERMISSIONS != self.defaults.of(mode)

    def collect(self, folder: Folder, relative: bytes) -> None:
        """Gather what has to be noted."""
        if not folder.noted:
            return
        base = relative + b"/" if relative else b""
        for name, gap in folder.gaps.items():
            self.gaps[base + name] = gap
        for name, file in folder.files.items():
            if file.is_clone:
                self.clones.add(file.oid)
            if self._odd(tree_mode(file), file.mode):
                self.permissions[base + name] = file.mode & _PERMISSIONS
        for name, inner in folder.folders.items():
            if self._odd(FOLDER, inner.mode):
                self.permissions[base + name] = inner.mode & _PERMISSIONS
            self.collect(inner, base + name)


def _note_bytes(note: Note) -> bytes:
    defaults = note.defaults
    body: dict[str, Any] = {
        "format": _FORMAT,
        "targeted": note.targeted,
        "defaults": [defaults.file, defaults.executable, defaults.folder],
        "permissions": {os.fsdecode(path): bits for path, bits in note.permissions.items()},
        "gaps": {os.fsdecode(path): list(gap) for path, gap in note.gaps.items()},
        "exclude": {os.fsdecode(path): os.fsdecode(text) for path, text in note.exclude.items()},
    }
    if note.above:
        body["above"] = [[prefix, os.fsdecode(text)] for prefix, text in note.above]
    if note.clones:
        body["clones"] = sorted(oid.hex() for oid in note.clones)
    body["held"] = sorted(os.fsdecode(path) for path in note.held)
    body["touched"] = sorted(os.fsdecode(path) for path in note.touched)
    return json.dumps(body, sort_keys=True, separators=(",", ":")).encode()


def _note(content: bytes) -> Note:
    body: dict[str, Any] = json.loads(content)
    if body["format"] != _FORMAT:
        raise ValueError("written by a newer version")
    file, executable, folder = body["defaults"]
    return Note(
        targeted=bool(body["targeted"]),
        defaults=Defaults(file=file, executable=executable, folder=folder),
        permissions={os.fsencode(path): int(bits) for path, bits in body["permissions"].items()},
        gaps={os.fsencode(path): Gap(*gap) for path, gap in body["gaps"].items()},
        touched=frozenset(os.fsencode(path) for path in body["touched"]),
        held=frozenset(os.fsencode(path) for path in body["held"]),
        exclude={os.fsencode(path): os.fsencode(text) for path, text in body["exclude"].items()},
        above=tuple((prefix, os.fsencode(text)) for prefix, text in body.get("above", ())),
        clones=frozenset(bytes.fromhex(oid) for oid in body.get("clones", ())),
    )
