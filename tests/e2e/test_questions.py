"""`request_user_input` and `update_plan`, with a person and without one."""

import json
from pathlib import Path

import pytest

from tests.e2e.project import call
from tests.e2e.screen import start
from tests.model_server.fixture import ModelServer
from tests.program import Program, model_flags


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program.at(tmp_path)


def test_answers_given_beforehand_are_used_in_order_and_then_nobody_is_there(
    program: Program, model_server: ModelServer
) -> None:
    options = [{"label": "SQLite", "description": "one file"}, {"label": "PostgreSQL"}]
    questions = [
        call("request_user_input", question="Which database?", options=options),
        call("request_user_input", question="Which port?"),
        call("request_user_input", question="Which name?"),
    ]
    model_server.script([{"calls": questions}, {"text": "done"}])
    flags = model_flags("chat", model_server.base_url())
    ran = program.run("exec", "--json", *flags, "--answer", "SQLite", "--answer", "8080", "go")
    assert ran.code == 0, ran.err
    told = [m["content"] for m in model_server.requests[-1].json["messages"] if m["role"] == "tool"]
    assert told[:2] == ["SQLite", "8080"]
    assert told[2].startswith("No answer: no user is available")


def test_what_a_person_chooses_is_the_result(program: Program, model_server: ModelServer) -> None:
    options = [{"label": "SQLite", "description": "one file"}, {"label": "PostgreSQL"}]
    asked = call("request_user_input", question="Which database?", options=options)
    model_server.script([{"calls": [asked]}, {"text": "done"}])
    with start(program, model_server) as screen:
        screen.shows("ready")
        screen.say("go")
        screen.shows("Which database?", "2  PostgreSQL")
        screen.type("2")
        screen.shows("● done", "ready")
        screen.leave()
    told = [m["content"] for m in model_server.requests[-1].json["messages"] if m["role"] == "tool"]
    assert told == ["PostgreSQL"]


def test_a_plan_is_shown_and_its_faults_are_answered(program: Program, model_server: ModelServer) -> None:
    good = [{"step": "look", "status": "completed"}, {"step": "mend", "status": "in_progress"}]
    bad = [{"step": "a", "status": "in_progress"}, {"step": "b", "status": "in_progress"}]
    model_server.script(
        [{"calls": [call("update_plan", plan=good), call("update_plan", plan=bad)]}, {"text": "done"}]
    )
    ran = program.run("exec", "--json", *model_flags("chat", model_server.base_url()), "go")
    assert ran.code == 0, ran.err
    found = [json.loads(line) for line in ran.out.splitlines()]
    (plan,) = [e["item"] for e in found if e["type"] == "item.completed" and e["item"]["type"] == "todo_list"]
    assert [item["text"] for item in plan["items"]] == ["look", "mend"]
    told = [m["content"] for m in model_server.requests[-1].json["messages"] if m["role"] == "tool"]
    assert told[0] == "Plan updated"
    assert "in_progress" in told[1] and "not run" in told[1].lower()
