import asyncio
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent_tui.engine.commands import Answer, Continue, Set, Submit
from agent_tui.engine.events import (
    CallTrace,
    InputAccepted,
    NoticeRaised,
    ProgressJudged,
    QuestionAsked,
    TurnEnded,
)
from agent_tui.engine.progress import Progress, normalise, trace_of
from agent_tui.engine.types import Budgets, EndReason
from agent_tui.models.base import Completed
from checkpoints.types import Cause, Checkpoint, FileChange, Phase
from context.items import ReasoningPart, StopReason, Usage
from tests.engine.fakes import ORIGIN, FakeCheckpointer, Step, calls, engine, last_results, text
from tools.types import CallSink, Invocation, Outcome, OutcomeStatus


def trace(
    call: str, result: str = "r", *, failed: bool = False, changed: bool = False, tool: str = "exec_command"
) -> CallTrace:
    return CallTrace(
        call_id="c", tool=tool, call=call, target=call, result=result, failed=failed, changed=changed
    )


def play(*steps: CallTrace | tuple[CallTrace, ...], limit: int | None = 12) -> list[ProgressJudged]:
    """Judge steps one after the other."""
    progress, judged = Progress(), []
    for number, step in enumerate(steps):
        traces = step if isinstance(step, tuple) else (step,)
        judged.append(progress.judge(f"s{number}", traces, advanced=False, max_idle_steps=limit))
        progress.apply(judged[-1])
    return judged


def findings(judged: list[ProgressJudged]) -> list[int]:
    return [place for place, one in enumerate(judged) if one.finding]


def test_thirty_reads_of_different_files_are_work() -> None:
    assert findings(play(*(trace(f"read {n}", tool="read_file") for n in range(30)))) == []


def test_searching_and_reading_new_targets_in_turn_is_work() -> None:
    steps = [trace(f"{tool} {n}", tool=tool) for n in range(10) for tool in ("search_files", "read_file")]
    assert findings(play(*steps)) == []


def test_testing_between_edits_is_work_even_when_it_keeps_failing() -> None:
    steps = [
        one
        for n in range(10)
        for one in (trace("pytest", failed=True), trace(f"edit {n}", changed=True, tool="apply_patch"))
    ]
    assert findings(play(*steps)) == []


@pytest.mark.parametrize("period", [1, 2, 3, 4])
def test_a_true_loop_is_found_and_escalates_to_the_last_strike(period: int) -> None:
    judged = play(*(trace(f"call {n % period}") for n in range(6 * period)))
    assert judged[-1].strikes >= 3
    assert findings(judged)[0] <= 2 * max(period, 2)


def test_the_second_strike_blocks_the_call_and_a_change_lifts_it() -> None:
    judged = play(*[trace("same")] * 4, trace("edit", changed=True), trace("same"))
    assert [one.strikes for one in judged] == [0, 0, 1, 2, 2, 2]
    assert judged[3].blocked == ("same",)
    assert judged[4].blocked == ()


def test_strikes_halve_after_three_steps_with_progress() -> None:
    judged = play(*[trace("same")] * 4, *(trace(f"new {n}") for n in range(3)))
    assert [one.strikes for one in judged][-3:] == [2, 2, 1]


def test_the_same_failure_of_one_tool_six_times_is_found() -> None:
    same = play(*(trace(f"try {n}", "boom", failed=True) for n in range(6)))
    other = play(*(trace(f"try {n}", f"boom {n}", failed=True) for n in range(6)))
    assert findings(same) == [5]
    assert findings(other) == []


def test_three_equal_calls_in_one_batch_are_one_step() -> None:
    assert findings(play((trace("a"), trace("a"), trace("a")))) == []


def test_standing_still_is_said_at_half_and_ends_at_the_limit() -> None:
    known = [trace(str(n)) for n in range(5)]
    judged = play(*known, *(trace(str(n % 5), f"another result {n}") for n in range(12)), limit=12)
    still = [one for one in judged if "steps in a row" in one.finding]
    assert [one.idle_steps for one in still] == [6, 12]
    assert still[-1].strikes == 3


def poll(output: str) -> CallTrace:
    outcome = Outcome(status=OutcomeStatus.YIELDED, text=output)
    return trace_of("c", "write_stdin", '{"session": "t1", "chars": ""}', outcome, changed=False)


def test_polling_a_live_terminal_is_no_repetition() -> None:
    judged = play(*(poll("same") for _ in range(8)))
    assert [one.finding for one in judged if one.strikes] == []


