"""`read_file`, `list_files`, `view_image`, `update_plan`, `request_user_input`."""

import base64
import os
import re
import stat
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox.placeholders import Placeholders, StandIn
from tests.tools.room import Room
from tools.ignoring import Walk
from tools.image_size import image_size
from tools.paths import open_resolved, place_of
from tools.reading import open_source
from tools.text_file import MAX_BYTES
from tools.types import CallClass, Grant, OutcomeStatus

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


async def test_lines_come_numbered_in_ranges(room: Room) -> None:
    room.write("a.txt", "".join(f"line {number}\n" for number in range(1, 301)))
    outcome = await room.call("read_file", path="a.txt", start_line=99, end_line=101)
    assert (
        outcome.text
        == "[a.txt · lines 99-101 of 300 · 2,592 bytes]\n99\tline 99\n100\tline 100\n101\tline 101"
    )
    assert not outcome.complete
    assert (await room.call("read_file", path="a.txt")).complete
    past = await room.call("read_file", path="a.txt", start_line=400)
    assert past.text == "[a.txt · nothing from line 400 on, it has 300 lines · 2,592 bytes]"
    assert "comes before" in room.check("read_file", path="a.txt", start_line=5, end_line=4)


async def test_a_full_result_says_where_to_go_on(room: Room) -> None:
    room.write("a.txt", "".join(f"line {number}\n" for number in range(1, 10_001)))
    room.tokens = 200
    outcome = await room.call("read_file", path="a.txt")
    last = outcome.data["last"]
    assert f"the result is full; go on with start_line {last + 1}" in outcome.text
    following = await room.call("read_file", path="a.txt", start_line=last + 1)
    assert f"\n{last + 1}\tline {last + 1}\n" in following.text


async def test_long_lines_are_cut_with_a_count_and_the_way_to_the_rest(room: Room) -> None:
    room.write("min.js", "x" * 5_000 + "\nshort\n" + "y" * 2_001)
    outcome = await room.call("read_file", path="min.js")
    assert "… [3,000 more characters]\n2\tshort" in outcome.text
    assert (
        "2 lines shown without the end, the first is line 1: go on with start_line 1, start_column 2001"
        in (outcome.text)
    )
    rest = await room.call("read_file", path="min.js", start_line=1, start_column=2_001)
    head, _, text = rest.text.partition("\n")
    assert head == "[min.js · line 1, characters 2,001-5,000 of 5,000 · 7,008 bytes]"
    assert text == "1\t" + "x" * 3_000
    assert (await room.call("read_file", path="min.js", start_line=3, start_column=2_001)).text.endswith(
        "3\ty"
    )


async def pieces(room: Room, path: str, line: int) -> str:
    """A line read to its end, as the results say how."""
    text, column = "", 1
    while column:
        outcome = await room.call("read_file", path=path, start_line=line, start_column=column)
        head, _, shown = outcome.text.partition("\n")
        assert outcome.data["total"] and not outcome.complete
        text += shown.removeprefix(f"{line}\t")
        following = re.search(rf"go on with start_line {line}, start_column (\d+)", head)
        column = int(following[1]) if following else 0
    return text


LONG = "".join(f"{number}→" for number in range(3_000))


@pytest.mark.parametrize("padding", [0, 33 * 2**20])  # a large file is not held in memory
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
async def test_every_character_of_a_long_line_can_be_read(room: Room, end: str, padding: int) -> None:
    room.tokens = 800
    room.write("f", "first\n" + LONG + end + ("\n" * padding if end else ""))
    assert await pieces(room, "f", 2) == LONG


@pytest.mark.parametrize("after", ["", "\n", "\nend\n" * 200], ids=["open", "last", "followed"])
@pytest.mark.parametrize("before", ["", "one\n", f"{'-' * 99}\n" * 12_000], ids=["first", "second", "late"])
async def test_every_character_of_stored_output_can_be_read(room: Room, before: str, after: str) -> None:
    room.tokens = 2_000
    stored = room.artifacts / "c9.1.out"
    stored.write_bytes(f"{before}\x1b[31m{'z' * 6_000}\r{LONG}{after}".encode())
    assert await pieces(room, "out/c9.1", before.count("\n") + 1) == LONG


async def test_a_column_beyond_the_end_of_a_line_is_told(room: Room) -> None:
    room.write("f", "ab\n")
    past = await room.call("read_file", path="f", start_column=3)
    assert past.text == "[f · line 1 has no character 3 · 3 bytes]"
    past = await room.call("read_file", path="f", start_line=2, start_column=1)
    assert past.text == "[f · there is no line 2 · 3 bytes]"
    assert "leave `end_line` out" in room.check("read_file", path="f", start_column=3, end_line=2)


