"""Tries a bwrap out: runs it with the real arguments and nothing to do, and explains what it says."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from sandbox import cgroups, processes, scope, seccomp
from sandbox.abilities import ProbeResult
from sandbox.bwrap import Fds, arguments
from sandbox.diagnosis import Machine, explain, install
from sandbox.environment import build
from sandbox.errors import SandboxError
from sandbox.host import home
from sandbox.policy import Mode, Policy
from sandbox.preparation import prepare
from sandbox.private import private_dir
from sandbox.shared_network import Network, make

_OLDEST = (0, 8)  # the first with `--disable-userns` and `--size`
_OLDEST_KERNEL = (5, 3)  # pidfd_open
_TIMEOUT_S = 20


def without_bwrap() -> ProbeResult:
    """The answer where there is none to try."""
    return _unavailable("", "", "`bwrap` is not installed", install("bubblewrap", Machine.here()))


def run(path: str, state_dir: Path, environ: Mapping[str, str]) -> ProbeResult:
    """Whether this bwrap works here. Takes about 70 ms; blocks."""
    machine = Machine.here()
    version = _version(path)
    if processes.kernel() < _OLDEST_KERNEL:
        return _unavailable(path, version, "the kernel is older than 5.3", "update the kernel")
    if not processes.has_handles():
        fix = "update the kernel, or allow the call in the container's seccomp profile"
        return _unavailable(path, version, "the system call `pidfd_open` is refused here", fix)
    numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:2])
    if numbers < _OLDEST:
        detail = f"`{path}` is version {version or 'unknown'}, at least 0.8 is needed"
        return _unavailable(path, version, detail, install("bubblewrap", machine))
    try:
        seccomp.filter_bytes()
    except SandboxError as error:
        problem, _, cure = str(error).removeprefix("sandbox: ").partition("; ")
        return _unavailable(path, version, problem, cure or install("libseccomp", machine), seccomp=False)
    said = _trial(path, state_dir, environ)
    if said is not None:
        return _unavailable(path, version, *explain(said, path, machine))
    unshared = _why_not_shared(path, state_dir, environ)
    return ProbeResult(
        available=True,
        bwrap=path,
        version=version,
        seccomp=True,
        shared_network=not unshared,
        lost=_lost(unshared),
    )


def _version(path: str) -> str:
    with suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=_TIMEOUT_S, env={})
        return done.stdout.strip().rpartition(" ")[2]
    return ""


def _why_not_shared(path: str, state_dir: Path, environ: Mapping[str, str]) -> str:
    """Empty when a sandbox can be built in a network that others share."""
    try:
        network = make(path)
    except SandboxError as error:
        return str(error)
    try:
        said = _trial(path, state_dir, environ, network)
    finally:
        network.close()
    return said.strip().rpartition("\n")[2] if said is not None else ""


def _trial(
    path: str, state_dir: Path, environ: Mapping[str, str], network: Network | None = None
) -> str | None:
    """Run `true` in a real sandbox; None when that works, else what bwrap said."""
    workspace = private_dir(state_dir / "sandbox" / "probe")
    policy = Policy(mode=Mode.WORKSPACE_WRITE, workspace=workspace.resolve(), state_dir=state_dir)
    ready = prepare(policy, environ)
    filter_fd = seccomp.filter_fd()
    block_read, block_write = os.pipe()
    os.close(block_write)
    status_fd = os.open(os.devnull, os.O_WRONLY)
    # bwrap closes each once it is read
    settings = {name: os.open(os.devnull, os.O_RDONLY) for name in ready.git}
    fds = (filter_fd, status_fd, block_read, *settings.values())
    try:
        words = arguments(
            policy,
            ready.plan.host,
            layers=ready.plan.layers,
            cwd=policy.workspace,
            fds=Fds(
                seccomp=filter_fd,
                status=status_fd,
                block=block_read,
                files=settings,
            ),
            new_session=True,
            env={},
            own_network=network is None,
        )
        env = build(policy, environ, home=home(environ), cwd=policy.workspace)
        before = network.words() if network else []
        return _ended([*before, path, *words, "--", "/bin/sh", "-c", ":"], env, fds)
    finally:
        for fd in fds:
            os.close(fd)
        ready.release()


def _ended(words: list[str], env: dict[str, str], fds: Sequence[int]) -> str | None:
    try:
        done = subprocess.run(
            words,
            pass_fds=fds,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_S,
            start_new_session=True,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return None if done.returncode == 0 else done.stderr.decode(errors="replace")


def _lost(unshared: str) -> tuple[str, ...]:
    """Promises that need more than this machine has."""
    lost = []
    if unshared:
        lost.append(f"a server of one command cannot be reached from the next ({unshared})")
    if scope.abi() < scope.ABI_WITH_SCOPES:
        lost.append("with the network on, abstract sockets of the host can be reached (needs Linux 6.12)")
    if os.geteuid() == 0 and cgroups.parents() is None:
        lost.append("a fork bomb of root is stopped late (no control group can be made)")
    if shutil.which("setsid") is None:
        lost.append("commands with a terminal cannot be started (`setsid` is missing)")
    return tuple(lost)


def _unavailable(path: str, version: str, detail: str, fix: str, *, seccomp: bool = True) -> ProbeResult:
    return ProbeResult(available=False, bwrap=path, version=version, seccomp=seccomp, detail=detail, fix=fix)
