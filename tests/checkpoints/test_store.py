"""The store under damage, without git, and when it has to shrink."""

import os
import time
from pathlib import Path

import pytest

from checkpoints.objects import TreeItem, object_id, packed_entry, parse_tree, tree_content
from checkpoints.retention import Keep, Retention
from checkpoints.store import DamagedStoreError, ObjectWriter, Store
from checkpoints.types import CheckpointError, Phase
from tests.checkpoints.conftest import OpenSession
from tests.checkpoints.sessions import Session
from tests.checkpoints.trees import manifest
from tests.waiting import WAIT_S


def test_trees_are_what_git_makes_of_them(root: Path, open_session: OpenSession) -> None:
    """The same names through git's own plumbing give the same id."""
    store = open_session().core.store
    blob = store.put("blob", b"x")
    items = [TreeItem(name, 0o100644, blob) for name in (b"a.b", b"a0", b"\xff", b"new\nline")]
    items.append(TreeItem(b"a", 0o040000, store.put("tree", tree_content([TreeItem(b"f", 0o100755, blob)]))))
    ours = store.put("tree", tree_content(items))
    lines = b"".join(
        b"%06o %s %s\t%s\0"
        % (item.mode, b"tree" if item.mode == 0o040000 else b"blob", item.oid.hex().encode(), item.name)
        for item in items
    )
    assert store.run_git(["mktree", "-z"], timeout_s=5, stdin=lines).strip().decode() == ours.hex()
    assert set(parse_tree(tree_content(items))) == set(items)


@pytest.mark.parametrize("size", [0, 15, 16, 2047, 2048, 300_000])
def test_packed_entries_carry_their_size(size: int) -> None:
    entry = packed_entry("blob", b"x" * size)
    value, shift, at = entry[0] & 15, 4, 0
    while entry[at] & 0x80:
        at += 1
        value |= (entry[at] & 0x7F) << shift
        shift += 7
    assert value == size
    assert (entry[0] >> 4) & 7 == 3


def test_many_objects_become_one_pack_that_reads_back(root: Path, open_session: OpenSession) -> None:
    store = open_session().core.store
    writer = ObjectWriter(store)
    contents = [b"%d" % number * (number % 50) for number in range(1000)]
    oids = [writer.add("blob", content) for content in contents]
    writer.finish()
    assert len(list((store.directory / "objects/pack").glob("*.pack"))) == 1
    assert [store.read(oid) for oid in oids] == contents
    assert not list((store.directory / "tmp").iterdir())


def test_a_missing_object_breaks_its_checkpoint_and_no_other(root: Path, open_session: OpenSession) -> None:
    session = open_session()
    (root / "a").write_text("one")
    first = session.before().row
    (root / "a").write_text("two")
    session.after()
    second = session.take().row
    oid = object_id("blob", b"one").hex()
    (session.core.store.directory / "objects" / oid[:2] / oid[2:]).unlink()
    with pytest.raises(DamagedStoreError, match="cannot be used any more"):
        session.rollback(first.id)
    assert (root / "a").read_text() == "two"
    broken = session.core.catalog.get(first.session, first.seq)
    assert broken is not None
    assert broken.broken
    (root / "a").write_text("three")
    session.take()
    result = session.rollback(second.id, default="take")
    assert not result.mismatches
    assert (root / "a").read_text() == "two"


def test_a_damaged_object_is_stored_anew_with_the_next_checkpoint(
    root: Path, open_session: OpenSession
) -> None:
    (root / "a").write_text("one\n")
    session = open_session()
    start = session.before().row
    (root / "a").write_text("two\n")
    session.after()
    name = object_id("blob", b"one\n").hex()
    path = session.core.store.directory / "objects" / name[:2] / name[2:]
    path.chmod(0o600)
    path.write_bytes(path.read_bytes()[:9])
    with pytest.raises(DamagedStoreError, match=f"`{start.id}` cannot be used any more"):
        session.rollback(start.id)
    assert (root / "a").read_text() == "two\n"
    (root / "a").write_text("one\n")
    again = session.before().row
    (root / "a").write_text("three\n")
    assert [change.path for change in session.after()] == ["a"]
    assert not session.rollback(again.id).mismatches
    assert (root / "a").read_text() == "one\n"