async def test_what_was_not_kept_of_stored_output_is_told_where_it_was(room: Room) -> None:
    with (room.artifacts / "c9.1.out").open("wb") as file:
        file.write(b"a" * 8191 + b"\n")
        file.seek(2**33)
        file.write(b"after\n")
    outcome = await room.call("read_file", path="out/c9.1")
    assert outcome.text.endswith("\n3\t… [8,589,926,400 bytes were not kept]\n4\tafter"), outcome.text[-100:]


async def test_a_large_binary_is_refused_like_a_small_one(room: Room) -> None:
    with (room.workspace / "sparse").open("wb") as file:
        file.truncate(2**40)
    assert "is binary" in (await room.call("read_file", path="sparse")).text


@pytest.mark.parametrize(
    ("data", "text", "note"),
    [
        ("grüße\n".encode("cp1252"), "grüße", "encoding cp1252"),
        ("\ufeffgrüße\n".encode("utf-16-le"), "grüße", "encoding utf-16-le"),
        ("これは日本語のテキストです。\n".encode("shift_jis") * 40, "日本語", "encoding cp932"),
        (b"\xef\xbb\xbfmark\n", "1\tmark", ""),
        ("äöü é\n".encode() + b"\xff\n", "2\t\ufffd", "stands for bytes that are not valid"),
    ],
)  # fmt: skip
async def test_encodings_are_found(room: Room, data: bytes, text: str, note: str) -> None:
    room.write("f.txt", data)
    outcome = await room.call("read_file", path="f.txt")
    assert text in outcome.text
    assert note in outcome.text


