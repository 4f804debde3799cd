"""Facts of this machine that the sandbox depends on: its system tree, secrets in it, toolchains."""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path

from sandbox.bwrap import Host, Kind, Mount
from sandbox.errors import SandboxError
from sandbox.git_settings import INSIDE
from sandbox.policy import Policy
from sandbox.private import private_dir

_TREES = ("/usr", "/etc", "/opt", "/nix", "/snap", "/gnu")
_LINKABLE = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
# of /var and /sys only what compilers and TLS need: a read-only bind does not stop
# connect(2) to a socket that lies below it
_PARTS = (
    "/sys/devices/system",
    "/var/lib/ca-certificates",
)
_SECRETS = """
shadow shadow- gshadow gshadow- sudoers sudoers.d ssl/private letsencrypt krb5.keytab wireguard openvpn ppp
ipsec.secrets ipsec.d NetworkManager/system-connections kubernetes rancher docker cups/subscriptions.conf
""".split()
_KERNEL = tuple(
    f"/proc/{name}" for name in "fs acpi asound scsi driver mtrr pressure dynamic_debug slabinfo".split()
)
_KERNEL_MEMORY = (
    "/proc/kpageflags",
    "/proc/kpagecount",
    "/proc/kpagecgroup",
)  # who uses which page of memory

_TOOLCHAINS = """
.cargo/bin .cargo/registry .cargo/git .rustup .pyenv .nvm .volta .fnm .asdf .sdkman .rbenv .rvm
.ghcup .deno/bin .bun/bin .dotnet go .local/bin .local/lib .local/share/uv .local/share/mise
.local/share/pnpm miniconda3 anaconda3 miniforge3 .opam .juliaup
""".split()
_TOOLCHAIN_VARIABLES = (
    "JAVA_HOME",
    "GOROOT",
    "GOPATH",
    "RUSTUP_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
)
# written by tools beside ~/.cache; they lead into the private cache, so they last and stay inside
PRIVATE = """
.config .local/state .npm .node-gyp .yarn .pnpm-store .gradle .m2 .ivy2 .sbt .nuget .composer .gem .bundle
.stack .cabal .ipython .jupyter .keras .ccache .java .terraform.d .cpan
""".split()
SECRET_PLACES = """
.ssh .aws .azure .gnupg .config/gcloud .config/gh .config/op .config/rclone .config/google-chrome
.config/chromium .config/BraveSoftware .mozilla .thunderbird .docker .kube .password-store
.local/share/keyrings .netrc .git-credentials .npmrc .pypirc .pgpass .my.cnf .vault-token .terraformrc
.cargo/credentials .cargo/credentials.toml .gem/credentials .m2/settings.xml .gradle/gradle.properties
.bash_history .zsh_history .python_history .node_repl_history .psql_history .mysql_history .claude .codex
.gemini .config/agent-tui .local/state/agent-tui
""".split()


def home(environ: Mapping[str, str]) -> Path:
    """The resolved home directory; raises `SandboxError` when there is none."""
    named = environ.get("HOME") or os.path.expanduser("~")  # noqa: PTH111 - Path.home raises without a passwd entry
    if not named.startswith("/"):
        raise SandboxError("sandbox: HOME is not an absolute path; set it")
    return Path(named).resolve()


@cache
def system_tree() -> tuple[Mount, ...]:
    """The read-only tree, the same for every command of this process."""
    found = [Mount(kind=Kind.READ, source=tree, target=tree) for tree in _TREES if Path(tree).is_dir()]
    for name in _LINKABLE:
        place = Path(name)
        if place.is_symlink():
            found.append(Mount(kind=Kind.LINK, source=str(place.readlink()), target=name))
        elif place.is_dir():
            found.append(Mount(kind=Kind.READ, source=name, target=name))
    found += [Mount(kind=Kind.READ, source=part, target=part) for part in _PARTS if Path(part).exists()]
    found.append(Mount(kind=Kind.LINK, source="/tmp", target="/var/tmp"))
    found.append(Mount(kind=Kind.LINK, source="/run", target="/var/run"))
    return tuple(found)


@cache
def hidden() -> tuple[Mount, ...]:
    """Covers over secrets below /etc that this user could read."""
    etc = Path("/etc")
    places = [etc / name for name in _SECRETS] + sorted(etc.glob("ssh/ssh_host_*_key"))
    return tuple(cover(place) for place in places if os.access(place, os.R_OK))


def cover(place: Path) -> Mount:
    """Hides a file behind an empty device, a directory behind an empty one."""
    if place.is_dir():
        return Mount(kind=Kind.TMPFS, target=str(place))
    return Mount(kind=Kind.READ, source="/dev/null", target=str(place))


@cache
def kernel() -> tuple[str, ...]:
    """Entries of /proc to be closed for root: whatever holds a file that its mode lets root write.
    For everybody else the kernel refuses by itself."""
    if os.geteuid() != 0:
        return ()
    return ("/proc/sys", *(name for name in _KERNEL if _has_writable(name)))


@cache
def kernel_memory() -> tuple[str, ...]:
    """Entries of /proc to be covered for root, who may read them without any capability."""
    return tuple(name for name in _KERNEL_MEMORY if os.geteuid() == 0 and Path(name).exists())


def _has_writable(name: str) -> bool:
    for place in (Path(name), *Path(name).rglob("*")):
        with suppress(OSError):
            state = place.lstat()
            if stat.S_ISREG(state.st_mode) and state.st_mode & 0o222:
                return True
    return False


