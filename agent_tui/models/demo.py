"""The demo: a sample project with one failing test, and a scripted model that knows how to mend it.

The model is a function of the view. It looks at what its calls really brought (denied, failed, passed)
and says no more than that.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from agent_tui.frozen import frozen
from agent_tui.models.scripted import ScriptedCall, ScriptedModel, Step
from context.items import ResultItem
from context.view import ExchangeUnit, Unit, UserUnit, View

PROMPT = "Make the failing test pass"
PROJECT = "slugkit"
TEST_COMMAND = "python3 -B -m unittest"
PACE_S = 0.02  # between two pieces: about the speed of a quick model

PATCH = """*** Begin Patch
*** Update File: slugkit/slugs.py
@@ def slugify(text: str) -> str:
     text = re.sub(r"[^a-z0-9]+", "-", text.lower())
-    return text.strip("-")
+    return text.strip("-") or "untitled"
*** End Patch
"""

_DATA = Path(__file__).parent / "demo_data"


def copy_sample(directory: Path) -> Path:
    """Write a fresh sample project below `directory` and give its root. Raises OSError."""
    source, root = _DATA / PROJECT, directory / PROJECT
    for file in sorted(source.rglob("*.txt")):
        # Stored as text, so that no tool takes the sample for a part of the product.
        target = root / file.relative_to(source).with_suffix("")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.read_bytes())
    return root


def demo_model(pace_s: float = PACE_S) -> ScriptedModel:
    """The scripted model of the demo; `pace_s` 0 for a run that nobody watches."""
    return ScriptedModel(next_step, pace_s=pace_s)


@frozen
class _Tried:
    """A call of this turn and what came of it."""

    label: str
    result: ResultItem

    @property
    def ran_tests(self) -> bool:
        return "Ran " in self.result.text and " test" in self.result.text

    @property
    def passed(self) -> bool:
        return self.ran_tests and "FAILED" not in self.result.text and "\nOK" in self.result.text


def next_step(view: View) -> Step:
    """The demo's next response to what is in the view."""
    tried = {entry.label: entry for entry in _this_turn(view.units)}
    if _prompts(view.units) > 1 and not tried and not _is_demo_prompt(view.units):
        return _out_of_depth()
    for label, make in _STAGES:
        if label not in tried:
            return make(tried)
    return _closing(tried)


def _this_turn(units: tuple[Unit, ...]) -> Iterator[_Tried]:
    start = max((i for i, unit in enumerate(units) if _starts_turn(unit)), default=0)
    for unit in units[start:]:
        if isinstance(unit, ExchangeUnit):
            for call, result in zip(unit.response.calls, unit.results, strict=True):
                yield _Tried(label=call.provider_id.partition("#")[0], result=result)


def _starts_turn(unit: Unit) -> bool:
    return isinstance(unit, UserUnit) and unit.item.origin != "steer"


def _prompts(units: tuple[Unit, ...]) -> int:
    return sum(1 for unit in units if _starts_turn(unit))


def _is_demo_prompt(units: tuple[Unit, ...]) -> bool:
    spoken = [unit.item.text for unit in units if isinstance(unit, UserUnit) and _starts_turn(unit)]
    return bool(spoken) and PROMPT.lower() in spoken[-1].lower()


def _call(label: str, tool: str, **arguments: str) -> ScriptedCall:
    return ScriptedCall(tool=tool, arguments=json.dumps(arguments), id=label)


def _look(_: dict[str, _Tried]) -> Step:
    return Step(
        reasoning="A test fails. First I need to know what the project is and how it is tested.",
        text="I will look at the project first.",
        calls=(
            _call("look", "list_files", path="."),
            _call("look#readme", "read_file", path="README.md"),
        ),
    )


def _test(_: dict[str, _Tried]) -> Step:
    return Step(
        text="The README names the test command. I will run it to see what fails.",
        calls=(_call("test", "exec_command", cmd=TEST_COMMAND),),
    )


def _read(tried: dict[str, _Tried]) -> Step:
    test = tried["test"]
    if test.passed:
        return _nothing_to_do(test)
    if test.ran_tests:
        text = f"`{_failing(test.result.text)}` fails. I will read the code and the test side by side."
    else:
        text = "The tests did not run, so I will read the code and the tests instead."
    return Step(
        text=text,
        calls=(
            _call("read", "read_file", path="slugkit/slugs.py"),
            _call("read#test", "read_file", path="tests/test_slugs.py"),
        ),
    )


def _patch(_: dict[str, _Tried]) -> Step:
    return Step(
        reasoning=(
            "Of a title like '!!!' nothing is left after cleaning, so the slug is empty. The test asks for "
            "'untitled'. The smallest change is a fallback in slugify; unique() needs none."
        ),
        text="A title made of signs alone leaves an empty slug. `slugify` needs a fallback.",
        calls=(_call("patch", "apply_patch", patch=PATCH),),
    )


def _retest(tried: dict[str, _Tried]) -> Step:
    patch = tried["patch"].result
    if patch.is_error:
        return Step(
            text=(
                "The change was not made:\n\n"
                f"> {_first_line(patch.text)}\n\n"
                "Nothing was written. It would have been one line in `slugkit/slugs.py`: "
                '`return text.strip("-") or "untitled"`.'
            )
        )
    return Step(
        text="Now the same tests again.",
        calls=(_call("retest", "exec_command", cmd=TEST_COMMAND),),
    )


def _closing(tried: dict[str, _Tried]) -> Step:
    changed = "`slugkit/slugs.py`: `slugify` now falls back to `untitled` when nothing of a title is left."
    retest = tried["retest"]
    if retest.passed:
        checked = f"Checked with `{TEST_COMMAND}`: {_summary(retest.result.text)}."
        end = "Done."
    elif retest.ran_tests:
        checked = f"`{TEST_COMMAND}` still fails: `{_failing(retest.result.text)}`."
        end = "Not done."
    else:
        checked = f"Not checked, since the tests did not run: {_first_line(retest.result.text)}"
        end = "Changed, but not checked."
    undo = (
        "Work like this is taken back by going to before your message: `/rollback` in the interface, "
        "in your own project also `agent-tui rollback` in a shell."
    )
    return Step(text=f"{end}\n\n- {changed}\n- {checked}\n\n{undo}")


def _nothing_to_do(test: _Tried) -> Step:
    return Step(text=f"All tests pass already ({_summary(test.result.text)}), so there is nothing to change.")


def _out_of_depth() -> Step:
    return Step(
        text=(
            "I am a scripted model and know this one task only. The rest is real: `/rollback` takes my "
            "changes back, `/checkpoints` lists what can be restored; in your own project `agent-tui "
            "rollback` and `agent-tui checkpoints` do in a shell. For real work start agent-tui with "
            "`-m PROVIDER/MODEL`."
        )
    )


_STAGES = (("look", _look), ("test", _test), ("read", _read), ("patch", _patch), ("retest", _retest))


def _failing(output: str) -> str:
    """The first failing test that unittest names."""
    for line in output.splitlines():
        if line.startswith(("FAIL:", "ERROR:")):
            return line.split()[1]
    return "a test"


def _summary(output: str) -> str:
    return next((line.strip() for line in output.splitlines() if line.startswith("Ran ")), "the tests ran")


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "no reason was given")
