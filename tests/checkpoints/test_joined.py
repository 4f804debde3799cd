"""Writable folders beside the workspace have stores of their own and go back with it."""

from pathlib import Path

import pytest

from checkpoints.engine import open_checkpointer
from checkpoints.off import NoCheckpointer
from checkpoints.offline import opened
from checkpoints.types import Cause, Phase
from tests.checkpoints.trees import manifest


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    path = tmp_path / "beside"
    path.mkdir()
    (path / "cache").write_text("1\n")
    return path


async def test_folders_beside_the_workspace_go_back_with_it(
    root: Path, state_dir: Path, beside: Path
) -> None:
    (root / "a").write_text("1\n")
    before = manifest(root), manifest(beside)
    checkpointer = open_checkpointer(
        workspace=root, state_dir=state_dir, session="s1", beside=[beside, root / "in"]
    )
    start = await checkpointer.take(Cause(phase=Phase.BEFORE_CALL, session="s1", step=1, call_id="c1"))
    (root / "a").write_text("2\n")
    (beside / "cache").write_text("2\n")
    (beside / "new").write_text("n\n")
    after = await checkpointer.take(Cause(phase=Phase.AFTER_CALL, session="s1", step=1, call_id="c1"))
    assert [change.path for change in after.changes] == ["a", f"{beside}/cache", f"{beside}/new"]
    changed = manifest(root), manifest(beside)
    assert f"# in {beside}\n" in await checkpointer.diff(start.id)
    plan = await checkpointer.plan(start.id)
    assert [one.path for one in plan.operations] == ["a", f"{beside}/cache", f"{beside}/new"]
    result = await checkpointer.rollback(start.id)
    assert [change.path for change in result.changed] == ["a", f"{beside}/cache", f"{beside}/new"]
    assert (manifest(root), manifest(beside)) == before
    await checkpointer.redo("s1")
    assert (manifest(root), manifest(beside)) == changed
    await checkpointer.rollback(start.id, paths=[str(beside / "cache")])
    assert (manifest(root), (beside / "cache").read_text()) == (changed[0], "1\n")
    await checkpointer.rollback(start.id, paths=["a"])
    assert ((root / "a").read_text(), (beside / "new").exists()) == ("1\n", True)
    await checkpointer.close()
    with opened(root, state_dir, "s1/1") as (core, row):  # a command knows them too
        assert [one.path for one in core.plan(row).operations] == [f"{beside}/new"]


async def test_a_folder_that_is_added_later_goes_back_to_what_it_was_then(
    root: Path, state_dir: Path, beside: Path
) -> None:
    checkpointer = open_checkpointer(workspace=root, state_dir=state_dir, session="s1")
    assert not isinstance(checkpointer, NoCheckpointer)
    call = Cause(phase=Phase.BEFORE_CALL, session="s1", step=1, call_id="c1")
    early = await checkpointer.take(call)
    for folder in (beside, beside, root / "in", beside / "missing"):
        checkpointer.add(folder)
    start = await checkpointer.take(call)
    assert checkpointer.health().state == "ok"
    assert f"`{beside}/missing` cannot be taken back: " in checkpointer.health().detail
    (beside / "cache").write_text("2\n")
    after = await checkpointer.take(Cause(phase=Phase.AFTER_CALL, session="s1", step=1, call_id="c1"))
    assert [change.path for change in after.changes] == [f"{beside}/cache"]
    gaps = (await checkpointer.plan(early.id)).uncovered
    assert [(gap.path, gap.reason) for gap in gaps] == [(str(beside), "no checkpoint of then")]
    await checkpointer.rollback(start.id)
    assert (beside / "cache").read_text() == "1\n"
    await checkpointer.close()
