"""What stays closed inside a writable workspace: git's powerful parts, settings that tools execute.

A mount point can neither be renamed nor removed, so each protected path is one; and so is every
directory above it up to the writable root, else its parent could be moved away and replaced.
"""

import os
import stat
import sys
from dataclasses import dataclass, field
from pathlib import Path

from sandbox import host, repository, survey
from sandbox.bwrap import Kind, Mount
from sandbox.errors import SandboxError
from sandbox.placeholders import Blanks, StandIn
from sandbox.policy import Mode, Policy
from sandbox.repository import Repository
from sandbox.survey import Survey

# programs run these, or read from these what to run, when they merely start in the directory
DIRECTORIES = (".agent-tui", ".vscode", ".idea", ".husky")
FILES = (
    ".mcp.json",
    ".envrc",
    ".gitmodules",
    ".bashrc",
    ".profile",
    ".zshrc",
    ".ripgreprc",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
)
# only where they exist: a missing one has no power here, or only after a push that others see
IF_PRESENT = (
    ".github/workflows",
    ".gitlab-ci.yml",
    ".bash_profile",
    ".bash_login",
    ".zshenv",
    ".zprofile",
    ".pre-commit-config.yaml",
    ".lefthook.yml",
    "lefthook.yml",
    ".githooks",
    ".direnv",
    ".devcontainer",
    ".claude",
    ".cursor",
    ".gemini",
    ".codex",
    ".tmux.conf",
    ".vimrc",
    ".exrc",
    ".nvim.lua",
    ".gdbinit",
    ".lldbinit",
)
# in a home these are obeyed at the next login, or let somebody in, also where they are missing now
HOME_DIRECTORIES = (".config", ".local", ".ssh", "bin")
HOME_FILES = {
    ".gitconfig": b"",
    ".zshenv": b"",
    ".zprofile": b"",
    ".zlogin": b"",
    ".pam_environment": b"",
    ".xprofile": b"",
    ".xsessionrc": b"",
    ".bash_profile": b". ~/.bash_login\n",  # an empty one would keep a login shell from the next of these
    ".bash_login": b". ~/.profile\n",
}

INSTALLATION = Path(sys.prefix).resolve()  # a project's own virtual environment may hold this program


@dataclass(slots=True)
class Pins:
    """Mounts in order, the stand-ins they need, and what a person should know."""

    blanks: Blanks
    mounts: list[Mount] = field(default_factory=list)
    stand_ins: list[StandIn] = field(default_factory=list)
    masked: list[Path] = field(default_factory=list)  # files that read as empty
    notices: list[str] = field(default_factory=list)
    repository: Repository | None = None
    approved: tuple[Path, ...] = ()  # may be written for once, so a missing one gets no stand-in
    lane: Repository | None = None  # the same, when it was opened for git to write


def collect(policy: Policy, home: Path, blanks: Path) -> Pins:
    """Everything to be laid over the writable roots; looks at these, changes nothing in them."""
    pins = Pins(blanks=Blanks(blanks), approved=policy.writable)
    if policy.mode is Mode.WORKSPACE_WRITE:
        for root in roots_beside(policy):  # first: one of them may hold the workspace
            _pin_beside(pins, policy, root, home)
        found = survey.recent(policy.workspace)
        pins.repository = repository.find(policy.workspace)
        _pin_git(pins, policy)
        _pin_names(pins, policy, policy.workspace, pins.repository, home)
        _pin_nested(pins, policy.workspace, found)
        _tell(pins, policy, found)
    else:
        _show_repository(pins, policy)
    for place in surveyed(policy):
        _cover_sockets(pins, survey.recent(place))
    for root in roots(policy) if policy.mask_env_files else ():
        _mask_env_files(pins, policy, root)
    return pins


def roots(policy: Policy) -> tuple[Path, ...]:
    """The workspace and what lies beside it."""
    return (policy.workspace, *policy.extra_roots)


def surveyed(policy: Policy) -> tuple[Path, ...]:
    """Places that are looked through for what must be covered."""
    return (*roots(policy), *policy.readable, *policy.writable)


def roots_beside(policy: Policy) -> tuple[Path, ...]:
    """The extra roots that are more than a part of another one, or of the workspace."""
    roots = dict.fromkeys(policy.extra_roots)
    return tuple(
        root
        for root in roots
        if not root.is_relative_to(policy.workspace)
        and not any(root != other and root.is_relative_to(other) for other in roots)
    )


def obeyed(root: Path) -> tuple[Path, ...]:
    """Paths below a writable root that git runs there, beside the fixed names, and this program itself."""
    try:
        found, home = repository.find(root), host.home(os.environ)
    except SandboxError:  # nothing is run there then
        found = None
    programs = repository.programs_inside(found, root, home) if found else {}
    # below it only: a project in `/usr/src` with the system's Python in `/usr` is no part of this program
    return (*programs, INSTALLATION) if INSTALLATION.is_relative_to(root) else tuple(programs)


