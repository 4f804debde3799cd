import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.integrity import damage_of
from tools.output.canvas import LINE_CAP
from tools.output.collector import Collector, Taken
from tools.output.report import output_text
from tools.output.size import size_of
from tools.output.spool import BUDGET_BYTES, Budget, Spool
from tools.output.window import Window

NOWHERE = Path("/dev/null")


def collector(budget: int = 40_000, size: tuple[int, int] | None = None) -> Collector:
    return Collector(Spool(NOWHERE, "out/c1.1", Budget()), budget_bytes=budget, size=size)


def cleaned(*pieces: bytes, budget: int = 10**9, size: tuple[int, int] | None = None) -> str:
    made = collector(budget, size)
    for piece in pieces:
        made.feed(0, piece)
    made.end(0)
    return whole(made.take(budget))


def whole(taken: Taken) -> str:
    return taken.shown.head + taken.shown.tail


def cuts(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[a:b] for a, b in pairwise(edges)]


TERMINAL_BYTES = st.lists(
    st.one_of(
        st.sampled_from(
            [
                b"\r", b"\n", b"\r\n", b"\b", b"\t", b"\0", b"\x07", b"\x1b", b"\x1b[", b"\x1b[2K",
                b"\x1b[1A", b"\x1b[31m", b"\x1b[38;5;1m", b"\x1b[0K", b"\x1b[3D", b"\x1b[5C", b"\x1b[2J",
                b"\x1b[H", b"\x1b]0;title\x07", b"\x1b]8;;u\x1b\\",
                b"\x1b(B", b"\x1b7", b"\x1b8", b"\x1b[?1049h",
                b"\x1b[?1049l", b"\x1bM", b"\x1b[2;3H", b"\x9b1A", b"\xc2\x9b", b"\x18",
                b"\x1b[" + b"1;" * 120, "中😀é".encode(),
                b"\xf0\x9f", b"\xff", b"plain text", b"step 10/20", b"x" * 2_100,
            ]
        ),
        st.binary(max_size=6),
    ),
    max_size=40,
).map(b"".join)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(TERMINAL_BYTES, st.lists(st.integers(0, 10_000), max_size=8), st.booleans())
def test_cutting_the_bytes_anywhere_gives_the_same_text(data: bytes, places: list[int], tty: bool) -> None:
    size = (80, 24) if tty else None
    assert cleaned(*cuts(data, places), size=size) == cleaned(data, size=size)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(["line\n", "error: x\n", "中" * 30 + "\n", "\n", "y\n" * 90]), max_size=400),
    st.data(),
)
def test_the_counts_of_a_window_always_add_up(lines: list[str], data: st.DataObject) -> None:
    budget = data.draw(st.integers(1, 4_000))
    window = Window(budget)
    number = 1
    for text in lines:
        window.add(number, text)
        number += text.count("\n")
    text = "".join(lines)
    shown = window.show()
    kept = shown.head + shown.tail
    assert shown.total_bytes == size_of(text)
    assert shown.total_lines == text.count("\n")
    assert size_of(kept) + shown.omitted_bytes == shown.total_bytes
    assert kept.count("\n") + shown.omitted_lines == shown.total_lines
    assert text.startswith(shown.head)
    assert text.endswith(shown.tail)
    assert size_of(kept) <= max(budget, 1)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from(["line\n", "\n", "中" * 700 + "\n", "x" * 2_500 + "\n", "end"]), max_size=60),
    st.lists(st.integers(0, 200_000), max_size=8),
    st.integers(400, 9_000),
    st.booleans(),
)
def test_over_all_polls_every_byte_is_shown_once_or_counted(
    lines: list[str], places: list[int], budget: int, tty: bool
) -> None:
    data = "".join(lines).encode()
    made = collector(budget, (80, 24) if tty else None)
    taken = []
    for piece in cuts(data, places):
        made.feed(0, piece)
        taken.append(made.take(budget))
    made.end(0)
    taken.append(made.take(budget))
    shown = [re.sub(r" … \[[\d,]+ more characters\]", "", whole(one)) for one in taken]
    assert sum(one.shown.total_bytes for one in taken) == len(data)
    for one, text in zip(taken, shown, strict=True):
        assert size_of(text) + one.shown.omitted_bytes == one.shown.total_bytes
    if not any(one.shown.omitted_bytes for one in taken):
        assert "".join(shown) == data.decode()


