"""Our own change detection: a walk that tells by nanosecond times what has to be read again.

A scan is a tree of folders; a folder in which nothing changed is the same object as in the scan
before, so what follows costs as much as what changed. Names are bytes. Nothing below a `.git` is
looked at, links are never followed, and special files are never opened.
"""

import errno
import os
import stat
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import field

from agent_tui.frozen import frozen, mutable
from checkpoints.clones import Clones, NoSharingError
from checkpoints.coverage import MAX_DEPTH, Gap, Limits, special_kind
from checkpoints.ignores import FILE_NAME, Rules, in_folder, read_text
from checkpoints.named import Entry, looked_up, names_in_folders, ways_to
from checkpoints.nested import exclude_file, git_dir_of
from checkpoints.reading import (
    ChangedKindError,
    File,
    UnreadableError,
    clone_file,
    probe,
    read_file,
    read_link,
    unreadable,
)

# A write within this time before a scan may share its time stamp with one after it: kernel clocks
# for file times tick every 1 to 10 ms.
RACY_NS = 50_000_000
MAX_HELD = 5000  # more files than that are let go when the rules leave them out
COARSE_RACY_NS = 2_500_000_000  # for file systems that keep whole seconds (FAT: two)


# Takes content and the id it had before (empty: new); stores it when it is another, returns its id.
Keep = Callable[[bytes, bytes], bytes]


@mutable
class Folder:
    """One directory. Never changed once the scan that made it is done, but for `tree` and `odd`,
    which the snapshot fills in."""

    mode: int
    inode: int
    mtime_ns: int
    files: dict[bytes, File] = field(default_factory=dict)
    folders: "dict[bytes, Folder]" = field(default_factory=dict)
    gaps: dict[bytes, Gap] = field(default_factory=dict)
    tree: bytes = b""  # object id of the content; empty: not computed
    noted: bool = False  # it, or one below, has modes or gaps that a tree cannot hold
    count: int = 0  # files in it and below
    rules: Rules | None = None  # that were in force
    held: frozenset[bytes] = frozenset()  # names kept although the rules now leave them out


class TooWideError(Exception):
    """More files or more time than allowed; the text says which."""


@frozen
class Scan:
    """The workspace at one moment."""

    root: Folder
    started_ns: int  # clock of the file times
    exclude: Mapping[bytes, bytes]  # each folder with a `.git` → text of its own ignore file
    held: frozenset[bytes] = frozenset()  # paths covered although the rules now leave them out


@mutable
class Scanner:
    """Walks one workspace again and again."""

    root: bytes
    limits: Limits
    above: Rules  # of the folders above the workspace
    skipped: frozenset[tuple[int, int]] = frozenset()  # device and inode of our own folders
    clones: Clones | None = None  # for files above the limit
    progress: Callable[[int], None] = lambda _: None
    previous: Scan | None = None
    sticky: bool = False  # what the scan before held stays held, whatever the ignore files say now
    targeted: bool = False  # look at touched paths only
    hold: set[bytes] = field(default_factory=set)  # what was covered once and is left out by the rules now
    known_rules: dict[bytes, tuple[Rules, bytes | None, Rules]] = field(default_factory=dict)

    def scan(
        self,
        keep: Keep,
        *,
        touched: Iterable[bytes] = (),
        deadline: float | None = None,
        only: Collection[bytes] | None = None,
        occupied: Iterable[bytes] = (),
    ) -> Scan:
        """Walk everything; `touched` paths are held whatever the rules and read again, `occupied`
        ones are taken for missing. With `only`, those paths and what is new below them are read,
        whatever their times say, and all else is taken to be as the scan before found it.

        `deadline` is of `time.monotonic`; raises TooWideError past it or past the file limit, and
        OSError when the root itself cannot be read or the store cannot be written.
        """
        previous = self.previous
        walk = _Walk(
            scanner=self,
            skipped=set(self.skipped),
            keep=keep,
            touched=ways_to(touched),
            hold=ways_to(self.hold),
            occupied=names_in_folders(occupied),
            deadline=deadline,
        )
        started_ns = time.time_ns()
        if previous is not None and only is not None:
            walk.only, walk.exclude = ways_to(only), dict(previous.exclude)
            started_ns = previous.started_ns  # what is not read again is no fresher than that
        elif previous is not None:
            walk.racy_from = previous.started_ns - RACY_NS
            walk.coarse_from = previous.started_ns - COARSE_RACY_NS
        status = os.stat(self.root)
        old = previous.root if previous else None
        root = walk.folder(self.root, b"", status, old, self.above, only_known=False)
        if len(walk.held) > MAX_HELD:
            self.hold, self.sticky = set(), False
            return self.scan(keep, touched=touched, deadline=deadline, occupied=occupied)
        self.hold |= walk.held
        self.previous = Scan(
            root=root, started_ns=started_ns, exclude=walk.exclude, held=frozenset(self.hold)
        )
        self.sticky = True
        return self.previous


