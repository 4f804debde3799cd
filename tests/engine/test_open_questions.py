"""What can be typed and pressed while a question is open."""

from pathlib import Path

from agent_tui.engine.commands import Answer, Decide, Interrupt, Submit
from agent_tui.engine.events import (
    ApprovalAsked,
    ApprovalDecided,
    CallStarted,
    InputAccepted,
    InputDelivered,
    QuestionAnswered,
    QuestionAsked,
    TaskChanged,
    TurnEnded,
)
from agent_tui.engine.types import Decision, EndReason
from context.items import UserItem
from context.view import UserUnit
from tests.engine.fakes import Engine, calls, engine, last_results, text

ASKS = calls(("ask_exec", {"cmd": "x"}))
QUESTION = calls(("request_user_input", {"question": "which?"}))


async def approval(run: Engine) -> ApprovalAsked:
    run.send(Submit(text="go"))
    asked = await run.wait(ApprovalAsked)
    assert isinstance(asked, ApprovalAsked)
    return asked


async def end(run: Engine, count: int = 1) -> TurnEnded:
    ended = await run.wait(TurnEnded, count=count)
    assert isinstance(ended, TurnEnded)
    return ended


async def test_a_steer_at_an_approval_waits_and_the_answer_comes_first(tmp_path: Path) -> None:
    async with engine(tmp_path, ASKS, text("done")) as run:
        asked = await approval(run)
        run.send(Submit(text="quickly"))
        await run.wait(InputAccepted, count=2)
        assert list(run.session.fold.approvals) == [asked.approval_id], "it stays open"
        run.send(Decide(approval_id=asked.approval_id, decision=Decision.ONCE, digest=asked.digest))
        await end(run)
    last = run.model.requests[1].view.units[-1]
    assert isinstance(last, UserUnit) and last.item.text == "quickly"
    assert len(run.toolbox.ran) == 1
    order = [type(event.body) for event in run.seen]
    assert order.index(ApprovalDecided) < len(order) - order[::-1].index(InputDelivered) - 1


async def test_words_with_a_denial_are_what_the_model_reads(tmp_path: Path) -> None:
    async with engine(tmp_path, ASKS, text("done")) as run:
        asked = await approval(run)
        run.send(
            Decide(
                approval_id=asked.approval_id,
                decision=Decision.DENY,
                digest=asked.digest,
                feedback="use make",
            )
        )
        assert (await end(run)).reason is EndReason.COMPLETED
    assert last_results(run.model.requests[1]) == ["denied: use make"]


async def test_leaving_an_approval_denies_it_without_a_word_and_pauses(tmp_path: Path) -> None:
    async with engine(tmp_path, ASKS) as run:
        await approval(run)
        run.send(Submit(text="still waiting"))
        await run.wait(InputAccepted, count=2)
        run.send(Interrupt())
        assert (await end(run)).reason is EndReason.INTERRUPTED
        assert run.session.fold.owed == {} and run.session.fold.approvals == {}
    (decided,) = run.bodies(ApprovalDecided)
    assert (decided.decision, decided.feedback) == (Decision.DENY_AND_PAUSE, "")
    assert run.bodies(CallStarted) == []
    said = [item.text for item in run.session.fold.log if isinstance(item, UserItem)]
    assert said == ["go"], "the message is back in the editor"


async def test_a_steer_at_a_question_of_the_model_is_no_answer_to_it(tmp_path: Path) -> None:
    async with engine(tmp_path, QUESTION, text("done")) as run:
        run.send(Submit(text="go"))
        asked = await run.wait(QuestionAsked)
        assert isinstance(asked, QuestionAsked)
        run.send(Submit(text="by the way"))
        await run.wait(InputAccepted, count=2)
        run.send(Answer(question_id=asked.question_id, text="this one"))
        await end(run)
    assert last_results(run.model.requests[1]) == ["this one"]
    last = run.model.requests[1].view.units[-1]
    assert isinstance(last, UserUnit) and last.item.text == "by the way"


async def test_leaving_a_question_of_the_model_answers_nothing_and_pauses(tmp_path: Path) -> None:
    async with engine(tmp_path, QUESTION) as run:
        run.send(Submit(text="go"))
        await run.wait(QuestionAsked)
        run.send(Interrupt())
        assert (await end(run)).reason is EndReason.INTERRUPTED
        assert run.session.fold.owed == {} and run.session.fold.questions == {}
    assert [body.text for body in run.bodies(QuestionAnswered)] == [None]
    moves = [str(body.status) for body in run.bodies(TaskChanged)]
    assert moves == ["pending", "running", "waiting_input", "running", "paused"]
