"""Turns a policy and the facts of this machine into bwrap arguments; pure, nothing is looked up.

Later mounts win, so the order below is what keeps the sandbox safe: the system tree, then what is
hidden in it, then kernel files, temporary places, the home, the workspace, and last the pins that
close what the workspace opened.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from sandbox.policy import Mode, Policy


class Kind(StrEnum):
    """What is done at a target; the value is bwrap's option."""

    READ = "--ro-bind"
    WRITE = "--bind"
    TMPFS = "--tmpfs"
    LINK = "--symlink"
    DIRECTORY = "--dir"
    FREEZE = "--remount-ro"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """One operation on the tree that the command sees."""

    kind: Kind
    target: str
    source: str = ""  # the host path, or what a link holds
    identity: tuple[int, int] | None = None  # device and inode the source must still have once mounted


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What this machine has, as far as the arguments depend on it."""

    home: str
    root: bool  # uid 0
    system: tuple[Mount, ...]  # the read-only tree and the links beside it
    hidden: tuple[Mount, ...]  # secrets in it
    home_parts: tuple[Mount, ...]  # toolchains, caches and settings inside the home
    kernel: tuple[str, ...]  # entries of /proc to be covered


@dataclass(frozen=True, slots=True, kw_only=True)
class Fds:
    """Descriptor numbers as bwrap sees them."""

    seccomp: int
    status: int  # bwrap's own reports, JSON lines
    block: int  # bwrap starts the command when a byte arrives


_NAMESPACES = (
    "--unshare-user",  # not `-try`: with capabilities bwrap would silently go on without one
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--disable-userns",
    "--die-with-parent",
    "--cap-drop",
    "ALL",
    "--hostname",
    "sandbox",
)


def option(mount: Mount) -> list[str]:
    """The words of one mount."""
    if mount.kind in (Kind.READ, Kind.WRITE, Kind.LINK):
        return [mount.kind, mount.source, mount.target]
    return [mount.kind, mount.target]


def mounts(policy: Policy, host: Host, pins: Sequence[Mount], granted: Sequence[Mount]) -> list[Mount]:
    """Everything bound, in order, but for the temporary places that need a size."""
    workspace = str(policy.workspace)
    kind = Kind.WRITE if policy.mode is Mode.WORKSPACE_WRITE else Kind.READ
    return [
        *host.home_parts,
        Mount(kind=kind, source=workspace, target=workspace),
        *granted,
        *pins,
    ]


def arguments(
    policy: Policy,
    host: Host,
    *,
    pins: Sequence[Mount],
    granted: Sequence[Mount],
    cwd: Path,
    fds: Fds,
    new_session: bool,
    env: dict[str, str],
) -> list[str]:
    """The words between `bwrap` and the command; `env` is set inside only, bwrap never sees it."""
    words = [*_NAMESPACES]
    if new_session:
        words.append("--new-session")
    if not policy.network:
        words.append("--unshare-net")
    for mount in (*host.system, *host.hidden):
        words += option(mount)
    words += _kernel(host)
    words += _temporary(policy)
    for mount in mounts(policy, host, pins, granted):
        words += option(mount)
    words += ["--remount-ro", "/"]
    for name, value in env.items():
        words += ["--setenv", name, value]
    words += ["--chdir", str(cwd)]
    words += [
        "--seccomp",
        str(fds.seccomp),
        "--json-status-fd",
        str(fds.status),
        "--block-fd",
        str(fds.block),
    ]
    return words


def _kernel(host: Host) -> list[str]:
    words = ["--proc", "/proc"]
    for path in host.kernel:
        # bwrap covers /proc/sys only where access(2) says it is writable, which is false for a
        # directory of mode 0555 while root may still write the files in it
        words += ["--ro-bind", path, path]
    return [*words, "--dev", "/dev"]


def _temporary(policy: Policy) -> list[str]:
    size = ["--size", str(policy.limits.tmp_bytes)]
    if policy.temp_dir is None:
        words = [*size, "--tmpfs", "/tmp"]
    else:
        words = ["--bind", str(policy.temp_dir), "/tmp"]
    return [*words, "--size", str(16 * 2**20), "--tmpfs", "/run"]
