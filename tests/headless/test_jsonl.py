"""Events as JSON lines: the shape other programs read."""

import json
from typing import Any

from agent_tui.engine.events import (
    ApprovalAsked,
    ApprovalDecided,
    Body,
    CallEnded,
    CallOutput,
    CallProposed,
    CallStarted,
    CheckpointTaken,
    Event,
    InputAccepted,
    InputDelivered,
    InputReturned,
    NoticeRaised,
    PlanChanged,
    ResponseEnded,
    RetryScheduled,
    SessionStarted,
    StatusChanged,
    TextStreamed,
    TurnEnded,
    TurnStarted,
)
from agent_tui.engine.types import END_FACTS, Decision, EndReason, InputKind, PlanStep
from agent_tui.headless.jsonl import JsonLines
from checkpoints.types import Author, Cause, Checkpoint, FileChange, Phase
from context.items import Usage
from tools.types import READS_NOTHING, Assessment, CallClass, Outcome, OutcomeStatus

OURS = ("seq", "ts", "run_id", "schema")
CHANGE = FileChange(path="a.py", kind="M", added=2, removed=1)


def lines(*bodies: Body) -> list[dict[str, Any]]:
    """What a stream of events becomes, read back; our own fields checked and taken off."""
    mapper = JsonLines()
    found = []
    for number, body in enumerate(bodies, start=10):
        for line in mapper.lines(Event(seq=number, at=5.0, run_id="s.1", body=body)):
            assert "\n" not in line
            read = json.loads(line)
            assert (read["ts"], read["run_id"], read["schema"]) == (5.0, "s.1", 1)
            assert read["seq"] == len(found) + 1
            found.append({key: value for key, value in read.items() if key not in OURS})
    return found


def proposed(tool: str, shown: str) -> CallProposed:
    return CallProposed(call_id="c1.1", step_id="s1", tool=tool, arguments='{"a": 1}', shown=shown)


def started() -> CallStarted:
    return CallStarted(
        call_id="c1.1", attempt=1, arguments_sha256="", cwd="/w", sandbox="", spool="", boot_id=""
    )


def ended(tool: str, outcome: Outcome, *changes: FileChange) -> CallEnded:
    return CallEnded(
        call_id="c1.1",
        tool=tool,
        outcome=outcome,
        changes=changes,
        external=(),
        duration_s=1.5,
        checkpoint_id="s/2",
    )


def turn_ended(reason: EndReason, **rest: Any) -> TurnEnded:
    usage = Usage(input_tokens=30, output_tokens=4, cache_read_tokens=20)
    facts = {
        "sentence": "done",
        "exit_code": 0,
        "cost_usd": None,
        "steps": 2,
        "duration_s": 3.0,
        "usage": usage,
    }
    return TurnEnded(run_id="s.1", reason=reason, **(facts | rest))


def test_a_turn_is_framed_as_codex_does() -> None:
    found = lines(
        SessionStarted(session_id="s", workspace="/w", model="a/b"),
        TurnStarted(task_id="t1", run_id="s.1"),
        turn_ended(EndReason.COMPLETED, changes=(CHANGE,)),
    )
    assert [line["type"] for line in found] == ["thread.started", "turn.started", "turn.completed"]
    assert found[0]["thread_id"] == "s"
    assert {
        key: found[2]["usage"][key] for key in ("input_tokens", "cached_input_tokens", "output_tokens")
    } == {
        "input_tokens": 30,
        "cached_input_tokens": 20,
        "output_tokens": 4,
    }
    assert (found[2]["reason"], found[2]["exit_code"]) == ("completed", 0)
    change = {"path": "a.py", "kind": "update", "author": "agent", "added": 2, "removed": 1}
    assert found[2]["changes"] == [change]


def test_every_other_end_is_a_failure_with_a_message() -> None:
    for reason in EndReason:
        line = lines(turn_ended(reason, sentence="why", exit_code=3))[0]
        good = reason in (EndReason.COMPLETED, EndReason.COMPLETED_UNVERIFIED)
        assert line["type"] == ("turn.completed" if good else "turn.failed")
        assert line["reason"] == str(reason)
        hint = f"; {END_FACTS[reason].hint}" if END_FACTS[reason].hint else ""
        assert line.get("error") == (None if good else {"message": f"why{hint}"})


def test_a_command_is_an_item_with_its_output_and_exit_code() -> None:
    outcome = Outcome(
        status=OutcomeStatus.SUCCEEDED,
        text="[exit 0]\na note\nout\n2",
        data={"notes": ["a note"]},
        exit_code=0,
    )
    first, last = lines(proposed("exec_command", "ls"), started(), ended("exec_command", outcome, CHANGE))
    item = {"id": "c1.1", "type": "command_execution", "command": "ls"}
    running = item | {"aggregated_output": "", "exit_code": None, "status": "in_progress"}
    assert first == {"type": "item.started", "item": running}
    assert last["type"] == "item.completed"
    assert (
        last["item"].items()
        >= (item | {"aggregated_output": "out\n2", "exit_code": 0, "status": "completed"}).items()
    )
    assert last["item"]["changes"][0]["path"] == "a.py"


def test_a_failing_command_and_a_denied_one_say_so() -> None:
    failed = Outcome(status=OutcomeStatus.SUCCEEDED, text="", exit_code=2)
    denied = Outcome(status=OutcomeStatus.DENIED, text="no")
    found = lines(
        proposed("exec_command", "x"),
        ended("exec_command", failed),
        proposed("exec_command", "y"),
        ended("exec_command", denied),
    )
    assert [line["item"]["status"] for line in found] == ["failed", "declined"]


