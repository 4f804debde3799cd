"""Starts commands in their sandbox and ends them, whole trees at a time.

Contract, for `tools.exec_command`:

* `spawn` gives a `Start`, which is awaited on the main thread of the process, inside its event loop:
  bwrap's parent death signal belongs to the thread that started it.
* `Running.outputs` are non-blocking descriptors to read: one for a terminal (reading it raises EIO
  at its end), two for pipes (standard output, standard error). The reader closes none of them and
  takes its readers off the loop before it calls `Running.close`, which does.
* `Running.stdin` is a non-blocking descriptor or None; `close_stdin` ends the input.
* `wait()` returns when the command itself ends. What it left in the background lives on, held by
  the same sandbox: `leftovers()` names it, `ended()` returns when nothing is left, `stop()` and
  `kill()` end all of it. Without leftovers the outputs reach their end right after `wait()`.
* Everything dies when this process dies, by `kill -9` too.
* With a mode other than `off` and no working sandbox a start raises `SandboxError`, never runs.
"""

import asyncio
import json
import os
import shutil
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_tui.frozen import frozen
from sandbox import channels as wires
from sandbox import git_settings, leftovers, processes, seccomp, shared_network, survey
from sandbox.bwrap import Fds, arguments
from sandbox.channels import (
    Channels,
    add_bwrap_channels,
    instruct,
    keep_descriptors,
    let_mount,
    open_channels,
)
from sandbox.environment import build
from sandbox.errors import SandboxError
from sandbox.git_ignores import outside
from sandbox.host import home
from sandbox.limits import Enforcement
from sandbox.pins import roots, surveyed
from sandbox.policy import Mode, Policy
from sandbox.preparation import Plan, Preparation, prepare
from sandbox.probe import ProbeResult
from sandbox.processes import Handle
from sandbox.running import Exit, Running, start_failure
from sandbox.shared_network import Network, SharedNetwork
from sandbox.verification import verify

if TYPE_CHECKING:
    from sandbox.proxy import Ask, Proxy

__all__ = ["Exit", "Running", "Start", "spawn"]

_START_TIMEOUT_S = 20.0

# Runs the command, tells its exit code, and then waits for the leash: bwrap would end what the
# command left in the background as soon as its first child ends. Traps, because a signal to the
# group must end the command and not this shell; a caught signal is at its default again in it.
# Before all that it reports and waits for leave: should we die while bwrap starts, the leash ends,
# nothing runs, and pid 1 ends with it. The child waits, so that it is there when the leave comes.
_KEEPER = """
trap : INT QUIT TERM HUP USR1 USR2 ALRM TSTP TTIN TTOU
echo up >&3
(read -r _ <&4 || exit 1; exec 3>&- 4<&-; exec "$@")
s=$?
echo "exit $s" >&3
exec 0<&4 1>/dev/null 2>&1 3>&- 4<&-
while read -r _ || [ $? -gt 128 ]; do :; done
exit "$s"
"""
_RESET = [
    getattr(signal, f"SIG{name}")
    for name in "INT QUIT TERM HUP PIPE XFSZ TSTP TTIN TTOU USR1 USR2 ALRM CHLD WINCH".split()
]


def spawn(  # noqa: PLR0913 - one call says everything about one command
    argv: Sequence[str],
    *,
    policy: Policy,
    cwd: Path,
    probe: ProbeResult,
    env: Mapping[str, str] | None = None,
    tty: bool = False,
    stdin: bool = False,
    size: tuple[int, int] = (80, 24),
    environ: Mapping[str, str] | None = None,
    inherit: Sequence[int] | None = None,
    shared_network: SharedNetwork | None = None,
) -> "Start":
    """A start of `argv`; awaited, it gives the command once that runs. `size` is columns, rows; `env` is
    set for it on top of what `sandbox.environment` lets through of `environ` (default: ours); `inherit`
    hands on three descriptors as its streams; while the network is off, commands with the same
    `shared_network` reach each other on loopback, but for one that may reach single hosts."""
    request = _Request(
        argv=list(argv),
        policy=policy,
        cwd=cwd.resolve(),
        probe=probe,
        env=dict(env or {}),
        tty=tty,
        environ=os.environ if environ is None else environ,
        shared_network=shared_network,
    )
    return Start(request, partial(open_channels, tty=tty, stdin=stdin, size=size, inherit=inherit))


