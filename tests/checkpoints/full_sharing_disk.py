"""Run by a test where the argument is a small disk of its own that can share blocks: fills it, then takes
checkpoints, rolls back and writes a session. Prints `whole` when all failed with words and nothing broke."""

import asyncio
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from checkpoints.gitprocess import find_git
from checkpoints.records import Record, RecordsError, SessionRecords
from checkpoints.types import CheckpointError
from tests.checkpoints.sessions import Session
from tests.checkpoints.trees import manifest

MIB = 1 << 20
FILLERS = 20_000
disk = Path(sys.argv[1])


def fill(folder: Path) -> None:
    """Take every block that is left."""
    folder.mkdir()
    for size in (64 * MIB, MIB, 65536):
        with suppress(OSError):
            for number in range(FILLERS):
                with (folder / f"{size}-{number}").open("wb") as stream:
                    os.posix_fallocate(stream.fileno(), 0, size)
    for size in (12_000, 1):  # attributes, for the blocks of a disk's own records
        with suppress(OSError):
            for number in range(FILLERS):
                (folder / f"{size}-{number}").touch()
                os.setxattr(folder / f"{size}-{number}", "user.filler", b"x" * size)


def empty(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()
    subprocess.run(["sync", "-f", folder], check=True)


async def write_until_full(path: Path, fillers: Path) -> None:
    records = await SessionRecords.open(path)
    await records.append([Record(kind="event", body={"n": 0}, at=0.0)])
    fill(fillers)
    with suppress(RecordsError):
        for number in range(3000):
            await records.append([Record(kind="event", body={"n": number, "text": "x" * 2000}, at=0.0)])
    await records.close()


root, state_dir = disk / "w", disk / "state"
root.mkdir()
state_dir.mkdir()
(root / "big").write_bytes(os.urandom(12 * MIB))
(root / "a").write_text("1")
session = Session(root, state_dir, git=find_git())
start = session.before().row
before = manifest(root)
with (root / "big").open("r+b") as changed:
    changed.write(b"x" * 6 * MIB)
(root / "a").write_text("2")
session.after()
fill(disk / "fillers")
for work in (session.take, lambda: session.rollback(start.id)):
    try:
        work()
    except CheckpointError as error:
        print(error)
empty(disk / "fillers")
result = session.rollback(start.id, default="take")
assert not result.mismatches, result
assert manifest(root) == before
session.close()
asyncio.run(write_until_full(disk / "session.db", disk / "more"))
empty(disk / "more")
print("whole")
