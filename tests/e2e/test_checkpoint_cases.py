"""Cases A01 to A08 of the design through the whole program, one-shot and in a terminal."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.checkpoints.trees import Manifest, git_manifest, manifest
from tests.e2e.project import call
from tests.e2e.screen import start
from tests.model_server.fixture import ModelServer
from tests.program import Program, Ran, model_flags
from tests.waiting import WAIT_S, until

KILLS = int(os.environ.get("AGENT_TUI_CHECKPOINT_KILLS", "2"))
SMALL_FILES = int(os.environ.get("AGENT_TUI_CHECKPOINT_FILES", "1000"))
MIB = 1 << 20
IDENTITY = {f"GIT_{who}_{what}": "u@x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
# git would pack in the background what a large commit made, while the test looks at the files
NO_GC = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "gc.auto", "GIT_CONFIG_VALUE_0": "0"}
GENERATOR = "import pathlib; [pathlib.Path(f'gen{n}').write_bytes(bytes([n])) for n in range(5)]"
EVERYTHING = (
    "sed -i s/1/9/ a.txt",
    "rm -r d",
    "chmod 644 run.sh; chmod 700 kept",
    "python3 gen.py; printf x > n.txt",
)
PATCH = """*** Begin Patch
*** Update File: both.txt
@@
-both
+patched
*** Add File: made/by-patch.txt
+new
*** End Patch"""


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """A workspace that is no repository."""
    program = Program.at(tmp_path)
    work = program.workspace
    (work / "d/empty").mkdir(parents=True)
    (work / "kept").mkdir()
    (work / "a.txt").write_bytes(b"1\r\n2\r\n")
    (work / "both.txt").write_text("both\n")
    (work / "d/b.txt").write_text("b\n")
    (work / "run.sh").write_text("#!/bin/sh\n")
    (work / "run.sh").chmod(0o755)
    (work / "gen.py").write_text(GENERATOR)
    (work / "link").symlink_to("a.txt")
    return program


def shell(line: str, cwd: Path) -> None:
    subprocess.run(line, shell=True, cwd=cwd, check=True, env={**os.environ, **IDENTITY, **NO_GC})


def run(*lines: str) -> dict[str, Any]:
    return {"calls": [call("exec_command", cmd=line) for line in lines]}


def patch(text: str) -> dict[str, Any]:
    return {"calls": [call("apply_patch", patch=text)]}


def changed(name: str, old: str, new: str) -> str:
    return f"*** Begin Patch\n*** Update File: {name}\n@@\n-{old}\n+{new}\n*** End Patch"


def turn(program: Program, server: ModelServer, *steps: dict[str, Any], **rest: Any) -> Ran:
    """One turn that plays the steps and then says so."""
    server.script([*steps, {"text": "done"}])
    ran = program.run("exec", "--json", *model_flags("chat", server.base_url()), "go", **rest)
    assert ran.code == 0, ran.err
    return ran


def goes_back(program: Program, *argv: str, **rest: Any) -> Ran:
    ran = program.run("rollback", "--yes", *argv, **rest)
    assert ran.code == 0, ran.err
    return ran


def paths_changed(ran: Ran) -> set[str]:
    return {one["path"].rstrip("/") for one in ran.end["changes"]}


def differing(before: Manifest, after: Manifest) -> set[bytes]:
    return {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}


def test_a01_a_nested_repository_without_commits_is_covered(
    program: Program, model_server: ModelServer
) -> None:
    work = program.workspace
    shell("git init -q sub && printf inner > sub/inner.txt", work)
    before, repository = manifest(work), git_manifest(work)
    assert repository
    ran = turn(
        program, model_server, patch(changed("both.txt", "both", "patched")), run("printf X >> sub/inner.txt")
    )
    assert paths_changed(ran) == {"both.txt", "sub/inner.txt"}
    assert (work / "sub/inner.txt").read_text() == "innerX"
    goes_back(program)
    assert manifest(work) == before
    assert git_manifest(work) == repository


def times_below(root: Path) -> dict[Path, tuple[int, int, int]]:
    """Each entry's inode and times; a rename, even one that is taken back, changes the time of change."""
    found = {}
    for path in (root, *root.rglob("*")):
        status = path.lstat()
        found[path] = (status.st_ino, status.st_mtime_ns, status.st_ctime_ns)
    return found


