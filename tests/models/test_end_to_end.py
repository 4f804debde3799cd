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
from tests.models.test_collect import STREAMS, streams
from tests.models.views import DIALECTS
from tests.program import ended
from tests.waiting import WAIT_S

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
            timeout=2 * WAIT_S,
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


def test_every_shape_of_two_calls_runs_two_commands(program: Program) -> None:  # A33
    def shape(name: str, number: int) -> Step:
        one, two = (json.dumps({"cmd": f"echo {number}.{place} >> log.txt"}) for place in (1, 2))
        pieces = [{"tool_calls": [one_piece]} for one_piece in streams(one, two)[name]]
        return chunks({"reasoning": "hm"}, *pieces[:1], {}, {"content": ""}, *pieces[1:])

    program.server.script([*map(shape, STREAMS, range(len(STREAMS))), {"text": "Done."}])
    program.run("chat")
    assert program.log.split() == [f"{n}.{place}" for n in range(len(STREAMS)) for place in (1, 2)]


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


def test_what_servers_do_to_good_arguments_is_undone(program: Program) -> None:  # A35
    twice = json.dumps(json.dumps({"cmd": "echo twice >> log.txt"}))
    program.server.script(
        [
            {"calls": [{"tool": "list_files", "arguments": ""}]},
            {"calls": [{"tool": "exec_command", "arguments": twice}]},
            {"text": "Done."},
        ]
    )
    events = program.run("chat")
    [listed] = [e["item"] for e in events if e["type"] == "item.completed" and "list_files" in str(e["item"])]
    assert listed["outcome"] == "succeeded" and program.log == "twice\n"


def test_arguments_that_are_always_cut_end_the_run(program: Program) -> None:  # A35
    cut = {"tool": "apply_patch", "arguments": json.dumps({"patch": ADD})[:40]}
    program.server.script([{"calls": [cut], "stop": "length"}], repeat_last=True)
    events = program.run("chat", code=3)
    assert ended(events)["reason"] == "loop_detected"
    assert len(program.server.requests) <= 6  # notice, block, stop, then the last words
    assert not (program.workspace / "a.txt").exists()


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


def test_a_wait_until_a_date_is_kept(program: Program) -> None:  # A37
    limit = {"status": 429, "headers": {"retry-after": "date+3"}, "body": {"error": {"message": "later"}}}
    program.server.script([limit, {"text": "Done."}])
    program.run("chat")
    first, second = program.server.requests
    assert second.at - first.at >= 1.9  # a date has whole seconds


NOW = {"retry-after": "0"}
QUOTA = {"message": "insufficient balance", "code": "insufficient_quota"}


@pytest.mark.parametrize(
    ("status", "error", "requests"),
    [
        (400, {"message": "no such field", "type": "invalid_request_error"}, 1),
        (401, {"message": "who are you"}, 1),
        (402, QUOTA, 1),
        (429, QUOTA, 1),
        (429, {"message": "slow down"}, 7),
        (500, {"message": "oh no"}, 5),
        (503, {"message": "not today"}, 5),
        (504, {"message": "too late"}, 4),
        (529, {"type": "overloaded_error", "message": "crowded"}, 6),
    ],
)
def test_each_class_of_failure_is_sent_again_as_often_as_it_should(
    program: Program, status: int, error: Mapping[str, Any], requests: int
) -> None:  # A37
    program.server.script([{"status": status, "headers": NOW, "body": {"error": error}}], repeat_last=True)
    events = program.run("chat", code=1)
    assert error["message"] in ended(events)["error"]["message"]
    sent = program.server.requests
    assert len(sent) == requests and len({request.body for request in sent}) == 1


def test_without_a_stated_wait_the_delays_grow(program: Program) -> None:  # A37
    busy = {"status": 503, "body": {"error": {"message": "busy"}}}
    program.server.script([busy, busy, {"text": "Done."}])
    program.run("chat")
    first, second, third = (request.at for request in program.server.requests)
    assert second - first >= 0.5 and third - second >= 1.0


BREAKS: Mapping[str, Mapping[str, Any]] = {
    "before the first byte": {"cut": "connect"},
    "after half the text": {"cut": "text", "piece": 4},
    "after a complete call": {"cut": "call"},
    "inside the arguments": {"cut": "arguments", "piece": 8},
    "an empty body": {"cut": "first", "cut_cleanly": True},
    "half the text, as if whole": {"cut": "text", "piece": 4, "cut_cleanly": True},
    "silence": {"cut": "text", "piece": 4, "stall": True},
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_nothing_of_a_broken_answer_runs(program: Program, dialect: str) -> None:  # A38
    script = []
    for number, how in enumerate(BREAKS.values()):
        answer = {"text": f"Working on {number}.", "calls": [append(str(number))]}
        script += [{**answer, **how}, answer]
    late = {"text": "Working on the last.", "calls": [append("last")], "cut": "finish"}
    program.server.script([*script, late, {"text": "Done."}])
    events = program.run(dialect, "-c", "idle_timeout=2", "go")
    assert program.log.split() == [*map(str, range(len(BREAKS))), "last"]
    texts = [e["item"]["text"] for e in events if e.get("item", {}).get("type") == "agent_message"]
    assert texts == [*(f"Working on {n}." for n in range(len(BREAKS))), "Working on the last.", "Done."]
    sent = program.server.requests
    assert all(sent[2 * n].body == sent[2 * n + 1].body for n in range(len(BREAKS)))
