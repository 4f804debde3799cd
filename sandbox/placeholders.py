"""Empty stand-ins for protected names that do not exist, so that nothing can be planted there.

A mount needs something to lie on. Stand-ins are created without following links, noted in a journal
outside the workspace, and removed only when they are untouched (by device and inode, content, mode
and time) and no sandbox of ours, in any process, still lies on them: removing one early would
detach its mount. A crash leaves the journal, and the next start removes what it names.
"""

import fcntl
import hashlib
import json
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypedDict

from agent_tui.frozen import frozen
from sandbox import processes
from sandbox.errors import SandboxError
from sandbox.private import private_dir

_FILE_MODE = 0o444
_DIRECTORY_MODE = 0o555
_ROOM_BYTES = 4_096  # a block of most file systems
_GONE_NS = 120_000_000_000  # for those who read a workspace meanwhile, which takes less
_CLOCK_STEP_NS = 20_000_000  # file times advance with the timer tick, at least 100 times a second


@frozen
class StandIn:
    """What is to exist at `path` while a sandbox runs, should there be nothing."""

    path: Path
    directory: bool = False
    content: bytes = b""


class Blanks:
    """What is shown in a sandbox where a stand-in lies. It is there before: bwrap looks up what it mounts at
    once, and on what only when it gets there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._found: dict[str, str] = {}

    def like(self, each: StandIn) -> str:
        """The path of one, which is made where it is missing."""
        name = "folder" if each.directory else each.content.hex() or "empty"
        if name not in self._found:
            place = self._folder / name
            if not place.exists():
                made = self._folder / f"{name}-{os.urandom(8).hex()}"
                _make(StandIn(path=made, directory=each.directory, content=each.content))
                made.rename(place)  # whole, and at once for other processes
            self._found[name] = str(place)
        return self._found[name]


class _Journal(TypedDict):
    users: dict[str, int]  # process → how many sandboxes
    made: dict[str, tuple[int, str] | list[Any]]  # path → when, in ns, and what it holds
    gone: dict[str, int]  # path → when it was taken away, in ns; not for long, and not while it is there


# of those that this process made: stand-ins outlive the command that made them while another needs them
_identities: dict[Path, dict[str, tuple[int, int]]] = {}
_notes: dict[Path, dict[str, tuple[int, str]]] = {}  # what the journal says of these, should it be lost


class Placeholders:
    """The stand-ins of one workspace, shared by every command of this process and of others."""

    def __init__(self, journal: Path) -> None:
        self._journal = journal
        self._identities = _identities.setdefault(journal, {})
        self._notes = _notes.setdefault(journal, {})

    @classmethod
    def of(cls, state_dir: Path, workspace: Path) -> "Placeholders":
        """Those of a workspace; raises SandboxError."""
        name = hashlib.sha256(os.fsencode(workspace)).hexdigest()[:16]
        return cls(private_dir(state_dir / "sandbox" / "pins") / f"{name}.json")

    def acquire(self, look: Callable[[Sequence[Path]], Sequence[StandIn]]) -> int:
        """Make the stand-ins that `look` asks for, which hears of those that stand already; returns how
        many other sandboxes hold this workspace. `look` runs under the lock, when leftovers are gone and
        nobody removes any."""
        with self._locked() as (fd, journal):
            others = self._drop_the_dead(journal)
            wanted = look(self._standing(journal))
            now = time.time_ns()
            for each in wanted:
                journal["made"][str(each.path)] = [now, each.content.decode()]
                self._notes[str(each.path)] = (now, each.content.decode())
            me = _me()
            journal["users"][me] = journal["users"].get(me, 0) + 1
            _write(fd, journal)  # before the first is made, so that a crash leaves none unknown
            try:
                for each in wanted:
                    self._identities[str(each.path)] = _make(each)
            except SandboxError:
                self._leave(fd, journal)
                raise
            return others

    def release(self) -> None:
        """One sandbox of this process is gone; the last one of all takes the stand-ins away."""
        with self._locked() as (fd, journal):
            self._leave(fd, journal)

    def _leave(self, fd: int, journal: _Journal) -> None:
        me = _me()
        if me not in journal["users"]:  # somebody removed the state directory, or emptied the file
            journal["made"] = {**self._notes, **journal["made"]}
        journal["users"][me] = journal["users"].get(me, 0) - 1
        if journal["users"][me] <= 0:
            del journal["users"][me]
        self._drop_the_dead(journal)
        _write(fd, journal)

    def present(self, since_ns: int | None = None) -> tuple[Path, ...]:
        """Untouched stand-ins that exist now, of every process, and with `since_ns` those taken away since
        then, by `time.time_ns`; leftovers of a crash are removed first."""
        with self._locked() as (fd, journal):
            self._drop_the_dead(journal)
            _write(fd, journal)
            gone = (name for name, at in journal["gone"].items() if since_ns is not None and at >= since_ns)
            return (*self._standing(journal), *map(Path, gone))

    def _standing(self, journal: _Journal) -> tuple[Path, ...]:
        return tuple(
            Path(name)
            for name, (made_ns, content) in journal["made"].items()
            if _untouched(name, self._identities.get(name), made_ns, content.encode())
        )

    def _drop_the_dead(self, journal: _Journal) -> int:
        """Forget users that are gone, and remove the stand-ins when none is left; returns the rest."""
        journal["users"] = {user: count for user, count in journal["users"].items() if _alive(user)}
        if not journal["users"]:
            for name, (made_ns, content) in reversed(journal["made"].items()):
                if _remove(name, self._identities.pop(name, None), made_ns, content.encode()):
                    journal["gone"][name] = time.time_ns()
                self._notes.pop(name, None)
            journal["made"] = {}
        return sum(journal["users"].values())

    @contextmanager
    def _locked(self) -> Iterator[tuple[int, _Journal]]:
        private_dir(self._journal.parent)
        fd = os.open(self._journal, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield fd, self._read(fd)
        finally:
            os.close(fd)

    def _read(self, fd: int) -> _Journal:
        text = os.pread(fd, os.fstat(fd).st_size, 0).partition(b"\n")[0]
        if not text:
            return {"users": {}, "made": {}, "gone": {}}
        try:
            journal = json.loads(text)
            users = {user: int(count) for user, count in journal["users"].items()}
            for user in users:
                _owner(user)
            gone = {name: int(at) for name, at in journal.get("gone", {}).items()}
            return {"users": users, "made": dict(journal["made"]), "gone": gone}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise SandboxError(f"sandbox: `{self._journal}` is damaged; remove it") from error


def present(state_dir: Path, since_ns: int | None = None) -> frozenset[Path]:
    """Untouched stand-ins that exist now, in every workspace and of every process, and those taken away since
    a moment of `time.time_ns`; leftovers of a crash are removed first. A damaged journal names none: commands
    in its workspace say so."""
    found: set[Path] = set()
    folder = state_dir / "sandbox" / "pins"
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".json") and _has_line(Path(entry.path)):
                with suppress(SandboxError):
                    found.update(Placeholders(folder / entry.name).present(since_ns))
    return frozenset(found)


def _has_line(journal: Path) -> bool:
    """Whether there is anything in it; most are empty, and a look costs less than the lock."""
    with journal.open("rb", buffering=0) as file:
        return file.read(1) not in (b"", b"\n")


def _write(fd: int, journal: _Journal) -> None:
    """One line, nothing on it for an empty one. The room after it is kept, filled with line ends: on a
    full disk commands still run."""
    now, made = time.time_ns(), journal["made"]
    journal["gone"] = {
        name: at for name, at in journal["gone"].items() if 0 <= now - at < _GONE_NS and name not in made
    }
    line = json.dumps(journal).encode() + b"\n" if any(journal.values()) else b""
    room = max(os.fstat(fd).st_size, -(-len(line) // _ROOM_BYTES) * _ROOM_BYTES)
    try:
        if room:
            os.posix_fallocate(fd, 0, room)  # before the first byte: no half of a line is ever there
        os.pwrite(fd, line.ljust(room, b"\n"), 0)
    except OSError as error:
        name = os.readlink(f"/proc/self/fd/{fd}")
        raise SandboxError(
            f"sandbox: `{name}` cannot be written: {error.strerror}; make room, or use read-only"
        ) from error


def _me() -> str:
    return _user(os.getpid())


@cache
def _user(pid: int) -> str:
    return f"{pid}:{processes.start_ticks(pid)}:{processes.boot_id()}"


def _owner(user: str) -> tuple[int, str, str]:
    """Number, start time and boot of the process that a user names; raises ValueError for other words."""
    pid, ticks, boot = user.split(":")
    return int(pid), ticks, boot


def _alive(user: str) -> bool:
    pid, ticks, boot = _owner(user)
    return boot == processes.boot_id() and str(processes.start_ticks(pid)) == ticks


def _make(each: StandIn) -> tuple[int, int]:
    """Create without following a link at the last step; the parents are checked by the caller."""
    path = str(each.path)
    try:
        if each.directory:
            os.mkdir(path, _DIRECTORY_MODE)
        else:
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
            fd = os.open(path, flags, _FILE_MODE)
            if each.content:
                os.write(fd, each.content)
            os.close(fd)
        state = os.lstat(path)
    except OSError as error:
        raise SandboxError(f"sandbox: cannot protect `{path}`: {error.strerror}; use read-only") from error
    return state.st_dev, state.st_ino


def _remove(path: str, identity: tuple[int, int] | None, made_ns: int, content: bytes) -> bool:
    """Take a stand-in away if it is still ours and untouched; anything else belongs to the user."""
    state = _untouched(path, identity, made_ns, content)
    if state is not None:
        with suppress(OSError):  # a folder that got something in it just now stays
            os.rmdir(path) if stat.S_ISDIR(state.st_mode) else os.unlink(path)
            return True
    return False


def _untouched(
    path: str, identity: tuple[int, int] | None, made_ns: int, content: bytes
) -> os.stat_result | None:
    """What is there, where that is what was made; `identity` is known to the process that made it."""
    try:
        state = os.lstat(path)
        if identity and (state.st_dev, state.st_ino) != identity:
            return None
        if state.st_ctime_ns + _CLOCK_STEP_NS < made_ns or state.st_mode & 0o222:
            return None
        if stat.S_ISDIR(state.st_mode):
            is_same = not os.listdir(path)
        else:
            is_same = stat.S_ISREG(state.st_mode) and state.st_size == len(content)
    except OSError:
        return None
    return state if is_same else None
