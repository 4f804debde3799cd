"""A checkpoint after a call is told before it is on disk; what the disk holds is in order all the same."""

import asyncio
import errno
import hashlib
import os
import signal
import stat
import subprocess
import sys
import zlib
from itertools import groupby
from pathlib import Path

import pytest

from checkpoints.engine import WorkspaceCheckpointer, open_checkpointer
from checkpoints.types import Cause, Phase
from checkpoints.workspace import Recorded
from tests.checkpoints.conftest import OpenSession
from tests.checkpoints.sessions import Session
from tests.checkpoints.trees import manifest
from tests.waiting import WAIT_S

SCRIPT = Path(__file__).with_name("killed_after_call.py")
AFTER = Cause(phase=Phase.AFTER_CALL, session="s1", step=1, call_id="c1")
BEFORE_NEXT = Cause(phase=Phase.BEFORE_CALL, session="s1", step=2, call_id="c2")


def loose(store: Path) -> list[Path]:
    return sorted((store / "objects").glob("??/*"))


def traced(session: Session, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is done to the disk from now on, in order."""
    seen: list[str] = []
    synchronise, synchronise_all, replace = os.fdatasync, os.fsync, os.replace

    def fdatasync(descriptor: int) -> None:
        synchronise(descriptor)
        seen.append("synchronised")

    def fsync(descriptor: int) -> None:
        synchronise_all(descriptor)
        seen.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "synchronised")

    def rename(source: str | Path, target: str | Path) -> None:
        replace(source, target)
        seen.append("placed" if "objects" in Path(target).parts else "named")

    monkeypatch.setattr("os.fdatasync", fdatasync)
    monkeypatch.setattr("os.fsync", fsync)
    monkeypatch.setattr("os.replace", rename)
    session.core.catalog._connection.set_trace_callback(
        lambda statement: seen.append("listed") if statement == "COMMIT" else None
    )
    return seen


def in_order(seen: list[str]) -> list[str]:
    """What was done, without repetitions, for a checkpoint with content, trees and a commit."""
    assert seen.count("synchronised") == seen.count("placed") >= 3
    assert seen.count("folder") >= 2
    return [what for what, _ in groupby(seen)]


def test_objects_are_on_disk_before_the_list_names_them(
    root: Path, open_session: OpenSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_text("1\n")
    session = open_session()
    session.before()
    (root / "a").write_text("2\n")
    seen = traced(session, monkeypatch)
    session.core.record(AFTER, lambda _: seen.append("told"))
    assert in_order(seen) == ["told", "synchronised", "placed", "folder", "listed", "named"]


def test_one_before_a_call_is_told_when_it_is_on_disk(
    root: Path, open_session: OpenSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = open_session()
    (root / "a").write_text("1\n")
    seen = traced(session, monkeypatch)
    session.before()
    assert in_order(seen) == ["synchronised", "placed", "folder", "listed", "named"]


def test_what_is_held_can_be_read_and_counted(root: Path, open_session: OpenSession) -> None:
    (root / "a").write_text("1\n2\n")
    session = open_session()
    session.before()
    (root / "a").write_text("1\n3\n4\n")
    told: list[Recorded] = []
    stored = len(loose(session.core.store.directory))

    def tell(recorded: Recorded) -> None:
        told.append(recorded)
        assert len(loose(session.core.store.directory)) == stored
        state = session.core.state(recorded.row)
        entry = session.core.trees.find(state, b"a")
        assert entry is not None and session.core.store.read(entry.oid) == b"1\n3\n4\n"

    session.core.record(AFTER, tell)
    ((change,),) = [one.changes for one in told]
    assert (change.path, change.added, change.removed) == ("a", 2, 1)


def test_git_finds_what_was_held(root: Path, open_session: OpenSession) -> None:
    """A renamed file is found by git, which reads the store by itself."""
    (root / "a").write_text("".join(f"{n}\n" for n in range(50)))
    session = open_session()
    session.before()
    (root / "a").rename(root / "b")
    told: list[Recorded] = []
    session.core.record(AFTER, told.append)
    ((change,),) = [one.changes for one in told]
    assert (change.kind, change.old_path, change.path) == ("R", "a", "b")


def test_killed_at_any_moment_it_is_whole_or_not_there(
    root: Path, state_dir: Path, open_session: OpenSession
) -> None:
    ended = 0
    for moment in range(200):
        for name in ("a", "new"):
            (root / name).unlink(missing_ok=True)
        (root / "a").write_text(f"{moment}\n")
        before = manifest(root)
        command = [sys.executable, str(SCRIPT), str(root), str(state_dir), str(moment)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S)
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
        start, told = done.stdout.split()
        session = open_session()
        for path in loose(session.core.store.directory):
            assert hashlib.sha1(zlib.decompress(path.read_bytes())).hexdigest() == "".join(path.parts[-2:])
        listed = {row.id: row for row in session.core.catalog.listed("", "s1")}
        after = manifest(root)
        if told in listed:
            ended += 1
            (root / "a").write_text("later\n")
            session.rollback(told, default="take")
            assert manifest(root) == after
        else:
            assert max(listed.values(), key=lambda row: row.seq).id == start
            assert session.take(Phase.TURN_START).row.id != told
        session.rollback(start, default="take")
        assert manifest(root) == before
        session.close()
        if done.returncode == 0:
            break
    assert done.returncode == 0
    assert moment > 12  # told, each object synchronised and placed, folders, listed
    assert ended >= 2  # killed after it was listed, and not at all


def opened(root: Path, state_dir: Path) -> WorkspaceCheckpointer:
    found = open_checkpointer(workspace=root, state_dir=state_dir, session="s1")
    assert isinstance(found, WorkspaceCheckpointer)
    return found


async def called(checkpointer: WorkspaceCheckpointer, root: Path) -> str:
    """The id of the checkpoint before a call that has changed a file."""
    (root / "a").write_text("1\n")
    before = await checkpointer.take(Cause(phase=Phase.BEFORE_CALL, session="s1", step=1, call_id="c1"))
    (root / "a").write_text("2\n")
    return before.id


async def test_the_next_call_waits_until_it_is_on_disk(
    root: Path, state_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpointer = opened(root, state_dir)
    await called(checkpointer, root)
    may_write = asyncio.Event()
    loop = asyncio.get_running_loop()
    synchronise = os.fdatasync

    def fdatasync(descriptor: int) -> None:
        asyncio.run_coroutine_threadsafe(may_write.wait(), loop).result(WAIT_S)
        synchronise(descriptor)

    monkeypatch.setattr("os.fdatasync", fdatasync)
    after = await checkpointer.take(AFTER)
    assert [change.path for change in after.changes] == ["a"]
    following = asyncio.create_task(checkpointer.take(BEFORE_NEXT))
    listing = asyncio.create_task(checkpointer.list())
    await asyncio.wait({following, listing}, timeout=0.2)
    assert not following.done() and not listing.done()
    may_write.set()
    assert (await following).seq == after.seq + 1
    assert after.id in [one.id for one in await listing]
    await checkpointer.close()


async def test_closing_waits_until_it_is_on_disk(root: Path, state_dir: Path) -> None:
    checkpointer = opened(root, state_dir)
    await called(checkpointer, root)
    after = await checkpointer.take(AFTER)
    await checkpointer.close()
    again = opened(root, state_dir)
    assert after.id in [one.id for one in await again.list()]
    (root / "a").write_text("3\n")
    await again.rollback(after.id, default="take")
    assert (root / "a").read_text() == "2\n"
    await again.close()


@pytest.mark.parametrize("following_cause", [BEFORE_NEXT, AFTER], ids=lambda cause: cause.phase.value)
async def test_one_that_cannot_be_kept_is_said_and_the_next_holds_all(
    root: Path, state_dir: Path, monkeypatch: pytest.MonkeyPatch, following_cause: Cause
) -> None:
    checkpointer = opened(root, state_dir)
    start = await called(checkpointer, root)

    def fdatasync(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as full:
        full.setattr("os.fdatasync", fdatasync)
        lost = await checkpointer.take(AFTER)
        listed = [one.id for one in await checkpointer.list()]
    assert lost.id not in listed and start in listed
    assert "after a call could not be kept" in checkpointer.health().detail
    assert "No space left on device" in checkpointer.health().detail
    following = await checkpointer.take(following_cause)
    assert following.id != lost.id
    assert [change.path for change in following.changes] == ["a"]
    (root / "a").write_text("3\n")
    await checkpointer.rollback(following.id, default="take")
    assert (root / "a").read_text() == "2\n"
    await checkpointer.close()
