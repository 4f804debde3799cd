"""Run by a test where the first argument is a file system of 2 MB: fills it in the middle of things.

The second argument says what lies on it, `store` or `workspace`. Prints `whole` when nothing broke.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from checkpoints.gitprocess import find_git
from checkpoints.types import CheckpointError
from tests.checkpoints.sessions import Session
from tests.checkpoints.trees import manifest

small, which = Path(sys.argv[1]), sys.argv[2]
big = Path(os.environ["HOME"]) / "big"
big.mkdir()
root = (small if which == "workspace" else big) / "w"
state_dir = (small if which == "store" else big) / "state"
root.mkdir()
state_dir.mkdir()


def fill() -> Path:
    """Take every block that is left."""
    path = small / "filler"
    with path.open("wb", buffering=0) as stream:
        for size in (4096, 1):
            try:
                while True:
                    stream.write(b"\1" * size)
            except OSError:
                continue
    return path


(root / "a").write_bytes(os.urandom(300_000))
(root / "b").write_bytes(os.urandom(200_000))
session = Session(root, state_dir, git=find_git())
first = session.before().row
before = manifest(root)
(root / "a").write_bytes(os.urandom(100_000))
(root / "b").unlink()
session.after()
changed = manifest(root)

if which == "store":
    (root / "c").write_bytes(os.urandom(500_000))
    filler = fill()
    present = manifest(root)
    try:
        session.take()
        raise SystemExit("a checkpoint counts although the disk is full")
    except CheckpointError as error:
        assert "No space left" in str(error), error
    try:
        session.rollback(first.id)
        raise SystemExit("a rollback ran although its checkpoint could not be stored")
    except CheckpointError as error:
        assert "No space left" in str(error), error
    assert manifest(root) == present
    filler.unlink()
    session.take()
    (root / "c").unlink()
else:
    filler = fill()
    result = session.rollback(first.id)
    assert any("No space left" in line for line in result.mismatches), result
    now = manifest(root)
    assert now[b"a"] in (before[b"a"], changed[b"a"]), "a file is cut"
    assert [path for path in now if b"agent-tui" in path] == [], "a temporary file stayed"
    filler.unlink()
session.take()
result = session.rollback(first.id, default="take")
assert not result.mismatches, result
assert manifest(root) == before
session.close()
print("whole")
