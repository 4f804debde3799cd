"""Two sessions, two processes, overlapping workspaces, linked worktrees: nothing lost, nobody blocked."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from checkpoints.coverage import Limits
from checkpoints.lock import hold, owner
from checkpoints.types import Author, WorkspaceBusyError
from tests.checkpoints.conftest import OpenSession
from tests.checkpoints.test_cases import shell
from tests.checkpoints.trees import git_manifest, manifest
from tests.waiting import WAIT_S

SECONDS = os.environ.get("AGENT_TUI_CONCURRENCY_SECONDS", "3")


def test_two_processes_in_a_loop_lose_nothing(root: Path, state_dir: Path, open_session: OpenSession) -> None:
    script = str(Path(__file__).parent / "busy_session.py")
    workers = [
        subprocess.Popen(
            [sys.executable, script, str(root), str(state_dir), name, SECONDS],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in ("one", "two")
    ]
    ends = [worker.communicate(timeout=float(SECONDS) + WAIT_S) for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0], ends
    session = open_session("three")
    for name, (output, _) in zip(("one", "two"), ends, strict=True):
        rows = session.core.catalog.since(name, 0)
        assert [row.seq for row in rows] == list(range(1, int(output) + 1))
        for row in rows:
            session.core.state(row)
    session.core.store.run_git(["fsck", "--full", "--no-dangling"], timeout_s=WAIT_S)


def test_each_session_sees_the_other_as_external(root: Path, open_session: OpenSession) -> None:
    (root / "a").write_text("0")
    one, two = open_session("one"), open_session("two")
    start = one.before().row
    (root / "a").write_text("one")
    one.after()
    two.before()
    (root / "a").write_text("two")
    (root / "b").write_text("two")
    two.after()
    changes = one.take().changes
    assert {(change.path, change.author) for change in changes} == {
        ("a", Author.EXTERNAL),
        ("b", Author.EXTERNAL),
    }
    from checkpoints.rollback import Rollback

    plan = Rollback(one.core).plan(start.id)
    assert [(conflict.path, conflict.reason) for conflict in plan.conflicts] == [
        ("a", "changed by session two")
    ]
    assert plan.kept == ("b",)


def test_the_owner_of_the_lock_is_named(root: Path, open_session: OpenSession) -> None:
    session = open_session(limits=Limits(lock_s=0.1))
    lock = session.core.home.directory / "lock"
    named = rf"process {os.getpid()} \(a rollback of session x\)"
    with (
        hold(lock, alone=True, what="a rollback of session x", timeout_s=1),
        pytest.raises(WorkspaceBusyError, match=named),
    ):
        session.take()
    session.take()


def test_an_owner_of_the_lock_that_cannot_be_read_is_another_process(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("[" * 5000)
    assert owner(tmp_path / "lock") == "another process"


def test_a_description_that_cannot_be_read_shares_nothing(root: Path, open_session: OpenSession) -> None:
    (root / "inner").mkdir()
    outer = open_session()
    (outer.core.home.directory / "workspace.json").write_text("[" * 5000)
    assert open_session("inner", at=root / "inner").core.home.directory != outer.core.home.directory


def test_a_workspace_inside_another_shares_its_store(root: Path, open_session: OpenSession) -> None:
    (root / "inner").mkdir()
    (root / "inner/f").write_text("1")
    (root / "outside").write_text("1")
    outer = open_session("outer")
    inner = open_session("inner", at=root / "inner")
    assert inner.core.home.directory == outer.core.home.directory
    start = inner.before().row
    (root / "inner/f").write_text("2")
    inner.after()
    (root / "outside").write_text("2")
    inner.rollback(start.id)
    assert (root / "inner/f").read_text() == "1"
    assert (root / "outside").read_text() == "2"
    assert [row.session for row in outer.core.catalog.listed("")] == []
    assert outer.take().changes == ()


def test_a_workspace_that_was_there_before_the_one_around_it_keeps_its_store(
    root: Path, open_session: OpenSession
) -> None:
    (root / "inner").mkdir()
    (root / "inner/f").write_text("1")
    (root / "outside").write_text("1")
    inner = open_session("inner", at=root / "inner")
    outer = open_session("outer", limits=Limits(lock_s=0.1))
    assert inner.core.home.directory != outer.core.home.directory
    start = outer.before().row
    (root / "outside").write_text("2")
    outer.after()
    inner.before()
    (root / "inner/f").write_text("2")
    inner.after()
    assert [(change.path, change.author) for change in outer.take().changes] == [("inner/f", Author.EXTERNAL)]
    with hold(inner.core.home.directory / "lock", alone=True, what="a rollback", timeout_s=1):
        outer.rollback(start.id)
    assert (root / "outside").read_text() == "1"
    assert (root / "inner/f").read_text() == "2"


def test_linked_worktrees_have_stores_of_their_own(
    tmp_path: Path, root: Path, open_session: OpenSession
) -> None:
    shell("git init -q .; echo a > a; git add a; git commit -qm one; git worktree add -q ../tree", root)
    tree = tmp_path / "tree"
    repositories = git_manifest(root) | git_manifest(tree)
    one, two = open_session("one"), open_session("two", at=tree)
    assert one.core.home.directory != two.core.home.directory
    before = manifest(tree)
    start = two.before().row
    assert start.heads is not None
    assert start.heads["."].branch == "tree"
    (tree / "a").write_text("changed")
    two.after()
    two.rollback(start.id)
    assert manifest(tree) == before
    assert git_manifest(root) | git_manifest(tree) == repositories