def killed_in_the_first_checkpoint(program: Program, delay_s: float) -> bool:
    """Start a run, kill it that long after its store appeared; whether it was still importing."""
    shutil.rmtree(program.state, ignore_errors=True)
    process = program.start("exec", *model_flags("chat", "http://127.0.0.1:9/v1"), "go")
    until(lambda: list(program.state.glob("checkpoints/*/store/objects")))
    time.sleep(delay_s)
    importing = not list(program.state.glob("checkpoints/*/scan-*.cache"))
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=WAIT_S)
    return importing


def test_a02_nothing_of_a_submodule_is_moved_even_when_killed(
    program: Program, model_server: ModelServer, tmp_path: Path
) -> None:
    work = program.workspace
    shell("git init -q lib && cd lib && echo l > l.txt && git add -A && git commit -qm one", tmp_path)
    for number in range(SMALL_FILES):
        folder = work / f"many/{number // 100}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.txt").write_text(f"{number}\n")
    add = "git -c protocol.file.allow=always submodule -q add ../lib sm"
    shell(f"git init -q . && {add} && git add -A && git commit -qm one", work)
    before, times = manifest(work), times_below(work)
    kills = caught = 0
    while kills < KILLS or not caught:  # a slow machine may look too late
        caught += killed_in_the_first_checkpoint(program, 0.01 * kills if kills < KILLS else 0.0)
        kills += 1
        assert times_below(work) == times
        shell("git --no-optional-locks -C sm status --porcelain > /dev/null", work)
        assert kills < KILLS + 20, "no kill fell into the first checkpoint"
    shell("git -C sm status --porcelain > /dev/null && git status --porcelain > /dev/null", work)
    repositories = git_manifest(work)
    ran = turn(program, model_server, run("echo changed > sm/l.txt; echo new > sm/new"))
    assert paths_changed(ran) == {"sm/l.txt", "sm/new"}
    goes_back(program)
    assert git_manifest(work) == repositories
    assert manifest(work) == before