def test_the_whole_window_is_used_and_cut_at_line_ends() -> None:
    window = Window(1_000)
    for number in range(1, 501):
        window.add(number, f"line {number}\n")
    shown = window.show()
    assert shown.head.endswith("\n")
    assert shown.tail.startswith("line ")
    assert len(shown.head) > 380
    assert len(shown.tail) > 580
    assert shown.tail.endswith("line 500\n")


def test_a_character_split_at_every_byte_stays_whole() -> None:
    text = "a—中😀z"
    assert cleaned(*(bytes([byte]) for byte in text.encode())) == text


ODD = "a—中😀👩\u200d👧 e\u0301 \x1b[31mred\x1b[0m \x1b]0;title\x07end".encode()


@pytest.mark.parametrize("offset", range(1, len(ODD)))
def test_characters_and_sequences_split_over_reads_and_polls_stay_whole(offset: int) -> None:
    text = "a—中😀👩\u200d👧 e\u0301 red end"
    assert cleaned(ODD[:offset], ODD[offset:]) == text
    made = collector()
    made.feed(0, ODD[:offset])
    first = whole(made.take(1_000))
    made.feed(0, ODD[offset:])
    made.end(0)
    assert first + whole(made.take(1_000)) == text
    assert made.invalid == 0


def test_invalid_bytes_are_replaced_and_counted() -> None:
    made = collector()
    made.feed(0, b"\xff\xfeok \xe2\x82")
    made.end(0)
    assert whole(made.take(1_000)) == "\ufffd\ufffdok \ufffd"
    assert made.invalid == 3


def test_genuine_replacement_characters_are_not_counted() -> None:
    made = collector()
    for byte in "a\ufffdb".encode():
        made.feed(0, bytes([byte]))
    assert made.invalid == 0


def test_progress_bars_keep_their_last_state() -> None:
    frames = b"".join(b"\rstep %d/10000 " % step for step in range(1, 10_001))
    text = cleaned(frames + b"\n\x1b[31mred\x1b[0m\x1b[2K done\n")
    assert text == "step 10000/10000 \n    done\n"


def test_lines_above_can_be_rewritten() -> None:
    text = cleaned(b"one 0%\ntwo 0%\n\x1b[2A\x1b[2Kone 100%\n\x1b[2Ktwo 100%\nend\n")
    assert text == "one 100%\ntwo 100%\nend\n"


def test_a_rewritten_line_that_was_shown_is_shown_again() -> None:
    made = collector()
    made.feed(0, b"start\n10%")
    assert whole(made.take(1_000)) == "start\n10%"
    made.feed(0, b"\r20%")
    assert whole(made.take(1_000)) == "20%"
    made.feed(0, b" ok\nend\n")
    assert whole(made.take(1_000)) == " ok\nend\n"
    assert whole(made.take(1_000)) == ""


def test_titles_links_and_bells_are_removed() -> None:
    assert cleaned(b"a\x1b]0;title\x07b\x1b]8;;http://x\x1b\\c\x1bP1;2q...\x1b\\d\x07e\x1b(Bf") == "abcdef"


def test_control_bytes_are_dropped() -> None:
    assert cleaned(b"a\0b\x01\x1b]0;t\x07\xc2\x85c\x7f") == "abc"


def test_control_bytes_inside_a_sequence_are_no_part_of_it() -> None:
    assert cleaned(b"\x1b\0[3\x001m\x7fred\x1b[0\x0bm\x0c \x01\xc2\x85end") == "red end"


def test_backspace_overwrites() -> None:
    assert cleaned(b"abc\b\bX\n") == "aXc\n"


def test_a_cleared_screen_keeps_what_stood_there() -> None:
    assert cleaned(b"error: broken\n\x1b[2J\x1b[Hagain\n") == "error: broken\nagain\n"


