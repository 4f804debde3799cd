"""What a card says of a call beside its outcome."""

from dataclasses import replace

import pytest

from agent_tui.engine import events
from agent_tui.engine.types import CallState
from agent_tui.tui.feed import Feed
from agent_tui.tui.state import State
from agent_tui.tui.transcript import card
from agent_tui.tui.transcript.blocks import Card
from agent_tui.tui.transcript.lines import plain
from agent_tui.tui.transcript.look import Look
from checkpoints.types import Cause, Checkpoint, Phase
from tests.tui import scenes
from tools.types import Outcome, OutcomeStatus


def drawn(*bodies: events.Body, expanded: bool = False) -> list[str]:
    """The rows of the one card that these make."""
    feed = Feed(State())
    for seq, body in enumerate(bodies, 1):
        feed.apply(events.Event(seq=seq, at=1_000.0, run_id="r1", body=body))
    [block], _ = feed.drain()
    assert isinstance(block, Card)
    block.expanded = expanded
    return [plain(row) for row in card.render(block, Look(width=80))]


def after(number: int) -> events.CheckpointTaken:
    cause = Cause(phase=Phase.AFTER_CALL, session="7f3a", summary="")
    return events.CheckpointTaken(
        checkpoint=Checkpoint(
            id=f"7f3a/{number}", session="7f3a", seq=number, created_at=1.0, cause=cause, tree="t"
        )
    )


def test_the_checkpoints_around_a_call_are_shown_with_more_of_it() -> None:
    call = [*scenes.proposed("c1", "exec_command", "make"), *scenes.running("c1")]
    ended = scenes.ended("c1", "exec_command", checkpoint_id="7f3a/12")[0]
    assert drawn(*call, after(13), ended, expanded=True)[-1] == "  checkpoint 7f3a/12 before, 7f3a/13 after"


def test_a_call_that_waits_for_input_says_so_until_it_goes_on() -> None:
    call = [*scenes.proposed("c1", "exec_command", "./ask"), *scenes.running("c1")]
    waits = events.InputAwaited(call_id="c1", waits=True)
    assert "  waiting for input" in drawn(*call, waits)
    assert "  waiting for input" not in drawn(*call, waits, replace(waits, waits=False))
    assert "  waiting for input" not in drawn(*call, waits, *scenes.ended("c1", "exec_command"))
    outcome = Outcome(status=OutcomeStatus.YIELDED, text="", terminal="t1")
    [ended] = scenes.ended("c1", "exec_command")
    lives_on = [replace(ended, outcome=outcome), events.InputAwaited(call_id="c1", waits=True, terminal="t1")]
    assert "  waiting for input" in drawn(*call, *lives_on)


def test_a_command_with_a_host_waits_for_another_and_says_what_came_of_both() -> None:
    call = [*scenes.proposed("c1", "exec_command", "pip download x"), *scenes.running("c1")]
    waits = events.CallChanged(call_id="c1", state=CallState.AWAITING_APPROVAL, detail="for your approval")
    goes_on = events.CallChanged(call_id="c1", state=CallState.STARTED)
    assert drawn(*call, waits)[0].startswith("○ waiting")
    assert drawn(*call, waits)[0].endswith("for your approval")
    assert drawn(*call, waits, goes_on)[0] == drawn(*call)[0]
    hosts = {"pip.test:443": "", "evil.test:443": "refused: by the user"}
    outcome = Outcome(status=OutcomeStatus.SUCCEEDED, text="", exit_code=0, data={"hosts": hosts})
    [ended] = scenes.ended("c1", "exec_command")
    assert isinstance(ended, events.CallEnded)
    assert drawn(*call, waits, goes_on, replace(ended, outcome=outcome))[-2:] == [
        "  ▣ host pip.test:443 was reachable for this command",
        "  ▣ host evil.test:443 refused: by the user; the model was told",
    ]


def test_a_command_of_the_git_lane_says_so() -> None:
    [started] = scenes.running("c1")
    assert isinstance(started, events.CallStarted)
    started = replace(started, sandbox="workspace, net off, git lane")
    rows = drawn(
        *scenes.proposed("c1", "exec_command", "git commit"), started, *scenes.ended("c1", "exec_command")
    )
    assert "  ▣ git lane: .git was writable for this command" in rows


def test_a_command_that_ran_in_no_sandbox_says_so() -> None:
    [started] = scenes.running("c1")
    assert isinstance(started, events.CallStarted)
    begun = [*scenes.proposed("c1", "exec_command", "ls ~"), replace(started, sandbox="no sandbox")]
    rows = drawn(*begun, *scenes.ended("c1", "exec_command"))
    assert "  ▣ no sandbox: this command ran as you" in rows


