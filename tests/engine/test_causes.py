"""The stored events of a session as a tree: what each follows from, up to the session."""

from pathlib import Path

from agent_tui.engine.commands import Decide, Submit
from agent_tui.engine.events import (
    ApprovalAsked,
    CallProposed,
    SessionStarted,
    SettingChanged,
    StepStarted,
    TaskChanged,
    TurnEnded,
    TurnStarted,
)
from agent_tui.engine.types import Budgets, Decision
from tests.engine.fakes import calls, engine, text


async def test_the_stored_events_make_one_tree(tmp_path: Path) -> None:
    script = [calls(("read_file", {"path": "/a"}), ("ask_exec", {"cmd": "x"})), text("done")]
    limit = {"budgets": Budgets(max_turns=9), "origins": {"max_turns": "flag"}}
    async with engine(tmp_path, *script, text("again"), **limit) as run:
        sent = run.send(Submit(text="go"))
        asked = await run.wait(ApprovalAsked)
        assert isinstance(asked, ApprovalAsked)
        allowed = run.send(Decide(approval_id=asked.approval_id, decision=Decision.ONCE, digest=asked.digest))
        await run.wait(TurnEnded)
        more = run.send(Submit(text="more"))
        await run.wait(TurnEnded, count=2)
        stored = [event async for event in run.session.stored(0)]
    first = stored[0].body
    assert isinstance(first, SessionStarted) and isinstance(stored[1].body, SettingChanged)
    parents: dict[str, str] = {}
    for event in stored:
        match event.body:
            case TaskChanged(task_id=name) | TurnStarted(run_id=name):
                parents.setdefault(name, event.cause)
            case StepStarted(step_id=name) | CallProposed(call_id=name):
                parents[name] = event.cause
    assert {child: above for child, above in parents.items() if child.startswith("c")} == dict.fromkeys(
        ("c1.1", "c1.2"), "s1"
    )
    (one, other) = (body.run_id for body in run.bodies(TurnStarted))
    assert [parents[step] for step in ("s1", "s2", "s3")] == [one, one, other]
    assert [parents[name] for name in (one, other)] == ["t1", "t2"]
    known = {first.session_id, sent, allowed, more, asked.approval_id, "i1", "i2", *parents}
    assert [event for event in stored if event.cause not in known] == []
