"""Nothing is sent anywhere but to the configured provider: every address that is turned to is recorded."""

import json
from pathlib import Path

import pytest

from tests.e2e import project
from tests.e2e.screen import Screen
from tests.model_server.fixture import ModelServer
from tests.program import Program, model_flags

# Python tells of every connection, look-up and datagram of the process before it happens (PEP 578).
AUDIT = (
    "import json, os, sys; log = os.open(os.environ['SPOKEN_TO'], os.O_WRONLY | os.O_APPEND | os.O_CREAT); "
    "told = ("
    "'socket.connect', 'socket.getaddrinfo', 'socket.gethostbyname', 'socket.sendto', 'socket.sendmsg'); "
    "sys.addaudithook(lambda event, args: os.write(log, (json.dumps([event, repr(args[-1])"
    " if event.startswith('socket.s') or event == 'socket.connect' else repr(args[0])]) + chr(10)).encode())"
    " if event in told else None)"
)


@pytest.fixture
def program(tmp_path: Path) -> Program:
    program = Program.at(tmp_path, SPOKEN_TO=str(tmp_path / "spoken-to"))
    project.make(program)
    return Program(home=program.home, workspace=program.workspace, extra=program.extra, first=AUDIT)


def spoken_to(program: Program) -> set[str]:
    """Addresses and names, in the words of Python; sockets of this machine's file system left out."""
    record = Path(program.extra["SPOKEN_TO"])
    found = [json.loads(line)[1] for line in record.read_text().splitlines()] if record.exists() else []
    return {address for address in found if address.startswith("(") or "." in address}


def test_a_run_speaks_to_its_provider_alone(program: Program, model_server: ModelServer) -> None:
    model_server.script(project.mending())
    url = model_server.base_url()
    ran = program.run("exec", *model_flags("chat", url), "make the failing test pass")
    assert ran.code == 0, ran.err
    port = url.split(":")[2].split("/")[0]
    assert spoken_to(program) <= {f"('127.0.0.1', {port})", "'127.0.0.1'"}
    assert f"('127.0.0.1', {port})" in spoken_to(program), "the record works"


@pytest.mark.parametrize(
    "line",
    [
        "demo --yes",
        "exec -m demo/scripted hi",
        "exec -m openai/x hi",
        "sessions --all",
        "checkpoints",
        "rollback --dry-run",
        "sandbox -- true",
        "config show",
        "debug classify ls",
        "completions bash",
        "--version",
    ],
)
def test_what_needs_no_model_speaks_to_nobody(program: Program, line: str) -> None:
    program.run(*line.split())
    assert spoken_to(program) == set()


def test_doctor_asks_this_machine_and_the_chosen_provider_alone(
    program: Program, model_server: ModelServer
) -> None:
    for flags in (("-m", "demo/scripted"), model_flags("chat", model_server.base_url())):
        assert program.run("doctor", *flags, env={"OPENAI_API_KEY": "sk-x"}).code == 0
    assert all("127.0.0.1" in address or "localhost" in address for address in spoken_to(program))


def test_the_interface_speaks_to_nobody_by_itself(program: Program) -> None:
    with Screen(program, "-m", "demo/scripted") as screen:
        screen.shows("ready")
        screen.leave()
    assert spoken_to(program) == set()
