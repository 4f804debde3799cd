"""A rollback killed at any step can be finished or taken back; a full disk leaves whole files."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from checkpoints.lock import hold
from checkpoints.retention import Keep, Retention
from checkpoints.rollback import Rollback
from tests.checkpoints.conftest import OpenSession
from tests.checkpoints.sessions import Session
from tests.checkpoints.trees import Manifest, git_manifest, manifest
from tests.waiting import WAIT_S

HERE = Path(__file__).parent
EVERY_STEP = int(os.environ.get("AGENT_TUI_KILL_EVERY_STEP", "1"))
EVERY_WRITE = int(os.environ.get("AGENT_TUI_KILL_EVERY_WRITE", "7"))


def play(root: Path, session: Session) -> tuple[str, Manifest, Manifest]:
    """A turn with every kind of change: the checkpoint before it, the tree before and after."""
    (root / "old/deep").mkdir(parents=True)
    for name in ("a", "b", "old/deep/c", "kind"):
        (root / name).write_text(f"{name}\n")
    (root / "link").symlink_to("a")
    before = manifest(root)
    start = session.before().row
    (root / "a").write_text("changed\n")
    (root / "b").chmod(0o700)
    shutil.rmtree(root / "old")
    (root / "kind").unlink()
    (root / "kind").mkdir()
    (root / "kind/inner").write_text("x")
    (root / "link").unlink()
    (root / "link").symlink_to("b")
    (root / "new").write_text("new\n")
    session.after()
    return start.id, before, manifest(root)


def killed_at(
    moment: int, what: str, root: Path, state_dir: Path, target: str
) -> subprocess.CompletedProcess[bytes]:
    """A rollback in a process that kills itself then."""
    arguments = [str(root), str(state_dir), target, str(moment), what]
    command = [sys.executable, str(HERE / "killed_rollback.py"), *arguments]
    return subprocess.run(command, capture_output=True, timeout=WAIT_S)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("complete", [True, False], ids=["finish", "take back"])
@pytest.mark.parametrize(
    ("what", "moments", "least"),
    [("steps", range(-1, 1000, EVERY_STEP), 9), ("writes", range(1, 1000, EVERY_WRITE), 40)],
)
def test_rollback_killed_at_any_moment_is_settled(
    root: Path,
    state_dir: Path,
    open_session: OpenSession,
    complete: bool,
    what: str,
    moments: range,
    least: int,
) -> None:
    session = open_session()
    target, before, after = play(root, session)
    for moment in moments:
        done = killed_at(moment, what, root, state_dir, target)
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
        rollback = Rollback(session.core)
        is_cut = rollback.cut() is not None  # else nothing was begun, or all is done
        result = rollback.recover(complete=complete)
        assert rollback.cut() is None
        assert result is None or not result.mismatches
        if is_cut and result is not None:
            assert manifest(root) == (before if complete else after)
        if manifest(root) == before:
            session.redo()
        assert manifest(root) == after
    assert moment > least
    assert manifest(root) == before


def test_edits_between_crash_and_recovery_stay(
    root: Path, state_dir: Path, open_session: OpenSession
) -> None:
    session = open_session()
    target, before, _ = play(root, session)
    assert killed_at(2, "steps", root, state_dir, target).returncode == -signal.SIGKILL
    (root / "a").write_text("by the user, after the crash\n")
    result = Rollback(session.core).recover(complete=True)
    assert result is not None
    assert any(line.startswith("a (changed meanwhile") for line in result.mismatches)
    assert manifest(root) == {**before, b"a": ("file", 0o644, b"by the user, after the crash\n")}


def test_edits_between_crash_and_recovery_stay_the_users(
    root: Path, state_dir: Path, open_session: OpenSession
) -> None:
    (root / "README").write_text("1\n")
    session = open_session()
    target, before, _ = play(root, session)
    assert killed_at(2, "steps", root, state_dir, target).returncode == -signal.SIGKILL
    (root / "README").write_text("by the user, after the crash\n")
    Rollback(session.core).recover(complete=False)
    result = session.rollback(target)
    assert result.kept == ("README",)
    assert manifest(root) == {**before, b"README": ("file", 0o644, b"by the user, after the crash\n")}


def test_a_cut_rollback_of_an_inner_workspace_is_its_own(
    root: Path, state_dir: Path, open_session: OpenSession
) -> None:
    outer = open_session("outer")
    (root / "inner").mkdir()
    inner = open_session(at=root / "inner")
    target, before, _ = play(root / "inner", inner)
    assert killed_at(2, "steps", root / "inner", state_dir, target).returncode == -signal.SIGKILL
    assert Rollback(outer.core).cut() is None
    outer.take()
    with hold(outer.core.home.directory / "lock", alone=True, what="a prune", timeout_s=1):
        Retention(outer.core.home.directory, outer.core.store, outer.core.catalog).prune(Keep(days=0))
    assert Rollback(inner.core).recover(complete=True) is not None
    assert manifest(root / "inner") == before


FULL_DISK = """
set -e
mount -t tmpfs -o size=2m tmpfs "$1"
exec "$2" "$3" "$1" "$4"
"""


@pytest.mark.parametrize("which", ["store", "workspace"])
def test_full_disk_leaves_whole_files_and_a_clear_message(tmp_path: Path, which: str) -> None:
    mounted = tmp_path / "small"
    mounted.mkdir()
    done = subprocess.run(
        [
            "unshare",
            "-Urm",
            "sh",
            "-c",
            FULL_DISK,
            "sh",
            str(mounted),
            sys.executable,
            str(HERE / "full_disk.py"),
            which,
        ],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"no small file system can be mounted here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "whole"


@pytest.mark.parametrize("kill_at", [1, 300, 900, 0])
def test_an_import_killed_anywhere_harms_nothing(
    root: Path, state_dir: Path, open_session: OpenSession, kill_at: int
) -> None:
    for name in ("sub", "other"):
        subprocess.run(["git", "init", "-q", str(root / name)], check=True)
    for number in range(1000):
        folder = root / ("sub" if number % 2 else "other") / f"d{number % 20}"
        folder.mkdir(exist_ok=True)
        (folder / f"f{number}").write_text(f"{number}\n")
    before, repositories = manifest(root), git_manifest(root)
    done = subprocess.run(
        [sys.executable, str(HERE / "killed_import.py"), str(root), str(state_dir), str(kill_at)],
        capture_output=True,
        timeout=WAIT_S,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert (manifest(root), git_manifest(root)) == (before, repositories)
    session = open_session()
    start = session.before().row
    shutil.rmtree(root / "other/d0")
    (root / "sub/d1/f1").write_text("changed\n")
    session.after()
    assert not session.rollback(start.id).mismatches
    assert (manifest(root), git_manifest(root)) == (before, repositories)
    session.core.store.run_git(["fsck", "--full", "--no-dangling"], timeout_s=WAIT_S)