def _pin_beside(pins: Pins, policy: Policy, root: Path, home: Path) -> None:
    """An extra root is protected as the workspace is; its repository is never opened for git."""
    if root.is_file():
        return
    dot_git = root / ".git"
    _pin(pins, dot_git, directory=True)
    if not os.path.lexists(dot_git):
        _close_bare_root(pins, root)
    found = None if dot_git.is_symlink() else repository.find(root)
    _pin_names(pins, policy, root, found, home)
    _pin_nested(pins, root, survey.recent(root))
    if policy.workspace.is_relative_to(root):  # else it could be renamed and another made in its place
        _hold_parents(pins, root, policy.workspace / ".git")


def _show_repository(pins: Pins, policy: Policy) -> None:
    """Read-only mode: only a repository that lies elsewhere needs a mount."""
    if (policy.workspace / ".git").is_file():
        pins.repository = repository.find(policy.workspace)
        if pins.repository:
            pins.mounts.append(_read(pins.repository.common_dir))


def _pin_git(pins: Pins, policy: Policy) -> None:
    dot_git = policy.workspace / ".git"
    found = pins.repository
    if found is None and not dot_git.is_file():
        _pin(pins, dot_git, directory=True)
        _close_bare_root(pins, policy.workspace)
        return
    if found is None or not policy.git_lane:
        pins.mounts.append(_read(dot_git))
        if found and found.link:
            pins.mounts.append(_read(found.common_dir))
        return
    _open_lane(pins, found)


def _close_bare_root(pins: Pins, workspace: Path) -> None:
    """git takes a directory with HEAD, objects and refs for a repository; it must not become one."""
    if (workspace / "objects").exists() and (workspace / "refs").exists():
        for name in ("config", "hooks"):
            _pin(pins, workspace / name, directory=name == "hooks")
    _pin(pins, workspace / "HEAD")


def _open_lane(pins: Pins, found: Repository) -> None:
    """Writable but for what git executes or is redirected by."""
    pins.lane = found
    if found.link:
        pins.mounts.append(_read(found.link))
    pins.mounts.append(_write(found.common_dir))
    places = [found.common_dir] if found.git_dir == found.common_dir else [found.common_dir, found.git_dir]
    worktrees = found.common_dir / "worktrees"
    if worktrees.is_dir():
        pins.mounts.append(_write(worktrees))
        pins.mounts += [_read(other) for other in sorted(worktrees.iterdir()) if other != found.git_dir]
    if len(places) == 2:
        pins.mounts.append(_write(found.git_dir))
    for place in places:
        _pin_powerful(pins, place, linked=place != found.common_dir)


def _pin_powerful(pins: Pins, place: Path, *, linked: bool) -> None:
    for name in () if linked else repository.POWERFUL_DIRECTORIES:
        _pin(pins, place / name, directory=True)
    for name in repository.POWERFUL_FILES:
        # `.` is what git assumes without the file, so a missing one cannot be planted any more
        _pin(pins, place / name, content=b".\n" if name == "commondir" else b"")
    if linked:
        pins.mounts.append(_read(place / "gitdir"))


def _pin_names(pins: Pins, policy: Policy, root: Path, found: Repository | None, home: Path) -> None:
    for name in DIRECTORIES:
        _pin(pins, root / name, directory=True)
    for name in FILES:
        # a tracked one that is gone: for git an empty file in its place is a change, a directory is none
        is_gone = found is not None and repository.is_tracked(found, name)
        _pin(pins, root / name, directory=is_gone)
    if home.is_relative_to(root):
        _pin_home(pins, root, home)
    start = str(root)
    named = {
        root / name: False
        for name in (*IF_PRESENT, *policy.protected)
        if os.path.lexists(f"{start}/{name}")  # most are missing, and a string is cheaper than a path
    }
    if found:
        named |= repository.programs_inside(found, root, home)
    for place, directory in named.items():
        _hold_parents(pins, root, place)
        _pin(pins, place, directory=directory)
    _pin_own(pins, policy, root)


def _pin_own(pins: Pins, policy: Policy, root: Path) -> None:
    """What this program is made of and obeys, where a writable root holds it."""
    for own in (policy.config_dir, policy.state_dir, INSTALLATION):
        if own and own.is_relative_to(root) and own.exists():
            _hold_parents(pins, root, own)
            if own != policy.state_dir:  # covered later
                pins.mounts.append(_read(own))


