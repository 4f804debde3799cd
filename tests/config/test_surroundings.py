"""What is told of the place a session runs in."""

import os
import subprocess
from pathlib import Path

import pytest

from agent_tui.additions import memory
from agent_tui.config.toml_file import MAX_BYTES
from agent_tui.config.trust import TrustStore, survey
from agent_tui.engine.types import Config
from agent_tui.surroundings import git_branch, nested_instructions, project_text, workspace_files
from context.instructions import candidates


def git(folder: Path, *argv: str) -> None:
    identity = ("-c", "user.name=p", "-c", "user.email=p@example.org")
    subprocess.run(["git", *identity, *argv], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    return tmp_path


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


def test_of_a_huge_file_in_the_place_of_a_repository_only_the_start_is_read(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    git(tmp_path, "init", "-q", "-b", "main", "repository")
    (tmp_path / "tree/.git").write_text(f"gitdir:{' ' * MAX_BYTES}{tmp_path}/repository/.git")
    assert git_branch(tmp_path / "tree") == ""


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
    shown = [".gitignore", ".hidden", "a/c.py", "b.py"]
    assert sorted(workspace_files(tmp_path)) == shown
    found = workspace_files(tmp_path, ignored=True)
    assert sorted(found) == [*shown, "left/out.o"]
    assert [path for path, word in found.items() if word] == ["left/out.o"]
    assert found["left/out.o"] == "ignored"
    stand_ins = [tmp_path / "b.py", tmp_path / "gone", Path("/elsewhere")]
    assert sorted(workspace_files(tmp_path, stand_ins=stand_ins)) == [".gitignore", ".hidden", "a/c.py"]


@pytest.mark.parametrize("version", ["2", "4"])
def test_files_for_mentions_have_the_word_of_git(repository: Path, version: str) -> None:
    inner = repository / "inner"
    inner.mkdir()
    for name in ("same", "touched", "changed", "mode", "gone"):
        (inner / f"{name}.py").write_text("1\n")
    os.utime(inner / "same.py", (1_000_000_000, 1_000_000_000))  # long before the index is written
    git(repository, "update-index", "--index-version", version)
    git(repository, "add", "inner")
    os.utime(inner / "touched.py", (1_100_000_000, 1_100_000_000))
    (inner / "changed.py").write_text("2\n")
    (inner / "mode.py").chmod(0o755)
    (inner / "gone.py").unlink()
    (inner / "new.py").write_text("")
    words = {
        "changed.py": "modified",
        "mode.py": "modified",
        "new.py": "new",
        "same.py": "",
        "touched.py": "",
    }
    assert workspace_files(inner) == words
    above = {path: word for path, word in workspace_files(repository).items() if path.startswith("inner/")}
    assert above == {f"inner/{path}": word for path, word in words.items()}


def test_an_index_that_cannot_be_read_says_nothing_of_the_files(repository: Path) -> None:
    (repository / "a.py").write_text("")
    for damage in (b"", b"DIRC", b"DIRC\0\0\0\2\xff\xff\xff\xff" + bytes(20)):
        (repository / ".git/index").write_bytes(damage)
        assert workspace_files(repository)["a.py"] == ""
    (repository / ".git/index").unlink()
    os.mkfifo(repository / ".git/index")
    assert workspace_files(repository)["a.py"] == ""


def test_instructions_beside_a_file_are_none_where_those_of_the_project_were_refused(tmp_path: Path) -> None:
    root, state = tmp_path / "w", tmp_path / "state"
    (root / "pkg").mkdir(parents=True)
    (root / "AGENTS.md").write_text("of the project\n")
    (root / "pkg" / "AGENTS.md").write_text("of the package\n")
    config = Config(workspace=root, state_dir=state, config_dir=tmp_path / "config", model=None)
    assert nested_instructions(config, ["pkg/new.py"]) == [("pkg/AGENTS.md", "of the package\n")]
    assert nested_instructions(config, ["new.py"]) == []
    TrustStore(state, root).refuse(survey(root, instructions=candidates(root)))
    assert nested_instructions(config, ["pkg/new.py"]) == []


def test_refused_instructions_stay_off_at_a_compaction_whatever_became_of_the_files(tmp_path: Path) -> None:
    """Also ones that are new, and where those that were asked about are gone."""
    root, state = tmp_path / "w", tmp_path / "state"
    (root / "pkg").mkdir(parents=True)
    config = Config(workspace=root, state_dir=state, config_dir=tmp_path / "config", model=None)
    (root / "AGENTS.md").write_text("be kind\n")
    store = TrustStore(state, root)
    store.refuse(survey(root, instructions=candidates(root)))
    (root / "AGENTS.md").write_text("be evil\n")
    (root / "pkg" / "AGENTS.md").write_text("of the package\n")
    assert (project_text(config, None), nested_instructions(config, ["pkg/a.py"])) == ("", [])
    assert any("you did not trust" in row for row in memory(config))
    (root / "AGENTS.md").unlink()
    assert (project_text(config, None), nested_instructions(config, ["pkg/a.py"])) == ("", [])
    (root / "AGENTS.override.md").write_text("be evil\n")
    found = survey(root, instructions=candidates(root))
    assert (project_text(config, None), store.look(found).must_ask) == ("", True)
    store.trust(found)
    assert "be evil" in project_text(config, None)


def test_trusted_instructions_are_read_anew(tmp_path: Path) -> None:
    root, state = tmp_path / "w", tmp_path / "state"
    root.mkdir()
    config = Config(workspace=root, state_dir=state, config_dir=tmp_path / "config", model=None)
    (root / "AGENTS.md").write_text("RULE-7341\n")
    TrustStore(state, root).trust(survey(root, instructions=candidates(root)))
    (root / "AGENTS.md").write_text("RULE-9000\n")
    assert "RULE-9000" in project_text(config, None)
