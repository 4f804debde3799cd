"""Commands of one session on one private loopback, and nothing else on it."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from sandbox import shared_network
from sandbox.errors import SandboxError
from sandbox.isolation import SandboxManager
from sandbox.probe import ProbeResult, probe
from sandbox.shared_network import Network, SharedNetwork
from tests.sandbox.conftest import Shell, read_until
from tests.sandbox.worlds import World
from tests.waiting import until

ROOT = Path(__file__).parents[2]
SERVER = """python3 -c '
import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()
print(s.getsockname()[1], flush=True)
while True: s.accept()[0].sendall(b"served")'"""
CLIENT = """python3 -c '
import socket, sys
print(socket.create_connection(("127.0.0.1", {port}), 5).recv(100).decode())'"""


@pytest_asyncio.fixture
async def network(found: ProbeResult) -> AsyncIterator[SharedNetwork]:
    if not found.shared_network:
        pytest.skip("; ".join(found.lost))
    made = SharedNetwork(found.bwrap)
    yield made
    await made.close()


async def serve(shell: Shell, network: SharedNetwork) -> str:
    """The script of a client for a server that runs until the test's network is closed."""
    server = await shell.start(SERVER, shared_network=network)
    return CLIENT.format(port=(await read_until(server, "\n")).strip())


@pytest.mark.parametrize("mode", ["workspace-write", "read-only"])
@pytest.mark.parametrize("tty", [False, True])
async def test_a_later_command_reaches_a_server(
    shell: Shell, network: SharedNetwork, mode: str, tty: bool
) -> None:
    client = await serve(shell, network)
    ended, said = await shell.run(client, shared_network=network, tty=tty, policy={"mode": mode})
    assert (ended.code, said.strip()) == (0, "served")


async def test_two_first_commands_at_once_share_it(shell: Shell, network: SharedNetwork) -> None:
    script = "readlink /proc/self/ns/net"
    told = await asyncio.gather(*(shell.run(script, shared_network=network) for _ in range(4)))
    assert len({said for _, said in told}) == 1


async def test_other_sessions_and_the_host_are_apart(
    shell: Shell, network: SharedNetwork, found: ProbeResult
) -> None:
    client = await serve(shell, network)
    other = SharedNetwork(found.bwrap)
    for place in (other, None):
        ended, said = await shell.run(client, shared_network=place)
        assert ended.code == 1
        assert "ConnectionRefusedError" in said
    await other.close()
    outside = subprocess.run(["bash", "-c", client], capture_output=True, text=True)  # noqa: ASYNC221
    assert "ConnectionRefusedError" in outside.stderr


async def test_nothing_of_the_network_itself_is_given_to_a_command(
    shell: Shell, network: SharedNetwork
) -> None:
    script = "for f in /proc/self/fd/*; do readlink $f; done; grep -h CapEff /proc/self/status; ls /proc/1/fd"
    _, said = await shell.run(script, shared_network=network)
    assert "net:" not in said and "user:" not in said
    assert "CapEff:\t0000000000000000" in said


async def test_with_the_network_on_it_is_the_hosts(shell: Shell, network: SharedNetwork) -> None:
    _, said = await shell.run("readlink /proc/self/ns/net", shared_network=network, policy={"network": True})
    assert said.strip() == str(Path("/proc/self/ns/net").readlink())


async def test_without_one_a_command_has_its_own_and_says_so(shell: Shell) -> None:
    running = await shell.start("readlink /proc/self/ns/net", shared_network=SharedNetwork("/bin/false"))
    assert "loopback network of its own" in running.notices[0]
    said = await read_until(running, "\n")
    assert said.strip() != str(Path("/proc/self/ns/net").readlink())
    await running.ended()
    running.close()


async def test_a_program_that_does_not_enter_starts_nothing(
    shell: Shell, world: World, network: SharedNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    liar = world.base / "nsenter"
    liar.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n')
    liar.chmod(0o755)
    honest = await network.get()
    monkeypatch.setattr(shared_network, "make", lambda _: replace(honest, nsenter=str(liar)))
    with pytest.raises(SandboxError, match="private network"):
        await shell.start("touch ran", shared_network=SharedNetwork("unused"))
    assert not (world.ws / "ran").exists()


def test_the_probe_says_when_there_can_be_none(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: str) -> Network:
        raise SandboxError("`nsenter` is missing; install util-linux")

    monkeypatch.setattr("sandbox.trial.make", none)
    result = probe(world.state, environ=world.environ())
    if not result.available:
        pytest.skip(result.detail)
    assert not result.shared_network
    assert "a server of one command cannot be reached from the next (`nsenter` is missing" in result.lost[0]


async def test_a_manager_can_have_one(world: World, found: ProbeResult, network: SharedNetwork) -> None:
    manager = SandboxManager(found, world.environ(), network)
    place = manager.create(world.policy())
    told = [await manager.execute(place, ["readlink", "/proc/self/ns/net"]) for _ in range(2)]
    await manager.destroy_all()
    assert told[0].stdout == told[1].stdout


def test_kill_9_leaves_nothing_of_it(world: World, found: ProbeResult) -> None:
    if not found.shared_network:
        pytest.skip("; ".join(found.lost))
    code = (
        "import asyncio, os\nfrom pathlib import Path\nfrom sandbox.launch import spawn\n"
        "from sandbox.policy import Mode, Policy\nfrom sandbox.probe import probe\n"
        "from sandbox.shared_network import SharedNetwork\n"
        "async def main():\n"
        f"    found = probe(Path({str(world.state)!r}))\n"
        f"    policy = Policy(mode=Mode.READ_ONLY, workspace=Path({str(world.ws)!r}), "
        f"state_dir=Path({str(world.state)!r}))\n"
        "    network = SharedNetwork(found.bwrap)\n"
        "    running = await spawn(['sleep', '600'], policy=policy, cwd=policy.workspace, probe=found, "
        "shared_network=network)\n"
        "    print(os.fstat((await network.get()).net_fd).st_ino, flush=True)\n"
        "    await running.ended()\n"
        "asyncio.run(main())\n"
    )
    agent = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE)
    assert agent.stdout is not None
    inode = int(agent.stdout.readline())
    assert inside(inode)
    agent.kill()
    agent.wait()
    agent.stdout.close()
    until(lambda: not inside(inode), lambda: f"still in the network: {inside(inode)}")


def test_a_bwrap_that_cannot_be_started_is_an_error_of_ours(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="cannot be started"):
        shared_network.make(str(tmp_path / "bwrap"))


def inside(inode: int) -> list[str]:
    """Processes of a network namespace."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if os.stat(place / "ns/net").st_ino == inode:  # noqa: PTH116 - a link of the kernel's
                found.append(place.name)
        except OSError:
            continue
    return found
