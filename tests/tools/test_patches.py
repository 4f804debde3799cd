"""`apply_patch`: what changes, what stays to the byte, and what is refused."""

import asyncio
import os
import stat
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.tools.room import Room
from tools.patch.edits import apply_hunks
from tools.patch.grammar import PatchError, Section, parse
from tools.patch.plan import Change, Planner
from tools.text_file import TextFile
from tools.types import CallClass, Grant, Outcome, OutcomeStatus, WrittenPath


def patch(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


def update(path: str, *lines: str) -> str:
    return patch(f"*** Update File: {path}", *lines)


def tree(base: Path) -> dict[str, object]:
    """Everything below a directory: content and mode of files, targets of links."""
    found: dict[str, object] = {}
    for path in sorted(base.rglob("*")):
        name = str(path.relative_to(base))
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_file():
            found[name] = (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
        else:
            found[name] = "directory"
    return found


async def applied(room: Room, text: str) -> Outcome:
    outcome = await room.call("apply_patch", patch=text)
    assert outcome.status is OutcomeStatus.SUCCEEDED, outcome.text
    return outcome


async def refused(room: Room, text: str) -> str:
    before = tree(room.workspace)
    outcome = await room.call("apply_patch", patch=text)
    assert outcome.status is OutcomeStatus.FAILED, outcome.text
    assert tree(room.workspace) == before
    return outcome.text


async def test_lines_keep_their_own_ends_and_new_ones_take_their_neighbours(room: Room) -> None:
    path = room.write("f.txt", b"one\r\ntwo\r\nthree\r\n")
    await applied(room, update("f.txt", "@@", " one", "-two", "+TWO", "+extra", " three"))
    assert path.read_bytes() == b"one\r\nTWO\r\nextra\r\nthree\r\n"
    mixed = room.write("m.txt", b"a\nb\r\nc\nd\r\n")
    await applied(room, update("m.txt", "@@", " a", "-b", "+B", " c", "+new", " d"))
    assert mixed.read_bytes() == b"a\nB\r\nc\nnew\nd\r\n"


async def test_a_patch_with_crlf_of_its_own_adds_no_returns(room: Room) -> None:
    path = room.write("f.txt", b"one\ntwo\n")
    await applied(room, update("f.txt", "@@", " one", "-two", "+TWO").replace("\n", "\r\n"))
    assert path.read_bytes() == b"one\nTWO\n"


@pytest.mark.parametrize(
    "data", [b"\xef\xbb\xbfx\ny\n", b"x\ny", b"x\ny\n\n", b"x\r\ny", b"x\n\n\n"], ids=repr
)
async def test_start_and_end_of_a_file_stay_as_they_are(room: Room, data: bytes) -> None:
    path = room.write("f.txt", data)
    for old, new in (("x", "X"), ("X", "Z"), ("Z", "Q")):
        await applied(room, update("f.txt", "@@", f"-{old}", f"+{new}"))
    assert path.read_bytes() == data.replace(b"x", b"Q")


async def test_a_workspace_that_was_renamed_is_not_made_anew(room: Room) -> None:
    text = patch("*** Add File: new.txt", "+x")
    room.workspace.rename(room.base / "moved")
    assert "is gone" in await refused(room, text)
    assert not room.workspace.exists()
    assert list((room.base / "moved").iterdir()) == []


async def test_the_last_line_can_be_changed_with_and_without_its_end(room: Room) -> None:
    path = room.write("f.txt", b"x\ny")
    await applied(room, update("f.txt", "@@", " x", "-y", "+Y", "+z"))
    assert path.read_bytes() == b"x\nY\nz"
    await applied(room, update("f.txt", "@@", "-z", "\\ No newline at end of file", "+z"))
    assert path.read_bytes() == b"x\nY\nz\n"
    await applied(room, update("f.txt", "@@", "-z", "+z", "\\ No newline at end of file"))
    assert path.read_bytes() == b"x\nY\nz"
    await applied(room, update("f.txt", "@@", "+end", "*** End of File"))
    assert path.read_bytes() == b"x\nY\nz\nend"


async def test_bytes_that_are_no_utf8_stay_far_from_the_edit_and_near_it(room: Room) -> None:
    lines = [b"line %d" % number for number in range(1, 1_001)]
    lines[499], lines[998] = b"quote \x99", b"caf\xe9 here"
    path = room.write("old.c", b"\n".join(lines) + b"\n")
    await applied(room, update("old.c", "@@", "-line 1", "+LINE 1", " line 2"))
    lines[0] = b"LINE 1"
    assert path.read_bytes() == b"\n".join(lines) + b"\n"
    await applied(room, update("old.c", "@@", " line 998", " café here", "-line 1000", "+über"))
    lines[999] = "über".encode("cp1252")
    assert path.read_bytes() == b"\n".join(lines) + b"\n"
    assert "cannot be written in cp1252" in await refused(room, update("old.c", "@@", "-line 3", "+中"))


async def test_a_damaged_utf8_file_is_edited_around_the_damage(room: Room) -> None:
    path = room.write("d.txt", "äöü\n".encode() + b"bad \xff byte\nend\n")
    await applied(room, update("d.txt", "@@", " bad \ufffd byte", "-end", "+ende"))
    assert path.read_bytes() == "äöü\n".encode() + b"bad \xff byte\nende\n"
    assert "can be kept or removed" in await refused(
        room, update("d.txt", "@@", "-bad \ufffd byte", "+good \ufffd byte")
    )


async def test_utf16_files_stay_utf16(room: Room) -> None:
    path = room.write("w.txt", "\ufeffone\r\ntwo Ċ\r\n".encode("utf-16-le"))
    await applied(room, update("w.txt", "@@", " one", "-two Ċ", "+zwei Ċ", "+drei"))
    assert path.read_bytes() == "\ufeffone\r\nzwei Ċ\r\ndrei\r\n".encode("utf-16-le")


async def test_unicode_separators_are_no_line_ends(room: Room) -> None:
    data = "a\u2028b\u0085c\x0bd\x0ce\nnext\n"
    path = room.write("u.txt", data)
    await applied(room, update("u.txt", "@@", "-next", "+NEXT"))
    assert path.read_bytes() == data.replace("next", "NEXT").encode()
    await applied(room, update("u.txt", "@@", "-a\u2028b\u0085c\x0bd\x0ce", "+one"))
    assert path.read_bytes() == b"one\nNEXT\n"


THREE = "".join(f"class {name}:\n    x = 0\n\n    def run(self): pass\n\n" for name in "ABC")


async def test_anchors_decide_between_equal_places(room: Room) -> None:
    path = room.write("t.py", THREE)
    hunk = ["     def run(self): pass", "+    def new(self): pass"]
    await applied(room, update("t.py", "@@ class B", *hunk))
    changed = path.read_text()
    assert changed.index("def new") > changed.index("class B")
    assert changed.index("def new") < changed.index("class C")
    path.write_text(THREE)
    text = await refused(room, update("t.py", "@@", *hunk))
    assert "changed by something else" in text  # it was rewritten behind the model's back
    text = await refused(room, update("t.py", "@@", *hunk))
    assert "fits 3 places" in text
    assert all(f"line {number}:" in text for number in (4, 9, 14))
    await applied(room, update("t.py", "@@ class C", "@@ def run", "+        # here"))
    assert path.read_text() == THREE[:-1] + "        # here\n\n"
    path.write_text(THREE)
    await room.call("read_file", path="t.py")
    text = await refused(room, update("t.py", "@@ class D", *hunk))
    assert "the nearest is line" in text


async def test_a_stale_context_never_lands_in_the_next_block(room: Room) -> None:
    room.write("t.py", THREE.replace("class B:\n    x = 0", "class B:\n    x = 1"))
    text = await refused(room, update("t.py", "@@ class B", "-    x = 0", "+    x = 2"))
    assert "in the block of `class B`" in text


async def test_lines_that_only_come_need_a_place(room: Room) -> None:
    room.write("t.py", THREE)
    assert "does not say where" in await refused(room, update("t.py", "@@", "+x"))
    assert "stands in 3 places" in await refused(room, update("t.py", "@@ def run", "+x"))


async def test_a_refusal_shows_the_nearest_place_and_the_line_that_differs(room: Room) -> None:
    room.write("a.py", "def f():\n    x = 1\n    return x\n")
    text = await refused(room, update("a.py", "@@", " def f():", "-    x = 2", "+    x = 3", "     return x"))
    assert "starts at line 1; at line 2 the patch expects `    x = 2` and the file has `    x = 1`" in text


async def test_the_nearest_line_is_named_however_long_the_file(room: Room) -> None:
    lines = [f"value_{number} = {number}" for number in range(20_000)]
    lines[17_000] = "def compute_total(items):"
    room.write("long.py", "\n".join(lines) + "\n")
    anchor = await refused(room, update("long.py", "@@ def compute_totals(item)", "-x", "+y"))
    assert "the nearest is line 17001: `def compute_total(items):`" in anchor
    context = await refused(room, update("long.py", "@@", "-def compute_total(things):", "+y"))
    assert "at line 17001 the patch expects" in context


async def test_the_removal_of_a_link_is_shown_as_one(room: Room) -> None:
    (room.workspace / "link").symlink_to("nowhere")
    arguments = room.check("apply_patch", patch=patch("*** Delete File: link"))
    assert await room.toolbox.preview("apply_patch", arguments, room.policy) == "delete link a/link\n"


async def test_several_places_in_one_file_go_in_order(room: Room) -> None:
    path = room.write("n.txt", "a\nsame\nb\nsame\nc\n")
    await applied(room, update("n.txt", "@@", "-b", "+B", "@@", "-same", "+second"))
    assert path.read_text() == "a\nsame\nB\nsecond\nc\n"
    await applied(room, update("n.txt", "@@ -1,2 +1,2 @@", " a", "-same", "+first"))
    assert path.read_text() == "a\nfirst\nB\nsecond\nc\n"


async def test_typographic_lookalikes_and_trailing_blanks_still_find_their_line(room: Room) -> None:
    path = room.write("p.md", "It’s “here”  \nnext – one\n")
    await applied(room, update("p.md", "@@", ' It\'s "here"', "-next - one", "+next"))
    assert path.read_text() == "It’s “here”  \nnext\n"


async def test_links_are_followed_and_modes_stay(room: Room) -> None:
    real = room.write("real.sh", "#!/bin/sh\necho old\n")
    real.chmod(0o755)
    room.write("d/x.txt", "x\n")
    (room.workspace / "l1").symlink_to("real.sh")
    (room.workspace / "l2").symlink_to("l1")
    (room.workspace / "dirl").symlink_to("d")
    await applied(room, update("l2", "@@", "-echo old", "+echo new"))
    await applied(room, update("dirl/x.txt", "@@", "-x", "+y"))
    assert tree(room.workspace) == {
        "d": "directory",
        "d/x.txt": (b"y\n", 0o644),
        "dirl": "-> d",
        "l1": "-> real.sh",
        "l2": "-> l1",
        "real.sh": (b"#!/bin/sh\necho new\n", 0o755),
    }
    await applied(room, patch("*** Delete File: l1"))
    assert real.exists()
    assert not os.path.lexists(room.workspace / "l1")
    await applied(room, patch("*** Update File: l2", "*** Move to: sub/l3"))
    assert (room.workspace / "sub/l3").readlink() == Path("l1")


async def test_a_link_out_of_the_roots_is_a_path_outside(room: Room, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("secret\n")
    (room.workspace / "link").symlink_to(outside)
    arguments = room.check("apply_patch", patch=update("link", "@@", "-secret", "+x"))
    assessment = room.toolbox.assess("apply_patch", arguments, room.policy)
    assert (assessment.grant, assessment.grant_detail) == (Grant.WRITE_PATH, str(outside.resolve()))
    assert "lies outside the workspace" in await refused(room, update("link", "@@", "-secret", "+x"))
    assert outside.read_text() == "secret\n"


@pytest.mark.parametrize(
    "second",
    [
        ["*** Update File: b.txt", "@@", "-not there", "+x"],
        ["*** Add File: a.txt", "+x"],
        ["*** Update File: b.txt", "*** Move to: c.txt", "@@", "-b", "+x"],
        ["*** Delete File: nowhere.txt"],
        ["*** Update File: b.txt", "*** Move to: gone.txt"],
        ["*** Update File: closed/f.txt", "@@", "-f", "+x"],
        ["*** Add File: file.txt/below", "+x"],
    ],
)
async def test_all_or_nothing_over_several_files(room: Room, second: list[str]) -> None:
    for name in ("gone", "a", "b", "c", "file"):
        room.write(f"{name}.txt", f"{name}\n")
    room.write("closed/f.txt", "f\n")
    closed = room.workspace / "closed"
    if os.geteuid() == 0 and "closed/f.txt" in second[0]:
        pytest.skip("root may write everywhere")
    closed.chmod(0o500)
    try:
        text = await refused(
            room,
            patch(
                "*** Delete File: gone.txt",
                "*** Add File: fresh/new.txt",
                "+new",
                "*** Update File: a.txt" if "a.txt" not in second[0] else "*** Update File: b.txt",
                "@@",
                "-a" if "a.txt" not in second[0] else "-b",
                "+A",
                *second,
            ),
        )
    finally:
        closed.chmod(0o700)
    assert "no file was changed" in text


async def test_an_error_in_the_middle_of_writing_puts_everything_back(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tools.patch import commit

    room.write("a.txt", "a\n").chmod(0o640)
    room.write("gone.txt", "gone\n")
    room.write("move.txt", "move\n")
    before = tree(room.workspace)

    def full(directory: int, temporary: str, name: str) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(commit, "_link_new", full)
    outcome = await room.call(
        "apply_patch",
        patch=patch(
            "*** Update File: a.txt", "@@", "-a", "+A", "*** Delete File: gone.txt",
            "*** Update File: move.txt", "*** Move to: sub/moved.txt", "*** Add File: new/z.txt", "+z",
        ),
    )  # fmt: skip
    assert outcome.status is OutcomeStatus.FAILED
    assert "no file was changed" in outcome.text
    assert outcome.text.endswith("No space left on device")
    assert tree(room.workspace) == before


async def test_what_could_not_be_put_back_is_named(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    from tools.patch import commit

    def full(*_: object, **__: object) -> None:
        monkeypatch.setattr(commit, "_write_new", full)
        raise OSError(28, os.strerror(28))

    room.write("a.txt", "a\n")
    monkeypatch.setattr(commit, "_link_new", full)
    wanted = patch("*** Update File: a.txt", "@@", "-a", "+A", "*** Add File: z.txt", "+z")
    outcome = await room.call("apply_patch", patch=wanted)
    assert outcome.status is OutcomeStatus.FAILED
    assert outcome.text.startswith("Applied in part")
    assert "not put back: `" in outcome.text and "no file was changed" not in outcome.text


async def test_a_write_protected_file_stays(room: Room) -> None:
    room.write("a.txt", "a\n").chmod(0o444)
    for wanted in (update("a.txt", "@@", "-a", "+A"), patch("*** Delete File: a.txt")):
        assert "write-protected (mode 0444)" in await refused(room, wanted)
    await applied(room, patch("*** Update File: a.txt", "*** Move to: b.txt"))
    assert stat.S_IMODE((room.workspace / "b.txt").stat().st_mode) == 0o444


async def test_what_would_be_refused_is_known_before_anybody_is_asked(room: Room, tmp_path: Path) -> None:
    async def refusal(**arguments: str) -> str:
        return await room.toolbox.refusal("apply_patch", room.check("apply_patch", **arguments), room.policy)

    path = room.write("a.txt", "one\ntwo\n")
    assert await refusal(patch=update("a.txt", "@@", "-one", "+ONE")) == ""
    assert "are not in the file" in await refusal(patch=update("a.txt", "@@", "-other", "+ONE"))
    assert "is not in the file" in await refusal(path="a.txt", old="other", new="x")
    assert "does not exist" in await refusal(patch=update("b.txt", "@@", "-one", "+ONE"))
    await room.call("read_file", path="a.txt")
    path.write_text("one\nTWO\n")
    assert "-two\n+TWO" in await refusal(patch=update("a.txt", "@@", "-one", "+ONE"))
    assert await refusal(patch=update("a.txt", "@@", "-one", "+ONE")) == "", (
        "the model has seen the difference"
    )
    outside = tmp_path / "secret.txt"
    outside.write_text("hidden\n")
    room.write(".env", "KEY=hidden\n")
    for name in (str(outside), ".env"):
        assert await refusal(patch=update(name, "@@", "-guess", "+x")) == "", "says nothing of what is in it"


async def test_add_move_delete_and_their_receipt(room: Room) -> None:
    room.write("old.txt", "1\n2\n3\n")
    room.write("gone.txt", "x\n")
    outcome = await applied(
        room,
        patch(
            "*** Add File: deep/er/new.txt", "+hello", "+", "*** Update File: old.txt",
            "*** Move to: moved.txt", "@@", " 1", "-2", "+two", "*** Delete File: gone.txt",
        ),
    )  # fmt: skip
    assert tree(room.workspace) == {
        "deep": "directory",
        "deep/er": "directory",
        "deep/er/new.txt": (b"hello\n\n", 0o644),
        "moved.txt": (b"1\ntwo\n3\n", 0o644),
    }
    assert outcome.written == (
        WrittenPath(path="deep/er/new.txt", kind="A", added=2),
        WrittenPath(path="moved.txt", kind="R", old_path="old.txt", added=1, removed=1),
        WrittenPath(path="gone.txt", kind="D", removed=1),
    )
    assert outcome.text == "Applied:\nA deep/er/new.txt +2 -0\nR old.txt → moved.txt +1 -1\nD gone.txt +0 -1"


async def test_a_file_changed_since_it_was_read_is_refused_once_with_the_difference(room: Room) -> None:
    path = room.write("a.txt", "one\ntwo\nthree\n")
    await room.call("read_file", path="a.txt")
    path.write_text("one\ntwo\nTHREE\n")
    wanted = update("a.txt", "@@", "-one", "+ONE")
    arguments = room.check("apply_patch", patch=wanted)
    assert "would be refused" in await room.toolbox.preview("apply_patch", arguments, room.policy)
    assert await room.toolbox.predict("apply_patch", arguments, room.policy) == {}
    text = await refused(room, wanted)
    assert "-three\n+THREE" in text
    await applied(room, wanted)
    path.unlink()
    path.write_text("other\n")
    assert "changed by something else" in await refused(room, patch("*** Delete File: a.txt"))


async def test_what_was_read_is_known_after_a_restart(room: Room, tmp_path: Path) -> None:
    path = room.write("a.txt", "one\n")
    await room.call("read_file", path="a.txt")
    path.write_text("one\ntwo\n")
    again = Room(tmp_path)
    wanted = update("a.txt", "@@", "-one", "+ONE")
    assert "since you last saw it; read it again" in await refused(again, wanted)
    await again.call("read_file", path="a.txt")
    await applied(again, wanted)


async def test_the_plain_form_replaces_exactly_one_place(room: Room) -> None:
    path = room.write("a.py", b"x = 1\r\ny = 1\r\nz = x\r\n")
    outcome = await room.call("apply_patch", path="a.py", old="1\ny = 1", new="2\ny = 2\nw = 3")
    assert outcome.status is OutcomeStatus.SUCCEEDED, outcome.text
    assert path.read_bytes() == b"x = 2\r\ny = 2\r\nw = 3\r\nz = x\r\n"
    many = await room.call("apply_patch", path="a.py", old="=", new="==")
    assert "stands in 4 places, the first at lines 1, 2, 3, 4" in many.text
    every = await room.call("apply_patch", path="a.py", old=" = ", new=" := ", all=True)
    assert every.status is OutcomeStatus.SUCCEEDED
    assert path.read_bytes().count(b" := ") == 4
    missing = await room.call("apply_patch", path="a.py", old="x := 9\n", new="")
    assert "nearest place starts at line" in missing.text


async def test_what_is_predicted_is_what_is_written(room: Room) -> None:
    import hashlib

    room.write("a.txt", "a\n")
    room.write("b.txt", "b\n")
    text = patch("*** Update File: a.txt", "*** Move to: c.txt", "@@", "-a", "+A", "*** Delete File: b.txt")
    arguments = room.check("apply_patch", patch=text)
    predicted = await room.toolbox.predict("apply_patch", arguments, room.policy)
    preview = await room.toolbox.preview("apply_patch", arguments, room.policy)
    assert (
        preview
        == "--- a/a.txt\n+++ b/c.txt\n@@ -1 +1 @@\n-a\n+A\n--- a/b.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n"
    )
    await applied(room, text)
    now = {
        name: hashlib.sha256(path.read_bytes()).hexdigest()
        if (path := room.workspace / name).exists()
        else ""
        for name in predicted
    }
    assert now == {name: hashes[1] for name, hashes in predicted.items()}
    assert set(predicted) == {"a.txt", "b.txt", "c.txt"}


@pytest.mark.parametrize("path", [".git/config", "sub/.git/hooks/x", ".git", ".agent-tui/config.toml"])
def test_some_paths_are_never_written(room: Room, path: str) -> None:
    arguments = room.check("apply_patch", patch=patch(f"*** Add File: {path}", "+x"))
    assessment = room.toolbox.assess("apply_patch", arguments, room.policy)
    assert assessment.call_class is CallClass.REJECT


@pytest.mark.parametrize("path", [".vscode/tasks.json", ".envrc", ".github/workflows/ci.yml", ".npmrc"])
async def test_files_that_programs_obey_need_a_grant(room: Room, path: str) -> None:
    text = patch(f"*** Add File: {path}", "+x")
    assessment = room.toolbox.assess("apply_patch", room.check("apply_patch", patch=text), room.policy)
    assert assessment.grant is Grant.WRITE_PATH
    assert "is protected" in await refused(room, text)
    from dataclasses import replace

    room.policy = replace(room.policy, writable=assessment.files)
    await applied(room, text)


def test_what_git_runs_in_the_workspace_needs_a_grant(room: Room) -> None:
    hooks = room.workspace / ".git" / "hooks"
    subprocess.run(["git", "init", "-q"], cwd=room.workspace, check=True)
    subprocess.run(["git", "config", "core.hooksPath", "not-yet/hooks"], cwd=room.workspace, check=True)
    hooks.mkdir(exist_ok=True)
    (hooks / "pre-push").symlink_to("../../check.sh")
    for path, grant in {
        "not-yet/hooks/x": Grant.WRITE_PATH,
        "check.sh": Grant.WRITE_PATH,
        "x.sh": Grant.NONE,
    }.items():
        arguments = room.check("apply_patch", patch=patch(f"*** Add File: {path}", "+x"))
        assert room.toolbox.assess("apply_patch", arguments, room.policy).grant is grant, path


def test_two_patches_conflict_only_where_they_share_a_file(room: Room) -> None:
    from agent_tui.engine.waves import conflict, cut_waves

    room.write("real.txt", "x\n")
    (room.workspace / "link").symlink_to("real.txt")

    def effects(tool: str, **arguments: object) -> object:
        return room.toolbox.assess(tool, room.check(tool, **arguments), room.policy).effects

    real = effects("apply_patch", patch=update("real.txt", "@@", "-x", "+y"))
    link = effects("apply_patch", patch=update("link", "@@", "-x", "+y"))
    other = effects("apply_patch", patch=patch("*** Add File: other.txt", "+y"))
    read = effects("read_file", path="link")
    listing = effects("list_files")
    assert conflict(real, link)
    assert not conflict(real, other)
    assert conflict(read, real)
    assert conflict(listing, other)
    calls = [("read", read), ("read again", listing), ("write", real), ("read after", read)]
    assert cut_waves(calls) == [["read", "read again"], ["write"], ["read after"]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no patch", "must start with"),
        ("*** Begin Patch\n*** Add File: a\n+x", "may have been cut off"),
        (patch(), "names no file"),
        (patch("*** Update File: a"), "is followed by no change"),
        (patch("*** Update File: a", "@@", " same"), "changes nothing"),
        (patch("*** Update File: a", "@@", "?x"), "patch line 4: each line of a change starts with"),
        (patch("*** Add File: a", "x"), "each line of an added file starts with `+`"),
        (patch("*** Delete File: a", "+x"), "nothing may follow"),
        (patch("*** Rename File: a"), "expected `*** Update File: path`"),
        (patch("*** Delete File: a") + "\nmore", "there is text after"),
    ],
)
def test_a_patch_out_of_form_is_an_invalid_call(room: Room, text: str, said: str) -> None:
    answer = room.check("apply_patch", patch=text)
    assert isinstance(answer, str)
    assert said in answer


def test_arguments_of_one_form_only(room: Room) -> None:
    assert "give `patch`, or" in room.check("apply_patch", path="a", old="x")
    assert "not both" in room.check("apply_patch", path="a", old="x", new="y", patch="z")


LINES = st.lists(
    st.sampled_from(["a", "b", "", "  c", "d\u2028e", "é", "same", "same"]), min_size=1, max_size=12
)
ENDS = st.sampled_from([b"\n", b"\r\n"])


@settings(max_examples=150, deadline=None)
@given(LINES, st.data())
def test_a_patch_and_its_reverse_give_the_original_bytes(texts: list[str], data: st.DataObject) -> None:
    ends = [data.draw(ENDS) for _ in texts]
    if texts[-1] and data.draw(st.booleans()):
        ends[-1] = b""
    mark = data.draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))
    original = mark + b"".join(text.encode() + end for text, end in zip(texts, ends, strict=True))
    at = data.draw(st.integers(0, len(texts) - 1))
    new = data.draw(st.sampled_from(["new", "other", "ü"]))
    before, after = texts[:at], texts[at + 1 :]
    context = [f" {text}" for text in before], [f" {text}" for text in after]
    forward = [*context[0], f"-{texts[at]}", f"+{new}", *context[1], "*** End of File"]
    backward = [*context[0], f"-{new}", f"+{texts[at]}", *context[1], "*** End of File"]
    changed = _run(original, forward)
    assert changed == mark + b"".join(
        (new if index == at else text).encode() + end
        for index, (text, end) in enumerate(zip(texts, ends, strict=True))
    )
    assert _run(changed, backward) == original


@settings(max_examples=150, deadline=None)
@given(LINES, st.data())
def test_lines_that_come_and_go_are_put_back_by_the_reverse(texts: list[str], data: st.DataObject) -> None:
    end, mark = data.draw(ENDS), data.draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))
    lacks = bool(texts[-1]) and data.draw(st.booleans())
    forward, new = [], []
    kept = data.draw(st.integers(0, len(texts) - 1))  # one line stays, so that line ends are known
    for number, text in enumerate(texts):
        wanted = "keep" if number == kept else data.draw(st.sampled_from(["keep", "go", "change", "two"]))
        comes = {"keep": [text], "go": [], "change": ["new"], "two": [text, "more"]}[wanted]
        stays = wanted in ("keep", "two")
        forward += [f"{' ' if stays else '-'}{text}", *(f"+{line}" for line in comes[stays:])]
        new += comes
    assume(new != texts and new[-1])
    assume(end == b"\n" or not lacks or min(len(texts), len(new)) > 1)  # else no line end is left to copy
    backward = [line.translate({43: "-", 45: "+"})[:1] + line[1:] for line in forward]
    original, changed = (
        mark + b"".join(line.encode() + end for line in lines)[: -len(end) if lacks else None]
        for lines in (texts, new)
    )
    assert _run(original, [*forward, "*** End of File"]) == changed
    assert _run(changed, [*backward, "*** End of File"]) == original


