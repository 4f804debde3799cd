"""Cases A33 to A38 through the real program, against the model server."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.model_server.fixture import ModelServer
from tests.models.views import DIALECTS

Step = Mapping[str, Any]
ADD = "*** Begin Patch\n*** Add File: a.txt\n+hello\n*** End Patch\n"


@dataclass
class Program:
    """`agent-tui exec` in a workspace of its own, with providers named after the dialects."""

    home: Path
    server: ModelServer

    @property
    def workspace(self) -> Path:
        return self.home / "w"

    @property
    def log(self) -> str:
        file = self.workspace / "log.txt"
        return file.read_text(encoding="utf-8") if file.exists() else ""

    def prepare(self) -> None:
        self.workspace.mkdir()
        config = self.home / ".config" / "agent-tui" / "config.toml"
        config.parent.mkdir(parents=True)
        tables = [
            f'[providers.my-{dialect}]\napi = "{dialect}"\nbase_url = "{self.server.base_url(dialect)}"\n'
            for dialect in DIALECTS
        ]
        config.write_text("".join(tables), encoding="utf-8")

    def run(self, dialect: str, *arguments: str, model: str = "m", code: int = 0) -> list[dict[str, Any]]:
        """Events of one run, which must end with `code`."""
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8"}
        command = [sys.executable, "-m", "agent_tui", "exec", "--json", "-m", f"my-{dialect}/{model}"]
        done = subprocess.run(
            [*command, *(arguments or ("go",))],
            cwd=self.workspace,
            env=env,
            capture_output=True,
            text=True,
            timeout=50,
        )
        assert done.returncode == code, "\n".join([*done.stdout.splitlines()[-3:], done.stderr])
        return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def program(model_server: ModelServer, tmp_path: Path) -> Program:
    made = Program(tmp_path, model_server)
    made.prepare()
    return made


def append(word: str, **fields: Any) -> dict[str, Any]:
    return {"tool": "exec_command", "arguments": {"cmd": f"echo {word} >> log.txt"}, **fields}


def chunks(*deltas: Mapping[str, Any], finish: str = "tool_calls") -> Step:
    made = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    made.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    return {"raw": [*(f"data: {json.dumps(chunk)}\n\n" for chunk in made), "data: [DONE]\n\n"]}


def piece(word: str, **fields: Any) -> Mapping[str, Any]:
    arguments = json.dumps({"cmd": f"echo {word} >> log.txt"})
    return {"tool_calls": [{**fields, "function": {"name": "exec_command", "arguments": arguments}}]}


def test_calls_without_ids_or_numbers_each_run_once(program: Program) -> None:  # A33
    program.server.script(
        [
            chunks(piece("1"), piece("2")),
            chunks(piece("3", index=0, id="a"), {}, {"reasoning": "hm"}, piece("4", index=0, id="b")),
            {"text": "Done."},
        ]
    )
    program.run("chat")
    assert program.log == "1\n2\n3\n4\n"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_ids_that_come_back_name_different_calls(program: Program, dialect: str) -> None:  # A34
    same = {"id": "exec_command:0"}
    program.server.script(
        [
            {"calls": [append("1", **same)]},
            {"calls": [append("2", **same), append("3", **same)]},
            {"text": "Done."},
            {"calls": [append("4", **same)]},
            {"text": "Done."},
        ]
    )
    program.run(dialect)
    program.run(dialect, "--last", "again")
    assert program.log == "1\n2\n3\n4\n"


def test_cut_and_bad_arguments_never_run_and_the_model_is_told_which(program: Program) -> None:  # A35
    cut = {"tool": "apply_patch", "arguments": json.dumps({"patch": ADD})[:40]}
    bad = {"tool": "exec_command", "arguments": '{"cmd": ls"}'}
    program.server.script(
        [
            {"calls": [cut], "stop": "length"},
            {"calls": [cut]},
            {"calls": [bad]},
            {"calls": [{"tool": "exec_command", "arguments": "7"}]},
            {"calls": [append("good")]},
            {"text": "Done."},
        ]
    )
    program.run("chat")
    assert program.log == "good\n" and not (program.workspace / "a.txt").exists()
    answers = [m["content"] for m in program.server.requests[-1].json["messages"] if m["role"] == "tool"]
    assert ["limit" in answer for answer in answers] == [True, True, False, False, False]
    assert "JSON" in answers[2]


def test_another_model_in_the_middle_keeps_the_session_valid(program: Program) -> None:  # A36
    thinking = {"reasoning": "secret plan", "calls": [append("1")]}
    program.server.script([thinking, {"text": "a"}, {"text": "b"}, {"text": "c"}, {"text": "d"}])
    program.run("messages", model="x")
    program.run("messages", "--last", "on", model="y")
    program.run("responses", "--last", "on", model="z")
    program.run("messages", "--last", "on", model="x")
    holds = [b"secret plan" in request.body for request in program.server.requests]
    assert holds == [False, True, False, False, True]


def test_a_stated_wait_is_kept_and_the_answer_shown_once(program: Program) -> None:  # A37
    limit = {"status": 429, "headers": {"retry-after": "1"}, "body": {"error": {"message": "slow down"}}}
    program.server.script([limit, {"text": "Done."}])
    events = program.run("chat")
    first, second = program.server.requests
    assert second.at - first.at >= 1.0 and first.body == second.body
    assert [e["item"]["text"] for e in events if e.get("item", {}).get("type") == "agent_message"] == [
        "Done."
    ]


def test_a_wait_too_long_ends_with_the_words_of_the_provider(program: Program) -> None:  # A37
    body = {"error": {"message": "come back in twenty minutes"}}
    program.server.script([{"status": 429, "headers": {"retry-after": "1152"}, "body": body}])
    events = program.run("chat", code=1)
    [failed] = [event for event in events if event["type"] == "turn.failed"]
    assert "twenty minutes" in failed["error"]["message"]


@pytest.mark.parametrize("cut", ["text", "call"])
def test_nothing_of_a_broken_answer_runs(program: Program, cut: str) -> None:  # A38
    answer = {"text": "Working on it.", "calls": [append("x")]}
    program.server.script([{**answer, "cut": cut, "piece": 4}, answer, {"text": "Done."}])
    events = program.run("chat")
    assert program.log == "x\n"
    texts = [e["item"]["text"] for e in events if e.get("item", {}).get("type") == "agent_message"]
    assert texts == ["Working on it.", "Done."]
