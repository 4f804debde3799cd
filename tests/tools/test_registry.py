"""Calls that cannot be run are answered, and the answer says what to do."""

import json
from pathlib import Path

import pytest

from sandbox.probe import probe
from tools.registry import Toolbox, build_toolbox


@pytest.fixture
def toolbox(tmp_path: Path) -> Toolbox:
    return build_toolbox(artifacts=tmp_path / "artifacts", probe=probe(tmp_path))


def test_the_tools_are_those_of_the_product(toolbox: Toolbox) -> None:
    names = [spec.name for spec in toolbox.schemas()]
    assert names == [
        "apply_patch", "exec_command", "list_files", "read_file", "request_user_input", "search_files",
        "update_plan", "view_image", "write_stdin",
    ]  # fmt: skip
    for spec in toolbox.schemas():
        assert spec.description
        assert not spec.description.endswith("\n")
        assert spec.parameters["additionalProperties"] is False
        json.dumps(spec.parameters)


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("exec_comand", "{}", "There is no tool `exec_comand`; did you mean `exec_command`"),
        ("zzz", "{}", "the tools are `apply_patch`"),
        ("apply_patch", '{"patch": "*** Begin Patch\\n+x', "were cut off because of their length"),
        ("read_file", '{"path": "a"', "were cut off because of their length"),
        ("exec_command", '{"cmd": ls"}', "no valid JSON: Expecting value at line 1, column 9, near"),
        ("exec_command", "5", "they must be an object, not an integer"),
        ("exec_command", '"text"', "they must be an object, not a string"),
        ("exec_command", "[]", "they must be an object, not a list"),
        ("exec_command", "", "missing field `cmd`"),
        ("exec_command", '{"command": "ls"}', "unknown field `command`; did you mean `cmd`"),
        ("exec_command", '{"cmd": 5}', "field `cmd` must be a string, not an integer"),
        ("exec_command", '{"cmd": ""}', "field `cmd` must not be empty"),
        ("exec_command", '{"cmd": "ls\\u0000"}', "holds a NUL"),
        (
            "exec_command",
            '{"cmd": "ls", "yield_ms": 1.5}',
            "`yield_ms` must be an integer, not a number",
        ),
        ("exec_command", '{"cmd": "ls", "env": {"A": 1}}', "field `env.A` must be a string"),
        ("exec_command", '{"cmd": "ls", "timeout_s": NaN}', "`NaN` is no JSON value"),
        ("read_file", '{"path": "a", "start_line": 0}', "field `start_line` must be at least 1, not 0"),
        ("write_stdin", '{"session": "t1", "signal": "STOP"}', "must be one of `INT`, `TERM`"),
        ("update_plan", '{"plan": [{"step": "a"}]}', "field `plan[0]`: missing field `status`"),
    ],
)
def test_an_invalid_call_is_answered(toolbox: Toolbox, tool: str, arguments: str, said: str) -> None:
    answer = toolbox.check(tool, arguments)
    assert isinstance(answer, str)
    assert said in answer


@pytest.mark.parametrize("text", ["", "  ", "{}", '"{}"'])
def test_a_tool_without_required_fields_runs_without_arguments(toolbox: Toolbox, text: str) -> None:
    assert toolbox.check("list_files", text) == {}


def test_json_inside_a_json_string_and_nulls_are_understood(toolbox: Toolbox) -> None:
    inside = json.dumps(json.dumps({"cmd": "ls", "workdir": None, "tty": None}))
    assert toolbox.check("exec_command", inside) == {"cmd": "ls"}


def test_deep_nesting_is_an_answer_and_no_crash(toolbox: Toolbox) -> None:
    assert isinstance(toolbox.check("exec_command", '{"cmd": ' + "[" * 100_000), str)


def test_many_faults_are_named_up_to_a_bound(toolbox: Toolbox) -> None:
    arguments = {"plan": [{"step": "", "status": "x"} for _ in range(20)]}
    answer = toolbox.check("update_plan", json.dumps(arguments))
    assert isinstance(answer, str)
    assert "more" in answer
    assert len(answer) < 1_500


def test_importing_the_toolbox_loads_no_library_early() -> None:
    import subprocess
    import sys

    code = (
        "import sys, tools.registry; "
        "print(sorted({'jsonschema','pathspec','charset_normalizer','tree_sitter'} & set(sys.modules)))"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
