"""A session's model side leaves the machine redacted and plays again offline, through the real program."""

import json
from pathlib import Path

import pytest

from tests.model_server.fixture import ModelServer
from tests.models.views import DIALECTS
from tests.program import Program

KEY = "swordfish-of-the-example-provider"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_saved_session_gives_the_same_workspace_without_a_network(
    model_server: ModelServer, tmp_path: Path, dialect: str
) -> None:
    model_server.script(
        [
            {
                "reasoning": "plan",
                "calls": [{"tool": "exec_command", "arguments": {"cmd": "echo 1 > a; echo 2 > b"}}],
            },
            {"text": f"Wrote both with {KEY}."},
            {"calls": [{"tool": "exec_command", "arguments": {"cmd": "cat a b > c"}}]},
            {"text": "Joined."},
        ]
    )
    (tmp_path / "one").mkdir()
    first = Program.at(tmp_path / "one", OWN_KEY=KEY)
    base = model_server.base_url(dialect)
    first.config(f'[providers.own]\napi = "{dialect}"\nbase_url = "{base}"\napi_key_env = "OWN_KEY"\n')
    recorded = [first.run("exec", "--json", "-m", "own/m", f"write {KEY} at {first.home}/x")]
    recorded.append(first.run("exec", "--json", "-m", "own/m", "--last", "join"))
    assert [ran.code for ran in recorded] == [0, 0]
    [session] = json.loads(first.run("sessions", "--json").out)
    saved = tmp_path / "saved.jsonl"
    exported = first.run("sessions", "export", session["id"], "--format", "replay", "-o", str(saved))
    assert exported.code == 0, exported.err
    text = saved.read_text()
    said = [line["said"] for line in map(json.loads, text.splitlines()) if "said" in line]
    assert said == ["write ‹hidden› at ~/x", "join"]
    assert len(text.splitlines()) == 6 and KEY not in text and str(first.home) not in text

    (tmp_path / "two").mkdir()
    second = Program.at(tmp_path / "two")
    ran = second.run("exec", "--json", "-m", f"replay/{saved}")
    assert ran.code == 0, ran.out
    assert content(second) == content(first) == {"a": "1\n", "b": "2\n", "c": "1\n2\n"}
    assert shape(ran.out) == [
        (kind, text.replace(KEY, "‹hidden›")) for one in recorded for kind, text in shape(one.out)
    ]
    assert len(model_server.requests) == 4


def content(program: Program) -> dict[str, str]:
    return {path.name: path.read_text() for path in program.workspace.iterdir()}


def shape(out: str) -> list[tuple[str, str]]:
    """What happened, without times, ids and numbers of tokens."""
    found = []
    for event in map(json.loads, out.splitlines()):
        item = event.get("item", {})
        if event["type"] in ("turn.completed", "turn.failed"):
            found.append((event["type"], event["reason"]))
        elif event["type"] == "item.completed" and item["type"] in ("agent_message", "command_execution"):
            found.append((item["type"], item.get("text") or item["command"] + item["aggregated_output"]))
    return found


def line(text: str, *calls: tuple[str, dict[str, str]]) -> str:
    """A saved response."""
    parts = [{"type": "TextPart", "text": text, "raw": None}] if text else []
    parts += [
        {
            "type": "CallPart",
            "call_id": f"c{number}",
            "provider_id": "",
            "tool": tool,
            "arguments": json.dumps(arguments),
            "family": "function",
            "raw": None,
        }
        for number, (tool, arguments) in enumerate(calls)
    ]
    origin = {"provider": "p", "model": "m", "api": "chat"}
    return json.dumps({"id": "m1", "step_id": "s1", "parts": parts, "origin": origin})


def test_a_steer_comes_at_its_place(tmp_path: Path) -> None:
    saved = tmp_path / "saved.jsonl"
    lines = [
        json.dumps({"said": "go", "origin": "prompt"}),
        line("", ("exec_command", {"cmd": "echo one > log"})),
        json.dumps({"said": "also two", "origin": "steer"}),
        line("", ("exec_command", {"cmd": "echo two >> log"})),
        line("both"),
        json.dumps({"said": "thanks", "origin": "queued"}),
        line("you are welcome"),
    ]
    saved.write_text("\n".join(lines))
    program = Program.at(tmp_path)
    ran = program.run("exec", "--json", "-m", f"replay/{saved}")
    assert ran.code == 0, ran.out + ran.err
    ended = [event for event in map(json.loads, ran.out.splitlines()) if event["type"] == "item.completed"]
    told = [event["item"].get("text") or event["item"].get("command") for event in ended]
    assert [text for text in told if text in ("also two", "echo two >> log", "both", "you are welcome")] == [
        "also two",
        "echo two >> log",
        "both",
        "you are welcome",
    ]
    assert content(program) == {"log": "one\ntwo\n"}


def test_a_saved_session_without_a_prompt_needs_one(tmp_path: Path) -> None:
    saved = tmp_path / "saved.jsonl"
    saved.write_text(line("hello"))
    program = Program.at(tmp_path)
    ran = program.run("exec", "-m", f"replay/{saved}")
    assert ran.code == 2 and "holds no prompt" in ran.err
    assert program.run("exec", "-m", f"replay/{saved}", "go").out == "hello\n"


def test_a_saved_session_that_is_used_up_says_so(tmp_path: Path) -> None:
    saved = tmp_path / "saved.jsonl"
    saved.write_text("")
    program = Program.at(tmp_path)
    ran = program.run("exec", "-m", f"replay/{saved}", "go")
    assert ran.code == 1 and "the saved session ends here, after 0 responses" in ran.err


@pytest.mark.parametrize("content", [None, "{}", "no json"])
def test_what_is_no_saved_session_is_named(tmp_path: Path, content: str | None) -> None:
    saved = tmp_path / "saved.jsonl"
    if content is not None:
        saved.write_text(content)
    ran = Program.at(tmp_path).run("exec", "-m", f"replay/{saved}", "go")
    assert ran.code == 2 and str(saved) in ran.err and "Traceback" not in ran.err