def test_a03_git_variables_lead_nowhere(program: Program, model_server: ModelServer, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    shell("git init -q user && cd user && echo u > u && git add -A && git commit -qm one", outside)
    (outside / "hooks").mkdir()
    user = outside / "user"
    hostile = {
        "GIT_DIR": str(user / ".git"),
        "GIT_WORK_TREE": str(user),
        "GIT_INDEX_FILE": str(user / ".git/index"),
        "GIT_OBJECT_DIRECTORY": str(user / ".git/objects"),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.hooksPath",
        "GIT_CONFIG_VALUE_0": str(outside / "hooks"),
    }
    before, users = manifest(program.workspace), manifest(outside, git=True)
    turn(program, model_server, patch(changed("both.txt", "both", "patched")), run("rm -r d"), env=hostile)
    assert manifest(program.workspace) != before
    goes_back(program, env=hostile)
    assert manifest(program.workspace) == before
    assert manifest(outside, git=True) == users


def test_a04_the_persons_git_settings_have_no_effect(
    program: Program, model_server: ModelServer, tmp_path: Path
) -> None:
    outside, work = tmp_path / "outside", program.workspace
    shell("git init -q . && git add -A && git commit -qm one", work)
    for name in ("signed", "hook", "mon"):
        script = outside / "bin" / name
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(f"#!/bin/sh\ntouch {outside}/{name}\nexit 1\n")
        script.chmod(0o755)
    for folder in (outside / "hooks", outside / "template/hooks"):
        folder.mkdir(parents=True)
        for name in ("pre-commit", "post-checkout", "reference-transaction", "post-index-change"):
            (folder / name).symlink_to(outside / "bin/hook")
    (program.home / "ignore").write_text("*.txt\n")
    (program.home / ".gitconfig").write_text(
        f"[commit]\ngpgsign = true\n[gpg]\nprogram = {outside}/bin/signed\n"
        f"[core]\nhooksPath = {outside}/hooks\nfsmonitor = {outside}/bin/mon\n"
        f"excludesFile = {program.home}/ignore\nautocrlf = true\n"
        f"[init]\ntemplateDir = {outside}/template\n[user]\nuseConfigOnly = true\n"
    )
    with (work / ".git/config").open("a") as stream:
        stream.write(
            f"[core]\nfsmonitor = {outside}/bin/mon\n[diff]\nexternal = {outside}/bin/hook\n"
            f'[filter "x"]\nclean = {outside}/bin/hook\nsmudge = {outside}/bin/hook\n'
        )
    (work / ".gitattributes").write_text("*.txt filter=x text eol=lf ident\n")
    before, repository = manifest(work), git_manifest(work)
    turn(program, model_server, patch(changed("both.txt", "both", "patched")))
    turn(program, model_server, run("sed -i s/1/7/ a.txt"))
    assert (work / "a.txt").read_bytes() == b"7\r\n2\r\n"
    listed = [json.loads(line) for line in program.run("checkpoints", "--json").out.splitlines()]
    for start_of_turn in [one["id"] for one in listed if one["phase"] == "turn_start"]:
        goes_back(program, start_of_turn)
    assert manifest(work) == before
    assert git_manifest(work) == repository
    assert sorted(path.name for path in outside.iterdir()) == ["bin", "hooks", "template"]


def test_a05_the_home_directory_is_not_eaten(program: Program, model_server: ModelServer) -> None:
    work = program.workspace
    home = Program(home=work, workspace=work)
    for number in range(SMALL_FILES):
        folder = work / f"many/{number // 100}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.txt").write_text(f"{number}\n")
    with (work / "disk.img").open("wb") as stream:
        stream.truncate(3 << 30)
    first = turn(home, model_server, run("echo hi"))
    assert "too wide for automatic checkpoints" in first.out + first.err
    second = turn(home, model_server, patch(PATCH))
    assert paths_changed(second) == {"both.txt", "made", "made/by-patch.txt"} - {"made"}
    grown = sum(path.lstat().st_blocks * 512 for path in home.state.rglob("*"))
    assert grown < 50 * MIB
    for line in home.run("checkpoints", "--json").out.splitlines():
        facts = json.loads(line)
        assert not [one["path"] for one in facts["changes"] if ".local" in one["path"]]
        assert facts["uncovered"][0]["path"] == "."
    goes_back(home)
    assert (work / "both.txt").read_text() == "both\n"
    assert not (work / "made/by-patch.txt").exists()


def test_a06_a_turn_of_words_takes_nothing_back(program: Program, model_server: ModelServer) -> None:
    work = program.workspace
    turn(program, model_server)
    (work / "both.txt").write_text("edited by hand\n")
    present = manifest(work)
    goes_back(program, "--keep-external")
    assert manifest(work) == present


def test_a06_a_file_that_came_after_a_turn_stays(program: Program, model_server: ModelServer) -> None:
    work = program.workspace
    turn(program, model_server, run("cat missing.txt"))
    (work / "missing.txt").write_text("put here by hand\n")
    present = manifest(work)
    goes_back(program, "--keep-external")
    assert manifest(work) == present


