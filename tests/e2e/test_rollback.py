"""Cases A01 to A08 through the whole program: any turn can be taken back exactly, and that again."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.checkpoints.trees import git_manifest, manifest
from tests.e2e.project import call
from tests.model_server.fixture import ModelServer
from tests.program import Program, Ran, model_flags

PATCH = """*** Begin Patch
*** Update File: both.txt
@@
-both
+patched
*** Add File: made/by-patch.txt
+new
*** End Patch"""
GENERATOR = "import pathlib; [pathlib.Path(f'gen{n}').write_bytes(bytes([n])) for n in range(5)]"
IDENTITY = {f"GIT_{who}_{what}": "u@x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


@pytest.fixture
def program(tmp_path: Path) -> Program:
    program = Program.at(tmp_path)
    work = program.workspace
    (work / "d/empty").mkdir(parents=True)
    (work / "a.txt").write_bytes(b"1\r\n2\r\n")
    (work / "both.txt").write_text("both\n")
    (work / "d/b.txt").write_text("b\n")
    (work / "run.sh").write_text("#!/bin/sh\n")
    (work / "run.sh").chmod(0o755)
    (work / "gen.py").write_text(GENERATOR)
    (work / "link").symlink_to("a.txt")
    return program


def shell(command: str, cwd: Path) -> None:
    subprocess.run(command, shell=True, cwd=cwd, check=True, env={**os.environ, **IDENTITY})


def turn(
    program: Program,
    server: ModelServer,
    *steps: dict[str, Any],
    argv: tuple[str, ...] = ("go",),
    **rest: Any,
) -> Ran:
    """One turn that plays the steps and then says so."""
    server.script([*steps, {"text": "done"}])
    ran = program.run("exec", *model_flags("chat", server.base_url()), *argv, **rest)
    assert ran.code == 0, ran.err
    return ran


def run(*lines: str) -> dict[str, Any]:
    return {"calls": [call("exec_command", cmd=line) for line in lines]}


def test_a_turn_of_every_kind_of_change_is_taken_back_byte_for_byte(
    program: Program, model_server: ModelServer
) -> None:
    before = manifest(program.workspace)
    ran = turn(
        program,
        model_server,
        run("sed -i s/1/9/ a.txt; rm -r d; chmod 600 run.sh; ln -sfn d link"),
        run("python3 gen.py"),
        {"calls": [call("apply_patch", patch=PATCH)]},
        argv=("--json", "go"),
    )
    after = manifest(program.workspace)
    assert after != before
    changes = json.loads(ran.out.splitlines()[-1])["changes"]
    generated = {f"gen{number}" for number in range(5)}
    expected = {"a.txt", "both.txt", "d/b.txt", "d/empty", "link", "made/by-patch.txt", "run.sh"} | generated
    assert {one["path"].rstrip("/") for one in changes} == expected
    rolled = program.run("rollback", "--yes")
    assert rolled.code == 0, rolled.err
    assert manifest(program.workspace) == before
    redone = program.run("rollback", "--redo", "--yes")
    assert redone.code == 0, redone.err
    assert manifest(program.workspace) == after


def test_single_calls_can_be_taken_back(program: Program, model_server: ModelServer) -> None:
    turn(program, model_server, run("echo one > x"), run("echo two > x"))
    listed = [json.loads(line) for line in program.run("checkpoints", "--json").out.splitlines()]
    calls = [one for one in listed if one["phase"] == "before_call"]
    before_second = next(one for one in calls if one["summary"].endswith("echo two > x"))
    ran = program.run("rollback", before_second["id"], "--yes")
    assert ran.code == 0, ran.err
    assert (program.workspace / "x").read_text() == "one\n"


def test_the_conversation_goes_back_with_the_files_and_returns_with_them(
    program: Program, model_server: ModelServer
) -> None:
    turn(program, model_server, run("echo 1 > kept"), argv=("the first question",))
    turn(program, model_server, run("echo 2 > undone"), argv=("--last", "the second question"))
    rolled = program.run("rollback", "--yes")
    assert rolled.code == 0, rolled.err
    assert "items hidden; your message comes back" in rolled.out
    assert not (program.workspace / "undone").exists()
    turn(program, model_server, argv=("--last", "the third question"))
    said = json.dumps(model_server.requests[-1].json)
    assert [text in said for text in ("first question", "second question", "third question")] == [
        True,
        False,
        True,
    ]


def test_redo_brings_the_conversation_back(program: Program, model_server: ModelServer) -> None:
    turn(program, model_server, run("echo 2 > undone"), argv=("the question",))
    assert program.run("rollback", "--yes").code == 0
    assert program.run("rollback", "--redo", "--yes").code == 0
    turn(program, model_server, argv=("--last", "another"))
    assert "the question" in json.dumps(model_server.requests[-1].json)
    assert (program.workspace / "undone").read_text() == "2\n"


def test_files_only_tells_the_model(program: Program, model_server: ModelServer) -> None:
    turn(program, model_server, run("echo 2 > gone"), argv=("the question",))
    assert program.run("rollback", "--yes", "--files-only").code == 0
    turn(program, model_server, argv=("--last", "another"))
    said = json.dumps(model_server.requests[-1].json)
    assert "the question" in said
    assert "D gone" in said


def test_conversation_only_leaves_the_files(program: Program, model_server: ModelServer) -> None:
    turn(program, model_server, run("echo 2 > stays"), argv=("the question",))
    ran = program.run("rollback", "--yes", "--conversation-only")
    assert ran.code == 0, ran.err
    assert (program.workspace / "stays").exists()
    turn(program, model_server, argv=("--last", "another"))
    assert "the question" not in json.dumps(model_server.requests[-1].json)
    assert program.run("rollback", "--redo", "--yes").code == 2  # a message came after it


def test_hand_edits_stay_and_are_named(program: Program, model_server: ModelServer) -> None:
    (program.workspace / "README").write_text("readme\n")
    turn(program, model_server, {"calls": [call("apply_patch", patch=PATCH)]})
    (program.workspace / "README").write_text("mine\n")
    with (program.workspace / "both.txt").open("a") as stream:
        stream.write("mine\n")
    present = manifest(program.workspace)
    assert program.run("rollback", "--yes").code == 1
    assert manifest(program.workspace) == present
    ran = program.run("rollback", "--yes", "--keep-external")
    assert ran.code == 0
    assert "kept yours: both.txt" in ran.out
    assert (program.workspace / "both.txt").read_text() == "patched\nmine\n"
    assert not (program.workspace / "made").exists()
    assert program.run("rollback", "--redo", "--yes").code == 0
    assert manifest(program.workspace) == present


def test_a_turn_that_changed_nothing_undoes_nothing(program: Program, model_server: ModelServer) -> None:
    turn(program, model_server, run("cat missing.txt"))
    (program.workspace / "missing.txt").write_text("put here by hand\n")
    (program.workspace / "a.txt").write_text("edited by hand\n")
    before = manifest(program.workspace)
    assert program.run("rollback", "--yes", "--keep-external").code == 0
    assert manifest(program.workspace) == before


def test_repositories_of_every_kind_are_untouched_under_hostile_settings(
    program: Program, model_server: ModelServer, tmp_path: Path
) -> None:
    work, outside = program.workspace, tmp_path / "outside"
    outside.mkdir()
    shell("git init -q . && git add -A && git commit -qm one", work)
    shell("git init -q sub; echo inner > sub/inner.txt", work)
    script = outside / "evil"
    script.write_text(f"#!/bin/sh\ntouch {outside}/pwned\nexit 1\n")
    script.chmod(0o755)
    with (work / ".git/config").open("a") as stream:
        stream.write(
            f'[core]\nfsmonitor = {script}\n[diff]\nexternal = {script}\n[filter "x"]\nclean = {script}\n'
        )
    (work / ".gitattributes").write_text("*.txt filter=x\n")
    (program.home / ".gitconfig").write_text(
        f"[commit]\ngpgsign = true\n[gpg]\nprogram = {script}\n[core]\nhooksPath = {outside}\n"
    )
    shell("git init -q user && git -C user commit -q --allow-empty -m one", outside)
    hostile = {
        "GIT_DIR": str(outside / "user/.git"),
        "GIT_INDEX_FILE": str(outside / "user/.git/index"),
        "GIT_OBJECT_DIRECTORY": str(outside / "user/.git/objects"),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.hooksPath",
        "GIT_CONFIG_VALUE_0": str(outside),
    }
    before, repositories = manifest(work), git_manifest(work) | git_manifest(outside)
    turn(program, model_server, run("echo x >> a.txt; printf X >> sub/inner.txt"), env=hostile)
    assert manifest(work) != before
    ran = program.run("rollback", "--yes", env=hostile)
    assert ran.code == 0, ran.err
    assert manifest(work) == before
    assert git_manifest(work) | git_manifest(outside) == repositories
    assert not (outside / "pwned").exists()


def test_the_home_directory_works_with_file_tools_only(program: Program, model_server: ModelServer) -> None:
    home = Program(home=program.workspace, workspace=program.workspace)
    before = manifest(program.workspace)
    turn(home, model_server, run("echo hi"), {"calls": [call("apply_patch", patch=PATCH)]})
    assert (program.workspace / "made/by-patch.txt").exists()
    ran = home.run("rollback", "--yes")
    assert ran.code == 0, ran.err
    assert {path: what for path, what in manifest(program.workspace).items() if path in before} == before
    assert not (program.workspace / "made/by-patch.txt").exists()
    listed = home.run("checkpoints").out
    assert "! not covered" in listed
