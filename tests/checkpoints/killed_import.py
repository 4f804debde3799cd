"""Run by a test in a process of its own: kills itself in the middle of the first import.

Arguments: workspace, state directory, number of files after which it dies (0: inside the last writes).
"""

import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from checkpoints.coverage import Limits
from checkpoints.gitprocess import find_git
from checkpoints.roots import home_of
from checkpoints.workspace import Workspace

root, state_dir, kill_at = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])


def die(count: int) -> None:
    if kill_at and count >= kill_at:
        os.kill(os.getpid(), signal.SIGKILL)


def watch(event: str, arguments: tuple[object, ...]) -> None:
    """Die where the pack is made."""
    if event == "subprocess.Popen" and not kill_at and "index-pack" in str(arguments[1]):
        os.kill(os.getpid(), signal.SIGKILL)


sys.addaudithook(watch)
core = Workspace(
    home_of(root, state_dir, alone=False), "s1", git=find_git(), limits=Limits(), state_dir=state_dir
)
core.open(die)
core.first_import()
