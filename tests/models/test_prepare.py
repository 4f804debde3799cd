"""A client that is made before the first request is wanted."""

import sys
from pathlib import Path

from agent_tui.models.base import Completed, ErrorKind, Failed
from agent_tui.models.route import find_route
from agent_tui.models.router import open_model
from tests.model_server.fixture import ModelServer
from tests.models.views import model_at, parts_of, request, route_to, user


async def test_a_prepared_model_answers_as_any_other(model_server: ModelServer) -> None:
    model_server.script([{"text": "one"}, {"text": "two"}])
    model = model_at(model_server, "chat")
    model.prepare()
    for _ in range(2):
        assert isinstance((await parts_of(model, request(user("go"))))[-1], Completed)
    await model.aclose()
    await model.aclose()


async def test_what_fails_ahead_is_told_by_each_request(model_server: ModelServer) -> None:
    model = open_model(route_to(model_server, "chat"), api_key="sk-ключ")
    model.prepare()
    for _ in range(2):
        last = (await parts_of(model, request(user("go"))))[-1]
        assert isinstance(last, Failed) and last.error.kind is ErrorKind.BAD_REQUEST
    await model.aclose()


async def test_a_command_for_the_key_waits_for_the_first_request(
    model_server: ModelServer, tmp_path: Path
) -> None:
    mark = tmp_path / "ran"
    model_server.script([{"text": "in"}], key="k-1234")
    code = f"import pathlib; pathlib.Path({str(mark)!r}).touch(); print('k-1234')"
    table = {
        "api": "chat",
        "base_url": model_server.base_url(),
        "api_key_command": [sys.executable, "-c", code],
    }
    model = open_model(find_route("own/m", providers={"own": table}))
    model.prepare()
    assert not mark.exists()
    assert isinstance((await parts_of(model, request(user("go"))))[-1], Completed)
    assert mark.exists()
    await model.aclose()
