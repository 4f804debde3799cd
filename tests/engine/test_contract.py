from pathlib import Path

import pytest

from agent_tui.engine.commands import Continue, Submit
from agent_tui.engine.events import CallProposed, TurnEnded
from agent_tui.engine.types import EndReason
from checkpoints.types import FileChange
from tests.engine.fakes import Engine, calls, engine, text
from tools.types import CallSink, Invocation, Outcome, OutcomeStatus


class Check:
    """A check that fails so many times before it passes."""

    def __init__(self, run: Engine, failures: int) -> None:
        self.failures = failures
        self.commands: list[str] = []
        run.toolbox.behaviour["exec_command"] = self

    async def __call__(self, invocation: Invocation, sink: CallSink) -> Outcome:
        self.commands.append(str(invocation.arguments["cmd"]))
        self.failures -= 1
        if self.failures >= 0:
            return Outcome(status=OutcomeStatus.FAILED, text="1 failed", exit_code=2)
        return Outcome(status=OutcomeStatus.SUCCEEDED, text="ok", exit_code=0)


async def finish(run: Engine) -> TurnEnded:
    run.send(Submit(text="go"))
    ended = await run.wait(TurnEnded)
    assert isinstance(ended, TurnEnded)
    return ended


async def test_a_run_is_done_when_the_command_passes(tmp_path: Path) -> None:
    async with engine(tmp_path, text("done"), verify="./own-check") as run:
        check = Check(run, 0)
        ended = await finish(run)
    assert (ended.reason, ended.exit_code, check.commands) == (EndReason.COMPLETED, 0, ["./own-check"])
    assert (ended.last_check, ended.check_result) == ("./own-check", "passed after the last change")
    assert [body.by for body in run.bodies(CallProposed)] == ["contract"]


async def test_a_red_command_is_told_to_the_model_which_may_repair(tmp_path: Path) -> None:
    script = [text("done"), calls(("write_file", {"path": "a"})), text("now")]
    async with engine(tmp_path, *script, verify="make test") as run:
        run.checkpointer.changes = [(), (FileChange(path="a", kind="M"),)]
        check = Check(run, 1)
        ended = await finish(run)
    assert (ended.reason, ended.text) == (EndReason.COMPLETED, "now")
    assert check.commands == ["make test"] * 2
    notices = [notice.text for unit in run.model.requests[1].view.units for notice in unit.notices]  # type: ignore[union-attr] # no summary here
    assert "`make test` does not pass" in notices[0] and "1 failed" in notices[0]


async def test_a_command_that_stays_red_ends_as_unmet_after_a_bounded_number_of_tries(tmp_path: Path) -> None:
    async with engine(tmp_path, *(text(f"done {n}") for n in range(3)), verify="make test") as run:
        check = Check(run, 99)
        ended = await finish(run)
    assert (ended.reason, ended.exit_code) == (EndReason.CONTRACT_UNMET, 6)
    assert len(check.commands) == 3
    assert ended.sentence == "not met: make test fails (exit 2) after 3 tries"


async def test_the_number_of_tries_survives_a_crash(tmp_path: Path) -> None:
    async with engine(tmp_path, text("done 0"), text("done 1"), verify="make test") as run:
        Check(run, 99)
        run.send(Submit(text="go"))
        await run.wait(CallProposed, count=2)
        await run.crash()
    async with engine(tmp_path, text("done 2"), text("done 3"), verify="make test") as again:
        check = Check(again, 99)
        again.send(Continue())
        ended = await again.wait(TurnEnded, count=2)
    assert isinstance(ended, TurnEnded) and ended.reason is EndReason.CONTRACT_UNMET
    assert len(check.commands) == 2, "one try was told before the crash, two were left"


async def test_the_answer_must_fit_the_schema(tmp_path: Path) -> None:
    schema = '{"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}'
    script = [text("it is 3"), text('{"n": "3"}'), text('{"n": 3}')]
    async with engine(tmp_path, *script, output_schema=schema) as run:
        ended = await finish(run)
    assert (ended.reason, ended.text) == (EndReason.COMPLETED, '{"n": 3}')
    last = run.model.requests[2].view.units[-1].notices[-1].text  # type: ignore[union-attr] # no summary here
    assert "at `$.n`" in last and "not of type 'integer'" in last


async def test_done_without_a_check_after_the_last_change_is_said(tmp_path: Path) -> None:
    script = [calls(("exec_command", {"cmd": "pytest"})), calls(("write_file", {"path": "a"})), text("done")]
    async with engine(tmp_path, *script) as run:
        run.checkpointer.changes = [(), (FileChange(path="a", kind="M"),)]
        ended = await finish(run)
    assert (ended.reason, ended.exit_code) == (EndReason.COMPLETED_UNVERIFIED, 0)
    assert ended.sentence == "done, not verified: pytest was not run after the last change"
    assert (ended.last_check, ended.check_result) == ("pytest", "passed before the last change")


@pytest.mark.parametrize(
    "command",
    [
        "python3 -m unittest -v 2>&1 | head -5; git log --oneline",
        "pytest; git log",
        "pytest | tail -3",
        "a || pytest",
    ],
)
async def test_a_line_that_hides_what_became_of_its_check_is_not_told_as_passed(
    tmp_path: Path, command: str
) -> None:
    script = [calls(("write_file", {"path": "a"})), calls(("exec_command", {"cmd": command})), text("done")]
    async with engine(tmp_path, *script) as run:
        run.checkpointer.changes = [(FileChange(path="a", kind="M"),), ()]
        ended = await finish(run)
    assert (ended.sentence, ended.last_check, ended.check_result) == ("done", "", "")
    assert "passed" not in ended.report


async def test_a_long_check_is_named_in_one_short_line(tmp_path: Path) -> None:
    script = [calls(("exec_command", {"cmd": "pytest \\\n -q tests/" + 100 * "x"})), text("done")]
    async with engine(tmp_path, *script) as run:
        ended = await finish(run)
    assert ended.last_check == "pytest \\ -q tests/" + 41 * "x" + "…"


async def test_the_check_of_an_earlier_turn_is_named_only_where_something_changed_since(
    tmp_path: Path,
) -> None:
    change = calls(("write_file", {"path": "a"}))
    script = [
        calls(("exec_command", {"cmd": "pytest"})),
        text("tested"),
        text("hello"),
        change,
        text("changed"),
    ]
    async with engine(tmp_path, *script) as run:
        run.checkpointer.changes = [(), (FileChange(path="a", kind="M"),)]
        for turn in range(3):
            run.send(Submit(text="go"))
            await run.wait(TurnEnded, count=turn + 1)
    ends = run.bodies(TurnEnded)
    assert [(end.last_check, end.check_result) for end in ends] == [
        ("pytest", "passed after the last change"),
        ("", ""),
        ("pytest", "passed before the last change"),
    ]
