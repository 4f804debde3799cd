"""Whether a program waits for its input, by real programs that wait in each way there is."""

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sandbox import awaiting, processes
from sandbox.awaiting import Input
from tests.waiting import until

pytestmark = pytest.mark.skipif(not awaiting._CALLS, reason="system calls of this machine are not known")


@contextmanager
def program(script: str, read: int, keys: int) -> Iterator[int]:
    """A Python program whose input is `read`, once it has said that it is about to wait."""
    line = [sys.executable, "-I", "-S", "-c", f"import os, select, socket, time; os.write(1, b'.'); {script}"]
    with subprocess.Popen(line, stdin=read, stdout=subprocess.PIPE, start_new_session=True) as started:
        assert started.stdout is not None
        started.stdout.read(1)
        yield started.pid
        started.kill()
    os.close(read)
    os.close(keys)


@pytest.mark.parametrize(
    "script",
    [
        "os.read(0, 1)",
        "select.select([0], [], [])",
        "select.select([0], [], [], 600)",
        "p = select.poll(); p.register(0, 1); p.poll()",
        "p = select.epoll(); p.register(0, 1); p.register(os.pipe()[0], 1); p.poll()",
        "import _thread; _thread.start_new_thread(os.read, (0, 1)); time.sleep(600)",
    ],
)
@pytest.mark.parametrize("opened", [pty.openpty, lambda: os.pipe()[::-1]], ids=["terminal", "pipe"])
def test_a_program_that_waits_for_its_input_is_known(script: str, opened: object) -> None:
    keys, read = opened()  # type: ignore[operator]  # one of the two above
    known = Input.of(read)
    with program(script, read, keys) as pid:
        until(lambda: known.is_awaited_by(pid))


@pytest.mark.parametrize(
    "script",
    [
        "time.sleep(600)",
        "p = os.pipe(); os.read(p[0], 1)",
        "s = socket.socketpair(); select.select([0, s[0]], [], [])",
        "s = socket.socketpair(); p = select.poll(); p.register(0, 1); p.register(s[0], 1); p.poll()",
    ],
)
def test_one_that_waits_for_something_else_or_for_more_does_not_wait_for_input(script: str) -> None:
    keys, read = pty.openpty()
    known = Input.of(read)
    with program(script, read, keys) as pid:
        until(lambda: processes.is_waiting(pid))
        assert not known.is_awaited_by(pid)


def test_of_a_process_that_is_gone_nothing_is_known() -> None:
    keys, read = pty.openpty()
    known = Input.of(read)
    with program("os._exit(0)", read, keys) as pid:
        pass
    assert not known.is_awaited_by(pid)


def test_a_program_that_looks_at_no_place_in_memory_does_not_wait_for_input(tmp_path: Path) -> None:
    """As one that is traced can be held in such a call."""
    keys, read = pty.openpty()
    poll = next(number for number, kind in awaiting._CALLS.items() if kind == "poll")
    (tmp_path / "syscall").write_text(f"{poll} 0xffffffffffffffff 0x1 0x0 0x0 0x0 0x0 0x0 0x0\n")
    (tmp_path / "mem").touch()
    assert not Input.of(read)._is_awaited_in(tmp_path)
    os.close(keys)
    os.close(read)
