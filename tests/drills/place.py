"""What a drill has: a program with a home and a project of its own, a scripted model, and what it saw."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e import project
from tests.model_server.fixture import ModelServer
from tests.program import Program, Ran, model_flags


@dataclass(frozen=True)
class Place:
    """One drill's world."""

    root: Path
    program: Program
    server: ModelServer

    @classmethod
    def at(cls, root: Path, server: ModelServer) -> "Place":
        """Make it below `root`, with the sample project in the workspace."""
        program = Program.at(root)
        project.make(program)
        return cls(root=root, program=program, server=server)

    @property
    def flags(self) -> Sequence[str]:
        """Flags that choose the scripted model."""
        return model_flags("chat", self.server.base_url())

    def exec(self, *argv: str, program: Program | None = None, **env: str) -> Ran:
        """`agent-tui exec --json`, to its end."""
        return (program or self.program).run("exec", "--json", *self.flags, *argv, env=env)

    def goes_on(self, program: Program | None = None) -> dict[str, Any]:
        """Resume with a word, which must succeed; the request that the model was sent."""
        self.server.script([{"text": "went on"}])
        ran = self.exec("--last", "go on", program=program)
        assert ran.code == 0, ran.err
        return self.server.requests[-1].json

    def results(self) -> list[str]:
        """Contents of the tool results in the newest request."""
        messages = self.server.requests[-1].json["messages"]
        return [message["content"] for message in messages if message["role"] == "tool"]


Run = Callable[[Place], str]


@dataclass(frozen=True)
class Drill:
    """A failure word, what is done to bring it about, and the function that does it and says what it saw."""

    word: str
    done: str
    run: Run


DRILLS: dict[str, Drill] = {}


def drill(word: str, done: str) -> Callable[[Run], Run]:
    """Enter a drill in the list; it fails by an assertion."""

    def enter(run: Run) -> Run:
        assert word not in DRILLS
        DRILLS[word] = Drill(word=word, done=done, run=run)
        return run

    return enter


def lines(ran: Ran) -> list[dict[str, Any]]:
    """The event stream."""
    return [json.loads(line) for line in ran.out.splitlines()]