def _run(data: bytes, lines: list[str]) -> bytes:
    section = parse(update("f", "@@", *lines))[0]
    return apply_hunks(TextFile.of(data), section.hunks, "f").data


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_taken_apart_and_put_together_unchanged(data: bytes) -> None:
    assert TextFile.of(data).data == data


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=400))
def test_no_text_makes_the_parser_fail_otherwise_than_by_refusing(text: str) -> None:
    for whole in (text, patch("*** Update File: a", text)):
        try:
            parse(whole)
        except PatchError as error:
            assert str(error)


def test_a_patch_of_too_many_files_or_characters_is_refused_before_it_is_looked_at(room: Room) -> None:
    files = "".join(f"*** Add File: d/{number}\n+x\n" for number in range(501))
    answer = room.check("apply_patch", patch=f"*** Begin Patch\n{files}*** End Patch")
    assert "changes 501 files, at most 500 are possible at once" in answer
    answer = room.check(
        "apply_patch", patch=f"*** Begin Patch\n*** Add File: f\n+{'x' * 2**21}\n*** End Patch"
    )
    assert "at most 2,097,152 are possible; do it in several smaller calls" in answer


async def test_thousands_of_hunks_find_their_places(room: Room) -> None:
    lines = [f"line {number} \n" for number in range(20_000)]
    file = room.write("many.txt", "".join(lines))
    hunks = "".join(f"@@\n-line {number}\n+new {number}\n" for number in range(0, 20_000, 10))
    outcome = await room.call(
        "apply_patch", patch=f"*** Begin Patch\n*** Update File: many.txt\n{hunks}*** End Patch"
    )
    assert outcome.status is OutcomeStatus.SUCCEEDED, outcome.text[:300]
    lines[::10] = [f"new {number}\n" for number in range(0, 20_000, 10)]
    assert file.read_text() == "".join(lines)