class Start(Awaitable[Running]):
    """A command that is to be started: awaiting it, once, lets it run. Raises `SandboxError`.

    `begin` ahead of that has its sandbox built meanwhile, with the command waiting in it; where nobody
    awaits it then, `drop` ends it.
    """

    def __init__(self, request: "_Request", open_streams: Callable[[], Channels]) -> None:
        self._request = request
        self._open_streams = open_streams
        self._begun: _Begun | None = None
        self.ask: Ask = _refuse  # decides about hosts that the policy of a command with hosts does not name

    def __await__(self) -> Generator[Any, None, Running]:
        return self._run().__await__()

    async def begin(self) -> None:
        """Begin to build the sandbox; with the sandbox off there is nothing to do ahead."""
        if self._begun is None and self._request.policy.mode is not Mode.OFF:
            self._request.check()
            self._begun = await _begin(self._request, self._open_streams())

    async def drop(self) -> None:
        """Take back what was begun: the command has not run and never will."""
        begun, self._begun = self._begun, None
        if begun is not None:
            try:
                await begun.end()
            finally:
                begun.channels.close()

    async def _run(self) -> Running:
        if self._request.policy.mode is Mode.OFF:
            self._request.check()
            return await _spawn_guarded(self._request, self._open_streams())
        await self.begin()
        assert self._begun is not None
        begun, self._begun = self._begun, None
        try:
            return await _run_begun(self._request, begun, self.ask)
        except BaseException as error:
            try:
                await begun.end()
                if isinstance(error, ProcessLookupError | BrokenPipeError):  # after it had told its pid
                    raise start_failure(_said(begun.channels)) from error
            finally:
                begun.channels.close()
            raise


async def _refuse(_: object) -> str:
    return "nobody is asked about hosts here"


@frozen
class _Request:
    """What `spawn` was asked for."""

    argv: list[str]
    policy: Policy
    cwd: Path
    probe: ProbeResult
    env: dict[str, str]
    tty: bool
    environ: Mapping[str, str]
    shared_network: SharedNetwork | None

    def check(self) -> None:
        """Raises `SandboxError` for what must not, or cannot, be started."""
        if threading.current_thread() is not threading.main_thread():
            raise SandboxError("sandbox: commands can be started on the main thread only")
        if self.policy.mode is not Mode.OFF and not self.probe.available:
            raise SandboxError(f"sandbox: {self.probe.detail}; {self.probe.fix}")
        words = [*self.argv, *self.env, *self.env.values()]
        if not self.argv or any("\0" in word for word in words):
            raise SandboxError("sandbox: the command is empty or holds a NUL byte")
        if any("=" in name or not name for name in self.env):
            raise SandboxError("sandbox: the name of a variable is empty or holds `=`")
        if not self.cwd.is_dir():
            raise SandboxError(f"sandbox: the working directory `{self.cwd}` does not exist")
        if self.policy.mode is not Mode.OFF and not _is_visible(self.cwd, self.policy):
            raise SandboxError(
                f"sandbox: the working directory `{self.cwd}` is not visible inside; add it as a root"
            )

    def clean_environment(self) -> dict[str, str]:
        """What bwrap, and so `/proc/1/environ`, gets; `env` is not in it: bwrap runs outside."""
        return build(self.policy, self.environ, home=home(self.environ), cwd=self.cwd, tty=self.tty)


def _is_visible(place: Path, policy: Policy) -> bool:
    roots = [
        policy.workspace,
        *policy.extra_roots,
        *policy.readable,
        *policy.writable,
        Path("/usr"),
        Path("/opt"),
    ]
    return any(place.is_relative_to(root) for root in roots)


@frozen
class _Held:
    """A sandbox that is what was looked at, in which the command waits for leave."""

    root: Handle
    enforcement: Enforcement


@frozen
class _Begun:
    """A bwrap that builds a sandbox."""

    pid: int
    channels: Channels
    ready: Preparation
    held: asyncio.Task[_Held]
    notices: Sequence[str]

    async def end(self) -> None:
        """Nothing of it is left when this returns."""
        self.held.cancel()
        self.held.add_done_callback(_let_go)
        await _end(self.pid, self.ready)