def resolver() -> str | None:
    """Where /etc/resolv.conf really lies, when that is below /run, which is empty inside."""
    real = os.path.realpath("/etc/resolv.conf")
    return real if real.startswith("/run/") and Path(real).is_file() else None


def covers(place: Path, *secrets: Path) -> bool:
    """Whether showing `place` would show one of `secrets`."""
    return any(secret.is_relative_to(place) for secret in secrets)


def private_cache(path: Path) -> Path:
    """The directory that commands see as `~/.cache`, with a place for each tool's own.

    Commands may put links into it, so it is filled before it gets its name and never again.
    """
    if path.exists():
        return path
    private_dir(path.parent)
    made = Path(tempfile.mkdtemp(prefix="new-", dir=path.parent))
    for name in PRIVATE:
        (made / "home" / name).mkdir(mode=0o700, parents=True)
    try:
        made.rename(path)
    except OSError:  # another process was faster
        shutil.rmtree(made, ignore_errors=True)
    return private_dir(path)


def home_parts(
    policy: Policy, home_dir: Path, cache_dir: Path, environ: Mapping[str, str]
) -> tuple[Mount, ...]:
    """The home as commands see it: empty but for toolchains and a private cache."""
    if home_dir.is_relative_to(policy.workspace):
        return ()
    named = tuple(environ.get(name, "") for name in _TOOLCHAIN_VARIABLES)
    kind = Kind.TMPFS if _is_mount(policy, home_dir) else Kind.DIRECTORY
    parts = _home_parts(home_dir, policy.state_dir, cache_dir, named)
    return (Mount(kind=kind, target=str(home_dir)), *parts)


def _is_mount(policy: Policy, home_dir: Path) -> bool:
    """Whether the home has to be closed at the end: elsewhere it lies on the root, which is."""
    return _is_below_a_mount(home_dir) or any(
        home_dir.is_relative_to(root) for root in (*policy.extra_roots, *policy.writable)
    )


@cache
def _is_below_a_mount(place: Path) -> bool:
    mounts = ("/dev", "/proc", "/run", "/tmp", "/var", *(mount.target for mount in system_tree()))
    return any(place.is_relative_to(mount) for mount in mounts)


@lru_cache(maxsize=64)
def _home_parts(
    home_dir: Path, state_dir: Path, cache_dir: Path, named: tuple[str, ...]
) -> tuple[Mount, ...]:
    parts = [_toolchain(place) for place in _toolchains(home_dir, state_dir, named)]
    parts.append(Mount(kind=Kind.WRITE, source=str(cache_dir), target=str(home_dir / ".cache")))
    for name in PRIVATE:
        source = "../" * name.count("/") + ".cache/home/" + name
        parts.append(Mount(kind=Kind.LINK, source=source, target=str(home_dir / name)))
    parts.append(Mount(kind=Kind.LINK, source=f"{INSIDE}/gitconfig", target=str(home_dir / ".gitconfig")))
    return tuple(parts)


def covers_of(policy: Policy, home_dir: Path, cache_dir: Path) -> tuple[Mount, ...]:
    """Covers over our own state, and over secrets of the home where a visible root shows the home."""
    roots = (policy.workspace, *policy.extra_roots, *policy.readable, *policy.writable)
    ours = [cover(policy.state_dir)] if any(policy.state_dir.is_relative_to(root) for root in roots) else []
    if not any(home_dir.is_relative_to(root) for root in roots):
        return tuple(ours)
    named = {root for root in roots if root != home_dir and root.is_relative_to(home_dir)}
    places = [home_dir / name for name in SECRET_PLACES]
    shown = [place for place in places if place.exists() and not any(place.is_relative_to(r) for r in named)]
    covers = ours + [cover(place) for place in shown if not place.is_symlink()]
    if home_dir.is_relative_to(policy.workspace):
        covers.append(Mount(kind=Kind.WRITE, source=str(cache_dir), target=str(home_dir / ".cache")))
    return tuple(covers)


def _toolchain(place: Path) -> Mount:
    # looked up once in a process, so it may be gone by the time of a later command
    return Mount(kind=Kind.READ_IF_THERE, source=str(place), target=str(place))


def _toolchains(home_dir: Path, state_dir: Path, named: Iterable[str]) -> Iterable[Path]:
    places = [home_dir / name for name in _TOOLCHAINS] + [
        Path(name) for name in named if name.startswith("/")
    ]
    seen: dict[Path, None] = {}
    for place in places:
        # A place this user may not enter cannot be shown either: root's PYENV_ROOT after `su`.
        if not os.access(place, os.R_OK | os.X_OK) or covers(place.resolve(), home_dir, state_dir):
            continue
        if not any(place.is_relative_to(other) for other in (*map(Path, _TREES), *seen)):
            seen[place] = None
    return seen


def look(policy: Policy, home_dir: Path, cache_dir: Path, environ: Mapping[str, str]) -> Host:
    """Collect the facts for one command."""
    parts = home_parts(policy, home_dir, cache_dir, environ)
    return Host(
        home=str(home_dir) if parts and parts[0].kind is Kind.TMPFS else None,
        system=system_tree(),
        hidden=hidden(),
        home_parts=parts,
        kernel=kernel(),
        kernel_memory=kernel_memory(),
        resolver=resolver() if policy.network else None,
    )
