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
from checkpoints.store import Store
from checkpoints.workspace import Workspace

root, state_dir, kill_at = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])


def die(count: int) -> None:
    if kill_at and count >= kill_at:
        os.kill(os.getpid(), signal.SIGKILL)


class DyingStore(Store):
    """Dies where the pack is made."""

    def run_git(self, arguments: list[str | bytes], *, timeout_s: float, stdin: bytes = b"") -> bytes:
        if not kill_at and arguments[0] == "index-pack":
            os.kill(os.getpid(), signal.SIGKILL)
        return super().run_git(arguments, timeout_s=timeout_s, stdin=stdin)


core = Workspace(
    home_of(root, state_dir, alone=False), "s1", git=find_git(), limits=Limits(), state_dir=state_dir
)
core.store.__class__ = DyingStore
core.open(die)
core.first_import()
