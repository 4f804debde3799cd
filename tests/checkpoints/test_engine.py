"""The checkpointer as the engine sees it: asynchronous, in a thread of its own, never silent."""

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from agent_tui.engine.ports import Checkpointer
from checkpoints.catalog import Catalog
from checkpoints.coverage import Limits
from checkpoints.engine import WorkspaceCheckpointer, open_checkpointer
from checkpoints.journal import Journal, Step
from checkpoints.retention import Keep
from checkpoints.types import Author, Cause, CheckpointError, Phase
from tests.checkpoints.conftest import OpenSession


def opened(root: Path, state_dir: Path, session: str = "s1", **facts: object) -> WorkspaceCheckpointer:
    found = open_checkpointer(workspace=root, state_dir=state_dir, session=session, **facts)  # type: ignore[arg-type]
    assert isinstance(found, WorkspaceCheckpointer)
    return found


def cause(phase: Phase, session: str = "s1", **facts: object) -> Cause:
    return Cause(phase=phase, session=session, **facts)  # type: ignore[arg-type]


async def test_a_turn_through_the_port(root: Path, state_dir: Path) -> None:
    (root / "a").write_text("1\n2\n")
    checkpointer: Checkpointer = open_checkpointer(workspace=root, state_dir=state_dir, session="s1")
    start = await checkpointer.take(cause(Phase.TURN_START))
    assert checkpointer.health().state == "ok"
    before = await checkpointer.take(cause(Phase.BEFORE_CALL, call_id="c1", step=1))
    (root / "a").write_text("1\nx\n")
    (change,) = await checkpointer.changes_since(before.id)
    assert (change.path, change.kind, change.added, change.removed) == ("a", "M", 1, 1)
    after = await checkpointer.take(cause(Phase.AFTER_CALL, call_id="c1", step=1))
    assert [(one.path, one.author) for one in after.changes] == [("a", Author.AGENT)]
    assert "-2\n+x\n" in await checkpointer.diff(start.id, after.id)
    assert await checkpointer.diff(start.id, after.id, ["other"]) == ""
    plan = await checkpointer.plan(start.id)
    assert [(one.action, one.path, one.detail) for one in plan.operations] == [("write", "a", "+1 -1")]
    result = await checkpointer.rollback(start.id, session="s1")
    assert (root / "a").read_text() == "1\n2\n"
    assert [one.id for one in await checkpointer.list()][-1] == start.id
    redone = await checkpointer.redo("s1")
    assert redone.target == result.undo
    assert (root / "a").read_text() == "1\nx\n"
    with pytest.raises(CheckpointError, match="no rollback"):
        await checkpointer.redo("s1")
    await checkpointer.close()


async def test_the_health_tells_how_far_a_rollback_is(
    root: Path, state_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"f{number}" for number in range(4)]
    for name in names:
        (root / name).write_text("1")
    checkpointer = opened(root, state_dir)
    start = await checkpointer.take(cause(Phase.BEFORE_CALL, call_id="c1"))
    for name in names:
        (root / name).write_text("2")
    await checkpointer.take(cause(Phase.AFTER_CALL, call_id="c1"))
    told: list[object] = []
    mark = Journal.mark
    monkeypatch.setattr(
        Journal, "mark", lambda *given: (told.append(checkpointer.health().going_back), mark(*given))
    )
    await checkpointer.rollback(start.id, session="s1")
    await checkpointer.redo("s1")
    assert told == [(0, 4), (1, 4), (2, 4), (3, 4)] * 2
    assert checkpointer.health().going_back is None and checkpointer.health().state == "ok"
    await checkpointer.close()