@mutable
class _Walk:
    """The state of one scan."""

    scanner: Scanner
    keep: Keep
    touched: dict[bytes, set[bytes]]
    hold: dict[bytes, set[bytes]]
    occupied: dict[bytes, set[bytes]]
    only: dict[bytes, set[bytes]] | None = None
    held: set[bytes] = field(default_factory=set)
    deadline: float | None
    racy_from: int = 0
    coarse_from: int = 0
    count: int = 0
    exclude: dict[bytes, bytes] = field(default_factory=dict)
    skipped: set[tuple[int, int]] = field(default_factory=set)

    def folder(
        self,
        path: bytes,
        relative: bytes,
        status: os.stat_result,
        old: Folder | None,
        rules: Rules,
        *,
        only_known: bool,
    ) -> Folder:
        """The folder as it is now; the old object itself when nothing in it changed."""
        if self.only is not None and old is not None and old.rules is not None:
            return self._part(path, relative, status, old, old.rules, only_known=only_known)
        touched: Collection[bytes] = self.touched.get(relative, ())
        if self.scanner.targeted:
            entries = looked_up(path, touched)
        else:
            with os.scandir(path) as listing:
                entries = [(entry.name, entry) for entry in listing]
        occupied = self.occupied.get(relative)
        if occupied:
            entries = [(name, entry) for name, entry in entries if name not in occupied]
        names = {name for name, _ in entries}
        if b".git" in names:
            rules = self._repository(path, relative)
        if FILE_NAME in names:
            rules = self._rules_of(path, relative, rules)
        here = _Level(walk=self, path=path, relative=relative, old=old, rules=rules, only_known=only_known)
        here.touched, here.hold = touched, self.hold.get(relative, ())
        for name, entry in entries:
            if name != b".git":
                here.entry(name, entry)
        self.check()
        return here.finish(status)

    def _part(
        self,
        path: bytes,
        relative: bytes,
        status: os.stat_result,
        old: Folder,
        rules: Rules,
        *,
        only_known: bool,
    ) -> Folder:
        """The folder with only the asked for names looked at again."""
        names = (self.only or {}).get(relative, set()) - self.occupied.get(relative, set())
        if not names and old.mode == status.st_mode:
            return old
        here = _Level(walk=self, path=path, relative=relative, old=old, rules=rules, only_known=only_known)
        here.touched, here.hold = self.touched.get(relative, ()), self.hold.get(relative, ())
        here.keep_all_but(names)
        for name, entry in looked_up(path, names):
            here.entry(name, entry)
        return here.finish(status)

    def check(self) -> None:
        """Stop a walk that has become too wide."""
        self.scanner.progress(self.count)
        if self.count > self.scanner.limits.max_files:
            raise TooWideError(f"more than {self.scanner.limits.max_files:,} files")
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise TooWideError("reading the workspace takes too long")

    def _repository(self, path: bytes, relative: bytes) -> Rules:
        """A nested repository has rules of its own; those of the outer one end at its door."""
        git_dir = git_dir_of(path)
        text = read_text(exclude_file(git_dir)) if git_dir else b""
        if git_dir is not None:
            self._skip(git_dir)
        self.exclude[relative] = text
        base = (
            self._rules(relative + b"/.git", self.scanner.above, relative, None)
            if relative
            else self.scanner.above
        )
        return self._rules(relative + b"/.git/info/exclude", base, relative, text) if text else base

    def _skip(self, git_dir: bytes) -> None:
        """A git directory may lie in the workspace under another name (`--separate-git-dir`)."""
        try:
            status = os.stat(git_dir)
        except OSError:
            return
        self.skipped.add((status.st_dev, status.st_ino))

    def _rules_of(self, path: bytes, relative: bytes, above: Rules) -> Rules:
        name = relative + b"/" + FILE_NAME
        return self._rules(name, above, relative, read_text(path + b"/" + FILE_NAME))

    def _rules(self, name: bytes, above: Rules, relative: bytes, text: bytes | None) -> Rules:
        """The same object as in the scan before while nothing changed; without a text, none at all."""
        known = self.scanner.known_rules.get(name)
        if known is not None and known[0] is above and known[1] == text:
            return known[2]
        rules = Rules() if text is None else in_folder(above, relative, text)
        self.scanner.known_rules[name] = (above, text, rules)
        return rules


