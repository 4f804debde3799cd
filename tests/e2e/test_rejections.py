"""A key that is refused and a model that is gone: one sentence in every front end."""

from pathlib import Path

import pytest

from tests.e2e.screen import Screen
from tests.model_server.fixture import ModelServer
from tests.models.views import DIALECTS
from tests.program import Program

REFUSED = {"status": 401, "body": {"error": {"message": "wrong one"}}}
GONE = {"status": 404, "body": {"error": {"message": "model 'm' not found, try pulling it first"}}}
KEY = "sk-of-mine-0123456789"


def at(root: Path, server: ModelServer, dialect: str = "chat") -> Program:
    program = Program.at(root, OWN_KEY=KEY, AGENT_TUI_MODEL="own/m")
    address = server.base_url(dialect)
    program.config(f'[providers.own]\napi = "{dialect}"\nbase_url = "{address}"\napi_key_env = "OWN_KEY"\n')
    return program


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_refused_key_and_a_missing_model_are_named_by_a_one_shot_run(
    tmp_path: Path, model_server: ModelServer, dialect: str
) -> None:
    program = at(tmp_path, model_server, dialect)
    forbidden = REFUSED | {"status": 403}
    model_server.script([REFUSED, forbidden, GONE, {"text": "in"}, GONE])
    ran = [program.run("exec", "--json", *more, "go") for more in ((), (), (), (), ("--last",))]
    assert [one.end["sentence"] for one in ran] == [
        "own refused the key in OWN_KEY (401)",
        "own refused the key in OWN_KEY (403)",
        "no model: `own/m` is not installed",
        "done",
        "no model: `own/m` is not installed any more",
    ]
    assert [one.end["exit_code"] for one in ran] == [1, 1, 1, 0, 1]
    assert ran[0].end["error"]["message"] == "wrong one"


def test_a_server_that_wants_a_key_where_there_is_none_is_told_from_one_that_refuses_it(
    tmp_path: Path, model_server: ModelServer
) -> None:
    program = at(tmp_path, model_server)
    model_server.script([REFUSED])
    ran = program.run("exec", "go", env={"OWN_KEY": ""})
    assert "own asks for a key, and OWN_KEY holds none (401): wrong one" in ran.err


def test_a_refused_key_and_a_model_that_is_gone_are_told_in_a_session(
    tmp_path: Path, model_server: ModelServer
) -> None:
    program = at(tmp_path, model_server)
    model_server.script([REFUSED, {"text": "in"}, GONE])
    with Screen(program) as screen:
        screen.shows("ready")
        screen.say("go")
        screen.shows("own refused the key in OWN_KEY (401). Fix it and press Enter, or /model for another")
        screen.shows("wrong one", "paused")
        screen.type("\r")
        screen.shows("done")
        screen.say("go on")
        screen.shows("no model: `own/m` is not installed any more; the session is kept. /model picks another")
        screen.type("\x04")
        screen.end()
    assert KEY not in screen.seen
