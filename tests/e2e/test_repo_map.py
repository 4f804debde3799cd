"""The map of the project in the whole program: a tool, a section, and nothing without grammars."""

import json
from dataclasses import replace

from tests.e2e.project import call
from tests.model_server.fixture import ModelServer
from tests.program import Program, model_flags

GRAMMARS = ("python", "javascript", "typescript", "go", "rust")


def run(program: Program, server: ModelServer, text: str) -> str:
    ran = program.run("exec", *model_flags("chat", server.base_url()), text)
    assert ran.code == 0, ran.err
    return ran.err


def tools(server: ModelServer) -> list[str]:
    return [tool["function"]["name"] for tool in server.requests[-1].json["tools"]]


def test_the_tool_shows_definitions_and_keeps_its_cache_in_the_state_directory(
    program: Program, model_server: ModelServer
) -> None:
    model_server.script([{"calls": [call("repo_map", focus="add")]}, {"text": "seen"}])
    run(program, model_server, "look")
    assert "calc.py:\\n    1 def add(a, b):" in model_server.requests[-1].body.decode()
    assert tools(model_server) == sorted(tools(model_server))
    assert list((program.state / "repo-map").glob("*.db"))


def test_without_a_grammar_there_is_no_tool_and_no_error(program: Program, model_server: ModelServer) -> None:
    model_server.script([{"text": "fine"}])
    bare = replace(program, hidden=tuple(f"tree_sitter_{name}" for name in GRAMMARS))
    bare.config("repo_map = true\n")
    run(bare, model_server, "look")
    assert "repo_map" not in tools(model_server)
    assert "Map of the project" not in model_server.requests[-1].body.decode()


def test_the_section_is_in_the_project_text_where_it_is_wanted(
    program: Program, model_server: ModelServer
) -> None:
    program.config("repo_map = true\n")
    (program.workspace / "AGENTS.md").write_text("RULE-1\n")
    model_server.script([{"text": "fine"}])
    run(program, model_server, "look")
    text = json.dumps(model_server.requests[-1].json["messages"])
    assert text.index("RULE-1") < text.index("# Map of the project") < text.rindex("look")
    assert "1 def add(a, b):" in text


def test_a_summary_model_that_cannot_be_had_is_said_and_stops_nothing(
    program: Program, model_server: ModelServer
) -> None:
    program.config('summary_model = "nowhere/model"\n')
    model_server.script([{"text": "fine"}])
    assert "`summary_model` is not used" in run(program, model_server, "look")
