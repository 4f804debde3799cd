"""Design c.4: what a checkpoint holds, what it does not, and that it says so."""

import os
import socket
import subprocess
import sys
import textwrap
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from checkpoints.coverage import Limits
from checkpoints.rollback import Request, Rollback
from checkpoints.scan import Scan, Scanner
from checkpoints.types import Author, Phase
from sandbox.placeholders import Placeholders, StandIn, present
from tests.checkpoints.conftest import OpenSession
from tests.checkpoints.sessions import Session
from tests.checkpoints.test_cases import shell
from tests.checkpoints.trees import git_manifest, manifest
from tests.waiting import WAIT_S


def held(session: Session) -> set[str]:
    """Paths of files in the newest checkpoint."""
    row = session.core.catalog.last(session.name)
    assert row is not None
    state = session.core.state(row)
    return {os.fsdecode(path) for path, entry in session.core.trees.walk(state, state.files) if entry.oid}


def test_ignored_files_are_left_out_and_folders_are_never_skipped_by_name(
    root: Path, open_session: OpenSession
) -> None:
    shell("git init -q .; mkdir -p build env target node_modules/x sub", root)
    (root / ".gitignore").write_text("node_modules/\n*.log\n!keep.log\n")
    (root / ".git/info/exclude").write_text("secret\n")
    (root / "sub/.gitignore").write_text("/only-here\n")
    for name in ("build/a", "env/b", "target/c", "node_modules/x/d", "e.log", "keep.log", "secret"):
        (root / name).touch()
    for name in ("sub/only-here", "only-here", "sub/f.log"):
        (root / name).touch()
    session = open_session()
    session.take()
    assert held(session) == {
        ".gitignore",
        "build/a",
        "env/b",
        "target/c",
        "keep.log",
        "only-here",
        "sub/.gitignore",
    }


def test_rules_of_the_repository_around_the_workspace_hold(
    tmp_path: Path, root: Path, open_session: OpenSession
) -> None:
    shell("git init -q .; echo '*.tmp' > .gitignore", tmp_path)
    (root / "a.tmp").write_text("x")
    (root / "a").write_text("x")
    session = open_session()
    session.take()
    assert held(session) == {"a"}


def test_a_changed_ignore_file_above_does_not_widen_a_restore(
    tmp_path: Path, root: Path, open_session: OpenSession
) -> None:
    shell("git init -q .; echo data/ > .gitignore", tmp_path)
    (root / "data").mkdir()
    (root / "data/precious").write_text("p")
    (root / "a").write_text("1")
    session = open_session()
    start = session.before().row
    session.close()  # killed while its call ran
    (tmp_path / ".gitignore").unlink()
    again = open_session()
    (root / "a").write_text("2")
    assert [change.path for change in again.after()] == ["a"]
    again.rollback(start.id)
    assert (root / "data/precious").read_text() == "p"
    assert (root / "a").read_text() == "1"


def test_a_name_that_is_ignored_as_a_folder_only_is_covered_as_a_file(
    root: Path, open_session: OpenSession
) -> None:
    (root / ".gitignore").write_text("data/\n")
    (root / "data").mkdir()
    session = open_session()
    start = session.before().row
    (root / "data").rmdir()
    (root / "data").write_text("agent")
    assert [change.path for change in session.after()] == ["data"]
    session.rollback(start.id)
    assert not (root / "data").exists()


def test_an_empty_folder_that_is_not_ignored_any_more_stays(root: Path, open_session: OpenSession) -> None:
    (root / ".gitignore").write_text("data/\n")
    (root / "data").mkdir()
    session = open_session()
    start = session.before().row
    (root / ".gitignore").unlink()
    assert [change.path for change in session.after()] == [".gitignore"]
    session.rollback(start.id)
    assert (root / "data").is_dir()


def test_workspace_that_is_ignored_as_a_whole_is_still_covered(
    tmp_path: Path, root: Path, open_session: OpenSession
) -> None:
    shell("git init -q .; echo 'w/' > .gitignore", tmp_path)
    (root / "a").write_text("x")
    session = open_session()
    session.take()
    assert held(session) == {"a"}


def test_ignored_files_named_by_a_file_tool_are_restored(root: Path, open_session: OpenSession) -> None:
    (root / ".gitignore").write_text(".env\ndist/\n")
    (root / ".env").write_text("KEY=1\n")
    (root / "dist").mkdir()
    (root / "dist/other.js").write_text("other\n")
    session = open_session()
    before = manifest(root)
    start = session.take().row
    session.before(".env", str(root / "dist/x.js"))
    (root / ".env").write_text("KEY=2\n")
    (root / "dist/x.js").write_text("x\n")
    changes = session.after(".env", "dist/x.js", only_touched=True)
    assert [(change.kind, change.path, change.author) for change in changes] == [
        ("M", ".env", Author.AGENT),
        ("A", "dist/x.js", Author.AGENT),
    ]
    session.rollback(start.id)  # taken before the file was ever named
    assert manifest(root) == before