def _pin_home(pins: Pins, workspace: Path, home: Path) -> None:
    """A home in a writable root: everything hidden in it is settings of some program, `bin` is on the path.

    Before anything that lies below one of these: a directory that is closed is never held open."""
    _hold_parents(pins, workspace, home / "bin")
    pinned = {mount.target for mount in pins.mounts}
    hidden = {place for place in home.iterdir() if place.name.startswith(".") and place.name != ".cache"}
    files = dict.fromkeys(FILES, b"") | HOME_FILES
    for place in sorted(hidden | {home / name for name in (*HOME_DIRECTORIES, *files)}):
        if str(place) not in pinned:
            content = files.get(place.name, b"")
            _pin(pins, place, directory=place.name in HOME_DIRECTORIES, content=content)


def _pin(pins: Pins, place: Path, *, directory: bool = False, content: bytes = b"") -> None:
    """Read-only where it exists, else as a stand-in; a link is never mounted through."""
    try:
        state = os.lstat(place)
    except OSError:
        _stand_in(pins, StandIn(path=place, directory=directory, content=content))
        return
    if stat.S_ISLNK(state.st_mode):
        pins.notices.append(f"`{place.name}` is a symbolic link and not protected from commands")
    else:
        identity = (state.st_dev, state.st_ino)
        pins.mounts.append(Mount(kind=Kind.READ, source=str(place), target=str(place), identity=identity))


def _stand_in(pins: Pins, wanted: StandIn) -> None:
    if any(wanted.path.is_relative_to(path) for path in pins.approved) or _is_closed(wanted.path.parent):
        return
    pins.stand_ins.append(wanted)
    # bwrap looks sources up at once, when the stand-in need not be there yet
    source = pins.blanks.like(wanted)
    pins.mounts.append(Mount(kind=Kind.READ, source=source, target=str(wanted.path)))


def _is_closed(directory: Path) -> bool:
    """Whether nobody of this user can make anything there, now or after a change of its mode."""
    if os.access(directory, os.W_OK):
        return False
    try:
        return directory.stat().st_uid != os.geteuid() or bool(os.statvfs(directory).f_flag & os.ST_RDONLY)
    except OSError:
        return False


def _pin_nested(pins: Pins, root: Path, found: Survey) -> None:
    for place in found.repositories:
        if place.exists() and not place.is_symlink():
            _hold_parents(pins, root, place)
            pins.mounts.append(_read(place))


def _hold_parents(pins: Pins, root: Path, place: Path) -> None:
    held = {mount.target: mount.kind for mount in pins.mounts}
    between = [parent for parent in place.parents if parent != root and parent.is_relative_to(root)]
    for parent in reversed(between):
        if parent.is_symlink():
            raise SandboxError(
                f"sandbox: `{parent}` is a symbolic link above a protected path; use read-only"
            )
        if held.get(str(parent)) is Kind.READ:  # nothing below can be moved, and nothing may be opened
            return
        if str(parent) not in held:
            pins.mounts.append(_write(parent))


def _tell(pins: Pins, policy: Policy, found: Survey) -> None:
    owner = policy.workspace.stat().st_uid
    if os.geteuid() == 0 and owner != 0:
        pins.notices.append(
            f"the workspace belongs to user {owner}; commands run without root's rights and may not be able "
            "to write in it, so start as that user"
        )
    if not found.complete:
        pins.notices.append(
            "the workspace is too large, or holds too many, to cover every nested repository, socket and "
            "`.env` file"
        )
    if found.hard_links:
        pins.notices.append(
            f"`{found.hard_links[0]}` and {len(found.hard_links) - 1} more files have a second name; "
            "writing to them may change files outside"
        )


def _cover_sockets(pins: Pins, found: Survey) -> None:
    """A read-only mount does not stop connect(2): sockets of the host are covered instead."""
    for place in found.sockets:
        if place.exists():
            pins.mounts.append(Mount(kind=Kind.READ, source="/dev/null", target=str(place)))


def _mask_env_files(pins: Pins, policy: Policy, root: Path) -> None:
    found = [place for place in survey.recent(root).env_files if place not in policy.readable]
    git = pins.repository if root == policy.workspace else None
    for place in found:
        # a command that adds a masked file adds it as empty, and must not come to see it by that
        name = str(place.relative_to(root))
        tracked = git is not None and repository.is_tracked(git, name, with_content=True)
        if place.exists() and not tracked:
            pins.masked.append(place)
            blank = pins.blanks.like(StandIn(path=place))
            pins.mounts.append(Mount(kind=Kind.READ, source=blank, target=str(place)))


def _read(place: Path) -> Mount:
    return Mount(kind=Kind.READ, source=str(place), target=str(place), identity=_identity(place))


def _write(place: Path) -> Mount:
    return Mount(kind=Kind.WRITE, source=str(place), target=str(place), identity=_identity(place))


def _identity(place: Path) -> tuple[int, int]:
    try:
        state = place.stat()
    except OSError as error:
        raise SandboxError(f"sandbox: cannot protect `{place}`: {error.strerror}") from error
    return state.st_dev, state.st_ino
