"""Run by a test in a process of its own: kills itself on the way of a checkpoint after a call to the disk.

Arguments: workspace, state directory, number of the moment. Prints the ids of the checkpoint before the
call and of the one after it, as soon as they are told.
"""

import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from checkpoints.coverage import Limits
from checkpoints.gitprocess import find_git
from checkpoints.roots import home_of
from checkpoints.types import Cause, Phase
from checkpoints.workspace import Recorded, Workspace

root, state_dir, left = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
is_told = False
synchronise, synchronise_all = os.fdatasync, os.fsync


def moment() -> None:
    """Die here if it is time to."""
    global left
    left -= is_told
    if is_told and left < 0:
        os.kill(os.getpid(), signal.SIGKILL)


def told(recorded: Recorded) -> None:
    global is_told
    print(recorded.row.id, flush=True)
    is_told = True
    moment()


def fdatasync(descriptor: int) -> None:
    moment()
    synchronise(descriptor)


def fsync(descriptor: int) -> None:
    moment()
    synchronise_all(descriptor)


def watch(event: str, _: tuple[object, ...]) -> None:
    if event == "os.rename":
        moment()


os.fdatasync, os.fsync = fdatasync, fsync
sys.addaudithook(watch)
core = Workspace(
    home_of(root, state_dir, alone=False), "s1", git=find_git(), limits=Limits(), state_dir=state_dir
)
core.open(lambda _: None)
core.first_import()
core.catalog._connection.set_trace_callback(lambda statement: moment() if statement == "COMMIT" else None)
print(core.record(Cause(phase=Phase.BEFORE_CALL, session="s1", step=1, call_id="c1")).row.id, flush=True)
for name in ("a", "new"):  # in no store yet
    (root / name).write_text(f"{name} of call {sys.argv[3]}\n")
core.record(Cause(phase=Phase.AFTER_CALL, session="s1", step=1, call_id="c1"), told)
moment()
core.close()
