"""What differs between two states, for people: changed files with line counts, and unified text."""

import os
from collections.abc import Callable, Collection, Mapping, Sequence

from checkpoints.clones import size_of
from checkpoints.coverage import Gap
from checkpoints.gitprocess import GitError
from checkpoints.line_counts import line_counts
from checkpoints.objects import CLONE, EXECUTABLE, FILE, FOLDER, LINK
from checkpoints.sizes import size_text
from checkpoints.snapshot import State
from checkpoints.states import Entry, Pair, Trees, parents, shown
from checkpoints.store import DamagedStoreError, Store
from checkpoints.types import Author, ChangeKind, FileChange

COUNT_FILES = 2000  # above it, lines are not counted and renames not looked for
RENAME_FILES = 300  # above it, renames show as a file that came and one that went
_COUNT_BYTES = 1 << 20  # without git, larger files are not counted
_FEW_FILES = 32  # up to it, starting git takes longer than counting
_FEW_BYTES = 1 << 18
_TIMEOUT_S = 8.0
_COUNT_TIMEOUT_S = 4.0
_WITHOUT_TEXT = (FOLDER, LINK, CLONE)

AuthorOf = Callable[[bytes], Author]


def changes(
    trees: Trees, older: State, newer: State, pairs: Mapping[bytes, Pair], author_of: AuthorOf
) -> tuple[FileChange, ...]:
    """The changed files, those with lines first, each in the order of their paths; folders show only
    when nothing in them does."""
    filled = {above for path in pairs for above in parents(path)}
    files = {path: pair for path, pair in pairs.items() if _is_shown(path, pair, filled)}
    is_many = len(files) > COUNT_FILES
    counts, renames = ({}, {}) if is_many else _counted(trees.store, older, newer, files)
    sources = set(renames.values())
    found = []
    for path in sorted(files):
        if path in sources:
            continue
        is_looked_at = not is_many or _is_large(files[path])
        change = _change(trees.store if is_looked_at else None, path, files[path], counts.get(path))
        if path in renames:
            old_path = shown(renames[path])
            change = FileChange(
                path=change.path, kind="R", added=change.added, removed=change.removed, old_path=old_path
            )
        found.append(_by(change, author_of(path)))
    found += [_by(change, author_of(os.fsencode(change.path))) for change in _gap_changes(older, newer)]
    return tuple(sorted(found, key=lambda change: change.added is None))


def _by(change: FileChange, author: Author) -> FileChange:
    return FileChange(
        path=change.path, kind=change.kind, added=change.added, removed=change.removed,
        old_path=change.old_path, detail=change.detail, author=author,
    )  # fmt: skip


def _is_shown(path: bytes, pair: Pair, filled: Collection[bytes]) -> bool:
    """Files always; a folder when its bits changed, or it came or went empty."""
    before, after = pair
    folders = [entry is not None and entry.mode == FOLDER for entry in pair]
    if not any(folders):
        return True
    if all(folders) or (before is not None and after is not None):
        return True
    return path not in filled


def _change(store: Store | None, path: bytes, pair: Pair, count: tuple[int, int] | None) -> FileChange:
    """One change; without a store no content is looked at."""
    before, after = pair
    added, removed = count if count else (None, None)
    if before is not None and after is not None and _same_content(before, after):
        detail = f"mode {before.permissions:03o} → {after.permissions:03o}"
        return FileChange(path=shown(path), kind="X", detail=detail)
    detail = _content_detail(store, before, after) if store is not None and count is None else ""
    if before is None or after is None:
        entry = before or after
        assert entry is not None
        name = shown(path) + ("/" if entry.mode == FOLDER else "")
        kind: ChangeKind = "A" if before is None else "D"
        return FileChange(path=name, kind=kind, added=added, removed=removed, detail=detail)
    if before.permissions != after.permissions and LINK not in (before.mode, after.mode):
        mode = f"mode {before.permissions:03o} → {after.permissions:03o}"
        detail = f"{detail}, {mode}" if detail else mode
    return FileChange(path=shown(path), kind="M", added=added, removed=removed, detail=detail)


def _same_content(before: Entry, after: Entry) -> bool:
    """Whether only bits differ; links and folders are what they are by their mode."""
    kinds = {before.mode, after.mode}
    return before.oid == after.oid and (len(kinds) == 1 or not kinds & {LINK, FOLDER})


