"""A rollback killed at any step can be finished or taken back; a full disk leaves whole files."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from checkpoints.rollback import Rollback
from tests.checkpoints.conftest import OpenSession
from tests.checkpoints.sessions import Session
from tests.checkpoints.trees import Manifest, git_manifest, manifest

HERE = Path(__file__).parent


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


@pytest.mark.parametrize("complete", [True, False], ids=["finish", "take back"])
def test_rollback_killed_at_any_step_is_settled(
    root: Path, state_dir: Path, open_session: OpenSession, complete: bool
) -> None:
    session = open_session()
    target, before, after = play(root, session)
    for step in range(-1, 100):
        done = subprocess.run(
            [sys.executable, str(HERE / "killed_rollback.py"), str(root), str(state_dir), target, str(step)],
            capture_output=True,
            timeout=30,
        )
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
        rollback = Rollback(session.core)
        over = rollback.cut() is None  # killed after the last mark
        result = rollback.recover(complete=complete)
        assert rollback.cut() is None
        assert result is None or not result.mismatches
        assert manifest(root) == (before if complete or over or result is None else after)
        if manifest(root) == before:
            session.redo()
        assert manifest(root) == after
    assert step > 9
    assert manifest(root) == before


def test_edits_between_crash_and_recovery_stay(
    root: Path, state_dir: Path, open_session: OpenSession
) -> None:
    session = open_session()
    target, before, _ = play(root, session)
    command = [sys.executable, str(HERE / "killed_rollback.py"), str(root), str(state_dir), target, "2"]
    assert subprocess.run(command, capture_output=True, timeout=30).returncode == -signal.SIGKILL
    (root / "a").write_text("by the user, after the crash\n")
    result = Rollback(session.core).recover(complete=True)
    assert result is not None
    assert any(line.startswith("a (changed meanwhile") for line in result.mismatches)
    assert manifest(root) == {**before, b"a": ("file", 0o644, b"by the user, after the crash\n")}


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
        timeout=30,
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
        timeout=30,
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
    session.core.store.run_git(["fsck", "--full", "--no-dangling"], timeout_s=20)