def _let_go(held: asyncio.Task[_Held]) -> None:
    if not held.cancelled() and held.exception() is None:
        held.result().root.close()


async def _end(pid: int, ready: Preparation | None) -> None:
    """Nothing of a bwrap is left when this returns, nor of what was prepared for it; whoever waits may be
    told a second time to give up."""
    ending = asyncio.create_task(asyncio.to_thread(_end_all, pid, ready))
    try:
        await asyncio.shield(ending)
    except asyncio.CancelledError:
        await asyncio.wait({ending})
        raise


def _end_all(pid: int, ready: Preparation | None) -> None:
    """Its child goes before the stand-ins do: one that still mounts would make them anew."""
    try:
        processes.end_tree(pid)
    finally:
        if ready:
            ready.release()


async def _spawn_guarded(request: _Request, channels: Channels) -> Running:
    try:
        guard = str(Path(__file__).with_name("guard.py"))
        numbers = [str(wires.STATUS_FD), str(wires.LEASH_FD), str(int(request.tty))]
        words = [sys.executable, "-I", guard, *numbers, str(request.cwd), *request.argv]
        env = request.clean_environment() | request.env
        variables, folder = outside(request.policy.state_dir, home(request.environ), env)
        pid = _start(words, channels, {**env, **variables})
        running = Running(pid=pid, root=processes.open_handle(pid), channels=channels, folder=folder)
    except BaseException:
        channels.close()
        raise
    try:
        await running.named()
    except BaseException:
        running.close()
        raise
    running.let_run()
    return running


async def _begin(request: _Request, channels: Channels) -> _Begun:
    try:
        network, notices = await _network(request)
        pid = _start_bwrap(request, channels, network)
        ready: Preparation | None = None
        try:
            tell = partial(_tell, request, channels, own_network=network is None)
            ready = prepare(request.policy, request.environ, tell)
            let_mount(channels, ready.git.values())
        except BaseException:
            await _end(pid, ready)
            raise
    except BaseException:
        channels.close()
        raise
    held = asyncio.create_task(_hold(request, channels, ready, network))
    return _Begun(pid=pid, channels=channels, ready=ready, held=held, notices=notices)


async def _network(request: _Request) -> tuple[Network | None, list[str]]:
    """The network to enter, or None for one of its own or the host's, and what to say about it. Others must
    not come to the proxy of a command."""
    if request.policy.network or request.policy.has_proxy or request.shared_network is None:
        return None, []
    try:
        return await request.shared_network.get(), []
    except SandboxError as error:
        return None, [f"this command has a loopback network of its own, others cannot reach it: {error}"]


def _start_bwrap(request: _Request, channels: Channels, network: Network | None) -> int:
    """Its pid. It loads while we look at the workspace, and does nothing before `instruct`."""
    add_bwrap_channels(channels, seccomp=seccomp.filter_fd(), files=len(_files(request)))
    outer = network.words() if network else _outer_words(request)
    session = [_setsid(), "--ctty"] if request.tty else []
    keeper = ["/bin/sh", "-c", _KEEPER, "sh"]
    command = [request.probe.bwrap, "--args", str(wires.ARGUMENTS_FD), "--", *session, *keeper]
    return _start([*outer, *command, *request.argv], channels, request.clean_environment())


async def _hold(request: _Request, channels: Channels, ready: Preparation, network: Network | None) -> _Held:
    """Compare the sandbox with what was looked at, and let the shell of the command come up in it; the
    command itself waits for `Running.let_run`."""
    enforcement = Enforcement(request.policy.limits)
    root_pid = await _root_process(channels)
    root = processes.open_handle(root_pid)
    try:
        if network and not network.holds(root_pid):
            raise SandboxError("sandbox: the command would not be in its private network")
        if ready.checked:
            await verify(root_pid, ready.checked)
        enforcement.enforce(root_pid)
        os.write(channels.release, b"1")
    except BaseException:
        root.close()
        raise
    return _Held(root=root, enforcement=enforcement)


