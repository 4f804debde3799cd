"""`e` on an edit: the files as they would be, in the person's editor, become the call."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from agent_tui.engine import commands, events
from agent_tui.engine.types import Decision
from tests.tui import gallery, scenes
from tests.tui.driving import Driven, driven
from tests.tui.fake_engine import Play

RESULT = {"src/slugify.py": "def slugify():\n", "test_slugify.py": "import pytest\n", "gone.py": None}
GONE = "--- a/gone.py\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x = 1\n"


def engine(refused: str = "", result: object = RESULT) -> Callable[[commands.CommandBody], Play]:
    """Tells what the files would be, and takes other ones."""

    def on(body: commands.CommandBody) -> Play:
        if not isinstance(body, commands.Inspect):
            return []
        assert body.args["call"] == "c21"
        if body.subject is commands.Subject.EDIT:
            return [events.Inspected(command_id="", data=result)]
        assert body.subject is commands.Subject.EDITED
        if refused:
            return [events.Refused(command_id="", reason=refused)]
        return [events.Inspected(command_id="", data=json.dumps({"patch": body.args["texts"]}))]

    return on


def with_editor(it: Driven, monkeypatch: pytest.MonkeyPatch, work: Callable[[Sequence[Path]], int]) -> None:
    """`work` gets the files in place of an editor."""
    monkeypatch.setenv("VISUAL", "an-editor --wait")

    def run(argv: Sequence[str]) -> int:
        assert argv[:2] == ["an-editor", "--wait"]
        return work([Path(name) for name in argv[2:]])

    monkeypatch.setattr(it.app.outside, "_in_front", run)


async def test_the_files_are_edited_as_they_would_be_and_come_back_as_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Path] = []

    def work(files: Sequence[Path]) -> int:
        opened.extend(files)
        assert [file.read_text() for file in files] == ["def slugify():\n", "import pytest\n"]
        files[0].write_text("def slug():\r\n")
        return 0

    async with driven(tmp_path, gallery.edit(), on=engine()) as it:
        with_editor(it, monkeypatch, work)
        await it.wait_for_arming()
        assert "e  edit the result   opens $EDITOR with the patched files" in it.screen
        await it.press("e")
        await it.settle()
        (sent,) = it.engine.sent_of(commands.Decide)
    assert isinstance(sent, commands.Decide)
    assert (sent.decision, sent.digest) == (Decision.EDIT, "d1")
    assert json.loads(json.loads(sent.edited)["patch"]) == {"src/slugify.py": "def slug():\r\n"}
    assert [str(file)[-len(name) :] for file, name in zip(opened, RESULT, strict=False)] == list(RESULT)[:2]
    assert not any(file.exists() or file.is_relative_to(it.app.config.workspace) for file in opened)


def rewrite(files: Sequence[Path]) -> int:
    files[0].write_text("other\n")
    return 0


def break_off(files: Sequence[Path]) -> int:
    rewrite(files)
    return 1


def write_bytes(files: Sequence[Path]) -> int:
    files[0].write_bytes(b"\xff")
    return 0


def remove(files: Sequence[Path]) -> int:
    files[0].unlink()
    return 0


@pytest.mark.parametrize(
    ("work", "refused", "said"),
    [
        (lambda _: 0, "", "nothing was edited; the call waits as it was"),
        (break_off, "", "the editor ended with an error; nothing was edited, the call waits"),
        (write_bytes, "", "the editor left no UTF-8; nothing was edited, the call waits"),
        (remove, "", "left no file to read"),
        (rewrite, "no patch makes exactly these files", "the edit cannot be used: no patch makes exactly"),
    ],
)
async def test_what_cannot_be_used_is_said_and_the_question_stays(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    work: Callable[[Sequence[Path]], int],
    refused: str,
    said: str,
) -> None:
    async with driven(tmp_path, gallery.edit(), on=engine(refused)) as it:
        with_editor(it, monkeypatch, work)
        await it.wait_for_arming()
        await it.press("e")
        await it.until(said)
        assert "·  once" in it.screen, "what was typed while the editor closed answers nothing"
        await it.wait_for_arming()
        await it.press("n")
        assert [body.decision for body in it.engine.sent_of(commands.Decide)] == [Decision.DENY]  # type: ignore[attr-defined]


@pytest.mark.parametrize("diff", [GONE, gallery.DIFF])
async def test_what_leaves_no_text_opens_the_patch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, diff: str
) -> None:
    patch = {"patch": "*** Begin Patch\n*** Delete File: gone.py\n*** End Patch"}

    def work(files: Sequence[Path]) -> int:
        assert [file.read_text() for file in files] == [patch["patch"]]
        files[0].write_text(patch["patch"].replace("gone", "other"))
        return 0

    asked = scenes.approval(1, "gone.py", {"action": "edit"}, diff=diff, tool="apply_patch")
    proposed = events.CallProposed(
        call_id="c21", step_id="s1", tool="apply_patch", arguments=json.dumps(patch), shown="gone.py"
    )
    async with driven(
        tmp_path, [*scenes.turn(), proposed, *asked[1:]], on=engine(result={"gone.py": None})
    ) as it:
        with_editor(it, monkeypatch, work)
        await it.wait_for_arming()
        assert ("e  edit the patch    opens $EDITOR with it" in it.screen) is (diff == GONE)
        await it.press("e")
        await it.settle()
        (sent,) = it.engine.sent_of(commands.Decide)
    assert isinstance(sent, commands.Decide)
    assert "Delete File: other.py" in json.loads(sent.edited)["patch"]
