"""Keys from a command or the keyring, and that no key is ever written anywhere."""

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agent_tui.models import keys
from agent_tui.models.base import Completed, ErrorKind, Failed, Model, StreamPart
from agent_tui.models.keys import KeyUnavailableError, find_key
from agent_tui.models.route import find_route
from agent_tui.models.router import open_model
from tests.e2e.screen import Screen
from tests.model_server.fixture import ModelServer
from tests.models.views import DIALECTS, request, user
from tests.program import Program
from tests.waiting import WAIT_S, until

KEY = "sk-swordfish-0123456789abcdef"
HEADER = "hk-marlin-0123456789abcdef"


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    find_key.cache_clear()
    yield
    find_key.cache_clear()


def printing(root: Path, text: str) -> str:
    """A command that prints `text` and leaves a mark for each time it ran."""
    script = root / "key.sh"
    script.write_text(f"#!/bin/sh\necho ran >> '{root}/ran'\nprintf '%s\\n' '{text}'\n")
    script.chmod(0o700)
    return str(script)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_key_from_a_command_opens_the_server_and_is_written_nowhere(
    model_server: ModelServer, tmp_path: Path, dialect: str
) -> None:
    call = {"tool": "exec_command", "arguments": {"cmd": "env"}}
    model_server.script([{"calls": [call]}, {"text": "in"}], key=KEY)
    program = Program.at(tmp_path)
    secret = tmp_path / "secret"  # stands for the person's password store
    secret.mkdir()
    program.config(
        f'[providers.own]\napi = "{dialect}"\nbase_url = "{model_server.base_url(dialect)}"\n'
        f"api_key_command = {json.dumps([printing(secret, KEY)])}\n"
    )
    ran = program.run("exec", "--json", "-m", "own/m", "go")
    assert ran.code == 0, ran.out + ran.err
    assert (secret / "ran").read_text() == "ran\n"  # once, for two requests
    written = [path for path in tmp_path.rglob("*") if path.is_file() and secret not in path.parents]
    assert any(path.name.endswith(".db") for path in written)
    assert not [path for path in written if KEY.encode() in path.read_bytes()]
    assert KEY not in ran.out + ran.err


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_fetched_key_that_was_refused_is_fetched_anew(
    model_server: ModelServer, tmp_path: Path, dialect: str
) -> None:
    model_server.script([{"text": "in"}], key=KEY)
    script = printing(tmp_path, "sk-of-yesterday-0123")
    found = {"api": dialect, "base_url": model_server.base_url(dialect), "api_key_command": [script]}
    model = open_model(find_route("own/m", providers={"own": found}))
    (refused,) = [part async for part in model.stream(request(user("go")))]
    assert isinstance(refused, Failed)
    assert (refused.error.kind, refused.error.key_name) == (ErrorKind.AUTH, "api_key_command")
    printing(tmp_path, KEY)
    assert isinstance([part async for part in model.stream(request(user("go")))][-1], Completed)
    await model.aclose()


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_refused_key_cuts_off_nothing_that_goes_on_beside(
    model_server: ModelServer, tmp_path: Path, dialect: str
) -> None:
    refused = {"status": 401, "body": {"error": {"message": "no"}}}
    model_server.script([{"text": "one and two", "gate": "open"}, refused])
    found = {
        "api": dialect,
        "base_url": model_server.base_url(dialect),
        "api_key_command": [printing(tmp_path, KEY)],
    }
    model = open_model(find_route("own/m", providers={"own": found}))
    going_on = asyncio.create_task(_parts(model))
    await asyncio.to_thread(until, lambda: len(model_server.requests) == 1)
    (failed,) = [part async for part in model.stream(request(user("title")))]
    assert isinstance(failed, Failed) and failed.error.kind is ErrorKind.AUTH
    model_server.release("open")
    *_, last = await asyncio.wait_for(going_on, timeout=WAIT_S)
    assert isinstance(last, Completed), last
    await model.aclose()


async def _parts(model: Model) -> list[StreamPart]:
    return [part async for part in model.stream(request(user("go")))]


def test_a_wrong_key_is_in_no_error_and_in_no_file(model_server: ModelServer, tmp_path: Path) -> None:
    model_server.script([], key="another")
    program = Program.at(tmp_path, AGENT_TUI_API_KEY=KEY, AGENT_TUI_DEBUG="1")
    program.config(f'[providers.own]\napi = "chat"\nbase_url = "{model_server.base_url()}"\n')
    ran = program.run("exec", "--json", "-m", "own/m", "go")
    shown = program.run("config", "show", "-m", "own/m"), program.run("doctor", "-m", "own/m")
    assert ran.code == 1 and "invalid api key" in ran.out
    assert not any(KEY in one.out + one.err for one in (ran, *shown))
    assert not [p for p in tmp_path.rglob("*") if p.is_file() and KEY.encode() in p.read_bytes()]


ECHOES: list[dict[str, Any]] = [
    {"status": 401, "body": {"error": {"message": f"Incorrect API key provided: {KEY} ({HEADER})"}}},
    {"status": 400, "body": f"<html><title>{KEY} {HEADER}</title></html>"},
    {"status": 307, "headers": {"location": f"http://127.0.0.1:9/?key={KEY}"}, "body": ""},
    {"raw": [f"data: {json.dumps({'error': {'message': f'bad key {KEY} {HEADER}', 'code': 400}})}\n\n"]},
]