@pytest.mark.parametrize("how", ["changed", "cut", "removed"])
def test_a_damaged_pack_costs_its_checkpoints_and_no_later_one(
    root: Path, open_session: OpenSession, how: str
) -> None:
    def write(word: str) -> None:
        for number in range(500):  # enough for a pack
            (root / str(number)).write_text(f"{word} {number}\n")

    write("old")
    before = manifest(root)
    session = open_session()
    start = session.before().row
    write("new")
    session.after()
    for path in (session.core.store.directory / "objects/pack").glob("*.pack"):
        content = bytearray(path.read_bytes())
        path.unlink()
        content[len(content) // 2 :] = bytes(len(content) - len(content) // 2) if how == "changed" else b""
        if how != "removed":
            path.write_bytes(content)
    session.close()
    again = open_session()
    with pytest.raises(DamagedStoreError, match=f"`{start.id}` cannot be used any more"):
        again.rollback(start.id)
    write("old")
    later = again.before().row
    write("newer")
    assert len(again.after()) == 500
    assert not again.rollback(later.id).mismatches
    assert manifest(root) == before


def test_a_damaged_scan_cache_is_read_anew(root: Path, open_session: OpenSession) -> None:
    (root / "a").write_text("a")
    session = open_session()
    start = session.take().row
    session.close()
    cache = next(session.core.home.directory.glob("scan-*.cache"))
    cache.write_bytes(cache.read_bytes()[:-3] + b"xxx")
    again = open_session()
    (root / "a").write_text("b")
    assert [change.path for change in again.take().changes] == ["a"]
    again.rollback(start.id, default="take")
    assert (root / "a").read_text() == "a"


def test_without_git_checkpoints_are_plain_copies_with_the_same_interface(
    root: Path, open_session: OpenSession
) -> None:
    (root / "sub").mkdir()
    (root / "sub/a").write_text("one\ntwo\n")
    (root / "run").write_text("x")
    (root / "run").chmod(0o755)
    before = manifest(root)
    session = open_session(plain=True)
    start = session.before().row
    (root / "sub/a").write_text("one\n2\nthree\n")
    (root / "run").unlink()
    (root / "new").write_text("n")
    changes = {(change.kind, change.path, change.added, change.removed) for change in session.after()}
    assert changes == {("M", "sub/a", 2, 1), ("D", "run", 0, 1), ("A", "new", 1, 0)}
    session.rollback(start.id)
    assert manifest(root) == before
    session.redo()
    assert (root / "new").exists()
    for number in range(600):  # what would be a pack with git
        (root / f"many{number}").write_text(str(number))
    assert len(session.take().changes) == 600


def retention(session: Session) -> Retention:
    return Retention(session.core.home.directory, session.core.store, session.core.catalog)


@pytest.mark.parametrize("plain", [False, True], ids=["git", "no git"])
def test_old_sessions_go_and_young_ones_stay_whole(
    root: Path, open_session: OpenSession, plain: bool
) -> None:
    old, new = open_session("old", plain=plain), open_session("new", plain=plain)
    old.before()
    (root / "a").write_text("only the old session has seen this")
    old.after()
    (root / "a").write_text("both")
    old.take()
    first = new.before().row
    (root / "a").write_text("new")
    new.after()
    later = time.time() + 3 * 86_400
    with old.core.locked(alone=True):
        assert retention(new).prune(Keep(days=2), later, spare=["new"]).sessions == ("old",)
    assert new.core.catalog.since("old", 0) == []
    assert old.take().row.seq == 4  # numbers are never used again
    new.rollback(first.id)
    assert (root / "a").read_text() == "both"
    if not plain:
        new.core.store.run_git(["fsck", "--full", "--no-dangling"], timeout_s=WAIT_S)


def test_no_more_than_the_limit_of_sessions_and_bytes(root: Path, open_session: OpenSession) -> None:
    import os

    for number in range(4):
        session = open_session(f"s{number}")
        session.take()
        session.before()
        (root / "f").write_bytes(os.urandom(50_000))
        session.after()
        session.close()
    session = open_session("last")
    session.take()
    with session.core.locked(alone=True):
        done = retention(session).prune(Keep(sessions=3), spare=["last"])
    assert done.sessions == ("s0",)
    with session.core.locked(alone=True):
        retention(session).prune(Keep(bytes=1), spare=["last"])
    assert session.core.catalog.sessions() == ["last"]


def test_packing_keeps_every_checkpoint(root: Path, open_session: OpenSession) -> None:
    session = open_session()
    rows = []
    for number in range(30):
        (root / f"f{number % 7}").write_text(f"{number}\n" * 50)
        rows.append((session.take().row, manifest(root)))
    retention(session).pack()
    assert not list((session.core.store.directory / "objects").glob("??/*"))
    for row, then in rows[::7]:
        session.rollback(row.id, default="take")
        assert {path: what for path, what in manifest(root).items() if path in then} == then


def test_unknown_and_ambiguous_ids_are_explained(root: Path, open_session: OpenSession) -> None:
    one, two = open_session("abc1"), open_session("abc2")
    one.take()
    two.take()
    assert one.core.resolve("abc1/1").id == "abc1/1"
    for wrong, words in [
        ("x/1", "no checkpoint `x/1` here"),
        ("abc/1", "2 sessions"),
        ("12", "looks like"),
        ("abc1/9", "no checkpoint"),
    ]:
        with pytest.raises(CheckpointError, match=words):
            one.core.resolve(wrong)


def test_objects_of_an_unfinished_snapshot_do_not_count(root: Path, state_dir: Path) -> None:
    store = Store(state_dir / "store", None)
    store.create()
    writer = ObjectWriter(store)
    oid = writer.add("blob", b"content")
    with pytest.raises(DamagedStoreError):
        store.read(oid)
    writer.finish()
    assert store.read(oid) == b"content"


def test_phases_of_a_turn_are_listed_in_order(root: Path, open_session: OpenSession) -> None:
    session = open_session()
    session.take()
    session.before()
    (root / "a").write_text("a")
    session.after()
    session.take(Phase.TURN_END)
    phases = [row.cause.phase for row in session.core.catalog.since("s1", 0)]
    assert phases == [Phase.TURN_START, Phase.BEFORE_CALL, Phase.AFTER_CALL, Phase.TURN_END]


@pytest.mark.parametrize(
    "name",
    [
        "workspace.json",
        "scan-root.cache",
        "root.journal",
        "root.new",
        "lock",
        "live/s9",
        "catalog.db",
        "store/config",
        "store/HEAD",
        "store/info/attributes",
        "objects",
    ],
)
def test_nobody_waits_for_a_pipe_in_the_place_of_a_file(
    root: Path, state_dir: Path, open_session: OpenSession, name: str
) -> None:
    """Each ends at once: done as if the file were damaged, or refused with its name."""
    (root / "a").write_text("1")
    session = open_session()
    start = session.before().row
    (root / "a").write_text("2")
    session.after()
    session.close()
    home = session.core.home.directory
    (home / "live").mkdir()
    places = list((home / "store/objects").glob("??/*")) if name == "objects" else [home / name]
    for place in places:
        place.unlink(missing_ok=True)
        os.mkfifo(place)
    try:
        again = open_session("s2")
        again.take()
        again.rollback(start.id)
        Retention(home, again.core.store, again.core.catalog).prune(Keep(), spare=["s1", "s2"])
    except CheckpointError as error:
        assert name in str(error) or "cannot be used any more" in str(error)
    for place in places:
        place.unlink(missing_ok=True)
    assert (root / "a").read_text() in ("1", "2")