def test_a06_own_commits_between_two_turns_stay(program: Program, model_server: ModelServer) -> None:
    work = program.workspace
    turn(program, model_server, run("sed -i s/1/3/ a.txt"))
    shell(
        "git init -q . && for i in $(seq 10); do echo $i > c.txt; git add -A; git commit -qm $i; done", work
    )
    present, repository = manifest(work), git_manifest(work)
    turn(program, model_server, run("sed -i s/3/4/ a.txt"))
    before = manifest(work)
    goes_back(program)
    assert differing(before, manifest(work)) == {b"a.txt"}
    assert manifest(work) == present
    assert git_manifest(work) == repository


def test_a07_whatever_made_the_change_is_taken_back(program: Program, model_server: ModelServer) -> None:
    before = manifest(program.workspace)
    ran = turn(program, model_server, *(run(line) for line in EVERYTHING), patch(PATCH))
    after = manifest(program.workspace)
    generated = {f"gen{number}" for number in range(5)}
    files = {"a.txt", "both.txt", "d/b.txt", "d/empty", "kept", "made/by-patch.txt", "n.txt", "run.sh"}
    assert paths_changed(ran) == files | generated
    goes_back(program)
    assert manifest(program.workspace) == before
    assert program.run("rollback", "--redo", "--yes").code == 0
    assert manifest(program.workspace) == after


@pytest.mark.parametrize("way", ["rewind", "/rollback"])
def test_a07_in_the_interface(program: Program, model_server: ModelServer, way: str) -> None:
    before = manifest(program.workspace)
    model_server.script([*(run(line) for line in EVERYTHING), patch(PATCH), {"text": "all done"}])
    with start(program, model_server) as screen:
        screen.shows("ready")
        screen.say("change everything")
        screen.shows("all done", "● done", "ready")
        after = manifest(program.workspace)
        assert differing(before, after) >= {b"a.txt", b"d/b.txt", b"d/empty", b"run.sh", b"kept", b"gen4"}
        if way == "rewind":
            screen.type("\x1b\x1b")
            screen.shows("rewind · go back to before", "6 points")
            screen.type("g")
        else:
            screen.say(way)
            screen.shows("checkpoints · this workspace", "6 · ")
            screen.type("k" * 20)
        screen.shows("items would be hidden, 1 message returns")
        screen.type("\r")
        screen.shows("rollback ·", "items hidden, 1 message back to the editor", "Enter roll back")
        screen.type("\r")
        screen.shows("rolled back · files and conversation", "change everything")
        assert manifest(program.workspace) == before
        screen.type("\x03")  # the message is back in the editor
        screen.leave()
    assert program.run("rollback", "--redo", "--yes").code == 0
    assert manifest(program.workspace) == after


@pytest.fixture(params=["workspace", "subfolder"])
def place(request: pytest.FixtureRequest, program: Program) -> Iterator[Program]:
    """The agent in the folder itself, and in a subfolder whose parent is a package."""
    if request.param == "workspace":
        yield program
        return
    (program.workspace / "package.json").write_text("{}\n")
    inner = program.workspace / "inner"
    inner.mkdir()
    (inner / "both.txt").write_text("both\n")
    yield Program(home=program.home, workspace=inner)


def test_a08_hand_edits_are_never_overwritten(place: Program, model_server: ModelServer) -> None:
    work = place.workspace
    (work / "a.txt").write_text("a\n")
    (work / "README").write_text("readme\n")
    turn(place, model_server, patch(PATCH), patch(changed("a.txt", "a", "agent")))
    (work / "README").write_text("mine\n")
    with (work / "both.txt").open("a") as stream:
        stream.write("mine\n")
    present = manifest(work)
    refused = place.run("rollback", "--yes")
    assert refused.code == 1
    assert "`both.txt`" in refused.err
    assert manifest(work) == present
    ran = goes_back(place, "--keep-external")
    assert "kept yours: both.txt" in ran.out
    assert (work / "a.txt").read_text() == "a\n"
    assert (work / "README").read_text() == "mine\n"
    assert (work / "both.txt").read_text() == "patched\nmine\n"
    assert not (work / "made").exists()
    assert place.run("rollback", "--redo", "--yes").code == 0
    assert manifest(work) == present