def test_a_changed_ignore_file_does_not_widen_a_restore(root: Path, open_session: OpenSession) -> None:
    (root / ".gitignore").write_text("data/\n")
    (root / "data").mkdir()
    (root / "data/precious").write_text("p\n")
    session = open_session()
    start = session.before().row
    (root / ".gitignore").unlink()
    (root / "data/precious").write_text("changed meanwhile\n")
    session.after()
    plan = session.rollback(start.id)
    assert [change.path for change in plan.changed] == [".gitignore"]
    assert (root / "data/precious").read_text() == "changed meanwhile\n"
    assert (root / ".gitignore").read_text() == "data/\n"


def test_files_that_become_ignored_stay_covered(root: Path, open_session: OpenSession) -> None:
    (root / "src").mkdir()
    (root / "src/a").write_text("a\n")
    session = open_session()
    before = manifest(root)
    start = session.before().row
    (root / ".gitignore").write_text("src/\n")
    (root / "src/a").write_text("b\n")
    assert {change.path for change in session.after()} == {".gitignore", "src/a"}
    session.close()
    session = open_session()  # another process continues the session
    session.before()
    (root / "src/a").unlink()
    session.after()
    session.rollback(start.id)
    assert manifest(root) == before


@pytest.mark.usefixtures("no_sharing")
def test_large_files_are_named_and_never_touched(root: Path, open_session: OpenSession) -> None:
    session = open_session(limits=Limits(file_bytes=1000, touched_bytes=5000))
    (root / "big").write_bytes(b"x" * 2000)
    (root / "grows").write_bytes(b"y" * 10)
    start = session.before().row
    assert [(gap.path, gap.reason) for gap in start.uncovered] == [("big", "2 KB")]
    (root / "big").write_bytes(b"z" * 3000)
    (root / "grows").write_bytes(b"y" * 4000)
    (root / "new-big").write_bytes(b"n" * 9000)
    details = {change.path: change.detail for change in session.after()}
    assert details["big"] == "not covered, 2 KB → 3 KB"
    os.utime(root / "big", (0, 0))
    plan = Rollback(session.core).plan(start.id)
    at = time.strftime("%H:%M", time.localtime(0))
    assert [(gap.path, gap.reason, gap.since) for gap in plan.uncovered] == [
        ("big", "3 KB", f"changed {at}"),
        ("new-big", "9 KB", "not there then"),
    ]
    result = session.rollback(start.id)
    assert not result.mismatches
    assert (root / "big").stat().st_size == 3000
    assert (
        root / "grows"
    ).read_bytes() == b"y" * 10  # it was held then, so it is taken in up to the higher limit
    assert (root / "new-big").exists()


def test_hard_links_come_back_as_copies_and_that_is_said(root: Path, open_session: OpenSession) -> None:
    (root / "a").write_text("one\n")
    (root / "b").hardlink_to(root / "a")
    before = manifest(root)
    session = open_session()
    start = session.before().row
    with (root / "a").open("a") as stream:
        stream.write("two\n")
    assert [change.path for change in session.after()] == ["a", "b"]
    plan = Rollback(session.core).plan(start.id)
    assert {operation.detail for operation in plan.operations} == {"+0 -1, a hard link becomes a copy"}
    assert not session.rollback(start.id).mismatches
    assert manifest(root) == before
    assert (root / "a").stat().st_nlink == 1


def test_folders_too_deep_for_a_path_are_named(root: Path, open_session: OpenSession) -> None:
    (root / "a").write_text("1")
    place = os.open(root, os.O_RDONLY)
    for _ in range(22):
        os.mkdir("x" * 200, dir_fd=place)
        inner = os.open("x" * 200, os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = inner
    os.close(place)
    session = open_session()
    start = session.before().row
    assert [gap.reason for gap in start.uncovered] == ["unreadable: File name too long"]
    (root / "a").write_text("2")
    session.after()
    assert not session.rollback(start.id).mismatches
    assert (root / "a").read_text() == "1"


def test_a_repository_that_was_made_meanwhile_stays_and_is_named(
    root: Path, open_session: OpenSession
) -> None:
    session = open_session()
    start = session.before().row
    shell("git init -q new; echo f > new/f", root)
    session.after()
    repository = git_manifest(root)
    assert session.rollback(start.id).kept == ("new/",)
    assert manifest(root) == {b"new": ("folder", 0o755)}
    assert git_manifest(root) == repository


def test_special_files_are_never_opened(root: Path, open_session: OpenSession) -> None:
    os.mkfifo(root / "fifo")
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(root / "sock"))
    (root / "a").write_text("a")
    session = open_session()
    start = session.before().row
    assert {(gap.path, gap.reason) for gap in start.uncovered} == {("fifo", "fifo"), ("sock", "socket")}
    (root / "a").unlink()
    session.after()
    session.rollback(start.id)
    assert (root / "a").read_text() == "a"
    assert (root / "fifo").is_fifo()


