"""What a card names of a call."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from agent_tui.engine.prepare import Prepared, card_text, prepare, refuse_cut, refuse_repeated
from context.items import StopReason
from tests.tools.room import Room


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


def ready(room: Room, tool: str, arguments: Mapping[str, object]) -> Prepared:
    return prepare(room.toolbox, room.policy, "c1", tool, json.dumps(arguments))


def patch(*paths: str) -> dict[str, object]:
    files = "\n".join(f"*** Add File: {path}\n+x" for path in paths)
    return {"patch": f"*** Begin Patch\n{files}\n*** End Patch\n"}


@pytest.mark.parametrize(
    ("paths", "named"),
    [
        (["src/a/models.py"], "src/a/models.py"),
        (["src/a/models.py", "src/b/models.py"], "2 files: src/a/models.py, src/b/models.py"),
    ],
)
def test_a_patch_names_its_files_by_their_paths_in_the_workspace(
    room: Room, paths: list[str], named: str
) -> None:
    assert card_text(ready(room, "apply_patch", patch(*paths)), "") == named


def test_a_patch_outside_of_the_workspace_names_the_whole_path(room: Room, tmp_path: Path) -> None:
    outside = tmp_path.resolve() / "other" / "models.py"
    assert card_text(ready(room, "apply_patch", patch(str(outside))), "") == str(outside)


@pytest.mark.parametrize(
    ("tool", "arguments", "named"),
    [
        ("exec_command", {"cmd": "cat calc.py"}, "cat calc.py"),
        ("read_file", {"path": "calc.py"}, "calc.py"),
        ("apply_patch", patch("src/calc.py"), "src/calc.py"),
    ],
)
def test_a_call_that_is_answered_instead_of_run_is_named_as_one_that_runs(
    room: Room, tool: str, arguments: Mapping[str, object], named: str
) -> None:
    raw = json.dumps(arguments)
    call = ready(room, tool, arguments)
    assert card_text(refuse_repeated(call), raw) == named
    assert card_text(refuse_cut(call, StopReason.LENGTH), raw) == named


def test_a_call_whose_arguments_cannot_be_used_is_named_by_them(room: Room) -> None:
    bad = prepare(room.toolbox, room.policy, "c1", "exec_command", '{"cmd": 1}')
    assert card_text(refuse_repeated(bad), '{"cmd": 1}') == '{"cmd": 1}'