@pytest.mark.parametrize("piece", [1, 999, 65_536])
def test_a_line_of_ten_megabytes_is_capped_with_a_count(piece: int) -> None:
    total = 10_000_000 if piece > 1 else 10_000
    data = b"x" * total
    made = collector()
    for start in range(0, len(data), piece):
        made.feed(0, data[start : start + piece])
    taken = made.take(40_000)
    assert whole(taken) == "x" * LINE_CAP + f" … [{total - LINE_CAP:,} more characters]"
    assert (taken.shown.total_bytes, taken.shown.omitted_bytes) == (total, total - LINE_CAP)


def test_binary_output_is_summarised() -> None:
    made = collector()
    data = b"\x7fELF" + bytes(range(256)) * 200
    made.feed(0, data)
    taken = made.take(40_000)
    assert taken.binary is not None
    assert (taken.binary.kind, taken.binary.size_bytes) == ("ELF executable or library", len(data))
    assert taken.shown.omitted_bytes == taken.shown.total_bytes == len(data)
    assert len(output_text(taken, "out/c1.1")) < 400
    made.feed(0, b"\0" * 1_000)
    assert made.take(40_000).shown.omitted_bytes == 1_000, "each poll counts what is new"


def test_a_few_odd_bytes_are_no_binary() -> None:
    made = collector()
    made.feed(0, b"caf\xe9 " * 2 + b"plain text " * 100)
    assert made.take(40_000).binary is None


def test_errors_in_the_omitted_part_are_listed_with_their_lines() -> None:
    made = collector(budget=2_000)
    for number in range(1, 20_001):
        made.feed(0, b"main.c:7:1: error: no such thing\n" if number == 5_000 else b"compiling\n")
    text = output_text(made.take(2_000), "out/c1.1")
    assert "5000: main.c:7:1: error: no such thing" in text
    assert "out/c1.1" in text


def test_two_streams_do_not_cut_each_others_characters() -> None:
    made = collector()
    out, err = "中".encode(), "é".encode()
    made.feed(0, out[:1])
    made.feed(1, err[:1])
    made.feed(0, out[1:])
    made.feed(1, err[1:])
    assert whole(made.take(100)) == "中é"


def test_a_full_screen_program_is_shown_as_its_screen() -> None:
    made = collector(size=(20, 4))
    made.feed(0, b"$ less file\r\n\x1b[?1049h\x1b[H\x1b[2Jfirst\r\nsecond\x1b[4;1H\x1b[7m(END)\x1b[27m")
    taken = made.take(1_000)
    assert whole(taken) == "$ less file\n"
    assert taken.screen == "first\nsecond\n\n(END)"
    made.feed(0, b"\x1b[?1049l$ ")
    taken = made.take(1_000)
    assert (whole(taken), taken.screen) == ("$ ", None)


def test_a_screen_scrolls_in_its_region() -> None:
    made = collector(size=(10, 4))
    made.feed(0, b"\x1b[?1049h1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[3;1H\nnew\x1b[1;1H\x1bM\x1b[2;1H\x1b[L")
    assert made.take(100).screen == "1\n\n3\n4"


def test_a_screen_follows_the_size_of_its_terminal() -> None:
    made = collector(size=(10, 3))
    made.feed(0, b"\x1b[?1049habc\r\n12345678")
    made.resize(5, 2)
    assert made.take(100).screen == "abc\n12345"
    made.resize(40, 12)
    made.feed(0, b"\x1b[2J\x1b[12;38Hend")
    assert made.take(100).screen == "\n" * 11 + " " * 37 + "end"


def test_wide_and_joining_characters_take_the_cells_of_a_terminal() -> None:
    made = collector(size=(10, 4))
    made.feed(0, "\x1b[?1049h中文|\x1b[2;1He\u0301|\x1b[3;1H123456789中\x1b[2;5HX".encode())
    assert made.take(100).screen == "中文|\ne\u0301|  X\n123456789\n中"


def test_joining_characters_without_end_fill_no_memory() -> None:
    made = collector(size=(10, 4))
    made.feed(0, b"\x1b[?1049ha" + "\u0301".encode() * 100_000)
    assert len(made.take(100).screen or "") < 100


