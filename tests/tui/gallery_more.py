"""Still more pictures: rollback and redo, what counts while it waits, prompts that wait for their moment."""

from dataclasses import replace

from agent_tui.engine import commands
from agent_tui.engine import events as e
from agent_tui.engine.types import CallState, InputKind
from checkpoints.types import FileChange, Health, RollbackResult
from tests.tui import gallery, gallery_states, scenes
from tests.tui.gallery import Scene

Q = commands.Subject
BACK = RollbackResult(
    target="7f3a/17",
    undo="7f3a/20",
    changed=(
        FileChange(path="slugify.py", kind="A", added=42, removed=0),
        FileChange(path="slug.py", kind="D", added=0, removed=42),
    ),
    kept=("README.md",),
)


ROLLED_BACK = e.RolledBack(
    checkpoint_id="7f3a/17", mode="both", files=BACK, messages=("tell it in README.md too",)
)
REDONE = e.RolledBack(
    checkpoint_id="7f3a/20",
    mode="both",
    files=replace(BACK, target="7f3a/20", undo="7f3a/21", kept=()),
    redo_of="7f3a/17",
)
GO_BACK = ("escape", "escape", "enter", "arm", "enter")  # to before the newest call, by the rewind list
REPLIES: dict[type, e.Body] = {commands.Rollback: ROLLED_BACK, commands.Redo: REDONE}


def told_to_stop() -> list[e.Body]:
    """Steer now, while two calls run."""
    return [
        *scenes.command_runs()[:-2],
        *scenes.proposed("c5", "exec_command", "npm run build", 4),
        *scenes.running("c5"),
        e.InputAccepted(input_id="i2", kind=InputKind.STEER, text="use the old behaviour", now=True),
    ]


def importing() -> list[e.Body]:
    """A call waits for the first checkpoint."""
    wait = e.CallChanged(call_id="c1", state=CallState.VALIDATED, detail="for the first checkpoint")
    return [
        *scenes.message("install it"),
        *scenes.turn(),
        *scenes.step(1),
        e.StatusChanged(undo=Health(state="importing", done_files=26_000, total_files=50_000)),
        *scenes.proposed("c1", "exec_command", "npm ci"),
        wait,
    ]


def stopping() -> list[dict[str, object]]:
    """Terminals, of which the first was told to stop two seconds ago."""
    live, ended = gallery.ANSWERS[Q.TERMINALS]
    return [live | {"stopping_at": 1_005.0}, ended]


def long_title() -> list[dict[str, object]]:
    """Sessions, of which the first has a title of 300 characters."""
    first, *others = gallery.ANSWERS[Q.SESSIONS]
    return [first | {"title": "long " * 60}, *others]


SCENES: dict[str, Scene] = {
    "long-title": Scene(keys=("/resume",), data={Q.SESSIONS: long_title()}),
    "rolled-back": Scene(play=gallery.renamed, keys=GO_BACK, replies=REPLIES),
    "redo-preview": Scene(play=gallery.renamed, keys=(*GO_BACK, "ctrl+c", "/redo", "arm"), replies=REPLIES),
    "redone": Scene(
        play=gallery.renamed, keys=(*GO_BACK, "ctrl+c", "/redo", "arm", "enter"), replies=REPLIES
    ),
    "sessions-find": Scene(keys=("/resume", "slash", "s", "l", "u", "g", "enter")),
    "terminal-stopping": Scene(keys=("f3",), data={Q.TERMINALS: stopping()}),
    "steer-now": Scene(play=told_to_stop),
    "first-checkpoint": Scene(play=importing),
    "silent-command": Scene(play=scenes.command_runs, later_s=35.0),
    "approval-locked": Scene(play=gallery.long_command, keys=("arm",)),
    # Prompts that do not take keys yet.
    "approval-rule-armed": Scene(play=scenes.asks, keys=("arm", "p", "arm")),
    "deny-for-good-armed": Scene(play=scenes.asks, keys=("arm", "b", "arm")),
    "approvals-several-unarmed": Scene(play=gallery.several, keys=("x",)),
    "no-progress-unarmed": Scene(play=gallery_states.circles, keys=("x",)),
    "no-checkpoint-unarmed": Scene(play=gallery_states.no_checkpoint, keys=("x",)),
}
