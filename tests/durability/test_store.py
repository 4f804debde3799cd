import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agent_tui.engine.commands import Submit
from agent_tui.engine.events import InputDelivered, TurnEnded
from agent_tui.engine.session import Session
from checkpoints.records import Record, RecordsError, SessionRecords
from checkpoints.salvage import open_or_salvage
from context.items import UserItem
from context.units import read_log
from tests.engine.fakes import FakeClock, calls, engine, text
from tests.waiting import WAIT_S

ROOT = Path(__file__).parents[2]
POINTS = int(os.environ.get("AGENT_TUI_TRUNCATIONS", "40"))  # 0: every byte
UNSHARE = shutil.which("unshare")


async def a_session(root: Path, turns: int = 6) -> list[str]:
    """A stored session of some turns; what the person said in it."""
    said = [f"message {number} {'x' * 400}" for number in range(turns)]
    script = [
        step for number in range(turns) for step in (calls(("read_file", {"path": f"/{number}"})), text("ok"))
    ]
    async with engine(root, *script) as run:
        for count, message in enumerate(said, 1):
            run.send(Submit(text=message))
            await run.wait(TurnEnded, count=count)
    return said


def cuts(size: int) -> list[int]:
    step = max(1, size // POINTS) if POINTS else 1
    return list(range(0, size, step))


async def load(path: Path) -> list[str] | None:
    """The messages of a store as it opens now; None when it says that nothing can be read."""
    try:
        records, damage = await open_or_salvage(path)
    except RecordsError as error:
        assert "moved to" in str(error)
        assert list(path.parent.glob("session.db.damaged-*"))
        return None
    if damage is not None:
        assert damage.moved_to.exists()
    session = await Session.load(records, FakeClock())
    assert read_log(session.fold.log).orphans == ()
    await session.close()
    return [item.text for item in session.fold.log if isinstance(item, UserItem)]


async def test_a_store_cut_at_any_byte_opens_with_its_beginning_or_says_why_not(tmp_path: Path) -> None:
    said = await a_session(tmp_path)
    whole = (tmp_path / "session.db").read_bytes()
    for cut in cuts(len(whole)):
        root = tmp_path / f"cut{cut}"
        root.mkdir()
        (root / "session.db").write_bytes(whole[:cut])
        found = await load(root / "session.db")
        assert found is None or found == said[: len(found)]
        shutil.rmtree(root)


async def test_a_journal_cut_at_any_byte_loses_at_most_its_end(tmp_path: Path) -> None:
    said = [f"message {number}" for number in range(4)]
    async with engine(tmp_path, *(text("ok") for _ in said)) as run:
        for count, message in enumerate(said, 1):
            run.send(Submit(text=message))
            await run.wait(TurnEnded, count=count)
        main = (tmp_path / "session.db").read_bytes()
        journal = (tmp_path / "session.db-wal").read_bytes()
    assert len(journal) > 1000
    longest = 0
    for cut in [*cuts(len(journal)), len(journal)]:
        root = tmp_path / f"cut{cut}"
        root.mkdir()
        (root / "session.db").write_bytes(main)
        (root / "session.db-wal").write_bytes(journal[:cut])
        found = await load(root / "session.db")
        if found is not None:
            assert found == said[: len(found)]
            assert len(found) >= longest
            longest = len(found)
        shutil.rmtree(root)
    assert longest == len(said)


async def test_a_row_whose_end_is_lost_is_never_taken_for_whole(tmp_path: Path) -> None:
    path = tmp_path / "session.db"
    records = await SessionRecords.open(path)
    await records.append([Record(kind="item", body={"n": n, "text": "x" * 900}, at=1.0) for n in range(9)])
    await records.close()
    whole = path.read_bytes()
    for cut in cuts(len(whole)):  # some in each row
        path.write_bytes(whole[:cut])
        try:
            records, _ = await open_or_salvage(path)
        except RecordsError:
            continue
        found = [record.body["n"] async for record in records.read()]
        await records.close()
        skipped = set(range(max(found, default=-1) + 1)) - set(found)
        assert found == sorted(found)
        assert len(skipped) <= records.unreadable, "what is missing is told"


async def test_a_cut_session_can_be_continued(tmp_path: Path) -> None:
    await a_session(tmp_path)
    path = tmp_path / "session.db"
    content = path.read_bytes()
    path.write_bytes(content[: len(content) * 2 // 3])
    records, damage = await open_or_salvage(path)
    await records.close()
    assert damage is not None and damage.kept > 5
    async with engine(tmp_path, text("done"), text("done")) as run:
        run.send(Submit(text="go on"))
        await run.wait(InputDelivered)
        await run.idle()
    assert run.model.requests[-1].view.units[-1].item.text == "go on"  # type: ignore[union-attr] # a message


def mounts_a_file_system() -> bool:
    if UNSHARE is None:
        return False
    script = 'mount -t tmpfs none "$1"'
    tried = subprocess.run([UNSHARE, "-rm", "sh", "-c", script, "sh", "/mnt"], capture_output=True)
    return tried.returncode == 0


@pytest.mark.skipif(not mounts_a_file_system(), reason="`unshare -rm` cannot mount a tmpfs here")
def test_a_full_disk_stops_before_the_next_side_effect_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    assert UNSHARE is not None
    script = 'mount -t tmpfs -o size=1500k none "$1" && exec "$2" -m tests.durability.full_disk "$1"'
    ran = subprocess.run(
        [UNSHARE, "-rm", "sh", "-c", script, "sh", str(tmp_path), sys.executable],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=WAIT_S,
    )
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert told["full"] == "state_unwritable" and "full" in told["error"]
    assert "full" in told["refused"]
    assert told["effects_when_full"] == 2
    assert told["ended"] == "completed"
    assert told["effects"] == told["results"] == ["c1.1", "c2.1", "c3.1", "c4.1"]
