#!/usr/bin/env python3
"""How soon a typed letter shows in the interface while a command floods, in a real terminal.

The whole program runs in a pseudo-terminal against the scripted model server; its command writes 50 MB
again and again. A letter counts as shown when its bytes come out of the terminal. Prints one JSON object
a metric; the floor is the same keys while nothing runs.
"""

import select
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.measuring import QUICK, report
from tests.cli.terminal import Terminal
from tests.model_server.fixture import ModelServer, running_server
from tests.program import Program, model_flags

PIPE_ROUNDS, TERMINAL_ROUNDS = (5, 1) if QUICK else (40, 8)  # several seconds each
FLOOD = "for n in $(seq {}); do yes 'a line of ordinary output' | head -c 50000000; done"
LETTERS = "бвгджзилмнптцчшщыьэю"  # no line of the output or of the interface holds one
PAUSE_S = 0.03  # between keys
PATIENCE_S = 20.0


class Typist(Terminal):
    """Types letters and measures how long each takes to show."""

    def until(self, text: str) -> None:
        """Read until a text has come since the last time."""
        end = time.monotonic() + PATIENCE_S
        start = len(self.seen)
        while text not in self.seen[start:]:
            assert time.monotonic() < end and self._take(), f"`{text}` did not come"

    def key_s(self, letter: str) -> float:
        """Seconds from the press of a letter to its picture; then it is taken back."""
        begun = time.perf_counter()
        self.type(letter)
        self.until(letter)
        taken = time.perf_counter() - begun
        self.type("\x7f")
        end = time.monotonic() + PAUSE_S
        while (left := end - time.monotonic()) > 0:
            if select.select([self._fd], [], [], left)[0]:
                self._take()
        return taken


def measure(typist: Typist, seconds: float) -> list[float]:
    """Letters for some time."""
    end = time.monotonic() + seconds
    found: list[float] = []
    while time.monotonic() < end:
        found.append(typist.key_s(LETTERS[len(found) % len(LETTERS)]))
    return found


def measure_while(typist: Typist, ended: str) -> list[float]:
    """Letters until a text has come."""
    found: list[float] = []
    start = len(typist.seen)
    while ended not in typist.seen[start:]:
        found.append(typist.key_s(LETTERS[len(found) % len(LETTERS)]))
    return found


def main() -> None:
    """Measure idle, then pipe and terminal."""
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory).resolve()
        (root / "served").mkdir()
        with running_server(root / "served") as port:
            server = ModelServer(port, root / "served")
            for tty in (False, True):
                here = root / f"tty-{tty}"
                here.mkdir()
                one(Program.at(here), server, tty=tty)


def one(program: Program, server: ModelServer, *, tty: bool) -> None:
    """One start of the program."""
    flood = FLOOD.format(TERMINAL_ROUNDS if tty else PIPE_ROUNDS)
    command = {"tool": "exec_command", "arguments": {"cmd": flood, "tty": tty, "yield_ms": 30_000}}
    server.script([{"calls": [command]}, {"text": "the end"}])
    with Typist(program, *model_flags("chat", server.base_url())) as typist:
        typist.until("ready")
        idle = measure(typist, 1.5)
        typist.type("go\r")
        typist.until("ordinary")
        busy = measure_while(typist, "the end")
    kind = "a terminal" if tty else "a pipe"
    name = f"keys: {{}} of {len(busy)} keys while 50 MB run through {kind}"
    for share, of, target in (
        ("median", statistics.median, "under 100 ms"),
        ("19 of 20", lambda times: statistics.quantiles(times, n=20)[-1], "under 100 ms"),
        ("longest", max, "under 200 ms"),
    ):
        report(name.format(share), of(busy) * 1000, "ms", of(idle) * 1000, target)


if __name__ == "__main__":
    main()