def test_live_text_gives_every_line_once_and_marks_what_is_rewritten() -> None:
    made = collector()
    made.feed(0, b"one\ntwo 1%")
    assert made.display() == "one\ntwo 1%"
    made.feed(0, b"\rtwo 2%")
    assert made.display() == "\rtwo 2%"
    made.feed(0, b" done\nthree\n")
    assert made.display() == " done\nthree\n"
    assert made.display() == ""


def test_memory_stays_small_whatever_comes() -> None:
    import tracemalloc

    tracemalloc.start()
    made = collector()
    for _ in range(300):
        made.feed(0, b"some line of output\n" * 3_000)
        made.feed(1, b"\x1b[31m" + "中".encode() * 20_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2 * 2**20


def test_a_spool_keeps_head_and_tail_at_true_offsets(tmp_path: Path) -> None:
    path = tmp_path / "spool"
    budget = Budget(10**9)
    spool = Spool(path, "out/c1.1", budget, cap=1 << 20)
    for number in range(500):
        spool.write(b"%08d" % number * 1_024)
    if spool.stopped:
        pytest.skip(f"this file system cannot free a range: {spool.stopped}")
    data = path.read_bytes()
    assert len(data) == 500 * 8_192
    assert data[: 1 << 19] == b"".join(b"%08d" % number * 1_024 for number in range(64))
    assert data[-(1 << 19) :] == b"".join(b"%08d" % number * 1_024 for number in range(436, 500))
    assert path.stat().st_blocks * 512 < 2 << 20
    made = spool.artifact()
    assert made is not None
    assert made.truncated
    assert budget.left > 10**9 - (2 << 20)


def test_a_changed_or_cut_output_is_noticed_and_one_that_went_on_is_not(tmp_path: Path) -> None:
    path = tmp_path / "spool"
    spool = Spool(path, "out/c1.1", Budget())
    for text in (b"one\n", b"two\n"):
        spool.write(text)
    made = spool.artifact()
    assert made is not None and damage_of(made, path) == ""
    spool.write(b"three\n")
    assert damage_of(made, path) == ""
    for content in (b"one\nTWO\nthree\n", b"one\n"):
        path.write_bytes(content)
        assert damage_of(made, path)


def test_an_output_that_lost_its_middle_is_not_called_damaged(tmp_path: Path) -> None:
    path = tmp_path / "spool"
    spool = Spool(path, "out/c1.1", Budget(), cap=1 << 20)
    spool.write(b"x" * (1 << 20))
    before = spool.artifact()
    spool.write(b"y" * (1 << 20))
    after = spool.artifact()
    assert before is not None and before.sha256 and after is not None
    if spool.stopped:
        pytest.skip(f"this file system cannot free a range: {spool.stopped}")
    assert (after.sha256, damage_of(before, path), damage_of(after, path)) == ("", "", "")


def test_a_full_disk_ends_the_spool_and_not_the_output() -> None:
    spool = Spool(Path("/dev/full"), "out/c1.1", Budget())
    made = Collector(spool, budget_bytes=1_000, size=None)
    made.feed(0, b"text\n")
    assert whole(made.take(1_000)) == "text\n"
    assert spool.stopped == "No space left on device"


def test_the_disk_budget_of_a_session_ends_the_spool(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", "out/c1.1", Budget(10))
    spool.write(b"12345")
    spool.write(b"678901")
    assert spool.stopped
    assert (tmp_path / "spool").read_bytes() == b"12345"


def test_what_an_earlier_process_kept_counts_for_the_budget(tmp_path: Path) -> None:
    (tmp_path / "c1.1.out").write_bytes(b"x" * 1_000_000)
    with (tmp_path / "c1.2.out").open("wb") as file:
        file.truncate(10 * BUDGET_BYTES)  # a hole
    assert BUDGET_BYTES - 1_100_000 < Budget.beside(tmp_path).left <= BUDGET_BYTES - 1_000_000
    (tmp_path / "versions.jsonl").write_bytes(b"x" * 1_000_000)
    assert Budget.beside(tmp_path).left > BUDGET_BYTES - 1_100_000