def test_what_differs_between_equal_runs_is_ignored() -> None:
    one = normalise("2026-11-29 16:18:14 took 3.21s in /tmp/pytest-of-me/x pid 412 at 0x7f3a12345678")
    other = normalise("2026-11-30 09:00:01 took 0.9 s in /tmp/pytest-of-me/y pid 9 at 0x7f3a00000000")
    assert one == other
    assert normalise("3 failed") != normalise("2 failed")


def test_large_outputs_cost_little() -> None:
    outcome = Outcome(status=OutcomeStatus.SUCCEEDED, text="line of output 12345\n" * 50_000)
    begun = time.process_time()
    results = {trace_of("c", "exec_command", "{}", outcome, changed=False).result for _ in range(3)}
    assert len(results) == 1
    assert time.process_time() - begun < 0.5  # ten times the target, so that a busy machine does not fail it


def test_keys_may_stand_in_any_order_but_blanks_in_strings_count() -> None:
    outcome = Outcome(status=OutcomeStatus.SUCCEEDED, text="")

    def of(arguments: str) -> str:
        return trace_of("c", "exec_command", arguments, outcome, changed=False).call

    assert of('{"a": 1, "b": "x"}') == of('{"b":"x","a":1}')
    assert of('{"b": "a b"}') != of('{"b": "ab"}')


SAME = ("exec_command", {"cmd": "pytest"})


async def test_a_loop_ends_a_run_without_a_person(tmp_path: Path) -> None:
    script = [calls(SAME) for _ in range(5)]
    async with engine(tmp_path, *script, text("stuck"), interactive=False) as run:
        run.send(Submit(text="go"))
        ended = await run.wait(TurnEnded)
    assert isinstance(ended, TurnEnded)
    assert (ended.reason, ended.exit_code, ended.text) == (EndReason.LOOP_DETECTED, 3, "stuck")
    assert ended.sentence == "no progress: the same call 5 times"
    assert len(run.toolbox.ran) == 4
    assert last_results(run.model.requests[5])[0].startswith("Blocked")
    assert any("same `exec_command` call 3 times" in body.text for body in run.bodies(NoticeRaised))


async def test_a_person_is_asked_and_may_let_it_go_on(tmp_path: Path) -> None:
    script = [calls(SAME) for _ in range(5)]
    async with engine(tmp_path, *script, text("done")) as run:
        run.send(Submit(text="go"))
        asked = await run.wait(QuestionAsked)
        assert isinstance(asked, QuestionAsked) and "No progress" in asked.text
        run.send(Answer(question_id=asked.question_id, text="try the other file"))
        ended = await run.wait(TurnEnded)
    assert isinstance(ended, TurnEnded) and ended.reason is EndReason.COMPLETED
    assert run.session.fold.progress.strikes == 0
    assert run.model.requests[5].view.units[-1].item.text == "try the other file"  # type: ignore[union-attr] # a message


async def test_strikes_survive_a_crash(tmp_path: Path) -> None:
    async with engine(tmp_path, *(calls(SAME) for _ in range(5)), interactive=False) as run:
        run.send(Submit(text="go"))
        await run.wait(ProgressJudged, count=4)
        await run.crash()
    async with engine(tmp_path, calls(SAME), text("stuck"), interactive=False) as again:
        assert again.session.fold.progress.strikes == 2
        again.send(Continue())
        ended = await again.wait(TurnEnded, count=2)
    assert isinstance(ended, TurnEnded) and ended.reason is EndReason.LOOP_DETECTED
    assert again.toolbox.ran == [], "the block survives too"


async def test_a_word_of_the_person_lifts_a_block(tmp_path: Path) -> None:
    hold = asyncio.Event()

    async def held_back() -> None:
        await hold.wait()

    held: Step = [held_back, *calls(SAME)]
    script = [*(calls(SAME) for _ in range(4)), held]
    async with engine(tmp_path, *script, text("done"), interactive=False) as run:
        run.send(Submit(text="go"))
        await run.wait(ProgressJudged, count=4)
        assert run.session.fold.progress.blocked
        run.send(Submit(text="once more"))
        await run.wait(InputAccepted, count=2)
        hold.set()
        ended = await run.wait(TurnEnded)
    assert isinstance(ended, TurnEnded) and ended.reason is EndReason.COMPLETED
    assert len(run.toolbox.ran) == 5


async def test_records_of_progress_hold_no_arguments(tmp_path: Path) -> None:
    secret = ("exec_command", {"cmd": "login --password hunter2"})
    async with engine(tmp_path, *(calls(secret) for _ in range(5)), text("stuck"), interactive=False) as run:
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
    told = run.bodies(ProgressJudged, NoticeRaised)
    assert [body for body in told if "hunter2" in repr(body)] == []
    assert any(trace.call for body in run.bodies(ProgressJudged) for trace in body.traces)