def test_a_patch_is_a_file_change() -> None:
    done = Outcome(status=OutcomeStatus.SUCCEEDED, text="ok")
    kinds = [FileChange(path=kind, kind=kind) for kind in ("A", "M", "D", "X")]
    kinds.append(FileChange(path="new", kind="R", old_path="old", author=Author.AGENT))
    item = lines(proposed("apply_patch", "…"), ended("apply_patch", done, *kinds))[0]["item"]
    assert (item["type"], item["status"]) == ("file_change", "completed")
    assert [change["kind"] for change in item["changes"]] == ["add", "update", "delete", "update", "update"]
    assert item["changes"][-1]["old_path"] == "old"


def test_messages_and_reasoning_are_items() -> None:
    response = ResponseEnded(
        step_id="s1",
        item_id="m1",
        text="hi",
        reasoning="hm",
        reasoning_s=1,
        usage=Usage(),
        cost_usd=None,
        reserved_calls=0,
    )
    assert [line["item"] for line in lines(response)] == [
        {"id": "m1.reasoning", "type": "reasoning", "text": "hm"},
        {"id": "m1", "type": "agent_message", "text": "hi"},
    ]


def test_the_plan_is_one_todo_list_through_a_turn() -> None:
    def plan(*done: str) -> PlanChanged:
        steps = [
            PlanStep(text=text, status="completed" if text in done else "pending") for text in ("a", "b")
        ]
        return PlanChanged(steps=tuple(steps))

    done = Outcome(status=OutcomeStatus.SUCCEEDED, text="ok")
    found = lines(
        proposed("update_plan", ""),
        plan(),
        ended("update_plan", done),
        plan("a"),
        turn_ended(EndReason.COMPLETED),
    )
    assert [line["type"] for line in found] == [
        "item.started",
        "item.updated",
        "item.completed",
        "turn.completed",
    ]
    assert len({line["item"]["id"] for line in found[:3]}) == 1
    assert [entry["completed"] for entry in found[2]["item"]["items"]] == [True, False]


def test_a_steer_is_acknowledged_accepted_and_then_delivered_or_returned() -> None:
    def accepted(name: str, kind: InputKind) -> InputAccepted:
        return InputAccepted(input_id=name, kind=kind, text=name)

    found = lines(
        accepted("first", InputKind.PROMPT),
        accepted("a", InputKind.STEER),
        accepted("b", InputKind.QUEUE),
        InputDelivered(input_id="a", item_id="u7", step=3),
        InputReturned(input_id="b", text="b", reason="interrupted"),
    )
    shown = [(line["type"], line["item"]["id"], line["item"]["status"]) for line in found]
    assert shown == [
        ("item.started", "a", "accepted"),
        ("item.started", "b", "accepted"),
        ("item.completed", "a", "delivered"),
        ("item.completed", "b", "returned"),
    ]
    assert (found[2]["item"]["position"], found[2]["item"]["step"]) == ("u7", 3)


def test_an_approval_tells_what_is_needed_to_decide() -> None:
    assessment = Assessment(
        action="command", call_class=CallClass.ASK, reason="why", shown="rm x", effects=READS_NOTHING
    )
    asked = ApprovalAsked(
        approval_id="a1",
        call_id="c1.1",
        tool="exec_command",
        assessment=assessment,
        cwd="/w",
        why="why",
        sandbox="",
        digest="d",
        choices=(Decision.ONCE, Decision.DENY),
        first_attempt="the first attempt left 1 file: A x",
        diff="-a\n+b",
        grants=("network", "no_sandbox"),
    )
    decided = ApprovalDecided(
        approval_id="a1", call_id="c1.1", decision=Decision.DENY, by="person", feedback="no"
    )
    first, last = lines(asked, decided)
    assert first["item"].items() >= {"shown": "rm x", "digest": "d", "choices": ["once", "deny"]}.items()
    assert (first["item"]["cwd"], first["item"]["diff"]) == ("/w", "-a\n+b")
    assert first["item"]["first_attempt"] == "the first attempt left 1 file: A x"
    assert list(first["item"]["grants"]) == ["network", "no_sandbox"] and "rule" not in first["item"]
    assert last["item"].items() >= {"id": "a1", "shown": "rm x", "decision": "deny", "feedback": "no"}.items()


def test_runtime_facts_are_items_and_retries_are_errors() -> None:
    cause = Cause(phase=Phase.BEFORE_CALL, session="s", call_id="c1.1")
    found = lines(
        CheckpointTaken(
            checkpoint=Checkpoint(id="s/2", session="s", seq=2, created_at=1.0, cause=cause, tree="")
        ),
        NoticeRaised(text="mind", level="warning"),
        RetryScheduled(attempt=2, attempts=5, delay_s=1.0, error="busy"),
    )
    assert (
        found[0]["item"].items() >= {"type": "checkpoint", "checkpoint_id": "s/2", "call_id": "c1.1"}.items()
    )
    assert found[1]["item"].items() >= {"type": "notice", "text": "mind", "level": "warning"}.items()
    assert found[2] == {"type": "error", "message": "busy; attempt 2 of 5 in 1.0 s", "will_retry": True}


def test_what_is_only_for_display_is_no_line() -> None:
    assert (
        lines(
            StatusChanged(activity="thinking"),
            TextStreamed(step_id="s1", text="x", offset=0),
            CallOutput(call_id="c1.1", text="x"),
        )
        == []
    )


def test_text_of_any_kind_stays_one_valid_line() -> None:
    text = "a\nb\u2028c\x00\udc80é"
    line = next(JsonLines().lines(Event(seq=1, at=0.0, run_id="", body=NoticeRaised(text=text))))
    assert len(line.encode("utf-8").splitlines()) == 1
    assert json.loads(line)["item"]["text"] == text
