"""Cases A01 to A08 and A26 of the design, at the level of the checkpoint engine."""

import os
import subprocess
from pathlib import Path

import pytest

from checkpoints.coverage import refusal
from checkpoints.types import Author, Phase
from tests.checkpoints.conftest import OpenSession
from tests.checkpoints.trees import git_manifest, manifest
from tests.waiting import WAIT_S

IDENTITY = {f"GIT_{who}_{what}": "u@x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def shell(command: str, cwd: Path) -> str:
    """Run a command as the agent or the user would."""
    done = subprocess.run(
        command,
        shell=True,
        cwd=cwd,
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **IDENTITY},
    )
    return done.stdout


def test_nested_repository_without_commits_is_covered(root: Path, open_session: OpenSession) -> None:
    shell("echo a > a.txt; git init -q sub; echo x > sub/inner.txt", root)
    session = open_session()
    before, repositories = manifest(root), git_manifest(root)
    start = session.take().row
    session.before()
    shell("echo b >> a.txt; printf X >> sub/inner.txt", root)
    assert [change.path for change in session.after()] == ["a.txt", "sub/inner.txt"]
    session.rollback(start.id)
    assert manifest(root) == before
    assert git_manifest(root) == repositories


def test_submodule_content_is_covered_and_its_git_untouched(
    root: Path, tmp_path: Path, open_session: OpenSession
) -> None:
    shell("git init -q lib && cd lib && echo l > l.txt && git add -A && git commit -qm one", tmp_path)
    add = "git -c protocol.file.allow=always submodule -q add ../lib sm"
    shell(f"git init -q . && echo a > a && {add} && git commit -qm one", root)
    assert (root / "sm/.git").is_file()
    session = open_session()
    before, repositories = manifest(root), git_manifest(root)
    start = session.before().row
    shell("echo changed > sm/l.txt; echo new > sm/new", root)
    session.after()
    session.rollback(start.id)
    assert manifest(root) == before
    assert git_manifest(root) == repositories


