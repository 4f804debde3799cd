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
    assert first.run("exec", "-m", "own/m", "write").code == 0
    assert first.run("exec", "-m", "own/m", "--last", "join").code == 0
    [session] = json.loads(first.run("sessions", "--json").out)
    saved = tmp_path / "saved.jsonl"
    exported = first.run("sessions", "export", session["id"], "--format", "replay", "-o", str(saved))
    assert exported.code == 0, exported.err
    text = saved.read_text()
    assert len(text.splitlines()) == 4 and KEY not in text and "‹hidden›" in text

    (tmp_path / "two").mkdir()
    second = Program.at(tmp_path / "two")
    ran = second.run("exec", "--json", "-m", f"replay/{saved}", "write")
    assert ran.code == 0, ran.out
    assert sorted(path.name for path in second.workspace.iterdir()) == ["a", "b"]
    assert (second.workspace / "b").read_text() == (first.workspace / "b").read_text()
    assert len(model_server.requests) == 4


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