async def test_a_large_file_of_another_encoding_says_so(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.reading.MAX_BYTES", 8)
    room.write("f", "grüße ü\n\n".encode() + b"gr\xfc\xdfe\n")
    first = await room.call("read_file", path="f", end_line=1)
    assert first.text.endswith("bytes]\n1\tgrüße ü"), first.text
    both = await room.call("read_file", path="f")
    assert (
        "· encoding utf-8; � stands for bytes that are not valid in it]\n1\tgrüße ü\n2\t\n3\tgr��e"
        in both.text
    )


async def test_what_is_no_text_is_refused_with_the_way_out(room: Room) -> None:
    room.write("dot.png", PNG)
    room.write("prog", b"\x7fELF" + bytes(300))
    os.mkfifo(room.workspace / "pipe")
    texts = {
        name: (await room.call("read_file", path=name)).text
        for name in ("dot.png", "prog", ".", "pipe", "no")
    }
    assert "`view_image`" in texts["dot.png"]
    assert "binary: ELF executable" in texts["prog"]
    assert "`list_files`" in texts["."]
    assert "no regular file" in texts["pipe"]
    assert "No such file" in texts["no"]


async def test_a_large_file_is_read_by_range_only(room: Room) -> None:
    with (room.workspace / "big.log").open("wb") as file:
        file.writelines(b"%07d\n" % number for number in range(1, 4_400_000))
    outcome = await room.call("read_file", path="big.log", start_line=10, end_line=11)
    assert outcome.text == "[big.log · lines 10-11 · 35,199,992 bytes]\n10\t0000010\n11\t0000011"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
async def test_the_mark_of_a_large_file_is_obeyed(room: Room, encoding: str) -> None:
    room.write("f", ("\ufeff" + "one\n" * 2**23).encode(encoding if encoding == "utf-8" else "utf-16-le"))
    outcome = await room.call("read_file", path="f", end_line=1)
    said = "`f` is utf-16-le, 67,108,866 bytes" if encoding == "utf-16" else "\n1\tone"
    assert said in outcome.text


@pytest.mark.parametrize(
    ("end", "shown"), [(b"\xc3", "\ufffd"), (b"x\r", "x\r"), (b"\n", ""), (b"", "→" + "-" * 996)]
)
def test_the_end_of_a_large_file_is_shown_as_that_of_a_small_one(room: Room, end: bytes, shown: str) -> None:
    for lines in (100, 34_000):
        source = open_source(room.write("f", ("→" + "-" * 996 + "\n").encode() * lines + end), "f")
        assert list(source.rows)[-1] == (shown, len(shown))
        assert (source.data is None) == (lines > 100)


async def test_a_file_that_grows_while_it_is_read_is_not_held(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = "one " * 255
    room.write("f", f"{line}\n" * (MAX_BYTES // len(line) + 1) + "last\n")
    size, fstat = 2**20, os.fstat

    def earlier(fd: int) -> os.stat_result:
        state = list(fstat(fd))
        state[stat.ST_SIZE] = size
        return os.stat_result(state)

    with monkeypatch.context() as then:
        then.setattr("tools.reading.os.fstat", earlier)
        source = open_source(room.workspace / "f", "f")
    assert (source.data, source.total_lines) == (None, None)
    assert [row.text for row in source.rows][-2:] == [line, "last"]


async def test_reading_outside_asks_and_never_reads_the_agents_own_state(room: Room, tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text("secret\n")
    (room.workspace / "link").symlink_to(tmp_path / "outside.txt")
    for path in ("../outside.txt", "link", str(tmp_path / "outside.txt")):
        assessment = room.toolbox.assess("read_file", room.check("read_file", path=path), room.policy)
        assert (assessment.call_class, assessment.grant) == (CallClass.ASK, Grant.READ_PATH)
        assert assessment.grant_detail == str((tmp_path / "outside.txt").resolve())
        assert "secret" not in (await room.call("read_file", path=path)).text
    room.policy = replace(room.policy, readable=((tmp_path / "outside.txt").resolve(),))
    assert "1\tsecret" in (await room.call("read_file", path="link")).text
    own = room.toolbox.assess("read_file", room.check("read_file", path="../state/x"), room.policy)
    assert own.call_class is CallClass.REJECT


async def test_environment_files_are_not_read_unasked(room: Room) -> None:
    room.write(".env", "TOKEN=abc123\n")
    room.write(".env.example", "TOKEN=\n")
    assessment = room.toolbox.assess("read_file", room.check("read_file", path=".env"), room.policy)
    assert assessment.grant is Grant.READ_PATH
    assert "abc123" not in (await room.call("read_file", path=".env")).text
    assert "TOKEN" in (await room.call("read_file", path=".env.example")).text
    found = await room.call("search_files", pattern="TOKEN")
    assert "abc123" not in found.text
    assert "matches in .env hidden" in found.text


def test_a_link_that_appears_behind_the_check_is_not_followed(room: Room, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/x").write_text("secret")
    room.write("dir/x", "mine")
    checked = place_of("dir/x", room.policy)
    (room.workspace / "dir/x").unlink()
    (room.workspace / "dir").rmdir()
    (room.workspace / "dir").symlink_to(tmp_path / "secret")
    with pytest.raises(OSError, match=r"Not a directory|symbolic"):
        open_resolved(checked, os.O_RDONLY)


async def test_a_listing_is_sorted_and_leaves_out_what_git_ignores(room: Room) -> None:
    room.write(".gitignore", "build/\n*.log\n!keep.log\n")
    for name in ("b.py", "a.py", "build/x", "x.log", "keep.log", "sub/deep/er/f.py", ".git/config"):
        room.write(name, "")
    (room.workspace / "link").symlink_to("a.py")
    outcome = await room.call("list_files")
    assert outcome.text.split("\n") == [
        "[. · 7 entries · 2 ignored by .gitignore left out]",
        ".gitignore", "a.py", "b.py", "keep.log", "link -> a.py", "sub/", "sub/deep/",
    ]  # fmt: skip
    everything = await room.call("list_files", ignored=True, depth=1)
    assert "build/  (ignored)" in everything.text
    only = await room.call("list_files", glob="*.py")
    assert only.text.split("\n")[1:] == ["a.py", "b.py", "sub/deep/er/f.py"]
    missing = await room.call("list_files", path="nowhere")
    assert (missing.status, missing.text) == (OutcomeStatus.FAILED, "`nowhere` does not exist")


def test_a_link_that_takes_the_place_of_a_directory_ends_a_walk_there(room: Room, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").touch()
    (outside / ".gitignore").write_text("*\n")
    room.write("a/x.txt", "")
    room.write("b.txt", "")
    walk = Walk(room.policy.workspace, ignored=False)
    entries = iter(walk)
    assert next(entries).path == "a"
    (room.workspace / "a").rename(room.workspace / "moved")
    (room.workspace / "a").symlink_to(outside)
    assert [entry.path for entry in entries] == ["b.txt"]
    assert walk.unread == 1


async def test_a_listing_reads_links_where_they_stand(room: Room) -> None:
    (room.workspace / "l").symlink_to("/nowhere/at all")
    outcome = await room.call("list_files")
    assert outcome.text.endswith("\nl -> /nowhere/at all")


async def test_a_listing_has_nothing_that_is_there_for_a_sandbox_only(room: Room) -> None:
    places = Placeholders.of(room.policy.state_dir, room.workspace)
    wanted = [StandIn(path=room.workspace / ".npmrc"), StandIn(path=room.workspace / ".idea", directory=True)]
    places.acquire(lambda _: wanted)
    (room.workspace / ".envrc").touch()
    outcome = await room.call("list_files")
    places.release()
    assert outcome.text.splitlines()[1:] == [".envrc"]


async def test_a_long_listing_is_bounded_and_counted(room: Room) -> None:
    for number in range(1_200):
        (room.workspace / f"f{number:04}").touch()
    outcome = await room.call("list_files")
    assert (outcome.data["total"], outcome.data["shown"], outcome.complete) == (1_200, 1_000, False)
    assert "200 of them not shown" in outcome.text


async def test_odd_names_stay_one_line(room: Room) -> None:
    (room.workspace / "a\nb").touch()
    Path(os.fsdecode(os.fsencode(room.workspace) + b"/bad\xff")).touch()
    outcome = await room.call("list_files")
    assert outcome.text.split("\n")[1:] == ["a\\x0ab", "bad\\xff"]


async def test_images_reach_a_model_that_can_see(tmp_path: Path) -> None:
    seeing = Room(tmp_path, image_capable=True)
    seeing.write("dot.png", PNG)
    outcome = await seeing.call("view_image", path="dot.png")
    (picture,) = outcome.pictures
    assert (picture.media_type, base64.b64decode(picture.data)) == ("image/png", PNG)
    seeing.write("not.png", "text")
    assert "is no PNG" in (await seeing.call("view_image", path="not.png")).text
    (seeing.workspace / "huge.png").write_bytes(PNG + bytes(5_000_001))
    assert "scale it down" in (await seeing.call("view_image", path="huge.png")).text
    missing = await seeing.call("view_image", path="no.png")
    assert missing.status is OutcomeStatus.FAILED


def riff(kind: bytes, body: bytes) -> bytes:
    return b"RIFF\0\0\0\0WEBP" + kind + b"\0\0\0\0" + body


HEADERS = {
    "png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 640, 480),
    "gif": b"GIF89a" + struct.pack("<HH", 640, 480),
    "jpeg": b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc2\0\x0b\x08" + struct.pack(">HH", 480, 640),
    "webp lossy": riff(b"VP8 ", b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 640 | 1 << 14, 480)),
    "webp lossless": riff(b"VP8L", b"\x2f" + struct.pack("<I", 639 | 479 << 14)),
    "webp extended": riff(b"VP8X", bytes(4) + (639).to_bytes(3, "little") + (479).to_bytes(3, "little")),
}


@pytest.mark.parametrize("kind", HEADERS)
async def test_the_size_of_an_image_is_read_and_a_damaged_one_is_refused(tmp_path: Path, kind: str) -> None:
    assert image_size(HEADERS[kind]) == (640, 480)
    for end in range(len(HEADERS[kind])):
        assert image_size(HEADERS[kind][:end]) is None, "a cut header tells no size"
    seeing = Room(tmp_path, image_capable=True)
    seeing.write("good", HEADERS[kind])
    seeing.write("bad", HEADERS[kind][:-1])
    assert "640×480 pixels" in (await seeing.call("view_image", path="good")).text
    refused = await seeing.call("view_image", path="bad")
    assert refused.status is OutcomeStatus.FAILED
    assert "is a damaged" in refused.text and not refused.pictures


async def test_an_image_of_too_many_pixels_is_refused(tmp_path: Path) -> None:
    seeing = Room(tmp_path, image_capable=True)
    seeing.write("wide.gif", b"GIF89a" + struct.pack("<HH", 8_001, 1))
    assert "8,001×1 pixels, at most 8,000 a side" in (await seeing.call("view_image", path="wide.gif")).text


def test_a_model_without_eyes_is_told(room: Room) -> None:
    assert "takes no images" in room.check("view_image", path="dot.png")


def test_plans_and_questions_touch_nothing_and_are_answered_by_the_engine(room: Room) -> None:
    plan = room.check("update_plan", plan=[{"step": "a", "status": "in_progress"}])
    assert room.toolbox.assess("update_plan", plan, room.policy).call_class is CallClass.AUTO
    two = [{"step": "a", "status": "in_progress"}, {"step": "b", "status": "in_progress"}]
    assert "at most one" in room.check("update_plan", plan=two)
    asked = room.check("request_user_input", question="Which?", options=[{"label": "a"}])
    assessment = room.toolbox.assess("request_user_input", asked, room.policy)
    assert (assessment.action, assessment.effects.exclusive) == ("question", True)
    assert "own words" in room.check("request_user_input", question="Which?", free_text=False)
