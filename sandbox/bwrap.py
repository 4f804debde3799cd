"""Turns a policy and the facts of this machine into bwrap arguments; pure, nothing is looked up.

Later mounts win, so the order below is what keeps the sandbox safe: the system tree, then what is
hidden in it, then kernel files, temporary places, the home, the workspace, and last the pins that
close what the workspace opened.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path

from agent_tui.frozen import frozen
from sandbox.git_settings import INSIDE
from sandbox.policy import Mode, Policy


class Kind(StrEnum):
    """What is done at a target; the value is bwrap's option."""

    READ = "--ro-bind"
    READ_IF_THERE = "--ro-bind-try"
    WRITE = "--bind"
    TMPFS = "--tmpfs"
    LINK = "--symlink"
    DIRECTORY = "--dir"


@frozen
class Mount:
    """One operation on the tree that the command sees."""

    kind: Kind
    target: str
    source: str = ""  # the host path, or what a link holds
    identity: tuple[int, int] | None = None  # device and inode the source must still have once mounted


@frozen
class Host:
    """What this machine has, as far as the arguments depend on it."""

    home: str | None  # to be closed for writing at the end; None when it is no mount of its own
    system: tuple[Mount, ...]  # the read-only tree and the links beside it
    hidden: tuple[Mount, ...]  # secrets in it
    home_parts: tuple[Mount, ...]  # toolchains, caches and settings inside the home
    kernel: tuple[str, ...]  # entries of /proc to be closed for writing
    kernel_memory: tuple[str, ...] = ()  # entries of /proc to be hidden
    resolver: str | None = None  # below /run, needed when the network is on


@frozen
class Layers:
    """What is laid over the workspace, in this order; each closes or opens what came before."""

    granted: tuple[Mount, ...] = ()  # roots, and what may be read
    pins: tuple[Mount, ...] = ()  # protected paths
    approved: tuple[Mount, ...] = ()  # what a person let this command write, protected or not
    covers: tuple[Mount, ...] = ()  # secrets of the home, our own state

    def __iter__(self) -> Iterator[Mount]:
        return iter((*self.granted, *self.pins, *self.approved, *self.covers))


@frozen
class Fds:
    """Descriptor numbers as bwrap sees them."""

    seccomp: int
    status: int  # bwrap's own reports, JSON lines
    block: int  # bwrap starts the command when a byte arrives
    files: Mapping[str, int]  # of `git_settings`, by their names in `INSIDE`; each is read to its end


_COVER_BYTES = 2**20  # of a place that only hides another, or is closed at the end
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
    if mount.kind is Kind.TMPFS:
        return ["--size", str(_COVER_BYTES), mount.kind.value, mount.target]
    if mount.source:
        return [mount.kind.value, mount.source, mount.target]
    return [mount.kind.value, mount.target]


def arguments(
    policy: Policy,
    host: Host,
    *,
    layers: Layers,
    cwd: Path,
    fds: Fds,
    new_session: bool,
    env: dict[str, str],
    own_network: bool = True,
) -> list[str]:
    """The words between `bwrap` and the command; `env` is set inside only, bwrap never sees it.
    Without `own_network` bwrap itself must run in a private network already."""
    words = [*_NAMESPACES]
    if new_session:
        words.append("--new-session")
    if own_network and not policy.network:
        words.append("--unshare-net")
    for mount in (*host.system, *host.hidden):
        words += option(mount)
    words += _kernel(host)
    words += _devices(policy)
    words += _temporary(policy, host)
    words += _settings(fds)
    workspace = str(policy.workspace)
    kind = Kind.WRITE if policy.mode is Mode.WORKSPACE_WRITE else Kind.READ
    opened = Mount(kind=kind, source=workspace, target=workspace)
    for mount in (*host.home_parts, opened, *layers):
        words += option(mount)
    # last: the mount points above had to be made in them
    words += ["--remount-ro", host.home] if host.home else []
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
    for path in host.kernel_memory:
        words += ["--ro-bind", "/dev/null", path]
    return words


def _settings(fds: Fds) -> list[str]:
    """Files on the root, which is closed at the end; a mount costs more than both. They come before all that
    lies in a workspace: bwrap waits for them while what it mounts on is made there."""
    words = []
    for name, fd in fds.files.items():
        words += ["--perms", "0444", "--file", str(fd), f"{INSIDE}/{name}"]
    return words


def _devices(policy: Policy) -> list[str]:
    """A few device nodes, closed but for shared memory: all that is written here is memory."""
    size = ["--size", str(policy.limits.tmp_bytes)]
    return ["--dev", "/dev", *size, "--tmpfs", "/dev/shm", "--remount-ro", "/dev"]


def _temporary(policy: Policy, host: Host) -> list[str]:
    size = ["--size", str(policy.limits.tmp_bytes)]
    if policy.temp_dir is None:
        words = [*size, "--tmpfs", "/tmp"]
    else:
        words = ["--bind", str(policy.temp_dir), "/tmp"]
    words += ["--size", str(16 * 2**20), "--tmpfs", "/run"]
    return [*words, "--ro-bind", host.resolver, host.resolver] if host.resolver else words