async def _run_begun(request: _Request, begun: _Begun, ask: "Ask") -> Running:
    """Let the command run once its sandbox is what was looked at."""
    held = await begun.held
    proxy: Proxy | None = None
    try:
        if request.policy.has_proxy:
            proxy = await _open_proxy(held.root.pid, request.policy, ask)
        running = Running(
            pid=begun.pid,
            root=held.root,
            channels=begun.channels,
            enforcement=held.enforcement,
            preparation=begun.ready,
            proxy=proxy,
        )
    except BaseException:
        if proxy:
            await proxy.close()
        raise
    running.notices += begun.notices
    for place in surveyed(request.policy):
        _renew_survey(place)
    _sweep_once()
    return running


async def _open_proxy(root_pid: int, policy: Policy, ask: "Ask") -> "Proxy":
    from sandbox.listener import listen
    from sandbox.proxy import Proxy

    async def opened() -> "Proxy":
        proxy = Proxy(policy.hosts, ask)
        await proxy.serve(await asyncio.to_thread(listen, root_pid))
        return proxy

    opening = asyncio.create_task(opened())
    try:
        return await asyncio.shield(opening)
    except asyncio.CancelledError:  # what listens by then is known to nobody else
        with suppress(SandboxError):
            await (await opening).close()
        raise


def _files(request: _Request) -> tuple[str, ...]:
    return git_settings.names(len(roots(request.policy)))


def _tell(request: _Request, channels: Channels, plan: Plan, *, own_network: bool) -> None:
    words = arguments(
        request.policy,
        plan.host,
        layers=plan.layers,
        cwd=request.cwd,
        fds=Fds(
            seccomp=wires.SECCOMP_FD,
            status=wires.REPORT_FD,
            block=wires.BLOCK_FD,
            files={name: wires.FILES_FD + number for number, name in enumerate(_files(request))},
        ),
        new_session=not request.tty,
        env={**git_settings.VARIABLES, **_way_out(request.policy), **request.env},
        own_network=own_network,
    )
    instruct(channels, words)


def _way_out(policy: Policy) -> dict[str, str]:
    if not policy.has_proxy:
        return {}
    from sandbox.proxy import environment

    return environment(policy.hosts)


def _setsid() -> str:
    """A terminal's command leads its own session and group, so that ^C reaches it and not bwrap."""
    found = shutil.which("setsid", path="/usr/bin:/bin:/usr/local/bin:/run/current-system/sw/bin")
    if found is None:
        raise SandboxError("sandbox: `setsid` is missing, which terminals need; install util-linux")
    return found


def _outer_words(request: _Request) -> list[str]:
    """With the host's network, abstract sockets of the host are kept away by Landlock."""
    if not request.policy.network:
        return []
    return [sys.executable, "-I", str(Path(__file__).with_name("scope.py"))]


@cache
def _sweep_once() -> None:
    for marks in (("--args", _KEEPER), shared_network.MARKS):
        asyncio.get_running_loop().run_in_executor(None, leftovers.sweep, marks)


def _renew_survey(place: Path) -> None:
    if survey.is_stale(place):
        asyncio.get_running_loop().run_in_executor(None, survey.renew, place)


def _start(words: list[str], channels: Channels, env: Mapping[str, str]) -> int:
    keep_descriptors()
    pid = os.posix_spawn(
        words[0],
        words,
        env,
        file_actions=channels.file_actions(),
        setsid=True,
        setsigmask=[],
        setsigdef=_RESET,
    )
    channels.close_child_ends()
    return pid


async def _root_process(channels: Channels) -> int:
    """The host pid of the sandbox's pid 1, as soon as bwrap tells it; bwrap writes in pieces."""
    said = b""
    while b"\n" not in said:
        await asyncio.wait_for(_readable(channels.report), _START_TIMEOUT_S)
        data = os.read(channels.report, 65536)
        if not data:
            raise start_failure(_said(channels))
        said += data
    return int(json.loads(said.partition(b"\n")[0])["child-pid"])


async def _readable(fd: int) -> None:
    loop = asyncio.get_running_loop()
    seen: asyncio.Future[None] = loop.create_future()
    loop.add_reader(fd, lambda: None if seen.done() else seen.set_result(None))
    try:
        await seen
    finally:
        loop.remove_reader(fd)


def _said(channels: Channels) -> str:
    """What bwrap wrote before it gave up."""
    said = b""
    for fd in channels.outputs:
        try:
            said += os.read(fd, 65536)
        except OSError:
            continue
    return said.decode(errors="replace")
