"""Design c.4: files above the limit on disks where a copy can share blocks, and on others."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from checkpoints.clones import Clones
from checkpoints.coverage import MIB, Limits
from checkpoints.doctor import examine
from checkpoints.lock import hold
from checkpoints.retention import GRACE_S, Keep, Pruned, Retention, kept_bytes
from checkpoints.rollback import Rollback
from checkpoints.store import DamagedStoreError
from tests.checkpoints.conftest import OpenSession
from tests.checkpoints.sessions import Session
from tests.checkpoints.test_crash import killed_at
from tests.checkpoints.trees import manifest
from tests.waiting import WAIT_S

KINDS = {
    "btrfs": (["mkfs.btrfs", "-q"], "loop"),
    "compressed": (["mkfs.btrfs", "-q"], "loop,compress-force=zstd"),
    "xfs": (["mkfs.xfs", "-q", "-m", "reflink=1"], "loop"),
}
LARGE = 11 * MIB
LINES = b"a line that can be compressed\n"


@pytest.fixture(params=KINDS)
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own that can share blocks."""
    make, options = KINDS[request.param]
    if os.getuid() != 0 or shutil.which(make[0]) is None:
        pytest.skip(f"a disk of its own needs root and `{make[0]}`")
    image, place = tmp_path / "image", tmp_path / "disk"
    with image.open("wb") as stream:
        stream.truncate(512 * MIB)
    place.mkdir()
    subprocess.run([*make, str(image)], check=True, capture_output=True)
    mounted = subprocess.run(["mount", "-o", options, str(image), str(place)], capture_output=True, text=True)
    if mounted.returncode != 0:
        pytest.skip(f"no disk can be mounted here: {mounted.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.fixture
def place(disk: Path) -> Path:
    return disk


def large(path: Path, seed: bytes = b"") -> None:
    path.write_bytes(seed + os.urandom(LARGE // 2) + LINES * (LARGE // 2 // len(LINES) + 1))


def change_inside(path: Path, what: bytes) -> None:
    """Other bytes in the middle; size and time of modification as before."""
    status = path.stat()
    with path.open("r+b") as stream:
        stream.seek(5 * MIB)
        stream.write(what)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def copies(session: Session) -> set[bytes]:
    return session.core.store.clones.all()


def pruned(session: Session, keep: Keep, *, age_s: float = 0) -> Pruned:
    """A prune, after all copies were made to look that much older."""
    clones = session.core.store.clones
    for oid in clones.all():
        path = clones.directory / oid.hex()
        os.utime(path, (path.stat().st_mtime - age_s,) * 2)
    with hold(session.core.home.directory / "lock", alone=True, what="a prune", timeout_s=1):
        retention = Retention(session.core.home.directory, session.core.store, session.core.catalog)
        return retention.prune(keep, spare=[session.name])


def test_large_files_come_back_without_being_stored(root: Path, open_session: OpenSession) -> None:
    for name in ("inside", "gone", "mode", "cut", "kind", "touched", "same", "tool"):
        large(root / name)
    before = manifest(root)
    session = open_session()
    start = session.before("tool").row
    assert start.uncovered == ()
    change_inside(root / "inside", b"other")
    (root / "gone").unlink()
    (root / "mode").chmod(0o755)
    os.truncate(root / "cut", 100)
    (root / "kind").unlink()
    (root / "kind").mkdir()
    (root / "touched").touch()
    large(root / "tool")
    large(root / "new")
    found = {change.path: (change.kind, change.detail) for change in session.after("tool")}
    assert found == {
        "inside": ("M", "binary, 12 MB → 12 MB"),
        "gone": ("D", "binary, 12 MB"),
        "mode": ("X", "mode 644 → 755"),
        "cut": ("M", "binary, 12 MB → 100 bytes"),
        "kind": ("M", "binary → folder, mode 644 → 755"),
        "tool": ("M", "binary, 12 MB → 12 MB"),
        "new": ("A", "binary, 12 MB"),
    }
    after = manifest(root)
    result = session.rollback(start.id)
    assert (result.mismatches, result.kept) == ((), ())
    assert manifest(root) == before
    assert not session.redo().mismatches
    assert manifest(root) == after
    objects = sum(path.stat().st_size for path in (session.core.store.directory / "objects").rglob("*"))
    assert objects < MIB
    session.core.store.run_git(["fsck", "--full", "--strict", "--no-dangling"], timeout_s=WAIT_S)


@pytest.mark.parametrize("plain", [False, True], ids=["git", "plain copies"])
def test_a_diff_names_a_large_file_and_does_not_show_it(
    root: Path, open_session: OpenSession, plain: bool
) -> None:
    from checkpoints.joined import Joined

    large(root / "big")
    (root / "a").write_text("1\n")
    session = open_session(plain=plain)
    start = session.before().row
    change_inside(root / "big", b"other")
    (root / "a").write_text("2\n")
    session.after()
    text = Joined(session.core).compared(start, None)[1]
    assert text.endswith("M big  binary, 12 MB → 12 MB\n")
    assert "+2\n" in text and text.count("big") == 1


@pytest.mark.parametrize("plain", [False, True], ids=["git", "plain copies"])
@pytest.mark.usefixtures("no_sharing")
def test_a_diff_tells_behind_the_text_what_text_does_not(
    root: Path, open_session: OpenSession, plain: bool
) -> None:
    from checkpoints.joined import Joined

    large(root / "data.bin")
    (root / "logo.png").write_bytes(b"\0" * 14_000)
    (root / "latest").symlink_to("v1")
    for name in ("run.sh", "both"):
        (root / name).write_text("1\n")
        (root / name).chmod(0o644)
    session = open_session(plain=plain)
    start = session.before().row
    with (root / "data.bin").open("ab") as large_file:
        large_file.write(b"other")
    (root / "logo.png").write_bytes(b"\0" * 15_000)
    (root / "latest").unlink()
    (root / "latest").symlink_to("v2")
    (root / "both").write_text("2\n")
    for name in ("run.sh", "both"):
        (root / name).chmod(0o755)
    session.after()
    text = Joined(session.core).compared(start, None)[1]
    assert text.split("+2\n")[1].splitlines()[-5:] == [
        "M both  mode 644 → 755",
        "M latest  link v1 → v2",
        "M logo.png  binary, 14 KB → 15 KB",
        "X run.sh  mode 644 → 755",
        "M data.bin  not covered, size and time only",
    ]


def test_a_copy_has_its_name_on_disk_before_the_list_tells_of_it(
    root: Path, open_session: OpenSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = open_session()
    session.before()
    large(root / "big")
    folder, seen, synchronise = session.core.store.clones.directory, list[str](), os.fsync

    def fsync(descriptor: int) -> None:
        synchronise(descriptor)
        if os.path.samestat(os.fstat(descriptor), folder.stat()):
            seen.append(f"{len(copies(session))} named")

    monkeypatch.setattr("os.fsync", fsync)
    session.core.catalog._connection.set_trace_callback(
        lambda statement: seen.append("listed") if statement == "COMMIT" else None
    )
    session.after()
    assert seen == ["1 named", "listed"]


def test_an_edit_by_hand_is_a_conflict_that_can_be_taken_and_not_merged(
    root: Path, open_session: OpenSession
) -> None:
    from checkpoints.types import CheckpointError

    large(root / "big")
    before = manifest(root)
    session = open_session()
    start = session.before().row
    change_inside(root / "big", b"agent")
    session.after()
    change_inside(root / "big", b"mine!")
    mine = manifest(root)
    assert session.rollback(start.id).kept == ("big",)
    assert manifest(root) == mine
    with pytest.raises(CheckpointError, match="`big` cannot be merged"):
        session.rollback(start.id, default="merge")
    assert not session.rollback(start.id, default="take").mismatches
    assert manifest(root) == before


def test_an_edit_while_files_go_back_is_left_alone(root: Path, open_session: OpenSession) -> None:
    large(root / "big")
    (root / "a").write_text("1")
    session = open_session()
    start = session.before().row
    change_inside(root / "big", b"agent")
    (root / "a").write_text("2")
    session.after()

    def meanwhile(step: int, total: int) -> None:
        if step == 0:
            change_inside(root / "big", b"mine!")

    from checkpoints.rollback import Request

    result = Rollback(session.core, meanwhile).run(Request(target=start.id, choices={}))
    assert result.mismatches == ("big (changed meanwhile, left as it is)",)
    assert result.failed == ("big",)
    assert (root / "a").read_text() == "1"
    assert (root / "big").read_bytes()[5 * MIB :].startswith(b"mine!")


def test_a_copy_costs_what_only_it_holds_and_goes_with_its_checkpoints(
    root: Path, open_session: OpenSession
) -> None:
    large(root / "big")
    session = open_session()
    session.take()
    small = kept_bytes(session.core.store, session.core.catalog)
    assert small < MIB
    large(root / "big")
    session.take()
    assert kept_bytes(session.core.store, session.core.catalog) > small + 5 * MIB
    assert len(copies(session)) == 2
    session.close()
    other = open_session("other")
    other.take()
    assert pruned(other, Keep(days=0)).sessions == ("s1",)
    assert len(copies(other)) == 2  # not yet: they are new
    assert pruned(other, Keep(), age_s=GRACE_S + 60).freed_bytes > 5 * MIB
    assert len(copies(other)) == 1
    os.unlink(root / "big")
    other.take()
    assert not other.rollback(f"{other.name}/1", default="take").mismatches


def test_a_store_over_its_size_drops_old_copies(root: Path, open_session: OpenSession) -> None:
    for number in range(3):
        large(root / "big")
        session = open_session(f"s{number}")
        session.take()
        session.close()
    session = open_session("now")
    session.take()
    limit = kept_bytes(session.core.store, session.core.catalog) - MIB
    done = pruned(session, Keep(bytes=limit), age_s=GRACE_S + 60)
    assert done.sessions == ("s0",)
    assert len(copies(session)) == 2


@pytest.mark.parametrize("how", ["cut", "removed"])
def test_a_damaged_copy_costs_its_checkpoints_and_no_later_one(
    root: Path, state_dir: Path, open_session: OpenSession, how: str
) -> None:
    large(root / "big")
    session = open_session()
    start = session.before().row
    large(root / "big")
    session.after()
    present = manifest(root)
    for oid in copies(session):
        path = session.core.store.clones.directory / oid.hex()
        path.unlink()
        if how == "cut":
            path.touch()
    assert [one.detail for one in examine(root, state_dir) if "the copy" in one.detail]
    with pytest.raises(DamagedStoreError, match=f"`{start.id}` cannot be used any more"):
        session.rollback(start.id, default="take")
    assert manifest(root) == present
    again = session.before().row
    large(root / "big")
    session.after()
    assert not session.rollback(again.id).mismatches
    assert manifest(root) == present


@pytest.mark.parametrize("complete", [True, False], ids=["finish", "take back"])
def test_a_killed_rollback_of_large_files_is_settled(
    root: Path, state_dir: Path, open_session: OpenSession, complete: bool
) -> None:
    for name in ("a", "b", "c"):
        large(root / name)
    before = manifest(root)
    session = open_session()
    start = session.before().row
    for name in ("a", "b"):
        large(root / name)
    (root / "c").unlink()
    session.after()
    after = manifest(root)
    for step in range(4):
        assert killed_at(step, "steps", root, state_dir, start.id).returncode in (-signal.SIGKILL, 0)
        result = Rollback(session.core).recover(complete=complete)
        assert result is None or not result.mismatches
        assert manifest(root) in (before, after)
        if manifest(root) == before:
            session.redo()
        assert manifest(root) == after


@pytest.mark.parametrize("disk", ["btrfs"], indirect=True)
def test_a_full_disk_that_never_writes_in_place_ends_nobody(disk: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("full_sharing_disk.py")), str(disk)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["whole"]), done.stderr


class TestWhereNoBlocksAreShared:
    """The same on the disk of the tests, made to be one that cannot."""

    @pytest.fixture
    def place(self, tmp_path: Path) -> Path:
        return tmp_path

    @pytest.mark.usefixtures("no_sharing")
    def test_large_files_are_named(self, root: Path, open_session: OpenSession) -> None:
        large(root / "big")
        session = open_session()
        start = session.before().row
        assert [(gap.path, gap.reason) for gap in start.uncovered] == [("big", "12 MB")]
        assert copies(session) == set()
        assert list(session.core.store.clones.temporary.iterdir()) == []

    def test_a_store_on_another_disk_holds_no_copies(
        self, disk: Path, root: Path, open_session: OpenSession
    ) -> None:
        other = disk / "w"
        other.mkdir()
        large(other / "big")
        session = open_session(at=other)
        start = session.before().row
        assert [gap.path for gap in start.uncovered] == ["big"]


def test_a_file_between_small_and_large_is_held_both_ways(root: Path, open_session: OpenSession) -> None:
    session = open_session(limits=Limits(file_bytes=64 * 1024))
    (root / "grows").write_bytes(os.urandom(60_000))
    states = []
    for size in (60_000, 70_000, 50_000):
        (root / "grows").write_bytes(os.urandom(size))
        states.append((session.take().row.id, manifest(root)))
    for checkpoint, then in states:
        assert not session.rollback(checkpoint, default="take").mismatches
        assert manifest(root) == then


def test_ids_tell_the_size(root: Path, disk: Path) -> None:
    from checkpoints.clones import size_of

    clones = Clones(disk / "clones", disk)
    clones.directory.mkdir()
    large(root / "big")
    with (root / "big").open("rb") as stream:
        oid = clones.take(stream.fileno())
        assert size_of(oid) == (root / "big").stat().st_size
        assert clones.take(stream.fileno()) == oid
        assert clones.is_same(oid, stream.fileno())
    change_inside(root / "big", b"other")
    with (root / "big").open("rb") as stream:
        assert not clones.is_same(oid, stream.fileno())
        assert clones.take(stream.fileno()) != oid


def test_a_copy_that_another_process_drops_meanwhile_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clones = Clones(tmp_path, tmp_path)
    gone = {bytes(20)}
    monkeypatch.setattr(Clones, "all", lambda _: gone)
    assert clones.size(()) == 0
