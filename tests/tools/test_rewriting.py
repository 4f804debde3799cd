"""A patch that a person changed by its result makes exactly what they wrote."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.policy import Mode, Policy
from tests.tools.test_patches import patch, update
from tools.apply_patch import ApplyPatch
from tools.patch.commit import commit
from tools.versions import Versions

NINE = "a\n" * 9
OLD = f"{NINE * 9}grüß\n"  # few letters above ASCII, so that its encoding is not guessed at


def files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


async def texts(root: Path, arguments: dict[str, object]) -> object:
    return await ApplyPatch(Versions(root.parent / "versions")).texts(arguments, _policy(root))


async def after(root: Path, arguments: dict[str, object], edited: dict[str, str]) -> dict[str, bytes] | str:
    """What is there after the rewritten patch, or why there is none."""
    tool = ApplyPatch(Versions(root.parent / "versions"))
    before = files(root)
    found = await tool.rewritten(arguments, edited, _policy(root))
    assert files(root) == before
    if isinstance(found, str):
        return found
    assert tool.refuse(found) == ""
    commit(tool._plan(found, _policy(root)))
    return files(root)


def _policy(root: Path) -> Policy:
    return Policy(mode=Mode.WORKSPACE_WRITE, workspace=root, state_dir=root.parent / "state")


@pytest.mark.parametrize(
    ("before", "change", "edited", "wanted"),
    [
        (b"one\ntwo\n", ("-two", "+2"), "one\nzwei\n", b"one\nzwei\n"),
        (b"one\ntwo\n", ("-two", "+2"), "one\n2\n\nthree", b"one\n2\n\nthree"),
        (b"one\ntwo", ("-two", "+2"), "one\n2\n", b"one\n2\n"),
        (b"one\r\ntwo\r\n", ("-two", "+2"), "one\r\nzwei\r\n", b"one\r\nzwei\r\n"),
        (NINE.encode(), ("@@ -5 +5 @@", "-a", "+b"), "a\na\nc\n" + NINE, b"a\na\nc\n" + NINE.encode()),
        ("é\nb\n".encode("utf-16"), ("-b", "+c"), "é\nd\n", "é\nd\n".encode("utf-16")),
        (b"\xef\xbb\xbfa\nb\n", ("-b", "+c"), "a\nd\n", b"\xef\xbb\xbfa\nd\n"),
        (f"{OLD}b\n".encode("latin-1"), ("-b", "+c"), f"{OLD}ä\n", f"{OLD}ä\n".encode("latin-1")),
        (b"one\ntwo\n", ("-two", "+2"), "", b""),
    ],
)  # fmt: skip
async def test_a_changed_result_is_what_the_patch_writes(
    tmp_path: Path, before: bytes, change: tuple[str, ...], edited: str, wanted: bytes
) -> None:
    (tmp_path / "f.txt").write_bytes(before)
    asked: dict[str, object] = {"patch": update("f.txt", *change)}
    assert isinstance(await texts(tmp_path, asked), dict)
    assert await after(tmp_path, asked, {"f.txt": edited}) == {"f.txt": wanted}


async def test_what_was_not_edited_stays_as_the_patch_has_it(tmp_path: Path) -> None:
    for name in ("gone", "moves", "moves-and-changes", "plain"):
        (tmp_path / name).write_text("one\ntwo\n")
    asked: dict[str, object] = {
        "patch": patch(
            "*** Delete File: gone",
            "*** Update File: moves", "*** Move to: moved",
            "*** Update File: moves-and-changes", "*** Move to: sub/changed", "-two", "+2",
            "*** Update File: plain", "-one", "+1",
            "*** Add File: new", "+fresh",
        )
    }  # fmt: skip
    assert await texts(tmp_path, asked) == {
        "gone": None, "moved": None, "sub/changed": "one\n2\n", "plain": "1\ntwo\n", "new": "fresh\n",
    }  # fmt: skip
    assert await after(tmp_path, asked, {"sub/changed": "one\nzwei\n", "new": "fresh"}) == {
        "moved": b"one\ntwo\n", "sub/changed": b"one\nzwei\n", "plain": b"1\ntwo\n", "new": b"fresh",
    }  # fmt: skip


async def test_the_plain_form_becomes_a_patch_and_a_file_that_is_put_back_leaves_it(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("one\ntwo\n")
    plain: dict[str, object] = {"path": "f", "old": "two", "new": "2"}
    assert await texts(tmp_path, plain) == {"f": "one\n2\n"}
    assert await after(tmp_path, plain, {"f": "one\ntwo\n"}) == (
        "nothing would be changed any more; deny the call instead"
    )
    assert await after(tmp_path, plain, {"f": "eins\n2\n"}) == {"f": b"eins\n2\n"}


@pytest.mark.parametrize("edited", ["one\r\n2\r\n", "one\n2\r\n"])
async def test_what_no_patch_can_write_is_said(tmp_path: Path, edited: str) -> None:
    (tmp_path / "f").write_text("one\ntwo\n")
    said = await after(tmp_path, {"patch": update("f", "-two", "+2")}, {"f": edited})
    assert said == "no patch makes exactly these files; leave line ends and encoding as they are"
    (tmp_path / "f").write_bytes(f"{OLD}two\n".encode("latin-1"))
    said = await after(tmp_path, {"patch": update("f", "-two", "+2")}, {"f": f"{OLD}→\n"})
    assert said == "`f`: `→` cannot be written in cp1252, its encoding"


async def test_lines_of_a_file_that_the_model_may_not_read_are_not_given_to_it(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("one\ntwo\n")
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    asked: dict[str, object] = {"patch": update(str(outside), "-two", "+2")}
    assert await texts(workspace, asked) == {str(outside): None}


@pytest.mark.parametrize("hidden", ["outside", ".env"])
async def test_a_patch_that_also_changes_such_a_file_says_no_more_of_it_than_the_model_did(
    tmp_path: Path, hidden: str
) -> None:
    root = tmp_path / "workspace"
    root.mkdir()
    place = (root if hidden == ".env" else tmp_path) / hidden
    name = hidden if hidden == ".env" else str(place)
    place.write_text("SECRET=1\ntwo\nSECRET=2\n")
    (root / "f").write_text("one\ntwo\n")
    tool, policy = ApplyPatch(Versions(tmp_path / "versions")), _policy(root)
    asked = {"patch": patch("*** Update File: f", "-two", "+2", f"*** Update File: {name}", "-two", "+2")}
    found = await tool.rewritten(asked, {"f": "one\nzwei\n"}, policy)
    assert isinstance(found, dict) and "SECRET" not in str(found)
    made = [change.after.data for change in tool._plan(found, policy) if change.after]
    assert made == [b"one\nzwei\n", b"SECRET=1\n2\nSECRET=2\n"]
    refused = await tool.rewritten(asked, {name: "SECRET=1\n"}, policy)
    assert isinstance(refused, str)
    assert refused.startswith(f"it would show the model lines of `{name}`, which it may not read; ")


WORDS = st.lists(
    st.sampled_from(["", "a", "b", "  c", "*** End of File", "@@", "\\ No newline"]), max_size=12
)


@settings(max_examples=60, deadline=None)
@given(before=WORDS, edited=WORDS, ends=st.tuples(st.booleans(), st.booleans()))
async def test_any_text_of_lines_can_be_made(
    tmp_path_factory: pytest.TempPathFactory, before: list[str], edited: list[str], ends: tuple[bool, bool]
) -> None:
    root = tmp_path_factory.mktemp("any")
    old, new = ("\n".join(lines) for lines in (before, edited))
    old += "\n" * (ends[0] and bool(before))
    (root / "f").write_text(f"first\n{old}")
    asked: dict[str, object] = {"path": "f", "old": "first", "new": "1"}
    wanted = f"{new}\nlast" + "\n" * ends[1]
    assert await after(root, asked, {"f": wanted}) == {"f": wanted.encode()}
