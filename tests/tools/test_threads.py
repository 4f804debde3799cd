"""File work that hangs: left behind, answered, and no reason for the process to stay."""

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.tools.room import Room
from tests.waiting import WAIT_S
from tools import reads
from tools.threads import in_thread
from tools.types import Outcome, OutcomeStatus

ROOT = Path(__file__).parents[2]
HANG = """
import asyncio, sys
sys.path.insert(0, sys.argv[1])
from tools.threads import in_thread
async def main():
    try:
        await in_thread(lambda: open(sys.argv[2]).read(), timeout_s=0.1)
    except TimeoutError:
        print("left behind")
asyncio.run(main())
"""


async def test_a_hung_read_is_answered_as_timed_out(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reads, "TIMEOUT_S", 0.1)
    hang = threading.Event()
    invocation = room.invocation("read_file", {"path": "x"})

    def read() -> Outcome:
        hang.wait()
        raise AssertionError("nobody waits for it any more")

    outcome = await reads.read_in_thread(read, invocation)
    hang.set()
    assert outcome.status is OutcomeStatus.TIMED_OUT
    assert "No answer of the file system within 0.1 s" in outcome.text


def test_a_hung_read_does_not_hold_up_the_end_of_the_process(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")  # opening it for reading waits for a writer that never comes
    line = [sys.executable, "-c", HANG, str(ROOT), str(tmp_path / "pipe")]
    done = subprocess.run(line, capture_output=True, text=True, timeout=WAIT_S)
    assert (done.returncode, done.stdout) == (0, "left behind\n"), done.stderr


async def test_a_write_is_finished_when_its_call_is_cancelled() -> None:
    loop, begun, go_on = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    def work() -> str:
        loop.call_soon_threadsafe(begun.set)
        go_on.wait()
        return "written"

    task = asyncio.ensure_future(in_thread(work, abandon=lambda: False))
    await begun.wait()
    task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    go_on.set()
    assert await task == "written"
