"""Forks, memory, file sizes and temporary space end at their limits, and the message says which."""

import asyncio
import os
from pathlib import Path

import pytest

from sandbox import cgroups
from sandbox.policy import Limits, Mode
from tests.sandbox.conftest import Shell
from tests.waiting import WAIT_S

MIB = 2**20


FORKS = """python3 -c 'import os,time
for i in range(3000):
  try: p=os.fork()
  except OSError: print(i); break
  if not p: time.sleep(30); os._exit(0)
else: print(3000)'"""
MEMORY = """sleep 0.1; python3 -c 'import time
x=[]
for _ in range(100): x.append(b"x"*8*1024*1024); time.sleep(0.02)'"""


async def test_forks_end_at_the_limit(shell: Shell) -> None:
    running = await shell.start(FORKS, policy={"limits": Limits(tasks=64)})
    ended = await asyncio.wait_for(running.wait(), WAIT_S)
    running.kill()
    await running.ended()
    said = os.read(running.outputs[0], 100).decode()
    running.close()
    if os.geteuid() != 0 or cgroups.parents():
        assert int(said) < 3000
        assert ended.code == 0
    else:
        assert "processes" in running.limit_hit


@pytest.mark.skipif(
    os.geteuid() != 0 or cgroups.parents() is None, reason="no control group can be made here"
)
async def test_the_kernel_says_that_the_task_limit_was_met(shell: Shell) -> None:
    running = await shell.start(f"sleep 0.2; {FORKS}", policy={"limits": Limits(tasks=32)})
    await asyncio.wait_for(running.wait(), WAIT_S)
    running.kill()
    await running.ended()
    running.close()
    assert running.limit_hit == "limit of 32 processes reached; starting more failed"


@pytest.mark.parametrize("mode", [Mode.WORKSPACE_WRITE, Mode.READ_ONLY])
async def test_memory_ends_at_the_limit(shell: Shell, mode: Mode) -> None:
    running = await shell.start(MEMORY, policy={"mode": mode, "limits": Limits(memory_bytes=100 * MIB)})
    ended = await asyncio.wait_for(running.wait(), WAIT_S)
    running.kill()
    await running.ended()
    running.close()
    assert ended.code == 137
    assert running.limit_hit == "memory limit of 100 MiB reached; processes were killed"


async def test_memory_is_watched_where_no_control_group_can_be_made(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroups, "parents", lambda: None)
    await test_memory_ends_at_the_limit(shell, Mode.WORKSPACE_WRITE)


async def test_a_file_ends_at_the_limit(shell: Shell) -> None:
    limits = Limits(file_size_bytes=10 * MIB)
    ended, _ = await shell.run("head -c 20000000 /dev/zero > big", policy={"limits": limits})
    assert ended.code != 0
    assert (shell.world.ws / "big").stat().st_size == 10 * MIB


@pytest.mark.parametrize("place", ["/tmp", "/dev/shm", "/run"])
async def test_temporary_space_ends_at_the_limit(shell: Shell, place: str) -> None:
    limits = Limits(tmp_bytes=10 * MIB)
    ended, said = await shell.run(f"head -c 40000000 /dev/zero > {place}/big", policy={"limits": limits})
    assert ended.code != 0
    assert "No space left" in said or "Read-only" in said


async def test_no_core_dump_is_left(shell: Shell) -> None:
    _, said = await shell.run("ulimit -c; ulimit -Hc")
    assert said.split() == ["0", "0"]


def test_control_groups_are_found_by_their_files(tmp_path: Path) -> None:
    root = tmp_path
    own = root / "user.slice" / "app.slice" / "terminal.scope"
    own.mkdir(parents=True)
    (own.parent / "cgroup.procs").touch()
    (own.parent / "cgroup.subtree_control").write_text("cpu memory pids\n")
    found = cgroups._locate("0::/user.slice/app.slice/terminal.scope\n", root)
    assert found is not None
    assert found[0] == found[1] == own.parent
    (own.parent / "cgroup.subtree_control").write_text("cpu\n")
    assert cgroups._locate("0::/user.slice/app.slice/terminal.scope\n", root) is None
