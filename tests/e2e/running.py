"""The program while it runs: its JSON lines as they come, and the processes below it."""

import json
import os
import select
import signal
import subprocess
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.program import Program, ended, model_flags
from tests.waiting import WAIT_S


class Running:
    """`agent-tui exec --json` that has been started."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self.seen: list[dict[str, Any]] = []

    def until(self, kind: str, item: str = "") -> dict[str, Any]:
        """The next line of that type, of an item of that type where one is named."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            event: dict[str, Any] = json.loads(line)
            self.seen.append(event)
            if event["type"] == kind and (not item or event["item"]["type"] == item):
                return event
        raise AssertionError(f"no `{kind}` came: {self.seen}")

    @property
    def ended(self) -> Mapping[str, Any]:
        """How the last turn ended, as far as was read."""
        return ended(self.seen)

    def order(self, **fields: Any) -> None:
        """Give it a command on stdin."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(fields) + "\n")
        self.process.stdin.flush()

    def end(self) -> tuple[int, str]:
        """Close stdin and read to the end; exit code and what was said on stderr.

        `communicate` would read past the lines that came with the last one that was waited for.
        """
        process = self.process
        assert process.stdout is not None and process.stderr is not None
        if process.stdin is not None:
            with suppress(BrokenPipeError):
                process.stdin.close()
        with ThreadPoolExecutor(1) as beside:
            err = beside.submit(process.stderr.read)
            self.seen += [json.loads(line) for line in process.stdout]
            return process.wait(WAIT_S), err.result()


@contextmanager
def running(program: Program, base_url: str, *argv: str) -> Iterator[Running]:
    """Start it in a session of its own; what is left of it dies at the end."""
    with held(program.start("exec", "--json", *model_flags("chat", base_url), *argv)) as run:
        yield run


@contextmanager
def held(process: "subprocess.Popen[str]") -> Iterator[Running]:
    """One that was started in another way; what is left of it dies at the end."""
    try:
        yield Running(process)
    finally:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()


class Bell:
    """A named pipe in the workspace that a command rings to say that it runs."""

    def __init__(self, workspace: Path) -> None:
        path = workspace / "bell"
        os.mkfifo(path)
        with (workspace / ".gitignore").open("a") as ignored:
            ignored.write("/bell\n")
        self._fd = os.open(path, os.O_RDWR | os.O_NONBLOCK)  # open for writing too: never at its end

    def wait(self) -> str:
        """What was written; fails when nothing comes."""
        ready, _, _ = select.select([self._fd], [], [], WAIT_S)
        assert ready, "the command did not ring"
        return os.read(self._fd, 4096).decode()