async def test_repeating_a_command_after_a_file_changed_is_no_loop(tmp_path: Path) -> None:
    write: Any = ("write_file", {"path": "a"})
    script = [calls(one) for _ in range(5) for one in (SAME, write)]
    async with engine(tmp_path, *script, text("done"), interactive=False) as run:
        change = (FileChange(path="a", kind="M"),)
        run.checkpointer.changes = [one for _ in range(5) for one in ((), change)]
        run.send(Submit(text="go"))
        ended = await run.wait(TurnEnded)
    assert isinstance(ended, TurnEnded) and ended.reason is EndReason.COMPLETED_UNVERIFIED


async def test_a_check_that_fails_in_another_place_is_progress(tmp_path: Path) -> None:
    async def check(invocation: Invocation, sink: CallSink) -> Outcome:
        text = f"FAILED t.py::test_{len(run.toolbox.ran)}"
        return Outcome(status=OutcomeStatus.FAILED, text=text, exit_code=1)

    still = {"budgets": Budgets(max_idle_steps=3), "interactive": False}
    async with engine(tmp_path, *(calls(SAME) for _ in range(6)), text("done"), **still) as run:
        run.toolbox.behaviour["exec_command"] = check
        run.send(Submit(text="go"))
        ended = await run.wait(TurnEnded)
    assert isinstance(ended, TurnEnded) and ended.reason is EndReason.COMPLETED


class Toggled(FakeCheckpointer):
    """Each call leaves one of two states."""

    async def take(self, cause: Cause) -> Checkpoint:
        taken = await super().take(cause)
        edits = sum(one.cause.phase is Phase.AFTER_CALL for one in self.taken)
        return replace(taken, tree=str(edits % 2))


async def test_edits_that_put_back_what_was_there_are_no_progress(tmp_path: Path) -> None:
    script = [calls(("write_file", {"path": "a", "after": str(number % 2)})) for number in range(12)]
    toggled = Toggled()
    toggled.changes = [(FileChange(path="a", kind="M"),)] * 12
    async with engine(tmp_path, *script, text("stuck"), checkpointer=toggled, interactive=False) as run:
        run.send(Submit(text="go"))
        ended = await run.wait(TurnEnded)
    assert isinstance(ended, TurnEnded) and ended.reason is EndReason.LOOP_DETECTED


async def test_flapping_times_in_a_result_do_not_hide_a_loop(tmp_path: Path) -> None:
    async def tell(invocation: Invocation, sink: CallSink) -> Outcome:
        text = f"failed after {len(run.toolbox.ran)}.{len(run.toolbox.ran)}s"
        return Outcome(status=OutcomeStatus.FAILED, text=text, exit_code=1)

    async with engine(tmp_path, *(calls(SAME) for _ in range(5)), text("stuck"), interactive=False) as run:
        run.toolbox.behaviour["exec_command"] = tell
        run.send(Submit(text="go"))
        ended = await run.wait(TurnEnded)
    assert isinstance(ended, TurnEnded) and ended.reason is EndReason.LOOP_DETECTED


@pytest.mark.parametrize(("wanted", "asked"), [("high", ["high", "low", "high"]), ("", [None, None, None])])
async def test_after_reasoning_alone_the_model_is_asked_once_to_think_less(
    tmp_path: Path, wanted: str, asked: list[str | None]
) -> None:
    thought = Completed(
        parts=(ReasoningPart(text="hm"),), stop=StopReason.LENGTH, usage=Usage(), origin=ORIGIN
    )
    async with engine(tmp_path, [thought], text("here"), text("and on")) as run:
        if wanted:
            run.send(Set(key="effort", value=wanted))
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
        run.send(Submit(text="more"))
        await run.wait(TurnEnded, count=2)
    assert [body.text for body in run.bodies(TurnEnded)] == ["here", "and on"]
    assert [request.effort for request in run.model.requests] == asked


async def test_two_responses_without_content_end_the_run(tmp_path: Path) -> None:
    async with engine(tmp_path, text(""), text(" "), text("sorry"), interactive=False) as run:
        run.send(Submit(text="go"))
        ended = await run.wait(TurnEnded)
    assert isinstance(ended, TurnEnded)
    assert ended.reason is EndReason.LOOP_DETECTED
    assert ended.sentence == "no progress: 2 responses with neither text nor call"
