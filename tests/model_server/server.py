"""A scripted model server on loopback: plays a script, records every request, checks each like a provider.

Runs as `python -I server.py DIRECTORY` with the standard library alone, prints its port, and ends when its
standard input does. Every test has a stage of its own: `/t/STAGE/v1/chat/completions`,
`/t/STAGE/v1/responses`, `/t/STAGE/v1/messages`, `/t/STAGE/v1/models`; a stage that nobody set up is
answered 404. Requests of a stage are appended to `DIRECTORY/STAGE.jsonl`.

`POST /control/STAGE` sets a stage up (`{"script": [step, ...], "options": {...}}`), `POST
/control/STAGE/release/NAME` opens a gate, `GET /control/STAGE` tells its state. The steps are described
in `wire.py`, the options in `Stage`.
"""

import asyncio
import base64
import json
import sys
import time
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # `-I` leaves the checkout out

from tests.model_server import checks, wire

DIALECTS = {"/chat/completions": "chat", "/responses": "responses", "/messages": "messages"}


@dataclass
class Stage:
    """One test's script and what became of it.

    Options: `window` (tokens, requests above it are a breach), `must_contain` (texts that must be in
    every request), `models` (list for `/models`), `pages` (path → document of other pages), `key` (the only
    key accepted), `repeat_last` (play the last step for ever), `check` (False: record without checking).
    """

    name: str
    record: Path
    script: list[dict[str, Any]] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    played: int = 0
    requests: int = 0
    violations: list[str] = field(default_factory=list)
    gates: dict[str, asyncio.Event] = field(default_factory=dict)
    answered_at: float | None = None  # when the newest response was whole, monotonic seconds
    issued: dict[str, dict[str, Any]] = field(default_factory=dict)  # reasoning we gave out, for checks

    def next_step(self) -> dict[str, Any] | None:
        if self.played < len(self.script):
            self.played += 1
            return self.script[self.played - 1]
        if self.options.get("repeat_last") and self.script:
            return self.script[-1]
        return None

    def gate(self, name: str) -> asyncio.Event:
        return self.gates.setdefault(name, asyncio.Event())

    def state(self) -> dict[str, Any]:
        return {
            "requests": self.requests,
            "played": self.played,
            "steps": len(self.script),
            "violations": self.violations,
        }

    def note(self, entry: dict[str, Any]) -> None:
        with self.record.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    at: float  # when it had come in whole, monotonic seconds