async def test_a_replacement_everywhere_has_bounds_and_keeps_each_line_end(room: Room) -> None:
    file = room.write("f", b"a\r\na\na a\r\n" * 2_000 + b"a")
    outcome = await room.call("apply_patch", path="f", old="a", new="x\ny", all=True)
    assert outcome.status is OutcomeStatus.SUCCEEDED, outcome.text
    assert file.read_bytes() == b"x\r\ny\r\nx\ny\nx\r\ny x\r\ny\r\n" * 2_000 + b"x\r\ny"
    room.write("many", "a" * 100_001)
    told = (await room.call("apply_patch", path="many", old="a", new="b", all=True)).text
    assert "stands in more than 100,000 places" in told
    room.write("grows", "a" * 100_000)
    told = (await room.call("apply_patch", path="grows", old="a", new="b" * 100_000, all=True)).text
    assert "`grows` would have about 10,000,000,000 bytes, at most 33,554,432 can be edited" in told


async def test_what_a_replacement_takes_out_leaves_room_for_what_it_puts_in(room: Room) -> None:
    file = room.write("f", f"{'a' * 299}\n" * 100_000)
    outcome = await room.call("apply_patch", path="f", old="a" * 299, new="b" * 298, all=True)
    assert outcome.status is OutcomeStatus.SUCCEEDED, outcome.text
    assert file.stat().st_size == 299 * 100_000


