"""Text from others in every place of the screen: it is shown, and it moves, colours and hides nothing."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from agent_tui.engine import commands, events
from agent_tui.engine.types import InputKind, ModelChoice, PlanStep
from agent_tui.tui import leaving
from agent_tui.tui.glyphs import UNICODE
from agent_tui.tui.notify import Notifier
from agent_tui.tui.start import sheet_lines, trust_sheet
from agent_tui.tui.state import State
from agent_tui.tui.transcript.lines import plain
from checkpoints.types import FileChange, Health, Phase, RollbackResult
from context.codec import encode
from context.items import Image
from tests.tui import gallery, scenes
from tests.tui.driving import driven
from tools.types import Grant, OutcomeStatus

# Escape sequences of 7 and 8 bits, a string that sets the title, a device string, markup, direction marks,
# a tag character, a carriage return, a backspace, forty accents on one letter.
BAD = (
    "\x1b[2J\x1b]0;t\x07\x1bPq\x1b\\\x9b31m[@click=app.quit]R[/x][b + x\u202ec\u2066\U000e0041\r\b"
    + "e"
    + "\u0301" * 40
)
NAME = BAD.replace("\r", "") + ".py"
HARMFUL = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f\ud800-\udfff]"
)
Q = commands.Subject
CHANGE = FileChange(path=NAME, kind="R", old_path=NAME, added=1, detail=BAD)


@dataclass(frozen=True, kw_only=True)
class Place:
    """What is played and pressed until the text is in view."""

    play: Callable[[], Sequence[events.Body]] = list
    keys: tuple[str, ...] = ()
    data: dict[commands.Subject, Any] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)


def ended(**values: Any) -> list[events.Body]:
    return scenes.call("c1", "exec_command", "ls", 1, OutcomeStatus.FAILED, exit_code=1, **values)


def turn_end() -> list[events.Body]:
    (end,) = [body for body in scenes.finished() if isinstance(body, events.TurnEnded)]
    from dataclasses import replace

    return [replace(end, changes=(CHANGE,), last_check=BAD, error=BAD)]


def edit() -> list[events.Body]:
    diff = f"--- a/{NAME}\n+++ b/{NAME}\n@@ -1,1 +1,1 @@ {BAD}\n-{BAD}\n+{BAD}\n"
    return [*scenes.turn(), *scenes.approval(1, BAD, {"action": "edit"}, diff=diff)]


def approval(**changes: Any) -> Callable[[], list[events.Body]]:
    return lambda: [*scenes.turn(), *scenes.approval(1, **changes)]


def grant() -> list[events.Body]:
    asked = {"grant": Grant.WRITE_PATH, "grant_detail": BAD, "reason": BAD}
    return [
        *scenes.turn(),
        *scenes.approval(1, "ls", asked, grants=(f"write_path {BAD}",), first_attempt=BAD),
    ]


def question() -> list[events.Body]:
    return [events.QuestionAsked(question_id="q", call_id="c", text=BAD, options=(BAD, "b"), free_text=True)]


def lost() -> list[events.Body]:
    asked = events.LostResultAsked(
        question_id="l",
        call_id="c",
        tool=BAD,
        shown=BAD,
        started_at=1.0,
        facts=BAD,
        changes=(CHANGE,),
        checkpoint_id=BAD,
    )
    return [asked]


def rolled_back() -> list[events.Body]:
    files = RollbackResult(
        target="t",
        undo="u",
        changed=(CHANGE,),
        kept=(NAME,),
        mismatches=(NAME,),
        merged_with_markers=(NAME,),
        merged=(f"{NAME}2",),
    )
    return [events.RolledBack(checkpoint_id="7f3a/1", mode="both", files=files, messages=(BAD,))]


def compacted() -> list[events.Body]:
    values = {"tokens_before": 2, "tokens_after": 1, "hidden_units": 1, "shortened_results": 1}
    return [
        events.CompactionEnded(item_id="", cause=BAD, detail=BAD, **values),
        events.CompactionEnded(item_id="k", cause=BAD, detail=f"{BAD}: {BAD}", **values),
    ]


def diff() -> str:
    return f"--- a/{NAME}\n+++ b/{NAME}\n@@ -1,2 +1,2 @@ {BAD}\n {BAD}\n-{BAD}\n+{BAD}\n"


SESSION = {
    "id": BAD,
    "title": BAD,
    "workspace": "/home/you/src/slugkit",
    "updated_at": 1.0,
    "ended": BAD,
    "turns": 1,
}
TERMINAL = {
    "id": "t2",
    "command": BAD,
    "state": "live",
    "started_at": 1.0,
    "call_id": BAD,
    "tail": f"{BAD}\n{BAD}",
}
POINT = encode(gallery.checkpoint(17, BAD, Phase.BEFORE_CALL, CHANGE))
PLAN = {
    "target": "7f3a/17",
    "operations": [{"action": "write", "path": NAME, "detail": BAD}],
    "conflicts": [{"path": NAME, "author": "external", "changed_at": None, "reason": BAD}],
    "kept": [NAME],
    "uncovered": [{"path": NAME, "reason": BAD}],
    "head_moved": BAD,
}
IMAGE = Image(media_type="image/png", data="AAAA", name=BAD)

PLACES = {
    "answer": Place(play=lambda: [*scenes.turn(), *scenes.step(1), *scenes.response(1, BAD)]),
    "markdown": Place(
        play=lambda: scenes.response(
            1, f"# {BAD}\n\n- {BAD}\n\n|{BAD}|b|\n|-|-|\n|{BAD}|d|\n\n[{BAD}](http://x/{BAD})"
        )
    ),
    "code of an answer": Place(play=lambda: scenes.response(1, f"```python\n{BAD}\n```\n\n`{BAD}`")),
    "streamed answer": Place(play=lambda: [*scenes.turn(), *scenes.step(1), *scenes.text(1, BAD)]),
    "reasoning": Place(
        play=lambda: scenes.response(1, "a", reasoning=BAD, seconds=1), keys=("ctrl+up", "ctrl+up", "enter")
    ),
    "message of the person": Place(play=lambda: scenes.message(BAD)),
    "name of a picture": Place(
        play=lambda: [
            events.InputAccepted(input_id="i", kind=InputKind.PROMPT, text="x", images=(IMAGE,)),
            events.InputDelivered(input_id="i", item_id="u", step=1),
        ]
    ),
    "pending message": Place(
        play=lambda: [*scenes.turn(), events.InputAccepted(input_id="i", kind=InputKind.STEER, text=BAD)]
    ),
    "returned message": Place(
        play=lambda: [
            events.InputAccepted(input_id="i", kind=InputKind.STEER, text=BAD),
            events.InputReturned(input_id="i", text=BAD, reason=BAD),
        ]
    ),
    "command": Place(play=lambda: scenes.proposed("c1", "exec_command", BAD)),
    "name of a tool": Place(play=lambda: scenes.proposed("c1", BAD, "")),
    "arguments": Place(play=lambda: [events.CallProposed(call_id="c", step_id="s", tool="t", arguments=BAD)]),
    "live output": Place(
        play=lambda: [
            *scenes.proposed("c1", "exec_command", "ls"),
            *scenes.running("c1"),
            *scenes.output("c1", NAME),
        ]
    ),
    "output": Place(play=lambda: ended(text=BAD)),
    "denial": Place(play=lambda: ended(denial=BAD)),
    "changed files": Place(play=lambda: ended(changes=(CHANGE,), external=(CHANGE,), uncovered=(NAME,))),
    "edited command": Place(play=lambda: ended(edited=f'{{"cmd": "{NAME}"}}')),
    "skipped": Place(
        play=lambda: scenes.call("c1", "exec_command", "ls", 1, OutcomeStatus.SKIPPED, data={"why": BAD})
    ),
    "plan": Place(play=lambda: [events.PlanChanged(steps=(PlanStep(text=BAD, status="in_progress"),))]),
    "notice": Place(
        play=lambda: [events.NoticeRaised(text=BAD, level="error"), events.NoticeRaised(text=BAD)]
    ),
    "refusal": Place(play=lambda: [events.Refused(command_id="x", reason=BAD)]),
    "error of a provider": Place(
        play=lambda: [*scenes.turn(), events.RetryScheduled(attempt=1, attempts=2, delay_s=9, error=BAD)]
    ),
    "end of a turn": Place(play=turn_end),
    "compaction": Place(play=compacted),
    "rollback": Place(play=rolled_back),
    "terminal": Place(
        play=lambda: [events.TerminalChanged(terminal=BAD, call_id="c", command=BAD, state="live")],
        keys=("ctrl+d",),
    ),
    "approval": Place(
        play=approval(shown=BAD, why=BAD, sandbox=BAD, cwd=f"/{BAD}", session_key=BAD), keys=("arm",)
    ),
    "approval, explained": Place(play=approval(shown="ls", rule=BAD, rule_allows=BAD), keys=("arm", "?")),
    "approval, whole": Place(play=approval(shown=BAD), keys=("arm", "v")),
    "approval, edited": Place(play=approval(shown=BAD), keys=("arm", "e")),
    "rule": Place(play=approval(shown="ls", rule=BAD, rule_allows=BAD), keys=("arm", "p")),
    "edit": Place(play=edit, keys=("arm",)),
    "grant": Place(play=grant, keys=("arm",)),
    "several": Place(play=lambda: [*scenes.asks(), *scenes.approval(2, BAD)], keys=("arm",)),
    "question": Place(play=question, keys=("arm",)),
    "lost result": Place(play=lost, keys=("arm",)),
    "title": Place(play=lambda: [events.SettingChanged(key="title", value=BAD)], keys=("/status",)),
    "branch and model": Place(
        play=lambda: [
            events.StatusChanged(branch=BAD, model=BAD, effort=BAD, undo=Health(state="off")),
            events.NoticeRaised(text=BAD),
        ],
        config={"model": ModelChoice(provider="p", model=BAD, api="chat", context_window=9)},
    ),
    "diff": Place(keys=("/diff",), data={Q.DIFF: diff()}),
    "refused diff": Place(keys=("/diff",), data={Q.DIFF: events.Refused(command_id="", reason=BAD)}),
    "sessions": Place(keys=("/resume",), data={Q.SESSIONS: [SESSION]}),
    "terminals": Place(keys=("f3",), data={Q.TERMINALS: [TERMINAL]}),
    "output of a terminal": Place(
        keys=("f3", "o"), data={Q.TERMINALS: [TERMINAL], Q.OUTPUT: f"{BAD}\n{BAD}"}
    ),
    "attached terminal": Place(keys=("f3", "enter"), data={Q.TERMINALS: [TERMINAL]}),
    "checkpoints": Place(keys=("/checkpoints",), data={Q.CHECKPOINTS: [POINT]}),
    "rollback preview": Place(
        keys=("/checkpoints", "enter"), data={Q.CHECKPOINTS: [POINT], Q.ROLLBACK_PLAN: PLAN}
    ),
    "pager": Place(play=lambda: [*scenes.message(BAD), *ended(text=BAD)], keys=("f2",)),
    "find": Place(play=lambda: scenes.message("x"), keys=("f2", "/", "a", "enter")),
    "settings": Place(keys=("/settings",), data={Q.SETTINGS: {BAD: {"value": BAD, "origin": BAD}}}),
    "grants": Place(keys=("/approvals",), data={Q.GRANTS: [{"id": BAD, "scope": BAD, "rule": BAD}]}),
    "files to mention": Place(keys=("at", "c"), data={Q.FILES: {NAME: "untracked"}}),
}


@pytest.mark.parametrize("name", PLACES)
async def test_hostile_text_is_shown_and_does_nothing(tmp_path: Path, name: str) -> None:  # A41
    place = PLACES[name]
    scene = gallery.Scene(play=place.play, keys=place.keys, data=place.data)

    def on(body: commands.CommandBody) -> Sequence[events.Body]:
        if isinstance(body, commands.Inspect) and isinstance(place.data.get(body.subject), events.Refused):
            return [place.data[body.subject]]
        return scene.on(body)  # type: ignore[return-value]

    async with driven(tmp_path, place.play(), on=on, **place.config) as it:
        for key in place.keys:
            await it.act(key)
        found = it.screen
    assert not HARMFUL.findall(found), ascii(found)
    assert all(cell_len(row) <= 80 for row in found.split("\n"))
    assert name != "branch and model" or "UNDO OFF" in found  # an alarm is pushed out by nothing
    if name != "find":
        assert re.search(r"\\x1b\[2J|\[pasted|␛\[2J", found), found


def test_titles_and_notifications_hold_nothing_of_others() -> None:
    written: list[str] = []
    notifier = Notifier(BAD, written.append, lambda _, write: write())
    state = State()
    for body in gallery.hostile():
        from agent_tui.tui.feed import Feed

        Feed(state).apply(events.Event(seq=1, at=1.0, run_id="r", body=body))
    notifier.update(state, now=100.0)
    notifier.focused = False
    notifier.update(State(ended=None, busy=True, turn_started_at=1.0), now=101.0)
    said = "".join(written)
    assert said
    assert not HARMFUL.findall(re.sub(r"\x1b\]2;([^\x07]*)\x07|\x07", r"\1", said)), ascii(said)


def test_what_stays_in_the_scrollback_is_made_visible() -> None:
    left = leaving.text(State(session_id="7f3a", last_answer=BAD), UNICODE)
    assert "\\x1b[2J" in left
    assert not HARMFUL.findall(left)


def test_files_to_trust_are_named_harmlessly() -> None:
    rows = [plain(row) for row in sheet_lines(trust_sheet(f"~/{NAME}", [(NAME, [BAD])]), 0, 80, UNICODE)]
    assert not HARMFUL.findall("".join(rows))
