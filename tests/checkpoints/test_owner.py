import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from checkpoints.owner import LOCK_NAME, OwnedError, Owner, holder_of

HOLD = """
import sys, time
from pathlib import Path
from checkpoints.owner import Owner
owner = Owner.take(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(60)
"""


def hold(directory: Path) -> subprocess.Popen[str]:
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(directory)], stdout=subprocess.PIPE, text=True, cwd=root
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def test_a_second_process_is_refused_with_the_name_of_the_first(tmp_path: Path) -> None:
    process = hold(tmp_path)
    try:
        with pytest.raises(OwnedError, match=str(process.pid)):
            Owner.take(tmp_path)
        found = holder_of(tmp_path)
        assert found is not None and found.pid == process.pid
    finally:
        end(process)


def test_a_killed_owner_is_taken_over(tmp_path: Path) -> None:
    end(hold(tmp_path))
    assert holder_of(tmp_path) is None
    Owner.take(tmp_path).release()


def test_a_stopped_owner_is_not_robbed(tmp_path: Path) -> None:
    process = hold(tmp_path)
    try:
        process.send_signal(signal.SIGSTOP)
        with pytest.raises(OwnedError):
            Owner.take(tmp_path)
    finally:
        end(process)


def test_a_number_that_another_process_has_now_is_no_owner(tmp_path: Path) -> None:
    owner = Owner.take(tmp_path)
    owner.release()
    reused = {"pid": os.getpid(), "started_at_ticks": 1, "boot_id": "", "host": "x", "beat_at": 0.0}
    (tmp_path / LOCK_NAME).write_text(json.dumps(reused))
    Owner.take(tmp_path).release()


def test_a_lock_that_names_nobody_is_taken_over(tmp_path: Path) -> None:
    (tmp_path / LOCK_NAME).write_text("[" * 4096)
    assert holder_of(tmp_path) is None
    Owner.take(tmp_path).release()


def test_a_lock_that_outlived_its_process_is_taken_over(tmp_path: Path) -> None:
    owner = Owner.take(tmp_path)
    kept = os.dup(owner._fd)  # as something that inherited the descriptor would
    dead = json.loads((tmp_path / LOCK_NAME).read_text()) | {"started_at_ticks": 1}
    owner.release()
    (tmp_path / LOCK_NAME).write_text(json.dumps(dead))
    Owner.take(tmp_path).release()
    os.close(kept)


def test_what_is_written_in_the_lock_does_not_matter_when_it_is_free(tmp_path: Path) -> None:
    (tmp_path / LOCK_NAME).write_bytes(b"\xff{")
    Owner.take(tmp_path).release()


def test_a_pipe_is_nobodys_lock(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / LOCK_NAME)
    assert holder_of(tmp_path) is None
    owner = Owner.take(tmp_path)
    found = holder_of(tmp_path)
    assert found is not None and found.pid == os.getpid()
    owner.release()
