"""Whole runs on top of `launch`: a sandbox made, used, emptied of what it produced, and destroyed."""

import asyncio
import os
import shutil
import stat
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from agent_tui.frozen import frozen
from sandbox.denials import Denial, find
from sandbox.errors import SandboxError
from sandbox.launch import Exit, Running, spawn
from sandbox.policy import Policy
from sandbox.private import private_dir
from sandbox.probe import ProbeResult
from sandbox.shared_network import SharedNetwork

_KEPT_BYTES = 1024 * 1024  # of each stream
_LARGEST_ARTIFACT = 256 * 1024 * 1024
_READ_BYTES = 65536
_DRAIN_S = 0.1


@frozen
class Sandbox:
    """One isolated place: its policy, with a `/tmp` that lasts over its executions."""

    id: str
    policy: Policy
    temp_dir: Path


@frozen
class Execution:
    """What one execution came to. The streams hold their first MiB; `total_bytes` counts all."""

    exit: Exit
    stdout: bytes
    stderr: bytes
    total_bytes: int
    timed_out: bool = False
    limit_hit: str = ""
    denial: Denial | None = None
    notices: tuple[str, ...] = ()


@frozen
class Collected:
    """A file taken out of a sandbox."""

    name: str  # as asked for, below the workspace or `/tmp`
    path: Path
    size_bytes: int


class SandboxManager:
    """Creates sandboxes, executes in them, collects what they made, destroys them."""

    def __init__(
        self,
        probe: ProbeResult,
        environ: Mapping[str, str] | None = None,
        shared_network: SharedNetwork | None = None,
    ) -> None:
        self._probe = probe
        self._shared_network = shared_network
        self._environ = os.environ if environ is None else environ
        self._alive: dict[str, tuple[Sandbox, set[Running]]] = {}

    def create(self, policy: Policy) -> Sandbox:
        """A new place for `policy`; raises `SandboxError` where its directories cannot be made."""
        base = private_dir(policy.state_dir / "sandbox" / "temporary")
        temp_dir = Path(tempfile.mkdtemp(dir=base))
        made = Sandbox(id=temp_dir.name, policy=replace(policy, temp_dir=temp_dir), temp_dir=temp_dir)
        self._alive[made.id] = (made, set())
        return made

    async def execute(
        self,
        sandbox: Sandbox,
        argv: Sequence[str],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        input_bytes: bytes = b"",
        timeout_s: float | None = None,
    ) -> Execution:
        """Run to the end; what the command leaves in the background ends with it. On timeout the
        INT, TERM, KILL ladder runs. Raises `SandboxError`; cancelling kills the tree."""
        place = cwd or sandbox.policy.workspace
        running = await spawn(
            argv,
            policy=sandbox.policy,
            cwd=place,
            probe=self._probe,
            env=env,
            stdin=bool(input_bytes),
            environ=self._environ,
            shared_network=self._shared_network,
        )
        self._alive[sandbox.id][1].add(running)
        try:
            return await self._finish(running, sandbox, place, input_bytes, timeout_s)
        finally:
            running.close()
            await running.ended()
            self._alive[sandbox.id][1].discard(running)

    async def _finish(
        self, running: Running, sandbox: Sandbox, place: Path, input_bytes: bytes, timeout_s: float | None
    ) -> Execution:
        readers = [asyncio.create_task(_read(fd)) for fd in running.outputs]
        feeder = asyncio.create_task(_feed(running, input_bytes))
        timed_out = False
        try:
            await asyncio.wait_for(running.wait(), timeout_s)
        except TimeoutError:
            timed_out = True
            await running.stop()
        feeder.cancel()
        await asyncio.wait(readers, timeout=_DRAIN_S)
        running.kill()
        await running.ended()
        (stdout, out_bytes), (stderr, err_bytes) = await asyncio.gather(*readers)
        ended = await running.wait()
        denial = None
        if ended.code:
            said = (stdout + stderr).decode(errors="replace")
            denial = find(said, policy=sandbox.policy, cwd=place, environ=self._environ)
        return Execution(
            exit=ended,
            stdout=stdout,
            stderr=stderr,
            total_bytes=out_bytes + err_bytes,
            timed_out=timed_out,
            limit_hit=running.limit_hit,
            denial=denial,
            notices=tuple(running.notices),
        )

    def collect(self, sandbox: Sandbox, names: Sequence[str], into: Path) -> list[Collected]:
        """Copy regular files to `into`, flat, numbered where two have one name. A name is relative
        to the workspace or starts with `/tmp/`; links are not followed, missing ones left out."""
        found = []
        for name in names:
            inside_tmp = name.startswith("/tmp/")
            root = sandbox.temp_dir if inside_tmp else sandbox.policy.workspace
            taken = _copy_out(root, name.removeprefix("/tmp/"), into)
            if taken:
                found.append(Collected(name=name, path=taken, size_bytes=taken.stat().st_size))
        return found

    async def destroy(self, sandbox: Sandbox) -> None:
        """Kill what runs in it and remove its temporary files."""
        _, live = self._alive.pop(sandbox.id)
        for running in list(live):
            running.kill()
            await running.ended()
        await asyncio.to_thread(shutil.rmtree, sandbox.temp_dir, ignore_errors=True)

    async def destroy_all(self) -> None:
        """Destroy every sandbox that is left."""
        for sandbox, _ in list(self._alive.values()):
            await self.destroy(sandbox)


async def _read(fd: int) -> tuple[bytes, int]:
    """The head of a stream and how many bytes it had in all."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()
    kept = bytearray()
    total = 0

    def take() -> None:
        nonlocal total
        try:
            data = os.read(fd, _READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        total += len(data)
        kept.extend(data[: _KEPT_BYTES - len(kept)])
        if not data and not done.done():
            loop.remove_reader(fd)
            done.set_result(None)

    loop.add_reader(fd, take)
    try:
        await done
    finally:
        loop.remove_reader(fd)
    return bytes(kept), total


async def _feed(running: Running, data: bytes) -> None:
    loop = asyncio.get_running_loop()
    while data and running.stdin is not None:
        ready: asyncio.Future[None] = loop.create_future()
        fd = running.stdin
        loop.add_writer(fd, _settle, ready)
        try:
            await ready
            data = data[os.write(fd, data) :]
        except BrokenPipeError:
            data = b""
        finally:
            loop.remove_writer(fd)
    running.close_stdin()


def _settle(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


def _copy_out(root: Path, name: str, into: Path) -> Path | None:
    """Commands own these directories: every step is opened relative to the last, without links."""
    parts = Path(name).parts
    if not parts or ".." in parts or Path(name).is_absolute():
        raise SandboxError(f"sandbox: `{name}` is not a path below the workspace or /tmp")
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
            os.close(fd)
            fd = below
        source = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=fd)
    except OSError:
        return None
    finally:
        os.close(fd)
    with os.fdopen(source, "rb") as file:
        state = os.fstat(source)
        if not stat.S_ISREG(state.st_mode) or state.st_size > _LARGEST_ARTIFACT:
            return None
        target = _free_name(into, parts[-1])
        with target.open("xb") as copy:
            shutil.copyfileobj(file, copy)
    return target


def _free_name(into: Path, name: str) -> Path:
    target, number = into / name, 1
    while target.exists():
        number += 1
        target = into / f"{number}-{name}"
    return target
