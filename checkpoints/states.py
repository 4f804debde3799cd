"""Recorded states compared path by path, without ever listing what is equal."""

import os
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from checkpoints.ignores import FILE_NAME, Rules, from_above, in_folder
from checkpoints.objects import EXECUTABLE, FILE, FOLDER, TreeItem
from checkpoints.snapshot import State
from checkpoints.store import Store


class Entry(NamedTuple):
    """What a state says of one path; a folder has no id here, its content is compared by itself."""

    mode: int  # one of the modes of a tree
    oid: bytes
    permissions: int


Pair = tuple[Entry | None, Entry | None]


class Trees:
    """Reads trees of one store and remembers the recent ones."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._items = lru_cache(maxsize=1024)(self._read)

    def items(self, oid: bytes) -> dict[bytes, TreeItem]:
        """Names of a tree; the empty id is the empty tree. Raises DamagedStoreError."""
        return self._items(oid) if oid else {}

    def _read(self, oid: bytes) -> dict[bytes, TreeItem]:
        return {item.name: item for item in self.store.tree(oid)}

    def find(self, state: State, path: bytes) -> Entry | None:
        """What the state has at that path."""
        oid = state.files
        item: TreeItem | None = None
        for name in path.split(b"/"):
            if item is not None and item.mode != FOLDER:
                return None
            item = self.items(oid).get(name)
            if item is None:
                return None
            oid = item.oid
        return _entry(state, path, item) if item else None

    def find_tree(self, state: State, path: bytes) -> bytes:
        """The tree of a folder in that state; empty where there is none."""
        oid = state.files
        for name in path.split(b"/"):
            item = self.items(oid).get(name)
            if item is None or item.mode != FOLDER:
                return b""
            oid = item.oid
        return oid

    def walk(self, state: State, oid: bytes, path: bytes = b"") -> Iterator[tuple[bytes, Entry]]:
        """Every path below a tree of the state, folders before what is in them."""
        for item in self.items(oid).values():
            below = path + b"/" + item.name if path else item.name
            entry = _entry(state, below, item)
            if entry is not None:
                yield below, entry
            if item.mode == FOLDER:
                yield from self.walk(state, item.oid, below)

    def compare(self, older: State, newer: State) -> dict[bytes, Pair]:
        """Every path that differs, with what it was and is; raises DamagedStoreError."""
        found: dict[bytes, Pair] = {}
        self._compare(older, newer, older.files, newer.files, b"", found)
        self._compare_permissions(older, newer, found)
        return found

    def _compare(
        self, older: State, newer: State, old: bytes, new: bytes, path: bytes, found: dict[bytes, Pair]
    ) -> None:
        if old == new:
            return
        before, after = self.items(old), self.items(new)
        for name in before.keys() | after.keys():
            was, now = before.get(name), after.get(name)
            if was == now:
                continue
            below = path + b"/" + name if path else name
            pair = (_entry(older, below, was), _entry(newer, below, now))
            if pair[0] != pair[1]:
                found[below] = pair
            old_tree = was.oid if was and was.mode == FOLDER else b""
            new_tree = now.oid if now and now.mode == FOLDER else b""
            self._compare(older, newer, old_tree, new_tree, below, found)

    def _compare_permissions(self, older: State, newer: State, found: dict[bytes, Pair]) -> None:
        before, after = older.note.permissions, newer.note.permissions
        if before == after and older.note.defaults == newer.note.defaults:
            return
        suspects = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
        if older.note.defaults != newer.note.defaults:
            suspects |= {path for path, _ in self.walk(newer, newer.files)}
        for path in suspects - found.keys():
            pair = (self.find(older, path), self.find(newer, path))
            if pair[0] != pair[1]:
                found[path] = pair


class Coverage:
    """Which paths a state covers: what is absent there was absent, or was just not looked at."""

    def __init__(self, trees: Trees, state: State) -> None:
        self._trees = trees
        self._state = state
        self._above = from_above(state.note.above)
        self._rules: dict[bytes, Rules] = {}
        self._trees_below: dict[bytes, bytes] = {b"": state.files}

    def covers(self, path: bytes, *, folder: bool) -> bool:
        """Whether the state would hold that path if it had existed then, as a folder or a file."""
        note = self._state.note
        if path in note.touched or path in note.held or self._trees.find(self._state, path) is not None:
            return True
        if note.targeted or any(parent in note.gaps for parent in (path, *parents(path))):
            return False
        steps = [*reversed(parents(path)), path]
        for step in steps:
            if self._folder_rules(step.rpartition(b"/")[0]).ignores(step, folder=folder or step != path):
                return False
        return True

    def _folder_rules(self, folder: bytes) -> Rules:
        known = self._rules.get(folder)
        if known is not None:
            return known
        rules = self._folder_rules(folder.rpartition(b"/")[0]) if folder else self._above
        exclude = self._state.note.exclude.get(folder)
        if exclude is not None:
            rules = in_folder(self._above if not folder else Rules(), folder, exclude)
        ignore_file = folder + b"/" + FILE_NAME if folder else FILE_NAME
        entry = self._trees.find(self._state, ignore_file)
        if entry is not None and entry.mode in (FILE, EXECUTABLE):
            rules = in_folder(rules, folder, self._trees.store.read(entry.oid))
        self._rules[folder] = rules
        return rules


def covered_pairs(trees: Trees, older: State, newer: State) -> dict[bytes, Pair]:
    """What differs, without paths that only came into or went out of what is covered."""
    pairs = trees.compare(older, newer)
    if not _may_cover_differently(older, newer, pairs):
        return pairs
    before, after = Coverage(trees, older), Coverage(trees, newer)
    return {
        path: pair
        for path, pair in pairs.items()
        if _is_known(before, path, pair[0], pair[1]) and _is_known(after, path, pair[1], pair[0])
    }


def _is_known(coverage: Coverage, path: bytes, entry: Entry | None, other: Entry | None) -> bool:
    """Whether a state tells of a path: that it has it, or that it would if there had been what `other` is."""
    return entry is not None or (other is not None and coverage.covers(path, folder=other.mode == FOLDER))


def _may_cover_differently(older: State, newer: State, pairs: dict[bytes, Pair]) -> bool:
    one, other = older.note, newer.note
    return (
        one.targeted != other.targeted
        or one.touched != other.touched
        or one.held != other.held
        or one.exclude != other.exclude
        or one.above != other.above
        or one.gaps.keys() != other.gaps.keys()
        or any(path.rpartition(b"/")[2] == FILE_NAME for path in pairs)
    )


def parents(path: bytes) -> list[bytes]:
    """Folders above a path, nearest first, without the root."""
    found = []
    while path := path.rpartition(b"/")[0]:
        found.append(path)
    return found


def _entry(state: State, path: bytes, item: TreeItem | None) -> Entry | None:
    if item is None:
        return None
    note = state.note
    permissions = note.permissions.get(path, note.defaults.of(item.mode))
    return Entry(item.mode, b"" if item.mode == FOLDER else item.oid, permissions)


def shown(path: bytes) -> str:
    """A path as text; undecodable bytes become surrogates."""
    return os.fsdecode(path)
