"""Change detection where time stamps cannot help."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from checkpoints.coverage import Limits
from checkpoints.ignores import Rules
from checkpoints.objects import object_id
from checkpoints.scan import Scanner


def keep(content: bytes, known: bytes) -> bytes:
    return object_id("blob", content)


@pytest.mark.parametrize(("scan_after_ns", "is_seen"), [(0, True), (40_000_000, True), (10**9, False)])
def test_an_edit_within_one_tick_of_the_clock_is_seen(root: Path, scan_after_ns: int, is_seen: bool) -> None:
    """All numbers equal, the content another: only reading again can tell, and only near a scan can it be."""
    (root / "f").write_bytes(b"new")
    scanner = Scanner(root=os.fsencode(root), limits=Limits(), above=Rules())
    scan = scanner.scan(keep)
    file = scan.root.files[b"f"]
    scan.root.files[b"f"] = file._replace(oid=object_id("blob", b"old"))
    scanner.previous = replace(scan, started_ns=file.ctime_ns + scan_after_ns)
    found = scanner.scan(keep).root.files[b"f"].oid
    assert (found == object_id("blob", b"new")) is is_seen


def test_an_unchanged_folder_is_the_same_object(root: Path) -> None:
    (root / "a/b").mkdir(parents=True)
    (root / "a/b/f").write_text("f")
    (root / "c").mkdir()
    old = 1_600_000_000
    for path in (root / "a/b/f",):
        os.utime(path, (old, old))
    scanner = Scanner(root=os.fsencode(root), limits=Limits(), above=Rules())
    first = scanner.scan(keep).root
    second = scanner.scan(keep).root
    assert second is first
    (root / "c/new").write_text("n")
    third = scanner.scan(keep).root
    assert third is not first
    assert third.folders[b"a"] is first.folders[b"a"]


def test_content_is_read_again_only_where_something_may_have_changed(root: Path) -> None:
    for number in range(20):
        (root / str(number)).write_text(str(number))
    read: list[bytes] = []

    def counting(content: bytes, known: bytes) -> bytes:
        read.append(content)
        return object_id("blob", content)

    scanner = Scanner(root=os.fsencode(root), limits=Limits(), above=Rules())
    scanner.scan(counting)
    assert scanner.previous is not None
    while (
        scanner.previous.started_ns - max(file.ctime_ns for file in scanner.previous.root.files.values())
        < 60_000_000
    ):
        scanner.scan(counting)
    read.clear()
    scanner.scan(counting)
    assert read == []
    scanner.scan(counting, touched=[b"3"])
    assert read == [b"3"]
    read.clear()
    scanner.scan(counting, only=[b"4", b"5"])
    assert sorted(read) == [b"4", b"5"]


@pytest.mark.parametrize("name", ["n" * 300, "folder/" + "n" * 300])
def test_a_name_that_no_file_can_have_is_missing(root: Path, name: str) -> None:
    (root / "folder").mkdir()
    (root / "folder/f").write_text("f")
    scanner = Scanner(root=os.fsencode(root), limits=Limits(), above=Rules(), targeted=True)
    found = scanner.scan(keep, touched=[b"folder/f", name.encode()]).root
    assert list(found.folders[b"folder"].files) == [b"f"]
    assert not found.gaps
