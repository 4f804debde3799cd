"""The same script through the whole program in each dialect: the same workspace, the same events."""

import json
from pathlib import Path
from typing import Any

from tests.model_server.fixture import ModelServer
from tests.models.views import DIALECTS
from tests.program import Program

PATCH = "*** Begin Patch\n*** Add File: b.txt\n+one\n+two\n*** End Patch\n"
CHANGING = ("ts", "run_id", "thread_id", "session_id", "duration_s", "pid", "seq")


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments}


SCRIPT = [
    {
        "reasoning": "Look first.",
        "text": "I look around.",
        "calls": [
            call("list_files", path="."),
            call("read_file", path="a.txt"),
            call("read_file", path="none.txt"),
        ],
        "usage": {"input": 900, "output": 40, "cache_read": 100},
    },
    {"calls": [call("apply_patch", patch=PATCH), call("exec_command", cmd="wc -l < b.txt; ls; exit 3")]},
    {"calls": [{"tool": "exec_command", "arguments": '{"cmd": ls"}'}]},
    {"calls": [call("no_such_tool"), call("exec_command", cmd="rm a.txt")]},
    {"status": 503, "headers": {"retry-after": "0"}, "body": {"error": {"message": "busy"}}},
    {"text": "It is done, ünd ✓ so.", "piece": 5},
]


def normal(value: Any, names: dict[str, str]) -> Any:
    """Without times and ids of this session, and with the workspace's place left out."""
    if isinstance(value, dict):
        return {key: normal(item, names) for key, item in value.items() if key not in CHANGING}
    if isinstance(value, list):
        return [normal(item, names) for item in value]
    if isinstance(value, str):
        for name, stands in names.items():
            value = value.replace(name, stands)
    return value


def is_beside(event: dict[str, Any]) -> bool:
    """The checkpoint of a turn's start is taken while the first request is under way: its place is open."""
    return bool(event.get("item", {}).get("phase") == "turn_start")


def in_order(events: list[Any]) -> list[Any]:
    """Without the calls that run side by side, which end as they end."""
    return [event for event in events if event.get("item", {}).get("tool") not in ("read_file", "list_files")]


def run(server: ModelServer, root: Path, dialect: str) -> tuple[list[Any], dict[str, str]]:
    root.mkdir()
    program = Program.at(root)
    (program.workspace / "a.txt").write_text("hello\n")
    program.config(f'[providers.own]\napi = "{dialect}"\nbase_url = "{server.base_url(dialect)}"\n')
    server.script(SCRIPT)
    ran = program.run("exec", "--json", "-m", "own/m", "go")
    assert ran.code == 0, ran.out + ran.err
    events = [event for event in map(json.loads, ran.out.splitlines()) if not is_beside(event)]
    names = {events[0]["thread_id"]: "SESSION", str(program.workspace): "WORKSPACE", str(root): "ROOT"}
    left = {path.name: path.read_text() for path in program.workspace.iterdir()}
    return normal(events, names), left


def test_the_same_script_gives_the_same_events_and_workspace(
    model_server: ModelServer, tmp_path: Path
) -> None:
    (chat, left), *others = (run(model_server, tmp_path / dialect, dialect) for dialect in DIALECTS)
    assert left == {"b.txt": "one\ntwo\n"}
    for dialect, (events, there) in zip(DIALECTS[1:], others, strict=True):
        assert there == left, dialect
        assert in_order(events) == in_order(chat), dialect
        assert sorted(events, key=json.dumps) == sorted(chat, key=json.dumps), dialect