def _content_detail(store: Store, before: Entry | None, after: Entry | None) -> str:
    """`binary, 14 KB → 15 KB`, `link v1 → v2`, or what a path became."""
    words = [_word(store, entry) for entry in (before, after)]
    kinds = {word.partition(" ")[0] for word in words if word}
    values = [word.partition(" ")[2] for word in words if word]
    if len(kinds) == 1 and kinds != {"folder"}:
        separator = ", " if kinds == {"binary"} else " "
        return kinds.pop() + separator + " → ".join(values)
    if kinds == {"folder"}:
        return "folder"
    return " → ".join(word.partition(" ")[0] for word in words if word)


def _word(store: Store, entry: Entry | None) -> str:
    if entry is None:
        return ""
    if entry.mode == FOLDER:
        return "folder"
    if entry.mode == CLONE:
        return f"binary {size_text(size_of(entry.oid))}"
    try:
        content = store.read(entry.oid)
    except DamagedStoreError:
        return "lost"
    return f"link {shown(content)}" if entry.mode == LINK else f"binary {size_text(len(content))}"


def _gap_changes(older: State, newer: State) -> list[FileChange]:
    before, after = older.note.gaps, newer.note.gaps
    found = []
    for path in sorted(before.keys() | after.keys()):
        was, now = before.get(path), after.get(path)
        if was is not None and now is not None and was.differs(now):
            found.append(FileChange(path=shown(path), kind="M", detail=_gap_detail(was, now)))
        elif was is None and now is not None and older.note.targeted == newer.note.targeted:
            found.append(FileChange(path=shown(path), kind="A", detail=f"not covered: {now.reason}"))
        elif now is None and was is not None:
            found.append(FileChange(path=shown(path), kind="D", detail=f"not covered: {was.reason}"))
    return found


def _gap_detail(was: Gap, now: Gap) -> str:
    sizes = size_text(was.size), size_text(now.size)
    return f"not covered, {' → '.join(sizes) if sizes[0] != sizes[1] else 'size and time only'}"


# --- line counts ------------------------------------------------------------------------------------


def _counted(
    store: Store, older: State, newer: State, files: Mapping[bytes, Pair]
) -> tuple[dict[bytes, tuple[int, int]], dict[bytes, bytes]]:
    """Lines added and removed by path (binary ones are missing), and new path → old path."""
    with_content = [path for path, pair in files.items() if _has_text(pair)]
    if not with_content:
        return {}, {}
    if store.git is None:
        return _counted_here(store, files, with_content), {}
    few = _counted_as_git_does(store, files, with_content)
    if few is not None:
        return few, {}
    options = ["-r", "-z", "--numstat", "-M", f"-l{RENAME_FILES}", "--no-ext-diff", "--no-textconv"]
    try:
        answer = store.run_git(
            ["diff-tree", *options, older.files.hex(), newer.files.hex()], timeout_s=_COUNT_TIMEOUT_S
        )
    except GitError:
        return {}, {}  # a checkpoint must not fail for want of line counts
    return _parse_numstat(answer, files)


def _counted_as_git_does(
    store: Store, files: Mapping[bytes, Pair], paths: Sequence[bytes]
) -> dict[bytes, tuple[int, int]] | None:
    """The counts of a few small changes; None where only git can tell them, or whether one is a rename."""
    pairs = [files[path] for path in paths]
    has_come, has_gone = (any(pair[side] is None for pair in pairs) for side in (0, 1))
    if len(paths) > _FEW_FILES or (has_come and has_gone):
        return None
    counts = {}
    left = _FEW_BYTES
    for path, pair in zip(paths, pairs, strict=True):
        old, new = (_loose_text(store, entry) for entry in pair)
        if old is None or new is None or (left := left - len(old) - len(new)) < 0:
            return None
        count = line_counts(old, new)
        if count is None:
            return None
        counts[path] = count
    return counts


def _loose_text(store: Store, entry: Entry | None) -> bytes | None:
    """The content of a plain file, where it is text and can be had without a process."""
    if entry is None:
        return b""
    if entry.mode not in (FILE, EXECUTABLE) or not store.has_loose(entry.oid):
        return None
    try:
        content = store.read(entry.oid)
    except DamagedStoreError:
        return None
    return None if b"\0" in content else content


