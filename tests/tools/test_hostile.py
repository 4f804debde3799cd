"""Whatever a model sends as arguments: an answer or an assessment, and never an exception."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandbox.policy import Mode, Policy
from sandbox.probe import ProbeResult, probe
from tests.tools.room import FakeSink
from tools.registry import Toolbox, build_toolbox
from tools.types import Assessment, Invocation, Outcome

NASTY = [
    "", " ", ".", "..", "/", "~", "~nobody-of-this-name", "a\0b", "\n", "\r\n", "\x1b[2J", "a/../../..",
    "n" * 300, "d/" * 400, "out/c1.1", "out/../x", "t1", "t0", "-rf", "*", "[", "!", "\\", "(?P<", "(a+)+$",
    "{}", "🧨", "\u202e", "/proc/self/mem", "/dev/zero", "/dev/tty", ".git/config", ".env", "link/x", "loop",
    "*** Begin Patch",
    "*** Begin Patch\n*** Update File: a.txt\n@@\n-a\n+b\n*** End Patch",
    "*** Begin Patch\n*** Update File: loop\n*** Move to: /\n*** End Patch",
    "*** Begin Patch\n*** Delete File: ..\n*** End Patch", "$(x)", "`x", "'", "\"", "a;b&&c|d>e", "<<EOF\nx",
]  # fmt: skip
VALUES = st.recursive(
    st.one_of(
        st.sampled_from(NASTY),
        st.text(max_size=12),
        st.integers(-(10**20), 10**20),
        st.floats(allow_nan=False, allow_infinity=False),
        st.booleans(),
        st.none(),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from([*NASTY[:8], "step", "label"]), inner, max_size=3),
    ),
    max_leaves=4,
)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> ProbeResult:
    return probe(tmp_path_factory.mktemp("probe"))


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    base = tmp_path_factory.mktemp("hostile").resolve()
    work = base / "work"
    work.mkdir()
    (work / "a.txt").write_text("a\n")
    (work / "loop").symlink_to("loop")
    (work / "link").symlink_to(base)
    return Policy(mode=Mode.WORKSPACE_WRITE, workspace=work, state_dir=base / "state")


@pytest.fixture(scope="module")
def toolbox(policy: Policy, found: ProbeResult) -> Toolbox:
    return build_toolbox(artifacts=policy.state_dir / "artifacts", probe=found, image_capable=True)


def arguments_of(schema: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Mostly the tool's own fields, mostly of a type that fits."""
    fitting = {
        "string": st.one_of(st.sampled_from(NASTY), st.text(max_size=12)),
        "integer": st.integers(-2, 10**6),
        "boolean": st.booleans(),
    }
    fields = {name: fitting.get(field.get("type"), VALUES) for name, field in schema["properties"].items()}
    needed = {name: fields.pop(name) for name in schema.get("required", ())}
    good = st.fixed_dictionaries(needed, optional=fields)
    return st.one_of(
        good, good, st.fixed_dictionaries({}, optional={**dict.fromkeys(fields, VALUES), "more": VALUES})
    )


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
async def test_any_arguments_are_answered_or_assessed(
    toolbox: Toolbox, policy: Policy, data: st.DataObject
) -> None:
    spec = data.draw(st.sampled_from(toolbox.schemas()))
    given_arguments = data.draw(arguments_of(spec.parameters))
    checked = toolbox.check(spec.name, json.dumps(given_arguments))
    if isinstance(checked, str):
        assert checked.encode()
        return
    assessment = toolbox.assess(spec.name, checked, policy)
    assert isinstance(assessment, Assessment)
    (await toolbox.refusal(spec.name, checked, policy)).encode()
    (await toolbox.preview(spec.name, checked, policy)).encode()
    await toolbox.predict(spec.name, checked, policy)


READERS = ("read_file", "list_files", "search_files", "view_image", "write_stdin")


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
async def test_what_reads_gives_an_outcome_for_any_arguments(
    toolbox: Toolbox, policy: Policy, data: st.DataObject
) -> None:
    spec = data.draw(st.sampled_from([spec for spec in toolbox.schemas() if spec.name in READERS]))
    checked = toolbox.check(spec.name, json.dumps(data.draw(arguments_of(spec.parameters))))
    if isinstance(checked, str):
        return
    invocation = Invocation(
        call_id="c1.1",
        tool=spec.name,
        arguments=checked,
        policy=policy,
        spool=Path("/dev/null"),
        max_output_tokens=99,
    )
    outcome = await toolbox.run(invocation, FakeSink())
    assert isinstance(outcome, Outcome)
    assert outcome.text.encode()
