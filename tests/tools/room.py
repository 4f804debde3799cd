"""A toolbox over a real sandbox in a directory of its own, and short ways to call it."""

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sandbox.policy import Mode, Policy
from sandbox.probe import ProbeResult, probe
from tools.registry import Toolbox, build_toolbox
from tools.types import Invocation, Outcome, Spawned


@dataclass
class FakeSink:
    """Keeps what a running tool tells."""

    processes: list[Spawned] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    waits: list[bool] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)

    async def spawned(self, process: Spawned) -> None:
        self.processes.append(process)

    def output(self, text: str) -> None:
        self.shown.append(text)

    def awaits_input(self, waits: bool) -> None:
        self.waits.append(waits)

    async def connects(self, host: str) -> str:
        self.hosts.append(host)
        return "by the user"


class Room:
    """A workspace, its policy and a toolbox."""

    def __init__(self, base: Path, **options: Any) -> None:
        self.base = base
        self.workspace = base / "work"
        self.workspace.mkdir(exist_ok=True)
        self.artifacts = base / "state" / "artifacts"
        self.policy = Policy(
            mode=Mode.WORKSPACE_WRITE, workspace=self.workspace.resolve(), state_dir=base.resolve() / "state"
        )
        self.probe: ProbeResult = probe(base / "state")
        self.toolbox: Toolbox = build_toolbox(artifacts=self.artifacts, probe=self.probe, **options)
        self.sink = FakeSink()
        self.calls = 0
        self.tokens = 10_000

    def check(self, tool: str, **arguments: Any) -> Any:
        """Arguments, or the answer to an invalid call."""
        return self.toolbox.check(tool, json.dumps(arguments))

    def invocation(self, tool: str, arguments: dict[str, Any]) -> Invocation:
        """The next call, as the engine would make it."""
        self.calls += 1
        checked = self.toolbox.check(tool, json.dumps(arguments))
        assert not isinstance(checked, str), checked
        return Invocation(
            call_id=f"c1.{self.calls}",
            tool=tool,
            arguments=checked,
            policy=self.policy,
            spool=self.artifacts / f"c1.{self.calls}.out",
            max_output_tokens=self.tokens,
        )

    async def call(self, tool: str, **arguments: Any) -> Outcome:
        """Run a call to its outcome."""
        return await self.toolbox.run(self.invocation(tool, arguments), self.sink)

    async def exec(self, cmd: str, **arguments: Any) -> Outcome:
        """Run a command."""
        return await self.call("exec_command", cmd=cmd, **arguments)

    async def type(self, session: str | None, chars: str = "", **arguments: Any) -> Outcome:
        """Type into a terminal."""
        assert session is not None
        return await self.call("write_stdin", session=session, chars=chars, **arguments)

    def write(self, name: str, data: bytes | str) -> Path:
        """A file of the workspace."""
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path


def repository(path: Path, *, commits: int) -> None:
    """A git repository with commits `c1`, `c2` …"""
    script = (
        "git init -q . && git config user.email a@b.c && git config user.name n && "
        f"for i in $(seq {commits}); do echo $i > f; git add f; git commit -q -m c$i; done"
    )
    subprocess.run(script, shell=True, check=True, cwd=path)


def body(text: str) -> str:
    """A result without its first line."""
    return text.partition("\n")[2]


async def until(room: Room, session: str, wanted: str) -> str:
    """Poll until the output so far holds a text; each poll waits by itself."""
    seen = ""
    for _ in range(20):
        outcome = await room.type(session, yield_ms=5_000)
        seen += body(outcome.text)
        if wanted in seen:
            return seen
        assert outcome.data["live"], outcome.text
    raise AssertionError(seen)


async def sees(room: Room, outcome: Outcome, wanted: str) -> str:
    """The text of a result and of polls after it, up to one that holds a text."""
    if wanted in outcome.text or outcome.terminal is None:
        assert wanted in outcome.text
        return outcome.text
    return outcome.text + await until(room, outcome.terminal, wanted)
