"""Run by a test in a process of its own: rolls back and kills itself at one moment.

Arguments: workspace, state directory, checkpoint, number, and what is counted: `steps` (it dies after
that step; -1: right after the journal) or `writes` (it dies before that change of a file or folder).
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

CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "os.symlink", "os.truncate"}


def main() -> None:
    root, state_dir, target, kill_at = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    counts = {"steps": -2, "writes": 0}

    def count(what: str) -> None:
        counts[what] += 1
        if what == sys.argv[5] and counts[what] == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        if event in CHANGES or (event == "open" and int(str(arguments[2])) & (os.O_WRONLY | os.O_RDWR)):
            count("writes")

    home = home_of(root, state_dir, alone=False)
    core = Workspace(home, "s1", git=find_git(), limits=Limits(), state_dir=state_dir)
    core.open(lambda _: None)
    sys.addaudithook(watch)
    Rollback(core, lambda *_: count("steps")).run(Request(target=target, choices={}))
    core.close()


main()