@pytest.mark.parametrize(
    ("why", "word", "right"),
    [
        ("not run: interrupted by the user", "– not run", "you interrupted"),
        ("not run: the user paused the run", "– not run", "you paused"),
        ("skipped: the user sent a message", "– skipped", "you steered first"),
        ("not run: the run ends (budget_tools)", "– not run", "tool budget, 0 left"),
        ("not run: the run ends (approval_unavailable)", "– not run", "the run ended"),
        ("repeated", "– skipped", "repeated"),
    ],
)
def test_why_a_call_was_not_run_is_said_to_the_person(why: str, word: str, right: str) -> None:
    ended = scenes.ended("c1", "exec_command", status=OutcomeStatus.SKIPPED, data={"why": why})
    [row] = drawn(*scenes.proposed("c1", "exec_command", "make"), *ended)
    assert row.startswith(word) and row.endswith(right)


@pytest.mark.parametrize(
    ("status", "head", "rows"),
    [
        (OutcomeStatus.FAILED, "exit 3", ["  ↑ 25 earlier lines", *(f"  │ {n}" for n in range(26, 31))]),
        (
            OutcomeStatus.INTERRUPTED,
            "interrupted by the user after 0.1 s; effects may be partial",
            ["  ↑ 25 earlier lines", *(f"  │ {n}" for n in range(26, 31))],
        ),
        (OutcomeStatus.SUCCEEDED, "exit 0", ["  │ 29", "  │ 30"]),
    ],
)
def test_of_a_result_without_live_output_the_output_alone_is_shown(
    status: OutcomeStatus, head: str, rows: list[str]
) -> None:
    """As after a resume: the headline and the notes are for the model."""
    text = "\n".join([f"[{head} · 0.1 s · 30 lines, 81 bytes]", "a note", *map(str, range(1, 31))])
    data = {"notes": ["a note"], "total_lines": 30}
    call = scenes.call("c1", "exec_command", "seq 1 30", 1, status, text=text, data=data)
    assert drawn(*call)[1:] == rows


def test_why_a_call_came_to_nothing_is_not_cut_at_the_edge() -> None:
    advice = "start in a project directory, or name less of it with the flag that says where to work"
    text = f"Not run: the workspace cannot be `/` or hold the system; {advice}"
    rows = drawn(*scenes.call("c1", "exec_command", "ls", 1, OutcomeStatus.FAILED, text=text))[1:]
    assert len(rows) == 2 and " ".join(row.removeprefix("  │ ").strip() for row in rows) == text
    long = "\n".join(f"line {number}" for number in range(1, 21))
    rows = drawn(*scenes.call("c1", "apply_patch", "a.py", 1, OutcomeStatus.FAILED, text=long))[1:]
    assert rows == [*(f"  │ line {number}" for number in range(1, 6)), "  │ … 15 more lines, Ctrl+O show"]


def test_a_question_that_was_left_open_says_so() -> None:
    asked = scenes.proposed("c1", "request_user_input", "Which?")
    [left] = drawn(*asked, *scenes.ended("c1", "request_user_input", data={"answer": None}, seconds=4.0))
    assert left.startswith("✓ asked     Which?") and left.endswith(" no answer · 4.0 s")
    [said, *_] = drawn(*asked, *scenes.ended("c1", "request_user_input", data={"answer": "A"}, seconds=4.0))
    assert said.endswith("  4.0 s")


@pytest.mark.parametrize(
    ("shown", "status", "row"),
    [
        ("src/a/models.py", None, "○ waiting   patch src/a/models.py"),
        ("src/a/models.py", OutcomeStatus.SUCCEEDED, "✓ patched   src/a/models.py"),
        ("src/a/models.py", OutcomeStatus.FAILED, "✗ failed    patch src/a/models.py"),
        ("2 files: a/m.py, b/m.py", None, "○ waiting   patch 2 files"),
        ("2 files: a/m.py, b/m.py", OutcomeStatus.SUCCEEDED, "✓ patched   2 files"),
        ("2 files: a/m.py, b/m.py", OutcomeStatus.DENIED, "⊘ denied    patch 2 files: a/m.py, b/m.py"),
    ],
)
def test_a_patch_names_its_file_or_how_many_it_has(
    shown: str, status: OutcomeStatus | None, row: str
) -> None:
    end = scenes.ended("c1", "apply_patch", status=status) if status else []
    first = drawn(*scenes.proposed("c1", "apply_patch", shown), *end)[0]
    assert first.startswith(row) and "files" not in first[len(row) :]
