"""One model plans, another carries out."""

from pathlib import Path

from agent_tui.engine.commands import Submit
from agent_tui.engine.events import NoticeRaised, ResponseEnded, StatusChanged, TurnEnded
from agent_tui.engine.planning import CARRY_OUT, PLAN
from agent_tui.models.base import ErrorKind, ModelError, ModelInfo
from checkpoints.types import Author, FileChange
from context.view import View
from tests.engine.fakes import Engine, FakeModel, Step, calls, engine, failed, text

STRONG = ModelInfo(provider="strong", model="mind", context_window=200_000, max_output=4_000)
PLANS = ("update_plan", {"plan": [{"step": "rename", "status": "pending"}]})


def planned_by(run: Engine, *steps: Step) -> FakeModel:
    planner = FakeModel(steps, STRONG)
    run.use(planner=planner, falls_back=lambda _: True)
    return planner


async def turn(run: Engine, message: str, count: int = 1) -> None:
    run.send(Submit(text=message))
    await run.wait(TurnEnded, count=count)


def holds(view: View, text: str) -> bool:
    return text in repr(view)


async def test_the_planner_answers_until_there_is_a_plan_and_the_chosen_model_goes_on(tmp_path: Path) -> None:
    async with engine(tmp_path, calls(("write_file", {"path": "a"})), text("done"), text("done")) as run:
        script = [calls(("read_file", {"path": "a"})), calls(PLANS), text("a question, answered")]
        planner = planned_by(run, *script)
        await turn(run, "rename it")
        assert [len(planner.requests), len(run.model.requests)] == [2, 2]
        assert all(holds(request.view, PLAN) for request in planner.requests)
        assert holds(run.model.requests[0].view, CARRY_OUT)
        assert [body.model for body in run.bodies(ResponseEnded)] == ["strong/mind"] * 2 + ["fake/fake"] * 2
        assert "`strong/mind` has planned; `fake/fake` carries it out" in [
            body.text for body in run.bodies(NoticeRaised)
        ]
        await turn(run, "what did you do?", count=2)
        assert [len(planner.requests), len(run.model.requests)] == [3, 2]
        shown = [body.model for body in run.bodies(StatusChanged) if body.model]
        assert shown[-2:] == ["strong/mind", "fake/fake"]


async def test_a_planner_that_changes_something_is_relieved_as_well(tmp_path: Path) -> None:
    async with engine(tmp_path, text("done")) as run:
        planner = planned_by(run, calls(("write_file", {"path": "a"})))
        run.checkpointer.changes = [(FileChange(path="a", kind="add", author=Author.AGENT),)]
        await turn(run, "go")
        assert [len(planner.requests), len(run.model.requests)] == [1, 1]


async def test_when_the_planner_is_down_the_chosen_model_takes_over(tmp_path: Path) -> None:
    down = failed(ModelError(kind=ErrorKind.UNAVAILABLE, message="down"))
    async with engine(tmp_path, text("done")) as run:
        planned_by(run, down, down, down)
        await turn(run, "go")
        assert any("`fake/fake` answers" in body.text for body in run.bodies(NoticeRaised))
        assert holds(run.model.requests[0].view, CARRY_OUT)


async def test_a_model_does_not_plan_for_itself(tmp_path: Path) -> None:
    async with engine(tmp_path, text("done")) as run:
        run.use(planner=FakeModel([]))
        await turn(run, "go")
        assert not holds(run.model.requests[0].view, PLAN)