def with_keys(root: Path, server: ModelServer) -> Program:
    """A provider with a key in the environment and others in headers, and one that is not there."""
    program = Program.at(root, OWN_KEY=KEY, AGENT_TUI_MODEL="own/m")
    program.config(
        f'[providers.own]\napi = "chat"\nbase_url = "{server.base_url()}"\napi_key_env = "OWN_KEY"\n'
        f'headers = {{ X-Key = "{HEADER}", Authorization-Too = "Bearer {HEADER}" }}\n'
        '[providers.away]\napi = "chat"\nbase_url = "http://127.0.0.1:9/v1"\napi_key_env = "OWN_KEY"\n'
    )
    return program


def holding_keys(root: Path) -> list[Path]:
    """Files that hold a key, the person's own settings left out."""
    files = [path for path in root.rglob("*") if path.is_file() and path.name != "config.toml"]
    assert any(path.name.endswith(".db") for path in files)
    return [path for path in files if any(key.encode() in path.read_bytes() for key in (KEY, HEADER))]


def test_no_key_is_told_or_written_when_things_go_wrong(model_server: ModelServer, tmp_path: Path) -> None:
    model_server.script([*ECHOES, ECHOES[0]])
    program = with_keys(tmp_path, model_server)
    ran = [program.run("exec", "--debug", *json_flag, "go") for json_flag in ([], ["--json"], [], [])]
    ran.append(program.run("exec", "--debug", "-m", "away/m", "--timeout", "0.3", "go"))
    assert all(one.code for one in ran)
    with Screen(program) as screen:
        screen.shows("ready")
        screen.say("go")
        screen.shows("Incorrect API key")
        screen.type("\x04")
        screen.end()
    told = "".join(one.out + one.err for one in ran) + screen.seen
    assert "Incorrect API key provided: …" in told
    assert KEY not in told and HEADER not in told
    assert holding_keys(tmp_path) == []


def test_no_key_is_told_or_written_when_all_is_well(model_server: ModelServer, tmp_path: Path) -> None:
    look = {"tool": "exec_command", "arguments": {"cmd": "env; cat /proc/self/environ /proc/*/cmdline"}}
    model_server.script([{"calls": [look]}, {"text": "fine"}])
    program = with_keys(tmp_path, model_server)
    ran = [program.run("exec", "--json", "go")]
    [session] = [one["id"] for one in json.loads(program.run("sessions", "--json").out)]
    for argv in (["config", "show"], ["config", "show", "--json"], ["doctor"], ["debug", "request", session]):
        ran.append(program.run(*argv))
    formats = ("jsonl", "markdown", "replay")
    ran += [program.run("sessions", "export", session, "--format", name) for name in formats]
    assert [one.code for one in ran] == [0] * len(ran)
    assert not any(key in one.out + one.err for one in ran for key in (KEY, HEADER))
    assert holding_keys(tmp_path) == []
    assert model_server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert model_server.requests[0].headers["x-key"] == HEADER


def test_a_command_that_fails_ends_the_run_and_what_it_said_is_not_repeated(
    model_server: ModelServer, tmp_path: Path
) -> None:
    program = Program.at(tmp_path)
    program.config(
        f'[providers.own]\napi = "chat"\nbase_url = "{model_server.base_url()}"\n'
        f"""api_key_command = "sh -c 'echo {KEY}; echo {KEY} >&2; exit 3'"\n"""
    )
    ran = program.run("exec", "-m", "own/m", "go")
    assert ran.code == 1 and "`api_key_command` (sh) ended with status 3" in ran.err
    assert KEY not in ran.out + ran.err and model_server.requests == []


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("no-such-command-at-all",), "cannot be started"),
        (("sh", "-c", "exit 4"), "status 4"),
        (("true",), "one line"),
        (("printf", "a\\nb"), "one line"),
    ],
)
def test_what_is_no_key_is_named(argv: tuple[str, ...], said: str) -> None:
    with pytest.raises(KeyUnavailableError, match=said):
        find_key(argv, "")


def test_a_command_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "COMMAND_TIMEOUT_S", 0.2)
    with pytest.raises(KeyUnavailableError, match="no key within"):
        find_key(("sh", "-c", "setsid sleep 2 & sleep 30"), "")


def test_the_keyring_is_asked_by_service_and_user(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = {("models.example", "me"): KEY}
    fake: Any = SimpleNamespace(get_password=lambda service, user: stored.get((service, user)))
    monkeypatch.setitem(sys.modules, "keyring", fake)
    assert find_key((), "models.example/me") == KEY
    with pytest.raises(KeyUnavailableError, match=r"no entry `models\.example/you`"):
        find_key((), "models.example/you")
    with pytest.raises(KeyUnavailableError, match="SERVICE/USER"):
        find_key((), "models.example")
    monkeypatch.setitem(sys.modules, "keyring", None)
    find_key.cache_clear()
    with pytest.raises(KeyUnavailableError, match=r"agent-tui\[keyring\]"):
        find_key((), "models.example/me")