class Reply:
    """Writes one HTTP/1.1 response; streams use chunked encoding so that a cut is seen as a cut."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    @property
    def connection(self) -> int:
        """The port at the other end, which tells connections apart."""
        port: int = self._writer.get_extra_info("peername")[1]
        return port

    async def whole(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        fields = {"content-type": "application/json", **(headers or {}), "content-length": str(len(body))}
        self._head(status, fields)
        self._writer.write(body)
        await self._writer.drain()

    async def start(self, headers: dict[str, str] | None = None) -> None:
        fields = {"content-type": "text/event-stream", **(headers or {}), "transfer-encoding": "chunked"}
        self._head(200, fields)
        await self._writer.drain()

    async def piece(self, data: bytes) -> None:
        self._writer.write(b"%x\r\n%s\r\n" % (len(data), data))
        await self._writer.drain()

    async def end(self) -> None:
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    def cut(self) -> None:
        self._writer.transport.abort()

    def _head(self, status: int, fields: dict[str, str]) -> None:
        lines = [f"HTTP/1.1 {status} Scripted", *(f"{name}: {value}" for name, value in fields.items())]
        self._writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())


class Server:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._stages: dict[str, Stage] = {}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (request := await read_request(reader)) is not None:
                await self._answer(request, Reply(writer), reader)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client went away, which tests do on purpose
        finally:
            writer.close()

    @staticmethod
    def _takes_key(stage: Stage, request: Request) -> bool:
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        return stage.options.get("key") in (None, given, request.headers.get("x-api-key"))

    async def _answer(self, request: Request, reply: Reply, reader: asyncio.StreamReader) -> None:
        parts = request.path.split("?")[0].strip("/").split("/")
        if parts[0] == "control" and len(parts) >= 2:
            await reply.whole(200, json.dumps(self._control(request, parts[1], parts[2:])).encode())
            return
        stage = self._stages.get(parts[1]) if parts[0] == "t" and len(parts) > 2 else None
        tail = "/" + "/".join(parts[2:]).removeprefix("v1/")
        pages = stage.options.get("pages", {}) if stage is not None else {}
        if request.method == "GET" and tail in pages:
            await reply.whole(200, json.dumps(pages[tail]).encode())
        elif stage is None or ((request.method, tail) != ("GET", "/models") and tail not in DIALECTS):
            await reply.whole(404, b'{"error":{"message":"no such page","type":"not_found_error"}}')
        elif tail == "/models" and not self._takes_key(stage, request):
            await reply.whole(401, wire.error_body("chat", "authentication_error", "invalid api key"))
        elif tail == "/models":
            names = stage.options.get("models", ["scripted"])
            listing = {"object": "list", "data": [{"id": name, "object": "model"} for name in names]}
            await reply.whole(200, json.dumps(listing).encode())
        else:
            await self._play(stage, DIALECTS[tail], request, reply, reader)

    def _control(self, request: Request, name: str, rest: list[str]) -> dict[str, Any]:
        if rest[:1] == ["release"]:
            self._stages[name].gate(rest[1]).set()
        elif request.method == "POST":
            setup = json.loads(request.body)
            stage = self._stages.setdefault(name, Stage(name=name, record=self._directory / f"{name}.jsonl"))
            stage.script = stage.script + setup.get("script", [])
            stage.options |= setup.get("options", {})
        return self._stages[name].state()

    async def _play(
        self, stage: Stage, dialect: str, request: Request, reply: Reply, reader: asyncio.StreamReader
    ) -> None:
        stage.requests += 1
        number = stage.requests
        idle_s = None if stage.answered_at is None else request.at - stage.answered_at
        breaches = self._check(stage, dialect, request)
        entry = {
            "number": number,
            "dialect": dialect,
            "at": request.at,
            "idle_s": idle_s,
            "connection": reply.connection,
            "headers": request.headers,
            "body": base64.b64encode(request.body).decode(),
            "violations": breaches,
        }
        stage.note(entry)
        stage.violations += [f"request {number} ({dialect}): {breach}" for breach in breaches]
        if breaches:
            await reply.whole(400, wire.error_body(dialect, "invalid_request_error", "; ".join(breaches)))
            return
        if not self._takes_key(stage, request):
            await reply.whole(401, wire.error_body(dialect, "authentication_error", "invalid api key"))
            return
        step = stage.next_step()
        if step is None:
            stage.violations.append(f"request {number}: the script is used up")
            await reply.whole(400, wire.error_body(dialect, "invalid_request_error", "the script is used up"))
            return
        await self._perform(stage, dialect, step, json.loads(request.body), reply, reader)
        stage.answered_at = time.monotonic()

    def _check(self, stage: Stage, dialect: str, request: Request) -> list[str]:
        if stage.options.get("check") is False:
            return []
        return checks.check(dialect, request.body, options=stage.options, issued=stage.issued)

    async def _perform(
        self,
        stage: Stage,
        dialect: str,
        step: dict[str, Any],
        body: dict[str, Any],
        reply: Reply,
        reader: asyncio.StreamReader,
    ) -> None:
        if "gate" in step:
            await stage.gate(step["gate"]).wait()
        await asyncio.sleep(step.get("before_s", 0))
        if step.get("cut") == "connect":
            reply.cut()
            return
        if "status" in step:
            error = step.get("body", {"error": {"message": "scripted", "type": "error"}})
            data = error.encode() if isinstance(error, str) else json.dumps(error).encode()
            await reply.whole(step["status"], data, dated(step.get("headers", {})))
            return
        played = wire.play(dialect, step, number=stage.requests, body=body)
        stage.issued |= played.issued
        if played.whole is not None:
            await reply.whole(200, played.whole)
            return
        await reply.start(step.get("headers"))
        for frame in wire.until_cut(played.frames, step.get("cut")):
            if frame.gate:
                await stage.gate(frame.gate).wait()
            await reply.piece(frame.data)
            await asyncio.sleep(step.get("delay_s", 0))
        if step.get("stall"):
            await reader.read(1)  # silent until the client closes
            raise ConnectionResetError
        if step.get("cut") and not step.get("cut_cleanly"):
            reply.cut()
            raise ConnectionResetError
        await reply.end()


def dated(headers: dict[str, str]) -> dict[str, str]:
    """Headers with `date+SECONDS` as the date it is then."""
    return {
        name: formatdate(time.time() + float(value.removeprefix("date+")), usegmt=True)
        if value.startswith("date+")
        else value
        for name, value in headers.items()
    }


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    method, path, _ = lines[0].split(" ", 2)
    headers = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        if name:
            headers[name.lower()] = value.strip()
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Request(method=method, path=path, headers=headers, body=body, at=time.monotonic())


async def end_of_stdin() -> None:
    """Return when whoever started us closed our standard input, by intent or by dying."""
    stdin = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stdin), sys.stdin)
    await stdin.read()


async def main() -> None:
    server = Server(Path(sys.argv[1]))
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0, limit=64 * 1024 * 1024)
    print(listener.sockets[0].getsockname()[1], flush=True)
    async with listener:
        await end_of_stdin()


if __name__ == "__main__":
    asyncio.run(main())
