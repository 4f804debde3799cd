"""What the tests of the sandbox share."""

import asyncio
import os
import secrets
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from sandbox.launch import Exit, Running, spawn
from sandbox.probe import ProbeResult, probe
from tests.sandbox import worlds
from tests.sandbox.worlds import World


@pytest.fixture(scope="session")
def found(tmp_path_factory: pytest.TempPathFactory) -> ProbeResult:
    """What the probe says here; tests that need a sandbox are skipped with its reason."""
    result = probe(tmp_path_factory.mktemp("probe"))
    if not result.available:
        pytest.skip(result.detail)
    return result


@pytest.fixture
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """A fresh repository, home and state; another kind by `indirect` parameter."""
    base = Path(tempfile.mkdtemp(prefix="at-", dir="/tmp"))
    yield worlds.make(base / "w", getattr(request, "param", "repo"), f"mark{secrets.token_hex(6)}")
    worlds.remove(base)


@dataclass
class Shell:
    """Starts commands in one world and reads what they say."""

    world: World
    found: ProbeResult

    async def start(self, script: str, **options: object) -> Running:
        changes = options.pop("policy", {})
        return await spawn(
            ["bash", "-c", script],
            policy=self.world.policy(**changes),  # type: ignore[arg-type]
            cwd=self.world.ws,
            probe=self.found,
            environ=self.world.environ(),
            **options,  # type: ignore[arg-type]
        )

    async def run(self, script: str, **options: object) -> tuple[Exit, str]:
        running = await self.start(script, **options)
        said = asyncio.create_task(read_all(running))
        ended = await running.wait()
        running.kill()
        await running.ended()
        text = await said
        running.close()
        return ended, text


@pytest.fixture
def shell(world: World, found: ProbeResult) -> Shell:
    return Shell(world, found)


async def read_all(running: Running) -> str:
    """Everything on all outputs, to their end."""
    parts = await asyncio.gather(*(_read(fd, b"") for fd in running.outputs))
    return b"".join(parts).decode(errors="replace")


async def read_until(running: Running, word: str) -> str:
    """What the first output says up to and with `word`."""
    return (await _read(running.outputs[0], word.encode())).decode(errors="replace")


async def _read(fd: int, word: bytes) -> bytes:
    loop = asyncio.get_running_loop()
    said = bytearray()
    done: asyncio.Future[None] = loop.create_future()

    def take() -> None:
        try:
            data = os.read(fd, 65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        said.extend(data)
        if (not data or (word and word in said)) and not done.done():
            done.set_result(None)

    loop.add_reader(fd, take)
    try:
        await done
    finally:
        loop.remove_reader(fd)
    return bytes(said)
