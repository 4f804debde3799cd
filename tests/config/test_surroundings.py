"""What is told of the place a session runs in."""

import subprocess
from pathlib import Path

import pytest

from agent_tui.surroundings import git_branch, workspace_files


def git(folder: Path, *argv: str) -> None:
    identity = ("-c", "user.name=p", "-c", "user.email=p@example.org")
    subprocess.run(["git", *identity, *argv], cwd=folder, check=True, capture_output=True)


def test_the_branch_is_read_without_running_git(tmp_path: Path) -> None:
    assert git_branch(tmp_path) == ""
    repository = tmp_path / "repository"
    (repository / "deep").mkdir(parents=True)
    git(repository, "init", "-q", "-b", "feature/x")
    assert git_branch(repository / "deep") == "feature/x"
    git(repository, "commit", "-q", "--allow-empty", "-m", "one")
    git(repository, "worktree", "add", "-q", "-b", "other", str(tmp_path / "tree"))
    assert git_branch(tmp_path / "tree") == "other"
    git(repository, "checkout", "-q", "--detach")
    assert len(git_branch(repository)) == 8


@pytest.mark.parametrize("has_ripgrep", [True, False])
def test_files_for_mentions_leave_ignored_ones_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_ripgrep: bool
) -> None:
    if not has_ripgrep:
        monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("b.py", "a/c.py", ".hidden", "left/out.o", ".git/HEAD"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / ".gitignore").write_text("*.o\n")
    assert sorted(workspace_files(tmp_path)) == [".gitignore", ".hidden", "a/c.py", "b.py"]
