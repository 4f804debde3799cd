"""The program ends at once and loses nothing by it: buffers, exit codes, what others registered."""

import subprocess
import sys

import pytest

from tests.program import ROOT
from tests.waiting import WAIT_S

SCRIPT = """
import atexit, sys, threading
sys.path.insert(0, {root!r})
from agent_tui.startup import leave
atexit.register(lambda: print("registered"))
print("x" * 100_000)
print("to stderr", file=sys.stderr, end="")
{more}
sys.exit(leave({code}))
"""


def ended(code: int, more: str = "") -> "subprocess.CompletedProcess[str]":
    script = SCRIPT.format(root=str(ROOT), more=more, code=code)
    return subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, timeout=WAIT_S
    )


@pytest.mark.parametrize("code", [0, 3, 130])
def test_all_that_was_printed_arrives_and_so_does_the_exit_code(code: int) -> None:
    done = ended(code)
    assert (done.returncode, done.stderr) == (code, "to stderr")
    assert done.stdout == "x" * 100_000 + "\nregistered\n"


def test_a_thread_that_has_work_to_finish_is_waited_for() -> None:
    more = """
begun = threading.Event()
def work():
    begun.wait()
    print("worked")
threading.Thread(target=work).start()
threading.Timer(0.1, begun.set).start()
"""
    done = ended(4, more)
    assert done.returncode == 4 and "worked\nregistered\n" in done.stdout


def test_closed_streams_are_no_error() -> None:
    assert ended(5, "sys.stdout.flush(); sys.stdout.close(); sys.stderr.close()").returncode == 5


def test_a_store_that_was_not_closed_is_not_waited_for() -> None:
    more = """
import asyncio
from agent_tui import _imports
from checkpoints.records import SessionRecords
async def open_and_forget():
    global records
    records = await SessionRecords.open(None)
asyncio.run(open_and_forget())
assert threading.active_count() == 2
"""
    assert ended(6, more).returncode == 6


def test_a_checkpoint_that_hangs_is_not_waited_for() -> None:
    more = """
from concurrent.futures import ThreadPoolExecutor
ThreadPoolExecutor(1, thread_name_prefix="checkpoints").submit(threading.Event().wait)
"""
    assert ended(7, more).returncode == 7


def test_ctrl_c_at_the_very_beginning_ends_without_a_traceback() -> None:
    script = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
class Interrupted:
    def find_spec(self, name, path=None, target=None):
        if name == "agent_tui.cli.entry":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupted())
from agent_tui.__main__ import main
sys.exit(main())
"""
    argv = [sys.executable, "-I", "-c", script, "doctor"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=WAIT_S)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
