"""Runs the whole program as a person would: own home, own state, real processes."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.waiting import WAIT_S

ROOT = Path(__file__).parent.parent


def command(*hidden: str, first: str = "") -> tuple[str, ...]:
    """What starts the program from the checkout; `hidden` packages cannot be imported by it, and `first`
    is done before it begins."""
    lines = [
        *([first] if first else []),
        "import sys",
        f"sys.path.insert(0, {str(ROOT)!r})",
        *(f"sys.modules[{name!r}] = None" for name in hidden),
        "from agent_tui.__main__ import main",
        "sys.exit(main())",
    ]
    return (sys.executable, "-I", "-c", "; ".join(lines))


def ended(events: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """How the last turn of a stream of events ended; a first checkpoint that takes long comes after it."""
    return next(event for event in reversed(events) if event["type"] in ("turn.completed", "turn.failed"))


@dataclass(frozen=True)
class Ran:
    """What one command line came to."""

    code: int
    out: str
    err: str

    @property
    def end(self) -> Mapping[str, Any]:
        """How the turn of an `exec --json` ended."""
        return ended([json.loads(line) for line in self.out.splitlines()])


@dataclass(frozen=True)
class Program:
    """A home and a workspace of its own."""

    home: Path
    workspace: Path
    extra: Mapping[str, str] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()  # packages that are not installed, as far as the program can tell
    first: str = ""  # Python that each start runs before the program, on one line

    @classmethod
    def at(cls, root: Path, **extra: str) -> "Program":
        """Make both below `root`."""
        program = cls(home=root / "home", workspace=root / "work", extra=extra)
        program.home.mkdir()
        program.workspace.mkdir()
        return program

    @property
    def environ(self) -> dict[str, str]:
        """Nothing of the caller's but the search path."""
        base = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "LC_ALL": "C.UTF-8",
            "TERM": "xterm-256color",
        }
        return base | dict(self.extra)

    @property
    def state(self) -> Path:
        """The state directory."""
        return Path(self.extra.get("AGENT_TUI_STATE_DIR", self.home / ".local" / "state" / "agent-tui"))

    def run(
        self,
        *argv: str,
        stdin: str | None = None,
        timeout: float = 2 * WAIT_S,
        env: Mapping[str, str] | None = None,
    ) -> Ran:
        """Run to the end."""
        done = subprocess.run(
            [*command(*self.hidden, first=self.first), *argv],
            cwd=self.workspace,
            env=self.environ | dict(env or {}),
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def start(self, *argv: str, env: Mapping[str, str] | None = None) -> "subprocess.Popen[str]":
        """Start and leave running."""
        return subprocess.Popen(
            [*command(*self.hidden, first=self.first), *argv],
            cwd=self.workspace,
            env=self.environ | dict(env or {}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def config(self, text: str) -> Path:
        """Write the person's settings."""
        path = self.home / ".config" / "agent-tui" / "config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


def local_servers(**at: str) -> str:
    """Settings in which the servers of this machine are at addresses of the test, or nowhere: what else may
    run at their usual ports is asked nothing."""
    places = dict.fromkeys(("ollama", "lmstudio", "llamacpp", "vllm"), "http://127.0.0.1:9/v1") | at
    return "".join(f'[providers.{name}]\nbase_url = "{url}"\n' for name, url in places.items())


def model_flags(dialect: str, base_url: str) -> Sequence[str]:
    """Flags that choose the scripted server in a dialect."""
    name = {"chat": "compatible/scripted", "responses": "openai/scripted", "messages": "anthropic/scripted"}
    return ("-m", name[dialect], "--base-url", base_url)
