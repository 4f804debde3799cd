"""A command reaches for the channel between its sandbox and us: `/proc` shows it the keeper's."""

import asyncio

import pytest

from tests.sandbox.conftest import Shell
from tests.waiting import WAIT_S

CHANNEL = "/proc/2/fd/3"


@pytest.mark.parametrize(
    "lines",
    ["pid 1\\n", "up\\n", "exit x\\n", "exit 99999999999\\n", "exit\\0 1\\n", "\\n", "x" * 100],
)
async def test_a_forged_report_steers_nothing_and_ends_the_command(shell: Shell, lines: str) -> None:
    running = await shell.start(f"printf '{lines}' > {CHANNEL}; sleep 60")
    group = running.process_group
    ended = await asyncio.wait_for(running.wait(), WAIT_S)
    await running.ended()
    running.close()
    assert ended.signal == "KILL"
    assert running.process_group == group
    assert "interfered" in running.limit_hit


async def test_a_flood_of_reports_neither_fills_memory_nor_blocks(shell: Shell) -> None:
    running = await shell.start(f"cat /dev/zero > {CHANNEL} & yes up > {CHANNEL} & wait")
    await asyncio.wait_for(running.ended(), WAIT_S)
    running.close()
    assert "interfered" in running.limit_hit


async def test_a_forged_end_hides_nothing_that_runs_on(shell: Shell) -> None:
    running = await shell.start(f"echo 'exit 0' > {CHANNEL}; sleep 60")
    assert (await asyncio.wait_for(running.wait(), WAIT_S)).code == 0
    assert running.leftovers()
    running.kill()
    await running.ended()
    running.close()