_NO_FILES: dict[bytes, File] = {}
_NO_FOLDERS: dict[bytes, Folder] = {}
_NO_GAPS: dict[bytes, Gap] = {}


class _Level:
    """One folder while its entries are looked at."""

    __slots__ = (
        "changed", "files", "folders", "gaps", "held", "hold", "old", "old_files", "old_folders", "old_gaps",
        "only_known", "path", "relative", "rules", "settled", "touched", "walk",
    )  # fmt: skip

    def __init__(
        self, *, walk: _Walk, path: bytes, relative: bytes, old: Folder | None, rules: Rules, only_known: bool
    ) -> None:
        self.walk = walk
        self.path = path
        self.relative = relative
        self.old = old
        self.rules = rules
        self.only_known = only_known
        self.touched: Collection[bytes] = ()
        self.hold: Collection[bytes] = ()
        self.held: set[bytes] = set()
        # names that were decided on under the same rules, and need no second look
        self.settled: Collection[bytes] = ()
        if old is not None and old.rules is rules:
            self.settled = old.files.keys() - old.held if old.held else old.files
        self.old_files = old.files if old else _NO_FILES
        self.old_folders = old.folders if old else _NO_FOLDERS
        self.old_gaps = old.gaps if old else _NO_GAPS
        self.files: dict[bytes, File] = {}
        self.folders: dict[bytes, Folder] = {}
        self.gaps: dict[bytes, Gap] = {}
        self.changed = old is None

    def keep_all_but(self, names: Collection[bytes]) -> None:
        """Take what is known of all other names as it is."""
        if self.old is not None:
            self.files = {name: file for name, file in self.old.files.items() if name not in names}
            self.folders = {name: inner for name, inner in self.old.folders.items() if name not in names}
            self.gaps = {name: gap for name, gap in self.old.gaps.items() if name not in names}
            self.held = set(self.old.held.difference(names))

    def entry(self, name: bytes, entry: Entry) -> None:
        """Look at one name; anything that vanishes meanwhile is as if it had never been there."""
        try:
            status = entry.stat(follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            gap = Gap(unreadable(error), 0, 0, 0, 0, "")
            self.changed = self.changed or self.old_gaps.get(name) != gap
            self.gaps[name] = gap
            return
        kind = status.st_mode & 0o170000
        if kind == stat.S_IFDIR:
            self._folder(name, status)
            return
        known = self.old_files.get(name)
        if known is not None and self._unchanged(known, status, name):
            if name in self.settled or self._included(name, True, folder=False):
                self.files[name] = known
                self.walk.count += 1
        elif self._included(name, known is not None or name in self.old_gaps, folder=False):
            self._file(name, status, known)

    def finish(self, status: os.stat_result) -> Folder:
        """The folder made of what was seen."""
        old = self.old
        if (
            old is not None
            and not self.changed
            and old.mode == status.st_mode
            and len(old.files) == len(self.files)
            and len(old.folders) == len(self.folders)
            and len(old.gaps) == len(self.gaps)
        ):
            old.inode, old.mtime_ns = status.st_ino, status.st_mtime_ns
            old.rules, old.held = self.rules, frozenset(self.held)
            return old
        return Folder(
            mode=status.st_mode,
            inode=status.st_ino,
            mtime_ns=status.st_mtime_ns,
            files=self.files,
            folders=self.folders,
            gaps=self.gaps,
            count=len(self.files) + sum(folder.count for folder in self.folders.values()),
            rules=self.rules,
            held=frozenset(self.held),
        )

    def _unchanged(self, known: File, status: os.stat_result, name: bytes) -> bool:
        changed = status.st_ctime_ns
        if (
            known.ctime_ns != changed
            or known.mtime_ns != status.st_mtime_ns
            or known.size != status.st_size
            or known.mode != status.st_mode
            or known.inode != status.st_ino
            or name in self.touched
        ):
            return False
        walk = self.walk
        if changed >= walk.racy_from:
            return False
        return changed % 1_000_000_000 != 0 or changed < walk.coarse_from

    def _included(self, name: bytes, known: bool, *, folder: bool) -> bool:
        if name in self.touched:
            return True
        if not self.only_known and not self.rules.ignores(self._relative(name), folder=folder):
            return True
        if name in self.hold or (known and self.walk.scanner.sticky):
            self.held.add(name)
            self.walk.held.add(self._relative(name))
            return True
        return False

    def _relative(self, name: bytes) -> bytes:
        return self.relative + b"/" + name if self.relative else name

    def _folder(self, name: bytes, status: os.stat_result) -> None:
        scanner = self.walk.scanner
        if (status.st_dev, status.st_ino) in self.walk.skipped:
            return
        relative = self._relative(name)
        old = self.old_folders.get(name)
        ignored = self.only_known or self.rules.ignores(relative, folder=True)
        wanted = name in self.touched or name in self.hold or (old is not None and scanner.sticky)
        if ignored and not wanted:
            return
        if relative.count(b"/") >= MAX_DEPTH:
            self._gap(name, status, f"below {MAX_DEPTH} folders")
            return
        path = self.path + b"/" + name
        try:
            found = self.walk.folder(path, relative, status, old, self.rules, only_known=ignored)
        except (NotADirectoryError, FileNotFoundError):
            return  # it vanished
        except PermissionError:
            self._unreadable_folder(name, status, old)
            return
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:
                raise
            self._gap(name, status, unreadable(error))
            return
        self.folders[name] = found
        self.changed = self.changed or found is not old

    def _unreadable_folder(self, name: bytes, status: os.stat_result, old: Folder | None) -> None:
        """Keep what is known of a folder that was only closed."""
        if old is None or old.inode != status.st_ino or old.mtime_ns != status.st_mtime_ns:
            self._gap(name, status, "unreadable folder")
            return
        self.walk.count += old.count
        closed = Folder(mode=status.st_mode, inode=old.inode, mtime_ns=old.mtime_ns, count=old.count)
        closed.files, closed.folders, closed.gaps = old.files, old.folders, old.gaps
        self.folders[name] = old if old.mode == status.st_mode else closed
        self.changed = self.changed or self.folders[name] is not old

    def _file(self, name: bytes, status: os.stat_result, known: File | None) -> None:
        path = self.path + b"/" + name
        limits = self.walk.scanner.limits
        if stat.S_ISLNK(status.st_mode):
            self._hold(name, known, read_link(path, status, self._keep(known)))
        elif not stat.S_ISREG(status.st_mode):
            self._gap(name, status, special_kind(status.st_mode))
        else:
            try:
                if status.st_size > limits.file_bytes and self._clone(name, status, known):
                    return
                is_wanted = name in self.touched or known is not None
                limit = limits.touched_bytes if is_wanted else limits.file_bytes
                self._hold(name, known, read_file(path, self._keep(known), limit))
            except UnreadableError as error:
                self._unreadable(name, status, known, error.reason)
            except ChangedKindError as error:
                self._gap(name, status, error.reason)

    def _clone(self, name: bytes, status: os.stat_result, known: File | None) -> bool:
        """Hold a large file as a copy that shares its blocks, where there can be one."""
        clones = self.walk.scanner.clones
        if clones is None or not clones.may_share(status.st_dev):
            return False
        try:
            self._hold(name, known, clone_file(self.path + b"/" + name, clones.take))
        except NoSharingError:
            return False
        return True

    def _keep(self, known: File | None) -> Callable[[bytes], bytes]:
        keep, oid = self.walk.keep, known.oid if known else b""
        return lambda content: keep(content, oid)

    def _hold(self, name: bytes, known: File | None, found: File | None) -> None:
        if found is None:
            return
        self.walk.count += 1
        if known == found and known is not None:
            self.files[name] = known
            return
        self.files[name] = found
        self.changed = True

    def _unreadable(self, name: bytes, status: os.stat_result, known: File | None, reason: str) -> None:
        """A file that was only closed (`chmod 000`) keeps its known content."""
        if known is None or (known.size, known.mtime_ns, known.inode) != (
            status.st_size,
            status.st_mtime_ns,
            status.st_ino,
        ):
            self._gap(name, status, reason)
            return
        self._hold(name, known, known._replace(mode=status.st_mode, ctime_ns=status.st_ctime_ns))

    def _gap(self, name: bytes, status: os.stat_result, reason: str) -> None:
        old = self.old_gaps.get(name)
        if old is not None and old[:5] == (
            reason,
            status.st_mode,
            status.st_size,
            status.st_mtime_ns,
            status.st_ctime_ns,
        ):
            self.gaps[name] = old
            return
        digest = probe(self.path + b"/" + name) if stat.S_ISREG(status.st_mode) else ""
        self.gaps[name] = Gap(
            reason, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, digest
        )
        self.changed = True
