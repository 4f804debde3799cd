"""The `model_server` fixture: one server process a test run, one stage a test."""

import base64
import json
import subprocess
import sys
import urllib.request
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.waiting import WAIT_S

SERVER = Path(__file__).with_name("server.py")


@dataclass(frozen=True, kw_only=True)
class RecordedRequest:
    """One request as it arrived."""

    number: int
    dialect: str
    at: float  # when it had come in whole, monotonic seconds of the server
    idle_s: float | None  # since the response before it was whole; None for the first
    connection: int  # the same number for requests over one connection
    headers: Mapping[str, str]
    body: bytes
    violations: tuple[str, ...]

    @property
    def json(self) -> dict[str, Any]:
        """The body, read."""
        value: dict[str, Any] = json.loads(self.body)
        return value


class ModelServer:
    """One stage of the scripted server; see `wire.py` for what a step may hold."""

    def __init__(self, port: int, directory: Path) -> None:
        self._port = port
        self._directory = directory
        self._stage = uuid.uuid4().hex[:8]
        self.allow_violations = False  # a test of the server itself sets it
        self.allow_unplayed = False  # a test that ends before the script does sets it
        self._control("", {})

    def script(self, steps: Sequence[Mapping[str, Any]], **options: Any) -> None:
        """Add steps to play, one a request, and set options of the stage (see `server.Stage`)."""
        self._control("", {"script": list(steps), "options": options})

    def base_url(self, dialect: str = "chat") -> str:
        """What to give as the base URL; `dialect` is `chat`, `responses` or `messages`."""
        root = f"http://127.0.0.1:{self._port}/t/{self._stage}"
        return root if dialect == "messages" else f"{root}/v1"

    def release(self, gate: str) -> None:
        """Open a gate of the script."""
        self._control(f"/release/{gate}", {})

    @property
    def requests(self) -> list[RecordedRequest]:
        """Every request so far, in order of arrival."""
        record = self._directory / f"{self._stage}.jsonl"
        *lines, _ = record.read_text(encoding="utf-8").split("\n") if record.exists() else [""]
        return [_recorded(json.loads(line)) for line in lines]  # one that is being written is not there yet

    def state(self) -> dict[str, Any]:
        """`requests`, `played`, `steps` (counts) and `violations`."""
        with urllib.request.urlopen(self._url(""), timeout=WAIT_S) as answer:
            value: dict[str, Any] = json.load(answer)
        return value

    def check(self) -> None:
        """Fail on a breach of the protocol and on a script that was not played to its end."""
        state = self.state()
        if not self.allow_violations:
            assert not state["violations"], "\n".join(state["violations"])
        if not self.allow_unplayed:
            assert state["played"] == state["steps"], f"{state['played']} of {state['steps']} steps played"

    def _url(self, tail: str) -> str:
        return f"http://127.0.0.1:{self._port}/control/{self._stage}{tail}"

    def _control(self, tail: str, body: Mapping[str, Any]) -> None:
        request = urllib.request.Request(self._url(tail), json.dumps(body).encode(), method="POST")
        with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
            answer.read()


def _recorded(entry: dict[str, Any]) -> RecordedRequest:
    return RecordedRequest(
        number=entry["number"],
        dialect=entry["dialect"],
        at=entry["at"],
        idle_s=entry["idle_s"],
        connection=entry["connection"],
        headers=entry["headers"],
        body=base64.b64decode(entry["body"]),
        violations=tuple(entry["violations"]),
    )


@contextmanager
def running_server(directory: Path) -> Iterator[int]:
    """Start the process, give its port, end it."""
    command = [sys.executable, "-I", str(SERVER), str(directory)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdin is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.stdin.close()
