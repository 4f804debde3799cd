"""Run by a test in several processes at once: edits its own files and takes checkpoints in a loop.

Arguments: workspace, state directory, name of the session, seconds. Prints how many it took.
"""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from checkpoints.gitprocess import find_git
from tests.checkpoints.sessions import Session

root, state_dir, name, seconds = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], float(sys.argv[4])
session = Session(root, state_dir, name, git=find_git())
end = time.monotonic() + seconds
taken = 0
while time.monotonic() < end:
    session.before()
    for number in range(3):
        (root / f"{name}-{number}").write_text(f"{taken}\n")
    changed = {change.path for change in session.after()}
    missing = {f"{name}-{number}" for number in range(3)} - changed
    if missing and taken:
        raise SystemExit(f"lost: {missing}")
    taken += 2
session.close()
print(taken)
