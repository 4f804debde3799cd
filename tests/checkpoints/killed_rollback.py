"""Run by a test in a process of its own: rolls back and kills itself after one step.

Arguments: workspace, state directory, checkpoint, number of the step (-1: right after the journal).
"""

import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from checkpoints.coverage import Limits
from checkpoints.gitprocess import find_git
from checkpoints.rollback import Request, Rollback
from checkpoints.roots import home_of
from checkpoints.workspace import Workspace


def main() -> None:
    root, state_dir, target, kill_at = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    count = -2

    def die(_index: int) -> None:
        nonlocal count
        count += 1
        if count == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    home = home_of(root, state_dir, alone=False)
    core = Workspace(home, "s1", git=find_git(), limits=Limits(), state_dir=state_dir)
    core.open(lambda _: None)
    Rollback(core, die).run(Request(target=target, choices={}))
    core.close()


main()
