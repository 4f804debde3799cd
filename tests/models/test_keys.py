"""Keys from a command or the keyring, and that no key is ever written anywhere."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agent_tui.models import keys
from agent_tui.models.keys import KeyUnavailableError, find_key
from tests.model_server.fixture import ModelServer
from tests.models.views import DIALECTS
from tests.program import Program

KEY = "sk-swordfish-0123456789abcdef"


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


def test_a_wrong_key_is_in_no_error_and_in_no_file(model_server: ModelServer, tmp_path: Path) -> None:
    model_server.script([], key="another")
    program = Program.at(tmp_path, AGENT_TUI_API_KEY=KEY, AGENT_TUI_DEBUG="1")
    program.config(f'[providers.own]\napi = "chat"\nbase_url = "{model_server.base_url()}"\n')
    ran = program.run("exec", "--json", "-m", "own/m", "go")
    shown = program.run("config", "show", "-m", "own/m"), program.run("doctor", "-m", "own/m")
    assert ran.code == 1 and "invalid api key" in ran.out
    assert not any(KEY in one.out + one.err for one in (ran, *shown))
    assert not [p for p in tmp_path.rglob("*") if p.is_file() and KEY.encode() in p.read_bytes()]


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
