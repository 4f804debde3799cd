from pathlib import Path

from context.instructions import CAP_BYTES, candidates, discover, nested


def project(root: Path) -> Path:
    (root / ".git").mkdir(parents=True)
    (root / "AGENTS.md").write_text("ROOT RULE")
    (root / "pkg" / "sub").mkdir(parents=True)
    (root / "pkg" / "sub" / "AGENTS.md").write_text("SUB RULE")
    return root


def test_files_are_read_from_the_project_root_down(tmp_path: Path) -> None:
    root = project(tmp_path / "w")
    (tmp_path / "AGENTS.md").write_text("OUTSIDE")
    text = discover(root / "pkg" / "sub").text
    assert text.index("ROOT RULE") < text.index("SUB RULE")
    assert "OUTSIDE" not in text


def test_override_wins_and_claude_file_is_the_fallback(tmp_path: Path) -> None:
    root = project(tmp_path / "w")
    (root / "AGENTS.override.md").write_text("OVERRIDE")
    (root / "pkg" / "CLAUDE.md").write_text("FALLBACK")
    text = discover(root / "pkg").text
    assert "OVERRIDE" in text
    assert "ROOT RULE" not in text
    assert "FALLBACK" in text


def test_the_users_own_file_comes_first_and_an_untrusted_project_is_left_out(tmp_path: Path) -> None:
    root = project(tmp_path / "w")
    own = tmp_path / "AGENTS.md"
    own.write_text("MINE")
    assert "MINE" in discover(root, user_file=own).text
    assert "ROOT RULE" not in discover(root, user_file=own, project=False).text
    assert candidates(root) == (root / "AGENTS.md",)


def test_what_does_not_fit_is_cut_and_said(tmp_path: Path) -> None:
    root = project(tmp_path / "w")
    (root / "AGENTS.md").write_text("x" * (CAP_BYTES + 100))
    found = discover(root)
    assert found.files[0].cut_bytes == 100
    assert "100 bytes over the limit" in found.text
    assert "100 bytes are over the limit" in found.problems[0]


def test_a_link_out_of_the_project_is_not_read(tmp_path: Path) -> None:
    root = project(tmp_path / "w")
    secret = tmp_path / "secret"
    secret.write_text("PRIVATE KEY")
    (root / "AGENTS.md").unlink()
    (root / "AGENTS.md").symlink_to(secret)
    found = discover(root)
    assert "PRIVATE KEY" not in found.text
    assert "link out of the project" in found.problems[0]


def test_work_that_moves_into_a_directory_finds_its_instructions_once(tmp_path: Path) -> None:
    root = project(tmp_path / "w")
    sub = root / "pkg" / "sub"
    found = nested([sub / "code.py"], workspace=root)
    assert [file.path for file in found.files] == [sub / "AGENTS.md"]
