#!/usr/bin/env python3
"""What a start costs, and a whole tool call: to the first request, to the first paint, memory, an `echo`.

Prints one JSON object a line: name, value, unit, floor (the same run's), ratio, target. Real processes
against the scripted model server on loopback; the interface runs in a pseudo-terminal.
"""

import os
import pty
import select
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from scripts.measuring import QUICK, report  # noqa: E402
from tests.model_server.fixture import ModelServer, running_server  # noqa: E402
from tests.program import Program, command, model_flags  # noqa: E402

RUNS = 2 if QUICK else 7
ECHOES = 6 if QUICK else 20
PAINT_TIMEOUT_S = 20.0
QUESTION, ANSWER = b"\x1b[c", b"\x1b[1;3R\x1b[?62c"  # of the interface before it paints; of a terminal
SDK_TRANSPORT = ("httpcore2", "anyio._backends._asyncio", "h11")
SDK_OF = {"chat": "openai", "responses": "openai", "messages": "anthropic"}


def bare_ms(statement: str) -> float:
    """Shortest wall time of an interpreter that runs one statement."""
    times = []
    for _ in range(RUNS):
        started = time.monotonic()
        subprocess.run([sys.executable, "-I", "-c", statement], check=True)
        times.append((time.monotonic() - started) * 1000)
    return min(times)


def main() -> None:
    """Run all of it."""
    floor = bare_ms("pass")
    with tempfile.TemporaryDirectory() as scratch, running_server(Path(scratch)) as port:
        root = Path(scratch)
        for dialect in ("chat", "responses", "messages"):
            _first_request(dialect, port, root, floor)
        _echo(port, root, "reading `echo`", "echo {n}")
        _echo(port, root, "writing `echo`, with its checkpoints", "echo {n} > out.txt")
        _first_paint(root / "paint", floor)


def _program(root: Path) -> Program:
    root.mkdir(exist_ok=True)
    program = Program.at(root, OPENAI_API_KEY="k", ANTHROPIC_API_KEY="k")
    program.run("doctor")  # byte code, and the sandbox probe of this boot
    return program


def _first_request(dialect: str, port: int, root: Path, floor: float) -> None:
    program = _program(root / dialect)
    runs = [_run(program, dialect, port, root) for _ in range(RUNS)]
    whole = statistics.median(ms for ms, _ in runs)
    sdk = SDK_OF[dialect]
    target = (
        "under 0.9 of 990 × floor / 22 ms" if sdk == "openai" else ""
    )  # of anthropic's import most is its own
    report(f"start: to the first request, {dialect}", whole, "ms", floor, target)
    rest = statistics.median(_ms_without_sdk(program, dialect, port, root) for _ in range(RUNS))
    report(f"start: the same without importing {sdk}", rest, "ms", floor, "under 150 ms")
    peak = max(peak for _, peak in runs)
    report(f"start: peak memory of a text-only run, {dialect}", peak, "MiB", None, "under 120 MB")


def _run(program: Program, dialect: str, port: int, root: Path) -> tuple[float, float]:
    """Time from the start of the program to its first request, in ms, and its peak memory in MiB."""
    server = ModelServer(port, root)
    server.script([{"text": "hello"}])
    started = time.monotonic()
    process = program.start("exec", *model_flags(dialect, server.base_url(dialect)), "hi")
    peak = _peak_mib(process)
    return (server.requests[0].at - started) * 1000, peak


def _ms_without_sdk(program: Program, dialect: str, port: int, root: Path) -> float:
    """Time to the first request of a program that finds its SDK imported, less that import, which it does
    before it begins and times itself: in one process, so nothing is counted twice or for nothing. The
    import ends with what the SDK leaves to its first client, its own transport. What the program imports
    in any case, such as argparse, counts as the program's."""
    noted = program.home / "import_s"
    first = (
        f"import sys, time; sys.path.insert(0, {str(ROOT)!r})",
        "from agent_tui.models.transport import load_sdk",
        "begun = time.monotonic()",
        f"load_sdk({SDK_OF[dialect]!r})",
        *(f"import {name}" for name in SDK_TRANSPORT),
        f"open({str(noted)!r}, 'w').write(str(time.monotonic() - begun))",
    )
    whole, _ = _run(replace(program, first="; ".join(first)), dialect, port, root)
    return whole - float(noted.read_text()) * 1000


def _peak_mib(process: "subprocess.Popen[str]") -> float:
    """Wait for the end; `ru_maxrss` is in KiB (getrusage(2))."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    if process.returncode != 0:
        raise SystemExit(f"the program ended with {process.returncode}")
    return usage.ru_maxrss / 1024


def _echo(port: int, root: Path, name: str, command_line: str) -> None:
    """Time from the end of a response to the next request, with one command in between: sandbox and
    synchronous records included, and a checkpoint before and after it where it can write."""
    program = _program(root / name.split(maxsplit=1)[0])
    (program.workspace / "file.txt").write_text("x\n")
    server = ModelServer(port, root)
    lines = [command_line.format(n=n) for n in range(ECHOES)]
    calls = [{"calls": [{"tool": "exec_command", "arguments": {"cmd": line}}]} for line in lines]
    server.script([*calls, {"text": "done"}])
    ran = program.run("exec", *model_flags("chat", server.base_url()), "go")
    if ran.code != 0:
        raise SystemExit(ran.err)
    gaps = [request.idle_s * 1000 for request in server.requests[2:] if request.idle_s is not None]
    target = "under 40 ms, 25 later"
    report(f"call: {name}, response to request", statistics.median(gaps), "ms", _shell_ms(), target)


def _shell_ms() -> float:
    times = []
    for _ in range(20):
        started = time.monotonic()
        subprocess.run(["bash", "-c", "echo hi"], check=True, capture_output=True)
        times.append((time.monotonic() - started) * 1000)
    return statistics.median(times)


def _first_paint(root: Path, floor: float) -> None:
    program = _program(root)
    times = [_painted_ms(program) for _ in range(RUNS)]
    report("start: to the first paint", statistics.median(times), "ms", floor, "under 400 ms")


def _painted_ms(program: Program) -> float:
    """Until the status line is drawn, in a pseudo-terminal of 120×40."""
    started = time.monotonic()
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(program.workspace)
        line = [*command(), "-m", "demo/scripted"]
        os.execvpe(line[0], line, {**program.environ, "COLUMNS": "120", "LINES": "40"})
    seen = b""
    try:
        while b"demo" not in seen and time.monotonic() - started < PAINT_TIMEOUT_S:
            if select.select([terminal], [], [], 0.5)[0]:
                piece = os.read(terminal, 65536)
                seen += piece
                if QUESTION in piece:
                    os.write(terminal, ANSWER)
        elapsed = (time.monotonic() - started) * 1000
    finally:
        os.kill(pid, 15)
        _drain(terminal)
        os.waitpid(pid, 0)
        os.close(terminal)
    if b"demo" not in seen:
        raise SystemExit("the interface drew no status line")
    return elapsed


def _drain(terminal: int) -> None:
    """Read what is left, so that the other side can end."""
    try:
        while select.select([terminal], [], [], 5)[0] and os.read(terminal, 65536):
            pass
    except OSError:  # EIO: the other side is closed
        return


if __name__ == "__main__":
    main()
