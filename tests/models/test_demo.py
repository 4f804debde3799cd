import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from agent_tui.models.base import Completed
from agent_tui.models.demo import PATCH, PROMPT, TEST_COMMAND, copy_sample, demo_model, next_step
from context.items import CallPart, ResultItem
from context.view import ExchangeUnit, FinalUnit, Unit, View
from tests.models.views import request, response, user
from tests.waiting import WAIT_S

FAILED = "FAIL: test_a (tests.T.test_a)\n\nRan 4 tests in 0.001s\n\nFAILED (failures=1)"
PASSED = "Ran 4 tests in 0.001s\n\nOK"


def view(*units: Unit) -> View:
    return request(*units).view


async def play(results: Mapping[str, tuple[str, bool]], prompt: str = PROMPT) -> tuple[list[str], str]:
    """Tools asked for until the final text; `results` answers a call by its id."""
    model, units, asked = demo_model(pace_s=0), [user(prompt)], []
    while True:
        done = [part async for part in model.stream(request(*units))][-1]
        assert isinstance(done, Completed)
        item = response(*done.parts, made_by=done.origin)
        if not item.calls:
            return asked, item.text
        asked += [call.provider_id for call in item.calls]
        answers = tuple(answer(call, results) for call in item.calls)
        units.append(ExchangeUnit(response=item, results=answers))


def answer(call: CallPart, results: Mapping[str, tuple[str, bool]]) -> ResultItem:
    text, is_error = results.get(call.provider_id, ("fine", False))
    return ResultItem(id="o", response_item_id="r", call_id=call.call_id, text=text, is_error=is_error)


async def test_the_whole_run_ends_with_what_was_checked() -> None:
    asked, text = await play({"test": (FAILED, True), "retest": (PASSED, False)})
    assert asked == ["look", "look#readme", "test", "read", "read#test", "patch", "retest"]
    assert text.startswith("Done.") and "Ran 4 tests" in text
    assert "in your own project also `agent-tui rollback` in a shell" in text, "the copy goes with the demo"


async def test_a_denied_patch_is_not_reported_as_done() -> None:
    asked, text = await play({"test": (FAILED, True), "patch": ("denied by the person", True)})
    assert "retest" not in asked
    assert "not made" in text and "denied by the person" in text


@pytest.mark.parametrize(
    ("result", "word"), [((FAILED, True), "Not done."), (("denied", True), "Changed, but not checked.")]
)
async def test_an_unchecked_change_says_so(result: tuple[str, bool], word: str) -> None:
    _, text = await play({"test": (FAILED, True), "retest": result})
    assert text.startswith(word)


async def test_tests_that_cannot_run_do_not_stop_the_work() -> None:
    _, text = await play({"test": ("denied", True), "retest": (PASSED, False)})
    assert text.startswith("Done.")


async def test_nothing_is_changed_when_all_tests_pass() -> None:
    asked, text = await play({"test": (PASSED, False)})
    assert "patch" not in asked and "nothing to change" in text


def test_another_task_is_declined() -> None:
    earlier = FinalUnit(response=response())
    step = next_step(view(user(PROMPT), earlier, user("now write a compiler")))
    assert not step.calls and "scripted" in step.text


def test_the_sample_fails_before_the_patch_and_passes_after(tmp_path: Path) -> None:
    root = copy_sample(tmp_path)
    assert run_tests(root) != 0
    removed = next(line[1:] for line in PATCH.splitlines() if line.startswith("-"))
    added = next(line[1:] for line in PATCH.splitlines() if line.startswith("+"))
    source = root / "slugkit/slugs.py"
    text = source.read_text(encoding="utf-8")
    assert text.count(removed) == 1
    source.write_text(text.replace(removed, added), encoding="utf-8")
    assert run_tests(root) == 0


def run_tests(root: Path) -> int:
    command = [sys.executable, *TEST_COMMAND.split()[1:]]
    return subprocess.run(command, cwd=root, capture_output=True, timeout=WAIT_S).returncode