async def test_line_ends_of_the_last_line_are_those_before_it(room: Room) -> None:
    file = room.write("f", b"one\r\n" + b"a " * 90_000)
    outcome = await room.call("apply_patch", path="f", old="a", new="x\ny", all=True)
    assert outcome.status is OutcomeStatus.SUCCEEDED, outcome.text
    assert file.read_bytes() == b"one\r\n" + b"x\r\ny " * 90_000


async def test_one_patch_takes_no_more_than_so_much_apart(room: Room) -> None:
    room.write("big", "a\nb\n" + f"{'-' * 999}\n" * 20_000)
    sections = "".join(f"*** Update File: big\n@@\n-{old}\n+{old}{old}\n" for old in "ab")
    told = (await room.call("apply_patch", patch=f"*** Begin Patch\n{sections}*** End Patch")).text
    assert "more than 33,554,432 bytes together; use several patches" in told
    assert (room.workspace / "big").read_bytes().startswith(b"a\nb\n")


@pytest.mark.parametrize("end", ["limit", "interrupt"])
async def test_a_patch_that_was_given_up_before_it_was_written_is_never_written(
    room: Room, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    file, go_on = room.write("a.txt", "one\n"), threading.Event()
    loop, begun = asyncio.get_running_loop(), asyncio.Event()

    class Slow(Planner):
        def apply(self, sections: Sequence[Section]) -> list[Change]:
            loop.call_soon_threadsafe(begun.set)
            go_on.wait()
            return super().apply(sections)

    if end == "limit":
        monkeypatch.setattr("tools.apply_patch.TIMEOUT_S", 0.05)
    monkeypatch.setattr("tools.patch.plan.Planner", Slow)
    call = asyncio.ensure_future(room.call("apply_patch", patch=update("a.txt", "@@", "-one", "+ONE")))
    await begun.wait()
    if end == "interrupt":
        call.cancel()
    outcome = await call
    said = {
        "limit": (
            OutcomeStatus.FAILED,
            "Not applied, no file was changed: it was not worked out within 0.05 s",
        ),
        "interrupt": (OutcomeStatus.INTERRUPTED, "Interrupted by the user; nothing was changed by this call"),
    }
    assert (outcome.status, outcome.text) == said[end]
    left = [thread for thread in threading.enumerate() if thread.name == "agent-tui-files"]
    go_on.set()
    for thread in left:
        thread.join()
    assert left
    assert file.read_text() == "one\n"