def test_what_no_checkpoint_holds_is_not_replaced_and_what_it_replaced_is_said_to_be_missing(
    root: Path, open_session: OpenSession
) -> None:
    (root / "folder").mkdir()
    (root / "folder/f").write_text("f")
    (root / "file").write_text("file")
    (root / "a").write_text("a")
    session = open_session()
    start = session.before().row
    shell("rm -r folder file a; mkfifo folder file", root)
    session.after()
    result = session.rollback(start.id)
    assert result.mismatches == ("file (fifo in its place)", "folder (fifo in its place)")
    assert result.failed == ("file", "folder")
    assert not result.kept
    assert (root / "a").read_text() == "a"
    assert (root / "file").is_fifo() and (root / "folder").is_fifo()


def test_links_lead_nowhere(root: Path, tmp_path: Path, open_session: OpenSession) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f").write_text("outside")
    (root / "dir").mkdir()
    (root / "dir/f").write_text("inside")
    session = open_session()
    start = session.before().row
    shell(f"rm -r dir; ln -s '{outside}' dir", root)
    session.after()
    session.rollback(start.id)
    assert (root / "dir/f").read_text() == "inside"
    assert not (root / "dir").is_symlink()
    assert (outside / "f").read_text() == "outside"
    assert list(outside.iterdir()) == [outside / "f"]


