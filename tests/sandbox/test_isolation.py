"""Sandboxes as a whole: created, used, emptied, destroyed; and one command passed through."""

import asyncio
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.errors import SandboxError
from sandbox.isolation import SandboxManager
from sandbox.probe import ProbeResult
from tests.sandbox.worlds import World

ROOT = Path(__file__).parents[2]


async def test_a_sandbox_keeps_its_temporary_files_until_it_is_destroyed(
    world: World, found: ProbeResult
) -> None:
    manager = SandboxManager(found, world.environ())
    place = manager.create(world.policy())
    first = await manager.execute(
        place, ["bash", "-c", "cat > /tmp/kept; echo out; echo err >&2"], input_bytes=b"hello"
    )
    assert (first.exit.code, first.stdout, first.stderr, first.total_bytes) == (0, b"out\n", b"err\n", 8)
    second = await manager.execute(place, ["cat", "/tmp/kept"])
    assert second.stdout == b"hello"
    other = manager.create(world.policy())
    third = await manager.execute(other, ["cat", "/tmp/kept"])
    assert third.exit.code == 1
    await manager.destroy_all()
    assert not place.temp_dir.exists()
    assert not other.temp_dir.exists()


async def test_what_it_made_is_collected_without_following_links(
    world: World, found: ProbeResult, tmp_path: Path
) -> None:
    manager = SandboxManager(found, world.environ())
    place = manager.create(world.policy())
    script = (
        "mkdir -p d /tmp/d; echo a > d/report; echo b > /tmp/d/report; "
        f"ln -s {world.out}/secret link; ln -s {world.out} dir; mkfifo fifo"
    )
    await manager.execute(place, ["bash", "-c", script])
    wanted = ["d/report", "/tmp/d/report", "link", "dir/secret", "fifo", "missing"]
    taken = manager.collect(place, wanted, tmp_path)
    assert [(each.name, each.path.name, each.size_bytes) for each in taken] == [
        ("d/report", "report", 2),
        ("/tmp/d/report", "2-report", 2),
    ]
    with pytest.raises(SandboxError, match="not a path below"):
        manager.collect(place, ["../out/secret"], tmp_path)
    await manager.destroy_all()


async def test_a_timeout_and_a_denial_are_told(world: World, found: ProbeResult) -> None:
    manager = SandboxManager(found, world.environ())
    place = manager.create(world.policy())
    late = await manager.execute(place, ["sleep", "60"], timeout_s=0.2)
    assert (late.timed_out, late.exit.signal) == (True, "INT")
    denied = await manager.execute(place, ["touch", f"{world.home}/.profile"])
    assert denied.denial is not None
    assert denied.denial.grant == "write_path"
    await manager.destroy_all()


async def test_output_is_bounded_and_counted(world: World, found: ProbeResult) -> None:
    manager = SandboxManager(found, world.environ())
    place = manager.create(world.policy())
    much = await manager.execute(place, ["head", "-c", "5000000", "/dev/zero"])
    assert (len(much.stdout), much.total_bytes) == (2**20, 5_000_000)
    await manager.destroy_all()


async def test_cancelling_kills(world: World, found: ProbeResult) -> None:
    manager = SandboxManager(found, world.environ())
    place = manager.create(world.policy())
    task = asyncio.create_task(manager.execute(place, ["bash", "-c", "touch began; sleep 60"]))
    while not (world.ws / "began").exists():  # noqa: ASYNC110 - another process makes it
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await manager.destroy_all()
    assert not (world.ws / ".envrc").exists()


def own(world: World) -> dict[str, str]:
    """The environment of the process that passes through: it must find the packages."""
    return world.environ() | {"PYTHONPATH": os.pathsep.join(sys.path)}


def passthrough(world: World, script: str) -> list[str]:
    code = (
        "import sys; from pathlib import Path; from sandbox.policy import Mode, Policy\n"
        "from sandbox.passthrough import run_passthrough\n"
        f"workspace, state = Path({str(world.ws)!r}), Path({str(world.state)!r})\n"
        "policy = Policy(mode=Mode.WORKSPACE_WRITE, workspace=workspace, state_dir=state)\n"
        f"sys.exit(run_passthrough(policy, ['bash', '-c', {script!r}], policy.workspace))\n"
    )
    return [sys.executable, "-c", code]


@pytest.mark.parametrize(
    ("script", "code"), [("cat; exit 3", 3), ("kill -TERM $$", 143), ("echo x > ~/.profile", 1)]
)
def test_streams_and_status_pass_through(world: World, found: ProbeResult, script: str, code: int) -> None:
    done = subprocess.run(
        passthrough(world, script), cwd=ROOT, env=own(world), input=b"typed\n", capture_output=True
    )
    assert done.returncode == code, done.stderr
    if "cat" in script:
        assert done.stdout == b"typed\n"


def test_a_terminal_is_relayed_and_restored(world: World, found: ProbeResult) -> None:
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(ROOT)
        words = passthrough(
            world, "test -t 0 && stty -a | grep -q ' icanon' && read line && echo got $line && exit 4"
        )
        os.execve(words[0], words, own(world))
    os.write(master, b"keys\n")
    said = b""
    while True:
        try:
            data = os.read(master, 4096)
        except OSError:
            break
        if not data:
            break
        said += data
    os.close(master)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 4, said
    assert b"got keys" in said