def _has_text(pair: Pair) -> bool:
    modes = [entry.mode for entry in pair if entry is not None]
    return any(mode not in _WITHOUT_TEXT for mode in modes) and (
        None in pair or pair[0].oid != pair[1].oid  # type: ignore[union-attr]  # neither is None here
    )


def _parse_numstat(
    answer: bytes, files: Mapping[bytes, Pair]
) -> tuple[dict[bytes, tuple[int, int]], dict[bytes, bytes]]:
    counts: dict[bytes, tuple[int, int]] = {}
    renames: dict[bytes, bytes] = {}
    fields = iter(answer.split(b"\0"))
    for head in fields:
        if not head:
            break
        added, removed, path = head.split(b"\t", 2)
        if not path:
            old, path = next(fields), next(fields)
            if old in files and path in files:
                renames[path] = old
        pair = files.get(path)
        is_other = any(entry is not None and entry.mode in (LINK, CLONE) for entry in pair or ())
        if added != b"-" and not is_other:
            counts[path] = (int(added), int(removed))
    return counts, renames


def _counted_here(
    store: Store, files: Mapping[bytes, Pair], paths: Sequence[bytes]
) -> dict[bytes, tuple[int, int]]:
    import difflib

    counts = {}
    for path in paths:
        if _is_large(files[path]):
            continue
        old, new = (_content(store, entry) for entry in files[path])
        if b"\0" in old + new or len(old) + len(new) > _COUNT_BYTES:
            continue
        blocks = difflib.SequenceMatcher(None, old.splitlines(), new.splitlines()).get_matching_blocks()
        same = sum(block.size for block in blocks)
        counts[path] = (len(new.splitlines()) - same, len(old.splitlines()) - same)
    return counts


def _content(store: Store, entry: Entry | None) -> bytes:
    return b"" if entry is None or entry.mode in _WITHOUT_TEXT else store.read(entry.oid)


def _is_large(pair: Pair) -> bool:
    """Whether a side is held as a copy beside the objects."""
    return any(entry is not None and entry.mode == CLONE for entry in pair)


# --- text -------------------------------------------------------------------------------------------


def unified(
    store: Store,
    older: State,
    newer: State,
    pairs: Mapping[bytes, Pair],
    found: Sequence[FileChange],
    paths: Sequence[bytes] = (),
) -> str:
    """Unified diff, then one line for each of the `changes` that were found in the same states whose text
    does not tell all: binary and large files, links, modes, gaps."""
    wanted = {path: pair for path, pair in pairs.items() if is_selected(path, paths) and not _is_large(pair)}
    text = _text_by_git(store, older, newer, wanted) if store.git else _text_here(store, wanted)
    told = (change for change in found if change.detail and is_selected(os.fsencode(change.path), paths))
    return text + "".join(f"{change.kind} {change.path}  {change.detail}\n" for change in told)


def is_selected(path: bytes, paths: Sequence[bytes]) -> bool:
    """Whether a path is one of those, or below one; no paths mean all."""
    return not paths or any(path == one or path.startswith(one + b"/") for one in paths)


def _text_by_git(store: Store, older: State, newer: State, wanted: Mapping[bytes, Pair]) -> str:
    if not wanted:
        return ""
    selected = sorted(wanted) if len(wanted) <= 500 else []
    answer = store.run_git(
        [
            "diff-tree", "-r", "-M", "-p", "--no-ext-diff", "--no-textconv", "--no-color",
            older.files.hex(), newer.files.hex(), "--", *selected,
        ],
        timeout_s=_TIMEOUT_S,
    )  # fmt: skip
    return answer.decode("utf-8", "surrogateescape")


def _text_here(store: Store, wanted: Mapping[bytes, Pair]) -> str:
    import difflib

    pieces = []
    for path, pair in sorted(wanted.items()):
        old, new = (_content(store, entry) for entry in pair)
        name = shown(path)
        if b"\0" in old + new:
            pieces.append(f"Binary files a/{name} and b/{name} differ\n")
            continue
        names = (
            "/dev/null" if pair[0] is None else f"a/{name}",
            "/dev/null" if pair[1] is None else f"b/{name}",
        )
        before, after = (
            text.decode("utf-8", "surrogateescape").splitlines(keepends=True) for text in (old, new)
        )
        for line in difflib.unified_diff(before, after, *names):
            pieces.append(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n")
    return "".join(pieces)
