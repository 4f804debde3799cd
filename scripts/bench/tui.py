#!/usr/bin/env python3
"""The interface on a real pseudo-terminal: key to screen while a reply streams, start, idle, memory.

Prints one JSON object a line: name, value, unit, floor (the same run's), ratio, target.
The floor of a key is `cat` on the same kind of terminal, of the start `python -c pass`.
`tui.py --play BLOCKS stream|idle|spin` is the program that is measured: the real interface over an
engine that plays events.
"""

import argparse
import asyncio
import os
import pty
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
import tty
from collections.abc import AsyncIterator, Sequence
from fcntl import ioctl
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[0] = str(ROOT)

from scripts.measuring import QUICK, report  # noqa: E402

KEYS = 40 if QUICK else 120
TOKENS_PER_S = 200
WORDS = "the quick brown fox jumps over the lazy dog and then looks for its callers in every file of it "
MESSAGE = (
    f"## Heading of a message\n\n{WORDS * 2}\n\n- first point\n- second point with `code`\n\n"
    "```python\ndef slugify(text: str) -> str:\n    return text.strip('-') or 'n-a'\n```\n"
)


# --- the measured program ------------------------------------------------------------------------


class Player:
    """An engine of `blocks` finished blocks, and perhaps a reply that never ends."""

    def __init__(self, blocks: int, mode: str) -> None:
        from agent_tui.engine import events

        self._events = events
        self._blocks = blocks
        self._mode = mode
        self._over = asyncio.Event()

    async def start(self) -> "Player":
        return self

    def send(self, command: object) -> None:
        if type(getattr(command, "body", None)).__name__ == "Shutdown":
            self._over.set()

    async def events(self) -> AsyncIterator[object]:
        from tests.tui import scenes

        e = self._events
        number = 0
        bodies = [*scenes.started(), *scenes.turn(), *self._finished()]
        for body in bodies:
            number += 1
            yield e.Event(seq=number, at=time.time(), run_id="r", body=body)
            if number % 200 == 0:
                await asyncio.sleep(0)
        if self._mode == "idle":
            (end,) = [body for body in scenes.end() if isinstance(body, e.TurnEnded)]
            yield e.Event(seq=number + 1, at=time.time(), run_id="r", body=end)
        offset = words = 0
        while self._mode == "stream" and not self._over.is_set():
            words += 1
            word = "word " if words % 100 else "\n\nword "
            yield e.Event(
                seq=0, at=time.time(), run_id="r", body=e.TextStreamed(step_id="s9", text=word, offset=offset)
            )
            offset += len(word)
            await asyncio.sleep(1 / TOKENS_PER_S)
        await self._over.wait()
        yield e.Event(seq=0, at=time.time(), run_id="r", body=e.SessionClosed(reason="quit"))

    def _finished(self) -> list[object]:
        from tests.tui import scenes

        bodies: list[object] = []
        for number in range(self._blocks // 2):
            bodies += scenes.call(
                f"c{number}",
                "exec_command",
                "pytest -q",
                number,
                lines=("a", "64 passed in 8.77s"),
                exit_code=0,
            )
            bodies += scenes.response(number, MESSAGE)
        return bodies


def play(blocks: int, mode: str) -> int:
    """Run the interface over a `Player`; what the events are made with is imported after the first paint."""
    from agent_tui.engine.types import Config, ModelChoice
    from agent_tui.tui import entry

    model = ModelChoice(provider="openai", model="gpt-5.1", api="responses", context_window=272_000)
    with tempfile.TemporaryDirectory() as directory:
        state = Path(directory) / "state"
        config = Config(workspace=ROOT, state_dir=state, config_dir=state, model=model, interface={})
        player = Player(blocks, mode)
        return entry.run(player.start, config)  # type: ignore[arg-type]


# --- measuring -----------------------------------------------------------------------------------


class Program:
    """A process on a terminal of 120×40; only bytes are looked at."""

    def __init__(self, argv: Sequence[str], *, raw: bool = False) -> None:
        self.started = time.perf_counter()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8")
            os.environ.pop("NO_COLOR", None)
            os.execvp(argv[0], list(argv))
        if raw:
            tty.setraw(self.fd)
        self.size(120, 40)

    def size(self, columns: int, rows: int) -> None:
        ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds: float) -> bytes:
        if not select.select([self.fd], [], [], seconds)[0]:
            return b""
        try:
            data = os.read(self.fd, 1 << 16)
        except OSError:  # the program has ended
            return b""
        for question, answer in (
            (b"\x1b[6n", b"\x1b[1;3R"),
            (b"\x1b]11;?", b"\x1b]11;rgb:1414/1616/1a1a\x07"),
            (b"\x1b[c", b"\x1b[?62c"),
        ):
            if question in data:
                os.write(self.fd, answer)
        return data

    def until(self, wanted: bytes, seconds: float = 60.0) -> float:
        """Milliseconds until `wanted` was written."""
        begun = time.perf_counter()
        seen = b""
        while wanted not in seen:
            if time.perf_counter() - begun > seconds:
                raise SystemExit(f"tui.py: {wanted!r} did not come within {seconds} s")
            seen = seen[-64:] + self.read(0.2)
        return (time.perf_counter() - begun) * 1_000

    def quiet(self, seconds: float) -> None:
        """Read for a while."""
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            self.read(0.05)

    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss_mb(self) -> float:
        rows = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(row.split()[1]) for row in rows if row.startswith("VmRSS")) / 1_024

    def end(self) -> None:
        os.kill(self.pid, signal.SIGTERM)
        end = time.monotonic() + 5
        while time.monotonic() < end:
            self.read(0.05) if self._alive() else None
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                os.close(self.fd)
                return
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)

    def _alive(self) -> bool:
        return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def key_times(program: Program, keys: int) -> list[float]:
    """Milliseconds from each key to its character in the output."""
    times = []
    for number in range(keys):
        char = chr(0x100 + number).encode()
        os.write(program.fd, char)
        times.append(program.until(char, 5.0))
        program.quiet(0.03)
    return times


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of them lie."""
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


def open_program(blocks: int, mode: str) -> Program:
    """The interface with everything on the screen."""
    program = Program([sys.executable, __file__, "--play", str(blocks), mode])
    program.until(b"answering" if mode == "stream" else b"ready" if mode == "idle" else b"thinking")
    program.quiet(1.0)
    return program


def keys_and_scroll(sizes: Sequence[int]) -> None:
    """Keys while a reply streams, scrolling and resizing, at several lengths."""
    cat = Program(["cat"], raw=True)
    floor = key_times(cat, KEYS)
    cat.end()
    for blocks in sizes:
        program = open_program(blocks, "stream")
        times = key_times(program, KEYS)
        for share in (0.5, 0.95, 0.99):
            value, least = percentile(times, share), percentile(floor, share)
            target = "16 ms" if share == 0.95 else ""
            report(
                f"tui: key to screen p{share * 100:.0f}, {blocks:,} blocks, streaming",
                value,
                "ms",
                least,
                target,
            )
        scroll = []
        for _ in range(KEYS):
            os.write(program.fd, b"\x1b[5~")
            scroll.append(program.until(b"End newest", 5.0))
            os.write(program.fd, b"\x1b[1;5F")  # Ctrl+End
            program.until(b"Tab queue", 5.0)
        report(
            f"tui: page up p95, {blocks:,} blocks, streaming", percentile(scroll, 0.95), "ms", None, "16 ms"
        )
        program.end()


def resizing(blocks: int) -> None:
    """From the change of size to the picture in it."""
    program = open_program(blocks, "idle")
    times = []
    for columns in (100, 120, 90, 120, 80, 120):
        program.size(columns, 40)
        begun = time.perf_counter()
        program.until(b"\x1b[40;", 5.0)
        times.append((time.perf_counter() - begun) * 1_000)
        program.quiet(0.3)
    report(f"tui: resize, {blocks:,} blocks, median", statistics.median(times), "ms", None, "100 ms")
    program.end()


def first_paint() -> None:
    """From exec to the first picture, against the bare interpreter."""
    bare, paints = [], []
    for _ in range(5):
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        bare.append((time.perf_counter() - begun) * 1_000)
        program = Program([sys.executable, __file__, "--play", "0", "idle"])
        program.until(b"agent-tui")
        paints.append((time.perf_counter() - program.started) * 1_000)
        program.end()
    floor = min(bare)
    report(
        "tui: first paint",
        min(paints),
        "ms",
        floor,
        f"{400 * floor / 15:.0f} ms (400 ms where the floor is 15)",
    )


def idle(seconds: float) -> None:
    """CPU of one core while nothing happens, and with the spinner."""
    for mode, target in (("idle", "1 %"), ("spin", "3 %")):
        program = open_program(1_000, mode)
        before = program.cpu_s()
        program.quiet(seconds)
        report(
            f"tui: CPU, {'spinner' if mode == 'spin' else 'idle'}",
            (program.cpu_s() - before) / seconds * 100,
            "%",
            None,
            target,
        )
        program.end()


def memory() -> None:
    """Resident memory for each 1,000 finished blocks."""
    sizes = {}
    for blocks in (100, 5_100):
        program = open_program(blocks, "idle")
        sizes[blocks] = program.rss_mb()
        program.end()
    report("tui: memory per 1,000 blocks", (sizes[5_100] - sizes[100]) / 5, "MB", None, "10 MB")


def main() -> int:
    """Run all of it, or be the measured program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--play", nargs=2, metavar=("BLOCKS", "MODE"))
    parser.add_argument("--quick", action="store_true", help="fewer sizes, shorter waits")
    arguments = parser.parse_args()
    if arguments.play:
        return play(int(arguments.play[0]), arguments.play[1])
    first_paint()
    keys_and_scroll((100, 1_000) if QUICK else (100, 1_000, 10_000))
    resizing(1_000 if QUICK else 10_000)
    idle(4.0 if QUICK else 20.0)
    memory()
    return 0


if __name__ == "__main__":
    sys.exit(main())