def test_a_folder_that_becomes_a_link_while_files_go_back_keeps_nothing_of_ours(
    root: Path, tmp_path: Path, open_session: OpenSession
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in "abc":
        (root / name).mkdir()
        (root / name / "f").write_text("1")
    session = open_session()
    start = session.before().row
    for name in "abc":
        (root / name / "f").write_text("2")
    session.after()

    def meanwhile(step: int, total: int) -> None:
        if step == 1:  # all are written beside their places, and the first is in its place
            (root / "b").rename(root / "moved")
            (root / "b").symlink_to(outside)

    result = Rollback(session.core, meanwhile).run(Request(target=start.id, choices={}))
    assert [line.split(" ")[0] for line in result.mismatches] == ["b/f"]
    assert list(outside.iterdir()) == []
    assert [path.name for path in (root / "moved").iterdir()] == ["f"]
    assert [(root / name / "f").read_text() for name in ("a", "moved", "c")] == ["1", "2", "1"]


def test_a_touched_link_covers_what_it_leads_to(root: Path, open_session: OpenSession) -> None:
    (root / ".gitignore").write_text("real\n")
    (root / "real").write_text("1")
    (root / "link").symlink_to("real")
    session = open_session()
    start = session.before("link").row
    (root / "link").write_text("2")
    session.after("link")
    session.rollback(start.id)
    assert (root / "real").read_text() == "1"
    assert (root / "link").is_symlink()


def test_same_size_edit_with_restored_time_is_seen(root: Path, open_session: OpenSession) -> None:
    (root / "f").write_bytes(b"aaaa")
    session = open_session()
    for number in range(40):
        session.take()
        status = (root / "f").stat()
        (root / "f").write_bytes(b"%04d" % number)
        os.utime(root / "f", ns=(status.st_atime_ns, status.st_mtime_ns))
        assert [change.path for change in session.take().changes] == ["f"]


def test_too_many_files_switch_to_targeted_mode_with_a_reason(root: Path, open_session: OpenSession) -> None:
    for number in range(30):
        (root / str(number)).write_text("x")
    session = open_session(limits=Limits(max_files=20))
    assert session.core.targeted == "more than 20 files"
    start = session.before("5", "fresh").row
    assert start.uncovered[0].reason.startswith("all but files named by file tools")
    (root / "5").write_text("changed")
    (root / "fresh").write_text("new")
    session.after("5", "fresh")
    session.rollback(start.id)
    assert (root / "5").read_text() == "x"
    assert not (root / "fresh").exists()


def test_ignored_masses_cost_nothing(root: Path, open_session: OpenSession) -> None:
    (root / ".gitignore").write_text("node_modules\n")
    for number in range(300):
        folder = root / f"node_modules/p{number % 10}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / str(number)).write_text("x")
    (root / "a").write_text("a")
    session = open_session(limits=Limits(max_files=20))
    session.take()
    assert session.core.targeted == ""
    assert held(session) == {".gitignore", "a"}


def test_a_row_names_where_the_users_repositories_stand(root: Path, open_session: OpenSession) -> None:
    shell("git init -q -b main .; echo a > a; git add a; git commit -qm one", root)
    session = open_session()
    start = session.before().row
    shell("echo b > a; git commit -qam two", root)
    session.after()
    from checkpoints.rollback import Rollback

    assert start.heads is not None
    assert start.heads["."].branch == "main"
    moved = Rollback(session.core).plan(start.id).head_moved
    new = shell("git rev-parse HEAD", root)[:7]
    assert moved == f"main {start.heads['.'].commit[:7]} → {new}"
    session.rollback(start.id)
    assert shell("git rev-parse HEAD", root)[:7] == new


def test_a_git_directory_under_another_name_is_left_alone(root: Path, open_session: OpenSession) -> None:
    (root / "a").write_text("a")
    shell("git init -q --separate-git-dir=.store .; git add a; git commit -qm one", root)
    before = manifest(root)
    session = open_session()
    start = session.before().row
    assert held(session) == {"a"}
    shell("echo b > a; git commit -qam two", root)
    session.after()
    session.rollback(start.id)
    assert (root / "a").read_text() == "a"
    assert shell("git log --format=%s", root) == "two\none\n"
    assert manifest(root).keys() > before.keys()


UNREADABLE = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
import pathspec, pwd
from pathspec.patterns.gitignore import GitIgnorePatternError
from checkpoints.gitprocess import find_git
from tests.checkpoints.sessions import Session
from tests.checkpoints.trees import git_manifest, manifest
root, state = Path(sys.argv[1]), Path(sys.argv[2])
git = find_git()
os.setgid(65534); os.setuid(65534)
(root / "secret").write_text("s")
(root / "secret").chmod(0)
(root / "closed").mkdir()
(root / "closed/f").write_text("f")
(root / "open").write_text("o")
(root / "later").write_text("l")
(root / "frozen").mkdir()
(root / "frozen/f").write_text("f")
(root / "frozen").chmod(0o555)
session = Session(root, state, git=git)
start = session.before().row
assert [(gap.path, gap.reason) for gap in start.uncovered] == [("secret", "unreadable")], start.uncovered
(root / "closed").chmod(0)
(root / "later").chmod(0)
(root / "open").write_text("changed")
(root / "frozen").chmod(0o755)
(root / "frozen/f").write_text("changed")
(root / "frozen").chmod(0o555)
kinds = {(change.kind, change.path) for change in session.after()}
assert kinds == {("X", "closed"), ("X", "later"), ("M", "open"), ("M", "frozen/f")}, kinds
result = session.rollback(start.id)
assert not result.mismatches, result
assert (root / "closed/f").read_text() == "f"
assert (root / "later").read_text() == "l"
assert (root / "open").read_text() == "o"
assert (root / "frozen/f").read_text() == "f"
assert (root / "frozen").stat().st_mode & 0o777 == 0o555
session.close()
"""


@pytest.mark.skipif(os.getuid() != 0, reason="another user can only be become by root")
def test_unreadable_paths_are_named_and_closed_ones_come_back() -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as base:
        for name in ("", "w", "state"):
            path = Path(base) / name
            path.mkdir(exist_ok=True)
            path.chmod(0o777)
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                textwrap.dedent(UNREADABLE),
                f"{base}/w",
                f"{base}/state",
                str(Path(__file__).parents[2]),
            ],
            capture_output=True,
            text=True,
            timeout=WAIT_S,
            env={**os.environ, "HOME": base},
        )
        subprocess.run(["chmod", "-R", "u+rwx", base], check=False)
    assert done.returncode == 0, done.stderr


def test_changes_tell_agent_terminal_and_external_apart(root: Path, open_session: OpenSession) -> None:
    (root / "a").write_text("1")
    session = open_session()
    start = session.take().row
    session.before()
    (root / "a").write_text("agent")
    assert [change.author for change in session.after()] == [Author.AGENT]
    (root / "b").write_text("user")
    assert [(change.path, change.author) for change in session.take().changes] == [("b", Author.EXTERNAL)]
    session.take(Phase.AFTER_CALL, call_id="c9", terminals=("t1",))
    (root / "log").write_text("from the terminal, or you")
    assert [(change.path, change.author) for change in session.take().changes] == [("log", Author.TERMINAL)]
    from checkpoints.rollback import Rollback

    plan = Rollback(session.core).plan(start.id)
    assert [(conflict.path, conflict.author) for conflict in plan.conflicts] == [("log", Author.TERMINAL)]
    assert plan.kept == ("b",)


def test_folders_made_by_a_file_tool_go_with_its_files(root: Path, open_session: OpenSession) -> None:
    session = open_session()
    start = session.before("new/deep/file").row
    (root / "new/deep").mkdir(parents=True)
    (root / "new/deep/file").write_text("x")
    session.after("new/deep/file", only_touched=True)
    session.rollback(start.id)
    assert manifest(root) == {}


def test_file_tools_own_only_what_they_name(root: Path, open_session: OpenSession) -> None:
    session = open_session()
    session.before("a")
    (root / "a").write_text("tool")
    (root / "b").write_text("user, at the same time")
    changes = session.after("a", only_touched=True)
    assert [(change.path, change.author) for change in changes] == [
        ("a", Author.AGENT),
        ("b", Author.EXTERNAL),
    ]


def test_a_file_tool_that_writes_elsewhere_owns_nothing_here(
    root: Path, tmp_path: Path, open_session: OpenSession
) -> None:
    elsewhere = str(tmp_path / "elsewhere")
    session = open_session()
    start = session.before(elsewhere).row
    (root / "b").write_text("user, at the same time")
    changes = session.after(elsewhere, only_touched=True)
    assert [(change.path, change.author) for change in changes] == [("b", Author.EXTERNAL)]
    session.close()
    again = open_session()
    assert again.rollback(start.id).kept == ("b",)


def test_stand_ins_are_neither_recorded_nor_restored_over(root: Path, open_session: OpenSession) -> None:
    (root / ".envrc").write_text("mine")
    (root / ".vscode").mkdir()
    (root / ".vscode/own").write_text("mine too")
    session = open_session()
    start = session.before().row
    (root / ".envrc").unlink()
    (root / ".vscode/own").unlink()
    (root / ".vscode").rmdir()
    (root / "made").write_text("x")
    session.stand_ins = {root / ".envrc", root / ".vscode", root / "HEAD"}
    for stand_in in (root / ".envrc", root / "HEAD"):
        stand_in.touch(mode=0o444)
    (root / ".vscode").mkdir(mode=0o555)
    assert {(change.path, change.kind) for change in session.after()} == {
        (".envrc", "D"),
        (".vscode/own", "D"),
        ("made", "A"),
    }
    plan = Rollback(session.core).plan(start.id)
    assert [one.path for one in plan.operations] == ["made"]
    assert {gap.path for gap in plan.uncovered} == {".envrc", ".vscode", ".vscode/own"}
    session.rollback(start.id, default="take")
    assert ((root / ".envrc").read_text(), list((root / ".vscode").iterdir())) == ("", [])
    assert (root / "HEAD").exists() and not (root / "made").exists()
    (root / ".envrc").unlink()
    (root / "HEAD").unlink()
    (root / ".vscode").rmdir()
    session.stand_ins = set()
    session.rollback(start.id, default="take")
    assert (root / ".vscode/own").read_text() == "mine too"


def test_stand_ins_made_while_the_workspace_is_read_are_passed_by(
    root: Path, open_session: OpenSession
) -> None:
    (root / "a").write_text("1")
    session = open_session()
    start = session.before().row
    looks = iter((set(), {root / "HEAD"}))
    session.core._stand_ins = lambda _: next(looks, {root / "HEAD"})
    (root / "HEAD").touch(mode=0o444)
    assert session.after() == ()
    assert session.core.now().files == session.core.state(start).files


def test_stand_ins_that_come_and_go_while_the_workspace_is_read_are_passed_by(
    root: Path, state_dir: Path, open_session: OpenSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those of a short command of another process do, also in a workspace inside this one."""
    (root / "inner").mkdir()
    session = open_session()
    session.core._stand_ins = partial(present, state_dir)
    session.before()
    places, read = Placeholders.of(state_dir, root / "inner"), Scanner.scan
    wanted = [StandIn(path=root / "inner/.envrc"), StandIn(path=root / "inner/.idea", directory=True)]

    def scan(*given: Any, **facts: Any) -> Scan:
        places.acquire(lambda _: wanted)
        try:
            return read(*given, **facts)
        finally:
            places.release()

    with monkeypatch.context() as patched:
        patched.setattr(Scanner, "scan", scan)
        assert session.after() == ()
    (root / "inner/.envrc").write_text("mine")
    assert [change.path for change in session.take().changes] == ["inner/.envrc"]