async def test_the_first_checkpoint_gives_way_until_something_needs_it(
    root: Path, state_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("checkpoints.engine.GIVES_WAY_S", 3_600.0)
    (root / "a").write_text("1")
    checkpointer = opened(root, state_dir)
    start = asyncio.create_task(checkpointer.take(cause(Phase.TURN_START)))
    await asyncio.sleep(0.05)
    assert not start.done() and checkpointer.health().state == "importing"
    before = await checkpointer.take(cause(Phase.BEFORE_CALL, call_id="c1", step=1))
    assert {before.seq, (await start).seq} == {1, 2}
    assert checkpointer.health().state == "ok"
    await checkpointer.close()


async def test_a_list_tells_what_changed_after_each_one_of_a_session(root: Path, state_dir: Path) -> None:
    (root / "a").write_text("1")
    checkpointer, other = opened(root, state_dir), opened(root, state_dir, "other")
    for phase, content in (
        (Phase.TURN_START, "1"),
        (Phase.BEFORE_CALL, "2"),
        (Phase.AFTER_CALL, "2"),
        (Phase.BEFORE_CALL, "3"),
    ):
        await checkpointer.take(cause(phase, call_id="c", step=1))
        await other.take(cause(Phase.TURN_START, "other"))
        (root / "a").write_text(content)
    await checkpointer.take(cause(Phase.AFTER_CALL, call_id="c", step=1))
    found = {one.seq: [change.kind for change in one.after] for one in await checkpointer.list("s1")}
    assert found == {1: [], 2: ["M"], 3: [], 4: ["M"], 5: []}
    assert [one.id for one in await checkpointer.list() if one.after and one.session == "s1"] == [
        "s1/4",
        "s1/2",
    ]
    await checkpointer.close()
    await other.close()


async def test_what_the_checkpoints_take_and_how_long_they_are_kept(root: Path, state_dir: Path) -> None:
    checkpointer = opened(root, state_dir)
    await checkpointer.take(cause(Phase.TURN_START))
    before = await checkpointer.kept()
    (root / "big").write_bytes(os.urandom(1 << 20))
    await checkpointer.take(cause(Phase.BEFORE_CALL))
    after = await checkpointer.kept()
    assert after.size_bytes - before.size_bytes >= 1 << 20
    assert after.days == Keep().days
    await checkpointer.close()


async def test_single_paths_go_back_alone(root: Path, state_dir: Path) -> None:
    for name in ("a", "d/b", "d/c"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("1")
    checkpointer = opened(root, state_dir)
    start = await checkpointer.take(cause(Phase.BEFORE_CALL, call_id="c1", step=1))
    for name in ("a", "d/b", "d/c", "d/new"):
        (root / name).write_text("2")
    await checkpointer.take(cause(Phase.AFTER_CALL, call_id="c1", step=1))
    await checkpointer.rollback(start.id, paths=["d/b", str(root / "d/new")])
    assert [(root / name).read_text() for name in ("a", "d/b", "d/c")] == ["2", "1", "2"]
    assert not (root / "d/new").exists()
    await checkpointer.rollback(start.id, paths=["d"])
    assert [(root / name).read_text() for name in ("a", "d/c")] == ["2", "1"]
    with pytest.raises(CheckpointError, match="outside the workspace"):
        await checkpointer.rollback(start.id, paths=["../x"])
    await checkpointer.close()


async def test_the_first_import_runs_before_anybody_asks(root: Path, state_dir: Path) -> None:
    for number in range(50):
        (root / str(number)).write_text("x")
    checkpointer = opened(root, state_dir)
    assert (await checkpointer.ready()).state == "ok"
    await checkpointer.close()
    with pytest.raises(RuntimeError):
        await checkpointer.take(cause(Phase.TURN_START))


async def test_a_cancelled_caller_leaves_the_store_whole(root: Path, state_dir: Path) -> None:
    (root / "a").write_text("x")
    checkpointer = opened(root, state_dir)
    await checkpointer.ready()
    taking = asyncio.create_task(checkpointer.take(cause(Phase.TURN_START)))
    await asyncio.sleep(0)
    taking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await taking
    await checkpointer.take(cause(Phase.TURN_START))
    assert {one.seq for one in await checkpointer.list()} in ({1}, {1, 2})
    await checkpointer.close()


async def test_what_takes_too_long_is_an_error_and_not_a_checkpoint(root: Path, state_dir: Path) -> None:
    checkpointer = opened(root, state_dir, limits=Limits(take_s=0.0))
    await checkpointer.ready()
    with pytest.raises(CheckpointError, match=r"too long|longer than"):
        await checkpointer.take(cause(Phase.TURN_START))
    assert await checkpointer.list() == ()
    await checkpointer.close()


async def test_an_unwritable_state_directory_fails_in_words(root: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    checkpointer = opened(root, blocked)
    with pytest.raises(CheckpointError, match="cannot be written"):
        await checkpointer.take(cause(Phase.TURN_START))
    assert checkpointer.health().state == "failed"
    await checkpointer.close()


async def test_a_damaged_list_is_set_aside_and_said(root: Path, state_dir: Path) -> None:
    checkpointer = opened(root, state_dir)
    await checkpointer.take(cause(Phase.TURN_START))
    await checkpointer.close()
    path = next(state_dir.glob("checkpoints/*/catalog.db"))
    path.write_bytes(b"no database at all" * 100)
    again = opened(root, state_dir)
    taken = await again.take(cause(Phase.TURN_START))
    assert taken.seq == 1
    assert "damaged" in again.health().detail
    await again.close()


@pytest.mark.parametrize(
    "content", [b"", b"{", pytest.param(b"[" * 5000, id="nested"), b"\xff", b'{"steps": []}\n', None]
)
async def test_a_damaged_journal_is_set_aside_and_said_and_the_session_goes_on(
    root: Path, state_dir: Path, content: bytes | None
) -> None:
    checkpointer = opened(root, state_dir)
    start = await checkpointer.take(cause(Phase.TURN_START))
    (root / "a").write_text("1")
    done = await checkpointer.rollback(start.id, default="take")
    await checkpointer.close()
    journal = next(state_dir.glob("checkpoints/*")) / "root.journal"
    journal.mkdir() if content is None else journal.write_bytes(content)
    again = opened(root, state_dir)
    assert (await again.ready()).state == "ok"
    (aside,) = journal.parent.glob("root.journal.damaged-*")
    assert again.health().detail == (
        f"the journal of a cut rollback was damaged and lies in `{aside}` now; "
        f"checkpoint {done.undo} is the state before it"
    )
    await again.take(cause(Phase.TURN_START))
    await again.rollback(done.undo, default="take")
    assert content is None or aside.read_bytes() == content
    await again.close()


@pytest.mark.parametrize("name", ["store", "store/tmp", "store/objects"])
async def test_a_file_in_the_place_of_the_store_is_set_aside_and_said(
    root: Path, state_dir: Path, name: str
) -> None:
    checkpointer = opened(root, state_dir)
    await checkpointer.take(cause(Phase.TURN_START))
    await checkpointer.close()
    (place,) = state_dir.glob(f"checkpoints/*/{name}")
    shutil.rmtree(place)
    place.write_text("no folder")
    again = opened(root, state_dir)
    assert (await again.take(cause(Phase.TURN_START))).seq == 1
    assert "damaged" in again.health().detail
    await again.close()


async def test_a_store_that_is_removed_is_begun_anew_and_said(root: Path, state_dir: Path) -> None:
    (root / "a").write_text("1")
    checkpointer = opened(root, state_dir)
    start = await checkpointer.take(cause(Phase.TURN_START))
    shutil.rmtree(state_dir / "checkpoints")
    before = await checkpointer.take(cause(Phase.BEFORE_CALL, call_id="c1", step=1))
    assert before.seq == start.seq + 1  # an id that was shown never means another state
    assert "were removed" in checkpointer.health().detail
    (root / "a").write_text("2")
    await checkpointer.take(cause(Phase.AFTER_CALL, call_id="c1", step=1))
    await checkpointer.rollback(before.id)
    assert (root / "a").read_text() == "1"
    with pytest.raises(CheckpointError, match="no checkpoint"):
        await checkpointer.rollback(start.id)
    await checkpointer.close()


async def test_a_removed_store_that_cannot_be_begun_anew_is_tried_again(root: Path, state_dir: Path) -> None:
    (root / "a").write_text("1")
    checkpointer = opened(root, state_dir)
    start = await checkpointer.take(cause(Phase.TURN_START))
    shutil.rmtree(state_dir / "checkpoints")
    (state_dir / "checkpoints").write_text("in the way")
    for _ in range(2):
        with pytest.raises(CheckpointError):
            await checkpointer.take(cause(Phase.BEFORE_CALL, call_id="c1", step=1))
    (state_dir / "checkpoints").unlink()
    before = await checkpointer.take(cause(Phase.BEFORE_CALL, call_id="c1", step=1))
    assert before.seq > start.seq
    await checkpointer.close()


async def test_a_workspace_that_is_replaced_is_said_and_its_files_come_back(
    root: Path, state_dir: Path, open_session: OpenSession
) -> None:
    (root / "a").write_text("1")
    checkpointer = opened(root, state_dir)
    start = await checkpointer.take(cause(Phase.TURN_START))
    shutil.rmtree(root)
    root.mkdir()
    (root / "b").write_text("of the new one")
    await checkpointer.take(cause(Phase.BEFORE_CALL, call_id="c1", step=1))
    assert "another directory was put in the place of" in checkpointer.health().detail
    assert (await checkpointer.rollback(start.id, default="take")).kept == ("b",)
    assert (root / "a").read_text() == "1"
    await checkpointer.close()
    assert open_session().core.resolve(start.id).id == start.id  # by those who come later, too


async def test_another_open_session_is_named(root: Path, state_dir: Path) -> None:
    one = opened(root, state_dir, "one")
    await one.ready()
    two = opened(root, state_dir, "two")
    assert "session one is open here too" in (await two.ready()).detail
    await one.close()
    await two.close()


@pytest.mark.parametrize("inner_first", [False, True])
async def test_a_session_in_a_folder_around_or_inside_is_named_whichever_store_it_has(
    root: Path, state_dir: Path, inner_first: bool
) -> None:
    (root / "inner").mkdir()
    places = [(root / "inner", "i"), (root, "o")] if inner_first else [(root, "o"), (root / "inner", "i")]
    first, second = (opened(place, state_dir, session) for place, session in places)
    await first.ready()
    assert f"session {places[0][1]} is open here too" in (await second.ready()).detail
    again = opened(places[0][0], state_dir, "again")
    assert "session i, o is open here too" in (await again.ready()).detail
    for one in (first, second, again):
        await one.close()


async def test_switched_off_checkpoints_say_so(root: Path, state_dir: Path) -> None:
    checkpointer = open_checkpointer(workspace=root, state_dir=state_dir, session="s1", enabled=False)
    assert checkpointer.health().state == "off"
    assert await checkpointer.list() == ()
    with pytest.raises(CheckpointError, match="off"):
        await checkpointer.take(cause(Phase.TURN_START))
    await checkpointer.close()
    assert list(state_dir.iterdir()) == []


async def test_a_cut_rollback_is_taken_back(root: Path, state_dir: Path, open_session: OpenSession) -> None:
    (root / "a").write_text("1")
    session = open_session()
    start = session.before().row
    (root / "a").write_text("2")
    session.after()
    undo = session.take(Phase.BEFORE_ROLLBACK).row
    trees = session.core.trees
    old, new = (trees.find(session.core.state(row), b"a") for row in (start, undo))
    session.core.journal.begin(
        session="s1", root="", target=start.id, undo=undo.id, steps=[Step(path=b"a", before=new, after=old)]
    )
    session.close()
    settles = opened(root, state_dir)
    assert f"a rollback to {start.id} was cut after 0 of 1 steps" in (await settles.ready()).detail
    assert (root / "a").read_text() == "2"
    await settles.take(cause(Phase.TURN_START))
    await settles.close()


async def test_the_catalog_of_a_newer_version_is_refused(root: Path, state_dir: Path) -> None:
    checkpointer = opened(root, state_dir)
    await checkpointer.ready()
    await checkpointer.close()
    path = next(state_dir.glob("checkpoints/*/catalog.db"))
    catalog = Catalog(path)
    catalog.set_meta("schema", "99")
    catalog.close()
    newer = opened(root, state_dir)
    with pytest.raises(CheckpointError, match="newer"):
        await newer.take(cause(Phase.TURN_START))
    await newer.close()