@pytest.fixture
def hostile(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Everything that could lead git astray or run something; what ran leaves a file in the result."""
    traces = tmp_path / "traces"
    traces.mkdir()
    script = tmp_path / "evil.sh"
    script.write_text(f'#!/bin/sh\ntouch "{traces}/$(basename "$0").$$"\nexit 1\n')
    script.chmod(0o755)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("pre-commit", "post-checkout", "reference-transaction", "post-index-change"):
        (hooks / name).symlink_to(script)
    template = tmp_path / "template"
    template.mkdir()
    (template / "hooks").symlink_to(hooks)
    home = tmp_path / "home"
    home.mkdir()
    (home / "ignore").write_text("*.txt\n")
    (home / ".gitconfig").write_text(
        f"[commit]\ngpgsign = true\n[gpg]\nprogram = {script}\n[core]\nhooksPath = {hooks}\n"
        f"fsmonitor = {script}\nexcludesFile = {home}/ignore\nautocrlf = true\n"
        f"[init]\ntemplateDir = {template}\n[user]\nuseConfigOnly = true\n"
        f'[filter "x"]\nclean = {script}\nsmudge = {script}\n[diff]\nexternal = {script}\n'
    )
    user = tmp_path / "user"
    user.mkdir()
    shell("git -c init.templateDir= -c core.hooksPath=/dev/null init -q . && echo u > u", user)
    shell(
        "git -c core.autocrlf=true init -q . && echo '*.txt filter=x text eol=crlf ident' > .gitattributes",
        root,
    )
    with (root / ".git/config").open("a") as stream:
        stream.write(
            f'[core]\nfsmonitor = {script}\n[diff]\nexternal = {script}\n[filter "x"]\nclean = {script}\n'
        )
    monkeypatch.setenv("HOME", str(home))
    for name, value in {
        "GIT_DIR": user / ".git",
        "GIT_WORK_TREE": user,
        "GIT_INDEX_FILE": user / ".git/index",
        "GIT_OBJECT_DIRECTORY": user / ".git/objects",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.hooksPath",
        "GIT_CONFIG_VALUE_0": hooks,
        "GIT_EXTERNAL_DIFF": script,
        "GIT_PAGER": script,
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": "/x",
        "GIT_NAMESPACE": "evil",
        "GIT_TEMPLATE_DIR": template,
    }.items():
        monkeypatch.setenv(name, str(value))
    return traces


def test_hostile_environment_and_configuration_have_no_effect(
    root: Path, tmp_path: Path, hostile: Path, open_session: OpenSession
) -> None:  # A03, A04, A26
    (root / "a.txt").write_bytes(b"one\r\ntwo\n$Id$\n")
    (root / "b.txt").write_bytes(b"\xff\xfea\x00")
    before = manifest(root)
    repositories = git_manifest(root) | git_manifest(tmp_path / "user")
    for made in hostile.iterdir():
        made.unlink()
    session = open_session()
    first = session.before().row
    (root / "a.txt").write_bytes(b"changed\r\n")
    (root / "b.txt").unlink()
    (root / "many").mkdir()
    for number in range(500):  # enough for a pack
        (root / "many" / f"{number}.txt").write_text(str(number))
    assert len(session.after()) == 502
    session.core.store.run_git(["fsck", "--full", "--no-dangling"], timeout_s=WAIT_S)
    session.rollback(first.id)
    assert manifest(root) == before
    session.redo()
    session.rollback(first.id)
    assert manifest(root) == before
    assert git_manifest(root) | git_manifest(tmp_path / "user") == repositories
    assert list(hostile.iterdir()) == []


def test_home_directory_is_refused_and_file_tools_stay_covered(
    root: Path, monkeypatch: pytest.MonkeyPatch, open_session: OpenSession
) -> None:
    monkeypatch.setenv("HOME", str(root))
    why = refusal(root)
    assert "home directory" in why
    (root / "edited.txt").write_text("old\n")
    (root / "other.txt").write_text("other\n")
    session = open_session(targeted=why)
    start = session.take().row
    assert start.uncovered[0].path == "."
    before = session.before("edited.txt", "made.txt").row
    (root / "edited.txt").write_text("new\n")
    (root / "made.txt").write_text("made\n")
    (root / "other.txt").write_text("not seen\n")
    assert [change.path for change in session.after("edited.txt", "made.txt")] == ["edited.txt", "made.txt"]
    assert set(session.core.trees.items(session.core.state(before).files)) == {b"edited.txt"}
    session.rollback(start.id)
    assert (root / "edited.txt").read_text() == "old\n"
    assert not (root / "made.txt").exists()
    assert (root / "other.txt").read_text() == "not seen\n"


def test_our_own_data_is_never_recorded(root: Path, open_session: OpenSession, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("x")
    session = open_session(at=tmp_path)  # the state directory lies inside
    row = session.take().row
    names = set(session.core.trees.items(session.core.state(row).files))
    assert names == {b"w", b"x"}


def test_rollback_of_a_turn_without_changes_does_nothing(root: Path, open_session: OpenSession) -> None:
    (root / "b.txt").write_text("b")
    session = open_session()
    start = session.take().row
    session.take(Phase.TURN_END)
    (root / "b.txt").write_text("mine")
    (root / "missing.txt").write_text("put here later")
    before = manifest(root)
    result = session.rollback(start.id)
    assert result.changed == ()
    assert manifest(root) == before


def test_undoing_a_later_turn_leaves_earlier_work_of_the_user_alone(
    root: Path, open_session: OpenSession
) -> None:
    (root / "a.txt").write_text("0\n")
    (root / "c.txt").write_text("0\n")
    session = open_session()
    session.before()
    (root / "a.txt").write_text("turn 1\n")
    session.after()
    shell("git init -q .; for i in 1 2 3; do echo $i > c.txt; git add -A; git commit -qm $i; done", root)
    second = session.take().row
    session.before()
    (root / "a.txt").write_text("turn 2\n")
    session.after()
    result = session.rollback(second.id)
    assert [change.path for change in result.changed] == ["a.txt"]
    assert (root / "a.txt").read_text() == "turn 1\n"
    assert (root / "c.txt").read_text() == "3\n"


def test_everything_a_shell_command_did_is_taken_back(root: Path, open_session: OpenSession) -> None:
    (root / "d/e").mkdir(parents=True)
    (root / "a.txt").write_text("1\n")
    (root / "d/b.txt").write_text("b\n")
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    before = manifest(root)
    session = open_session()
    start = session.take().row
    session.before()
    shell("sed -i s/1/2/ a.txt; rm -r d; chmod 644 run.sh; python3 -c \"open('n.txt','w').write('x')\"", root)
    changes = {(change.kind, change.path, change.author) for change in session.after()}
    assert changes == {
        ("M", "a.txt", Author.AGENT), ("D", "d/b.txt", Author.AGENT), ("D", "d/e/", Author.AGENT),
        ("X", "run.sh", Author.AGENT), ("A", "n.txt", Author.AGENT),
    }  # fmt: skip
    session.rollback(start.id)
    assert manifest(root) == before


def test_hand_edits_are_conflicts_and_stay(root: Path, open_session: OpenSession) -> None:
    for name in ("a.txt", "both.txt", "README"):
        (root / name).write_text(f"{name}\n")
    session = open_session()
    start = session.take().row
    session.before("a.txt", "both.txt")
    (root / "a.txt").write_text("agent\n")
    (root / "both.txt").write_text("agent\n")
    session.after("a.txt", "both.txt", only_touched=True)
    (root / "README").write_text("user\n")
    with (root / "both.txt").open("a") as stream:
        stream.write("user\n")
    present = manifest(root)
    result = session.rollback(start.id)
    assert result.kept == ("README", "both.txt")
    assert (root / "a.txt").read_text() == "a.txt\n"
    assert (root / "both.txt").read_text() == "agent\nuser\n"
    assert (root / "README").read_text() == "user\n"
    session.redo()
    assert manifest(root) == present


def test_conflicts_can_be_taken_or_merged(root: Path, open_session: OpenSession) -> None:
    lines = [f"line {number}\n" for number in range(20)]
    (root / "f").write_text("".join(lines))
    (root / "g").write_text("g\n")
    session = open_session()
    start = session.before().row
    lines[2] = "agent\n"
    (root / "f").write_text("".join(lines))
    (root / "g").write_text("agent\n")
    session.after()
    lines[17] = "user\n"
    (root / "f").write_text("".join(lines))
    (root / "g").write_text("user\n")
    result = session.rollback(start.id, choices={"f": "merge", "g": "take"})
    assert not result.merged_with_markers
    assert result.merged == ("f",)
    lines[2] = "line 2\n"
    assert (root / "f").read_text() == "".join(lines)
    assert (root / "g").read_text() == "g\n"


def test_files_the_user_made_are_never_deleted(root: Path, open_session: OpenSession) -> None:
    session = open_session()
    start = session.before().row
    (root / "d").mkdir()
    (root / "d/agent.txt").write_text("a")
    session.after()
    (root / "d/user.txt").write_text("u")
    result = session.rollback(start.id, default="take")
    assert manifest(root) == {b"d": ("folder", 0o755), b"d/user.txt": ("file", 0o644, b"u")}
    assert "d/user.txt" in result.kept
