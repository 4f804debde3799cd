"""Pictures of every screen as text; `UPDATE_SCREENS=1` writes them anew, a review reads the difference."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent_tui.engine import commands, events
from agent_tui.tui.chosen import Chosen
from checkpoints.types import Author, Cause, Checkpoint, Conflict, FileChange, Operation, Phase, RollbackPlan
from context.codec import encode
from tests.tui import scenes
from tests.tui.driving import driven
from tests.tui.fake_engine import Play
from tools.types import OutcomeStatus

PICTURES = Path(__file__).with_name("screens")
S = OutcomeStatus
DIFF = (
    "--- a/slugify.py\n+++ b/slugify.py\n@@ -5,3 +5,4 @@ slugify\n def slugify(text: str) -> str:\n"
    '-    return text\n+    text = text.strip("-")\n+    return text or "n-a"\n'
    "--- /dev/null\n+++ b/test_slugify.py\n@@ -0,0 +1,2 @@\n+import pytest\n+\n"
)


def cards() -> list[events.Body]:
    """Every row of screens.md 3.3 that an outcome can give."""
    call = scenes.call
    external = (FileChange(path="notes.txt", kind="M", added=3, removed=0, author=Author.EXTERNAL),)
    three = (
        FileChange(path="a.py", kind="M", added=1, removed=1),
        FileChange(path="b.py", kind="M", added=2, removed=2),
        FileChange(path="c.py", kind="D", added=0, removed=40),
    )
    return [
        *call(
            "c1",
            "exec_command",
            "sed -i 's/foo/bar/' *.py",
            exit_code=0,
            seconds=0.2,
            changes=three,
            external=external,
        ),
        *call(
            "c2", "exec_command", "make test", 1, S.FAILED, ("make: *** Error 1",), exit_code=2, seconds=3.1
        ),
        *call(
            "c3",
            "exec_command",
            "curl https://example.org",
            1,
            S.FAILED,
            exit_code=6,
            denial="network is off",
        ),
        *call("c4", "exec_command", "npm run build", 1, S.INTERRUPTED, seconds=12.4, changes=three[:1]),
        *call("c5", "exec_command", "alembic upgrade head", 1, S.OUTCOME_UNKNOWN),
        *call("c6", "exec_command", "pytest tests/slow", 1, S.TIMED_OUT, seconds=120.0),
        *call("c7", "exec_command", "npm run dev", 1, S.YIELDED, terminal="t2"),
        *call("c8", "exec_command", "pytest -q", 1, S.SKIPPED, data={"why": "you steered first"}),
        *call("c9", "read_file", "a.py", 2),
        *call("c10", "read_file", "b.py", 2),
    ]


def checkpoint(seq: int, summary: str, phase: Phase, *changes: FileChange) -> Checkpoint:
    cause = Cause(phase=phase, session="7f3a", summary=summary)
    return Checkpoint(
        id=f"7f3a/{seq}",
        session="7f3a",
        seq=seq,
        created_at=946_684_800.0 + 60 * seq,
        cause=cause,
        tree="t",
        changes=changes,
    )


def edit() -> list[events.Body]:
    """A patch waits for approval."""
    return [*scenes.turn(), *scenes.approval(1, "patch 2 files", {"action": "edit"}, diff=DIFF)]


PLAN = RollbackPlan(
    target="7f3a/17",
    operations=(
        Operation(action="write", path="export.py", detail="+1 -1"),
        Operation(action="delete", path="slug.py"),
    ),
    conflicts=(Conflict(path="README.md", author=Author.EXTERNAL, changed_at=None, reason="changed by you"),),
    kept=("notes.txt",),
)
ANSWERS: dict[commands.Subject, Any] = {
    commands.Subject.DIFF: DIFF,
    commands.Subject.CHECKPOINTS: [
        encode(checkpoint(18, "", Phase.BEFORE_ROLLBACK, *scenes.CHANGES)),
        encode(checkpoint(17, "git mv slugify.py slug.py", Phase.BEFORE_CALL)),
        encode(checkpoint(16, "rename the module", Phase.TURN_START)),
    ],
    commands.Subject.ROLLBACK_PLAN: encode(PLAN),
    commands.Subject.SESSIONS: [
        {
            "id": "7f3a",
            "title": "make empty input safe",
            "workspace": "/home/you/src/slugkit",
            "updated_at": 900.0,
            "turns": 23,
            "live": True,
        }
    ],
    commands.Subject.TERMINALS: [
        {
            "id": "t2",
            "command": "npm run dev",
            "state": "live",
            "started_at": 757.0,
            "call_id": "c7",
            "tail": "VITE ready\n",
        }
    ],
    commands.Subject.SETTINGS: {"sandbox": {"value": "workspace-write", "origin": "default"}},
    commands.Subject.FILES: ["slugify.py", "tests/test_slugify.py", "README.md"],
}


def answer(body: commands.CommandBody) -> Play:
    return (
        [events.Inspected(command_id="", data=ANSWERS[body.subject])]
        if isinstance(body, commands.Inspect)
        else ()
    )


SCENES: dict[str, tuple[Callable[[], Sequence[events.Body]], Sequence[str]]] = {
    "idle-empty-session": (list, ()),
    "streaming-answer": (scenes.streaming, ()),
    "a-command-runs": (scenes.command_runs, ()),
    "finished-turn": (scenes.finished, ()),
    "tool-cards": (cards, ()),
    "approval-unarmed": (scenes.asks, ("x",)),
    "approval-armed": (scenes.asks, ("arm",)),
    "approval-rule": (scenes.asks, ("arm", "p")),
    "approval-full-view": (scenes.asks, ("arm", "v")),
    "approval-edit": (edit, ("arm",)),
    "approvals-several": (lambda: [*scenes.asks(), *scenes.approval(2, "rm -r build")], ("arm",)),
    "help": (list, ("f1",)),
    "transcript-pager": (scenes.finished, ("f2",)),
    "terminals": (list, ("f3",)),
    "rewind": (list, ("escape", "escape")),
    "rollback-preview": (list, ("escape", "escape", "up", "enter")),
    "diff": (scenes.finished, ("/diff",)),
    "sessions": (list, ("/resume",)),
    "settings": (list, ("/settings",)),
    "slash-list": (list, ("slash", "c", "o")),
    "file-mention": (list, ("at", "s", "l")),
    "picked-block": (scenes.finished, ("ctrl+up", "ctrl+up")),
}  # fmt: skip
LOOKS = {
    "80x24": ((80, 24), Chosen()),
    "60x15": ((60, 15), Chosen()),
    "80x24-ascii": ((80, 24), Chosen(theme="mono", ascii_only=True)),
    "120x40": ((120, 40), Chosen(theme="light")),
}


@pytest.fixture
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Times of day as in London in winter."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("utc")
@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("look", LOOKS)
async def test_picture(tmp_path: Path, name: str, look: str) -> None:
    play, keys = SCENES[name]
    size, chosen = LOOKS[look]
    async with driven(tmp_path, play(), size=size, on=answer, look=chosen) as it:
        for key in keys:
            if key == "arm":
                await it.wait_for_arming()
            elif key.startswith("/"):
                await it.type(key)
                await it.press("escape", "enter")
            else:
                await it.press(key)
        await it.settle()
        seen = it.screen
    assert all(len(row) <= size[0] for row in seen.split("\n"))
    if chosen.ascii_only:
        assert seen.isascii()
    file = PICTURES / f"{name}-{look}.txt"
    if os.environ.get("UPDATE_SCREENS"):
        file.write_text(seen + "\n")
    assert file.read_text() == seen + "\n"
